now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# Takes room on the disk now, so that the end can be written when the disk is full: overwriting in place
# needs none.
reserve() {
  printf '%20s\n' '' >"$dir/exited_at.new" || return 1
  if [ -n "$keeps_code" ]; then
    printf '%3s\n' '' >"$dir/exit_code.new"
  else
    true >"$dir/no_exit_code"
  fi
}

# Writes the end, with exit code $1. Who sees the code sees all of it.
conclude() {
  if [ -e "$dir/exited_at.new" ]; then
    printf '%s\n' "$(now)" 1<>"$dir/exited_at.new"
    mv -f "$dir/exited_at.new" "$dir/exited_at"
  fi
  if [ -e "$dir/exit_code.new" ]; then
    printf '%-3s\n' "$1" 1<>"$dir/exit_code.new"
    mv -f "$dir/exit_code.new" "$dir/exit_code"
  fi
}
