find_process
inspect
[ "$life" != alive ] || fail running "it is still running"
if [ "$pid" != none ] && group_lives; then
  fail running "it has ended, but something that it started still runs"
fi
message=$(discard "$dir" 2>&1) || fail failed "$message"
section removed
