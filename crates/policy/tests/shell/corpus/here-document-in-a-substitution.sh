alpha "$(cat <<X
$(beta)
X
)"
