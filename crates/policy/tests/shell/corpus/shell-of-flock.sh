flock file.txt -c 'alpha; beta x'
