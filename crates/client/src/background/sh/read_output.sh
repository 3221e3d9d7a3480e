# Sets $size to the size of file $1.
measure() {
  set -- $(wc -c <"$1")
  size=${1:-0}
}

# Prints the bytes of stream $1 from $2 up to $3.
bytes() {
  [ "$3" -gt "$2" ] || return 0
  case $1 in
    both)
      slices "$2" "$3" | while read -r name begin length; do
        bytes "$name" "$begin" "$((begin + length))"
      done
      ;;
    *) tail -c "+$(($2 + 1))" "$dir/$1.log" | head -c "$(($3 - $2))" ;;
  esac
}

hex() { od -An -v -tx1; }

# Sets $to to the end of the last whole character of stream $1 between $2 and $3. UTF-8 (RFC 3629): the
# first byte of a character says how many follow.
whole() {
  to=$3
  tail_from=$((to - 4))
  [ "$tail_from" -gt "$2" ] || tail_from=$2
  backwards=
  for byte in $(bytes "$1" "$tail_from" "$to" | hex); do backwards="$byte $backwards"; done
  follow=0 need=0
  for byte in $backwards; do
    case $byte in
      [89ab]?)
        follow=$((follow + 1))
        continue
        ;;
      c[2-9a-f] | d?) need=1 ;;
      e?) need=2 ;;
      f[0-4]) need=3 ;;
    esac
    [ "$follow" -ge "$need" ] || to=$((to - follow - 1))
    break
  done
}

# Sets $rest to the length of what stands behind the last line end of stream $1 between $2 and $3.
unfinished() {
  set -- $({ bytes "$@" && echo .; } | tail -n 1 | wc -c)
  rest=$(($1 - 2))
}

# Sets $to to the end of the last finished line of stream $1 between $2 and $3. A line that fills all that
# may be read at once counts as finished.
last_line() {
  begin=$(($3 - max))
  [ "$begin" -gt "$2" ] || begin=$2
  unfinished "$1" "$begin" "$3"
  to=$3
  if [ "$rest" -lt "$(($3 - begin))" ]; then
    to=$(($3 - rest))
  elif [ "$rest" -lt "$((max - 3))" ]; then
    to=$2
  fi
}

# Sets $to to the last place between $from and $to at which no line is unfinished, on either stream, unless
# one fills all that may be read at once.
finished() {
  at=$from good=$from loose=$from open=
  set -- $(slices "$from" "$to")
  while [ "$#" -gt 0 ]; do
    at=$((at + $3))
    unfinished "$1" "$2" "$(($2 + $3))"
    # What has ended finishes no more.
    case "$life $1 $(($2 + $3))" in
      "dead stdout $out" | "dead stderr $err") rest=0 ;;
    esac
    other=
    for name in $open; do [ "$name" = "$1" ] || other=$name; done
    if [ "$rest" -lt "$3" ]; then
      loose=$((at - rest))
      [ -n "$other" ] || good=$loose
    fi
    open=$other
    [ "$rest" -eq 0 ] || open="$other $1"
    shift 3
  done
  if [ "$good" -gt "$from" ]; then
    to=$good
  elif [ "$((to - from))" -lt "$((max - 3))" ]; then
    to=$from
  elif [ "$loose" -gt "$from" ]; then
    to=$loose
  fi
}

# Moves $from behind a line that it cuts.
skip_cut_line() {
  set -- $(slices "$from" "$size")
  while [ "$#" -gt 0 ] && [ "$2" -gt 0 ]; do
    case $(bytes "$1" "$(($2 - 1))" "$2" | hex) in
      *0a*) return ;;
    esac
    skipped=$(bytes "$1" "$2" "$(($2 + $3))" | head -n 1 | wc -c)
    from=$((from + skipped))
    [ "$skipped" -eq "$3" ] || return 0
    shift 3
  done
}

# Both streams have one order for all readers, in the file `order`: each line says how far the streams
# had come when a reader looked. What is new on stdout by then comes first, what is new on stderr after
# it. Lines are only ever added. One that a full disk cut has no dot at its end and does not count.
order() {
  cat "$dir/order" 2>/dev/null
  printf '\n%s\n' "$unwritten"
}

