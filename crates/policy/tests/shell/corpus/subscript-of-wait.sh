wait -np 'a[$(evil)]'
