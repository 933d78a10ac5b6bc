x='-v a[$(evil)]'
[ $x ]