# The parts of the files that stand from $1 up to $2: the stream, where it begins there, its length.
slices() {
  if [ "$stream" != both ]; then
    echo "$stream $1 $(($2 - $1))"
    return
  fi
  order | awk -v from="$1" -v to="$2" '
    function stream(name, size,    new, first, last) {
      new = size - seen[name]
      if (new <= 0) return
      first = from > at ? from : at
      last = to < at + new ? to : at + new
      if (first < last) printf "%s %.0f %.0f\n", name, seen[name] + first - at, last - first
      at += new
      seen[name] = size
    }
    $3 == "." { stream("stdout", $1); stream("stderr", $2) }'
}

# Sets $to to how far stream $1, which is still written, can be read between $2 and $3.
readable() {
  whole "$@"
  [ -z "$by_line" ] || last_line "$1" "$2" "$to"
}

# Sets $size to how much of both there is to be read.
measure_both() {
  measure "$dir/stdout.log"
  out=$size
  measure "$dir/stderr.log"
  err=$size
  set -- $(order | awk '
    $3 == "." { if ($1 > out) out = $1; if ($2 > err) err = $2 }
    END { printf "%.0f %.0f", out, err }')
  if [ "$life" = alive ]; then
    if [ "$out" -gt "$1" ]; then readable stdout "$1" "$out" && out=$to; fi
    if [ "$err" -gt "$2" ]; then readable stderr "$2" "$err" && err=$to; fi
  fi
  if [ "$out" -gt "$1" ] || [ "$err" -gt "$2" ]; then
    if ! message=$({ printf '\n%s %s .\n' "$out" "$err" >>"$dir/order"; } 2>&1); then
      [ "$life" != alive ] || fail failed "$dir/order can't be written ($message): read stdout and stderr one by one"
      # The last line needs no writing down: no other comes after it.
      unwritten="$out $err ."
    fi
  fi
  set -- $(order | awk '
    $3 == "." { if ($1 > out) out = $1; if ($2 > err) err = $2 }
    END { printf "%.0f", out + err }')
  size=$1
}

# Sets $from and $to to what is to be read now.
window() {
  # Before the size is taken: what has ended writes no more.
  inspect
  case $stream in
    both) measure_both ;;
    *)
      measure "$dir/$stream.log"
      if [ "$life" = alive ]; then readable "$stream" 0 "$size" && size=$to; fi
      ;;
  esac
  [ -z "$tail" ] || start_at_tail
  from=$offset to=$((offset + max))
  [ "$to" -lt "$size" ] || to=$size
  if [ "$to" -le "$from" ]; then
    to=$from
  elif [ "$to" -lt "$size" ] || [ "$life" = alive ]; then
    # The size is that of whole characters already.
    [ "$to" -eq "$size" ] || whole "$stream" "$from" "$to"
    [ -z "$by_line" ] || finished
  fi
}

# Sets $offset, once, to so many bytes before the end as it is at the first look.
start_at_tail() {
  from=$((size - tail)) tail=
  if [ "$from" -gt 0 ]; then
    for byte in $(bytes "$stream" "$from" "$((from + 3))" | hex); do
      case $byte in
        [89ab]?) from=$((from + 1)) ;;
        *) break ;;
      esac
    done
    [ -z "$by_line" ] || skip_cut_line
  else
    from=0
  fi
  offset=$from
}

unwritten='' out='' err=''
find_process
window
while [ "$to" -le "$from" ] && [ "$life" = alive ] && [ "$elapsed" -lt "$wait" ]; do
  pause
  while_read
  window
done
section state
tell
section window
printf '%s %s %s\n' "$from" "$to" "$size"
# What a tool has to say is no output.
exec 2>/dev/null
slices "$from" "$to" | while read -r name begin length; do
  section "$name"
  bytes "$name" "$begin" "$((begin + length))"
done
# It may have been removed meanwhile.
[ -e "$dir/meta.json" ] || fail missing ''
