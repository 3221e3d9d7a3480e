dir=$1 mask=$2 shell=$3
# What whoever started this has open is not to stay open as long as the script runs.
exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
# Marks all that comes of the script.
export SANDPIPE_PROCESS="$id"
# A hangup is for nobody here; every other signal to the group is for the script: this shell lives on to
# write down what comes of it. In the script they have their default again (POSIX, 2.11).
trap '' HUP
trap : INT QUIT USR1 USR2 PIPE ALRM TERM
# Not every shell knows all of these.
for signal in ABRT BUS FPE ILL IO PROF SEGV SYS TRAP VTALRM XCPU XFSZ; do
  if (trap : "$signal") 2>/dev/null; then trap : "$signal"; fi
done

if ! look "$$" || [ "$group" != "$$" ]; then
  echo 'there is no process group to be had: neither setsid nor a shell with job control is there'
  exit 1
fi
if [ -n "${cwd+given}" ]; then
  case $cwd in
    /*) ;;
    *) cwd=./$cwd ;;
  esac
  CDPATH='' cd -- "$cwd" || exit 1
fi
[ -z "$timeout" ] || mkfifo "$dir/alarm" || exit 1
{
  printf '{"pid":%s,"startTime":"%s","startedAt":"%s",\n' "$$" "$began" "$(now)" &&
    cat "$dir/meta.rest"
} >"$dir/meta.json.new" || exit 1
mv "$dir/meta.json.new" "$dir/meta.json" || exit 1
# It may have secrets of the environment in it.
rm -f "$dir/meta.rest" "$dir/supervise"
echo ready
exec >/dev/null 2>&1

deaf() { trap '' INT QUIT USR1 USR2 PIPE ALRM TERM; }

# Sets $members to what is in the group beside this shell and the watchdog.
find_others() {
  find_members "$$"
  others=
  for member in $members; do
    case $member in
      "$$" | "$self") ;;
      *) others="$others $member" ;;
    esac
  done
  [ -n "$others" ]
}

watch() {
  deaf
  self=$(exec "$shell" -c 'echo "$PPID"')
  # The alarm says nothing: it ends.
  read -r _ <"$dir/alarm"
  true >"$dir/timed_out"
  kill -TERM "-$$"
  kill -CONT "-$$"
  while [ "$elapsed" -lt "$grace" ] && find_others; do pause; done
  # One by one, so that the shell is left to write down the end.
  while [ "$elapsed" -lt $((grace + 10000)) ] && find_others; do
    kill -KILL $others
    pause
  done
}

if [ -n "$timeout" ]; then
  if ! sleep 0.01; then timeout=$whole_timeout; fi
  (
    deaf
    exec sleep "$timeout" >"$dir/alarm"
  ) &
  alarm=$!
  watch &
  watchdog=$!
fi

# The script's own exit, exec, syntax error or death is the status of this child.
run_script
code=$?

if [ -n "$timeout" ]; then
  if [ -e "$dir/timed_out" ]; then
    # As `timeout` of the GNU coreutils has it.
    code=124
  else
    kill -KILL "$watchdog" "$alarm"
  fi
  wait "$watchdog"
  rm -f "$dir/alarm"
fi
conclude "$code"
