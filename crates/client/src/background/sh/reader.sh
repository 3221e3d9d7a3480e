# Called while a script waits, it prints an empty line each second. Where nobody reads the answer any more
# that ends the script: by SIGPIPE, or where that is ignored by the failure.
next_line=1000
while_read() {
  [ "$elapsed" -ge "$next_line" ] || return 0
  next_line=$((elapsed + 1000))
  echo || exit 1
}
