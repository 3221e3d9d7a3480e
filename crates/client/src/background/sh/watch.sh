# The watchdog of process $1 with the directory $2, outside of its group: what stops the group must not
# stop the clock. Descriptor 4 has a line when the script begins, and comes to its end with that process; 5
# is held open until this one ends.
pid=$1 dir=$2
must_lead
echo ready
exec >/dev/null 2>&1

read -r _ <&4 || exit
if ! sleep 0.01; then timeout=$whole_timeout; fi
(
  sleep "$timeout" || exit
  true >"$dir/timed_out"
  kill -TERM "-$pid"
  kill -CONT "-$pid"
  while [ "$elapsed" -lt "$grace" ] && find_others "$pid"; do pause; done
  # One by one, so that the shell is left to write down the end.
  while [ "$elapsed" -lt $((grace + 10000)) ] && find_others "$pid"; do
    kill -KILL $others
    pause
  done
  kill -CONT "$pid"
  kill -KILL "-$$"
) &
read -r _ <&4
kill -KILL "-$$"
