# Whether a TCP socket listens on port $port, in hexadecimal. proc_pid_net(5): of each line the second field is the local
# address and port, the fourth the state, 0A for one that listens.
listens() {
  for table in /proc/net/tcp /proc/net/tcp6; do
    [ -r "$table" ] || continue
    while read -r _ address _ state _; do
      case $address:$state in
        *:"$port":0A) return 0 ;;
      esac
    done <"$table"
  done
  return 1
}

[ -r /proc/net/tcp ] || fail failed 'which ports are listened on is not known: there is no /proc/net/tcp'
find_process
life=alive
until listens; do
  # What has just ended may have left somebody who listens.
  [ "$life" = alive ] || break
  inspect
  [ "$life" = alive ] || continue
  if [ "$elapsed" -ge "$wait" ]; then
    life=waiting
    break
  fi
  pause
  while_read
done
case $life in
  waiting) section waiting ;;
  alive) section listening ;;
  *) if listens; then section listening; else report; fi ;;
esac
