x='a[$(evil)]'
echo $((x))
