x='a[$(evil)]'
[[ $x -eq 1 ]]
