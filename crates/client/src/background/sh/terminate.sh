# No `--` before the group: busybox takes it for a number, and the other shells know what is meant.
find_process
inspect
lived=$life
if leader_lives; then watched=yes; fi
if [ "$pid" != none ] && group_lives; then
  # A script that is only about to begin would not feel the signal.
  { true >"$dir/terminated"; } 2>/dev/null
  kill -TERM "-$pid" 2>/dev/null
  # What is suspended acts upon it only when it goes on.
  kill -CONT "-$pid" 2>/dev/null
  while [ "$elapsed" -lt "$grace" ] && group_lives; do pause; done
  elapsed=0 nap=0.02 step=20
  # Who looks between the end and the writing of its code is to know what it was.
  if leader_lives; then true >"$dir/killed"; fi
  while group_lives; do
    [ "$elapsed" -lt 10000 ] || fail failed "processes of it are still there after SIGKILL"
    kill -KILL "-$pid" 2>/dev/null
    pause
  done
fi
# It may have ended by itself meanwhile.
inspect
# Only SIGKILL ends the leader before it has written the code.
if [ "$lived" = alive ] && ! read_code; then
  conclude 137
  inspect
fi
report
