# Waits for what the last parts of a pipeline still write to stdout.log: until nothing of the group lives
# but its leader, or the file has not grown for 200 ms, or 2 s have passed. A stop does not wait.
wait_for_rest() {
  if [ -e "$dir/timed_out" ] || [ -e "$dir/terminated" ]; then return; fi
  elapsed=0 nap=0.05 step=50 grown=0 size=
  while [ "$elapsed" -lt 2000 ] && kill -0 "-$pid" 2>/dev/null && find_others "$pid"; do
    before=$size
    size=$(wc -c <"$dir/stdout.log")
    [ "$size" = "$before" ] || grown=$elapsed
    [ "$((elapsed - grown))" -lt 200 ] || return
    pause
    while_read
  done
}
