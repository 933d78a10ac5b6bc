cat <<A && alpha <<'B'
$(beta)
A
$(evil)
B
