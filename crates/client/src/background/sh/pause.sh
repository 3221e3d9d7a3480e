elapsed=0 nap=0.02 step=20

# Waits a little, longer from time to time, and adds it to $elapsed, in milliseconds. POSIX knows whole
# seconds only.
pause() {
  if sleep "$nap" 2>/dev/null; then
    elapsed=$((elapsed + step))
  else
    sleep 1
    elapsed=$((elapsed + 1000))
  fi
  case $elapsed in
    ? | ?? | 1??) ;;
    [1-9]??) nap=0.05 step=50 ;;
    [1-4]???) nap=0.1 step=100 ;;
    *) nap=0.25 step=250 ;;
  esac
}
