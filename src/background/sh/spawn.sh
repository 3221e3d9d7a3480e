# Descriptor 3 has the rest of meta.json, 4 the script, 5 the supervising script.
make_home
dir=$home/$id
mask=$(umask)

abandon() {
  rm -rf "$dir"
  fail failed "$1"
}

if [ -n "$output_file" ]; then
  case $output_file in
    /*) ;;
    *) output_file=$PWD/$output_file ;;
  esac
  message=$({ mkdir -p -- "${output_file%/*}/" && true >"$output_file"; } 2>&1) || fail failed "$message"
fi

umask 077
message=$(mkdir -- "$dir" 2>&1) || fail failed "$message"
message=$({
  if [ -n "$output_file" ]; then
    ln -s -- "$output_file" "$dir/stdout.log"
  else
    true >"$dir/stdout.log"
  fi &&
    true >"$dir/stderr.log" &&
    cat <&3 >"$dir/meta.rest" &&
    cat <&4 >"$dir/script" &&
    cat <&5 >"$dir/supervise" &&
    reserve
} 2>&1) || abandon "$message"

shell=${BASH:-$(command -v sh)}
set -- "$shell" "$dir/supervise" "$dir" "$mask" "$shell"
# What is started says "ready" when it leads a process group of its own, and closes the pipe.
if setsid true 2>/dev/null; then
  # The first leads a group, so that the second has to fork to lead a session: it is not started with
  # `&`, which would make it ignore SIGINT for ever (POSIX, 2.11 Signals and Error Handling).
  told=$(setsid setsid "$@" </dev/null 2>&1)
else
  # Job control gives each job a group of its own. Not every shell has it without a terminal.
  for leader in "$shell" bash; do
    command -v "$leader" >/dev/null || continue
    told=$("$leader" -c 'set -m 2>/dev/null; "$@" &' sh "$@" </dev/null 2>&1)
    case $told in
      *ready) break ;;
    esac
  done
fi
case $told in
  *ready) ;;
  *) abandon "$told" ;;
esac

section home
printf '%s' "$home"
section states
printf '%s alive - -\n' "$id"
section head
IFS= read -r line <"$dir/meta.json"
printf '%s' "$line"
