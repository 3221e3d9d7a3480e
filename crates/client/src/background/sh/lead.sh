# Starts "$@" at the head of a process group of its own, and does not wait for its end. It says "ready" when
# it has one, and closes the pipe. Sets $told to what it said.
lead() {
  if setsid true 2>/dev/null; then
    # The first leads a group, so that the second has to fork to lead a session: it is not started with
    # `&`, which would make it ignore SIGINT for ever (POSIX, 2.11 Signals and Error Handling).
    told=$(setsid setsid "$@" </dev/null 2>&1 3<&-)
  else
    # Job control gives each job a group of its own. Not every shell has it without a terminal.
    for leader in "$shell" bash; do
      command -v "$leader" >/dev/null || continue
      told=$("$leader" -c 'set -m 2>/dev/null; "$@" &' sh "$@" </dev/null 2>&1 3<&-)
      case $told in
        *ready) break ;;
      esac
    done
  fi
  case $told in
    *ready) ;;
    *) return 1 ;;
  esac
}

# Ends this shell unless it is at the head of a process group.
must_lead() {
  if ! look "$$" || [ "$group" != "$$" ]; then
    echo 'there is no process group to be had: neither setsid nor a shell with job control is there'
    exit 1
  fi
}
