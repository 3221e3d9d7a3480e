watched=

# Sets $dir, $pid and $start of process $id.
find_process() {
  open_home || fail missing ''
  dir=$home/$id
  [ -f "$dir/meta.json" ] || fail missing ''
  recall
}

# The first line of meta.json: {"pid":…,"startTime":"…",
recall() {
  line=
  { IFS= read -r line <"$dir/meta.json"; } 2>/dev/null
  pid=${line#*'"pid":'} start=${line#*'"startTime":"'}
  pid=${pid%%,*} start=${start%%'"'*}
  case $pid in
    '' | *[!0-9]* | 0* | 1) pid=none ;;
  esac
}

# A process that has the number of the leader and another start is a stranger.
leader_lives() { look "$pid" && [ "$began" = "$start" ] && living; }

# Sets $life, $code and $exited.
inspect() {
  life=dead
  if read_code; then return; fi
  if leader_lives; then
    life=alive exited=
  else
    # It may have been written since.
    if ! read_code && [ -e "$dir/killed" ]; then code=137; fi
  fi
  # The time of the end alone is an end only where no code was to be kept.
  if [ -z "$code" ] && [ ! -e "$dir/no_exit_code" ]; then exited=; fi
}

read_code() {
  code='' exited=''
  { read -r exited <"$dir/exited_at"; } 2>/dev/null
  { read -r code <"$dir/exit_code"; } 2>/dev/null
  [ -n "$code" ]
}

tell() {
  if [ -e "$dir/timed_out" ] && [ "$life" = dead ]; then life=timed-out; fi
  printf '%s %s %s %s\n' "$id" "$life" "${code:--}" "${exited:--}"
}

# All that there is to tell of process $id.
report() {
  section home
  printf '%s' "$home"
  section state
  tell
  section meta
  # It may have been removed since.
  cat "$dir/meta.json" 2>/dev/null || fail missing ''
}

# Whether a living process of the group is this one's. While the leader lives or a member does, nobody
# else can have the group's number: who has watched it since the leader lived ($watched) knows its members.
# Who comes later may find a stranger's: it is this one's if a member carries the mark.
group_lives() {
  if look "$pid"; then
    [ "$began" = "$start" ] || return 1
    if living; then return 0; fi
  fi
  kill -0 "-$pid" 2>/dev/null || return 1
  find_members "$pid"
  [ -n "$members" ] || return 1
  [ -z "$watched" ] || return 0
  for member in $members; do
    if { tr '\0' '\n' <"/proc/$member/environ" | grep -qx "SANDPIPE_PROCESS=$id"; } 2>/dev/null; then
      return 0
    fi
  done
  return 1
}
