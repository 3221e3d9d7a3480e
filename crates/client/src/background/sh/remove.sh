find_process
inspect
[ "$life" != alive ] || fail running "it is still running"
# The leader goes only when it has written the end.
while leader_lives && [ "$elapsed" -lt 10000 ]; do pause; done
if [ "$pid" != none ] && group_lives; then
  fail running "it has ended, but something that it started still runs"
fi
message=$(discard "$dir" 2>&1) || fail failed "$message"
section removed
