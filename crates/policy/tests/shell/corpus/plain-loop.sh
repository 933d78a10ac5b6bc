i=0
while [ $i -lt 2 ]; do
  alpha "$i"
  i=$((i + 1))
done > out 2>&1
