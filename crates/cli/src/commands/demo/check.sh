#!/bin/sh
# check.sh: the tests
cd "$(dirname "$0")" || exit 2
printf 'one two three\nfour five\n' > sample.txt
expected='2 lines, 5 words, 19 letters'
found=$(sh count.sh sample.txt)
if [ "$found" = "$expected" ]; then
  echo "ok: $found"
else
  echo "FAILED: expected '$expected', found '$found'"
  exit 1
fi
