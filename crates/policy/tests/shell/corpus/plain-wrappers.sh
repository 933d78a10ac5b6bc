timeout 1 env A=1 nice -n 5 alpha x | xargs -n1 -I{} beta {}
echo a b | xargs -n 1 sh -c 'gamma "$1"' _
find . -name 'f*' -exec delta {} +
