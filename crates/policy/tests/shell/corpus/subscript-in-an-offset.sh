set -- 'a[$(evil)]'
x=abc
echo ${x:$1}
