find_process
inspect
[ "$life" != alive ] || fail failed "process $id is running: terminate it first"
if [ "$pid" != none ] && group_lives; then
  fail failed "process $id has ended, but not all that it started: terminate it first"
fi
message=$(discard "$dir" 2>&1) || fail failed "$message"
section removed
