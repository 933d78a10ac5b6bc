set -euo pipefail
cd sub || exit 1
for f in *.txt; do
  if [[ -f $f && $f == *.txt ]]; then
    alpha -o "${f%.txt}.out" "$f" | head -n 2
  fi
done
echo "done: $(beta --count)" >&2
