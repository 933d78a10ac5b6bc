x "$({ cat <<'EOF'
EOF
}|if false
then
y
else
alpha|beta ;gamma delta
fi)"
