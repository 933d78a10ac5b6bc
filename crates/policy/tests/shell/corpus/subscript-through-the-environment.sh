env x='a[$(evil)]' bash -c '((x))'
