t=file.txt
trap 'alpha "$t"' EXIT
bash -c 'beta; exit 1' || true
