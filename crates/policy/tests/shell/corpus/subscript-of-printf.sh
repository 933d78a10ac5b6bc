printf '%s%n' x 'a[$(evil)]'
