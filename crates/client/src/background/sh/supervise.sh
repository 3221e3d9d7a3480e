dir=$1 final=$2 mask=$3 shell=$4
# What whoever started this has open is not to stay open as long as the script runs.
exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
# Marks all that comes of the script.
export SANDPIPE_PROCESS="$id"
# A hangup is for nobody here; every other signal to the group is for the script: this shell lives on to
# write down what comes of it. In the script they have their default again (POSIX, 2.11).
trap '' HUP
at_signals() {
  trap "$1" INT QUIT USR1 USR2 PIPE ALRM TERM
  # Not every shell knows all of these.
  for signal in ABRT BUS FPE ILL IO PROF SEGV SYS TRAP VTALRM XCPU XFSZ; do
    if (trap "$1" "$signal") 2>/dev/null; then trap "$1" "$signal"; fi
  done
}
at_signals :

must_lead
if [ -n "${cwd+given}" ]; then
  case $cwd in
    /*) ;;
    *) cwd=./$cwd ;;
  esac
  CDPATH='' cd -- "$cwd" || exit 1
fi
if [ -n "$watch" ]; then
  # Nothing is written there: this shell and the watchdog see each other's end as end-of-file.
  mkfifo "$dir/leader" "$dir/watchdog" || exit 1
  exec 3<>"$dir/leader" 4<"$dir/leader" 5<>"$dir/watchdog" 6<"$dir/watchdog"
  rm -f "$dir/leader" "$dir/watchdog"
  if ! lead "$shell" -c "$watch" sandpipe "$$" "$final"; then
    printf '%s\n' "$told"
    exit 1
  fi
  exec 4<&- 5<&-
fi
look "$$"
{
  printf '{"pid":%s,"startTime":"%s","startedAt":"%s",\n' "$$" "$began" "$(now)" &&
    cat "$dir/meta.rest"
} >"$dir/meta.json" || exit 1
# It may have secrets of the environment in it.
rm -f "$dir/meta.rest" "$dir/supervise"
# From here on it is there for everybody.
mv "$dir" "$final" || exit 1
dir=$final
echo ready
exec >/dev/null 2>&1
[ -z "$watch" ] || echo >&3

# The script's own exit, exec, syntax error or death is the status of this child.
run_script
code=$?
# The programs that write the end are in the group as well: they ignore what still comes for the script.
at_signals ''

if [ -e "$dir/timed_out" ]; then
  # As `timeout` of the GNU coreutils has it.
  code=124
  # The watchdog ends when it has stopped the others.
  read -r _ <&6
fi
conclude "$code"
