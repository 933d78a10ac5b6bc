script -qc alpha /dev/null
