f() { echo $(($1)); }
f 'a[$(evil)]'
