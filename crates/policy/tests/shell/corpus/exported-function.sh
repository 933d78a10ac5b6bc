f() { alpha <<E; beta
x
E
}
export -f f
bash -c f
