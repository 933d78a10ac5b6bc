#!/bin/sh
# count.sh FILE: how many lines, words and letters are in FILE
file=${1:?usage: count.sh FILE}
lines=$(wc -l < "$file")
words=$(wc -c < "$file")
letters=$(tr -d '[:space:]' < "$file" | wc -c)
echo "$((lines)) lines, $((words)) words, $((letters)) letters"
