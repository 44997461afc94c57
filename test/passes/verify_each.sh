#!/bin/sh
# verify_each.sh HEDDLE_OPT FILES: runs the whole pipeline over each problem, with the verifier after every pass.
opt=$1
shift
failed=0
for file in "$@"; do
  "$opt" "$file" --passes all --verify-each -o /dev/null || { echo "FAILED $file"; failed=1; }
done
echo "$# problems, failed=$failed"
exit $failed
