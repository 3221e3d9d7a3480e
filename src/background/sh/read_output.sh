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
      slices "$2" "$3" | while read -r name from length; do
        tail -c "+$((from + 1))" "$dir/$name.log" | head -c "$length"
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

# Sets $to to the end of the last finished line between $from and $to, unless the line fills all that
# may be read at once.
finished() {
  [ "$to" -gt "$from" ] || return 0
  set -- $(bytes "$stream" "$((to - 1))" "$to" | hex)
  [ "$1" != 0a ] || return 0
  set -- $(bytes "$stream" "$from" "$to" | tail -n 1 | wc -c)
  if [ "$1" -lt "$((to - from))" ]; then
    to=$((to - $1))
  elif [ "$1" -lt "$((max - 3))" ]; then
    to=$from
  fi
}

# Both streams have one order for all readers, in the file `order`: each line says how far the streams
# had come when a reader looked. What is new on stdout by then comes first, what is new on stderr after
# it. Lines are only ever added. One that a full disk cut has no dot at its end and does not count.
order() {
  cat "$dir/order" 2>/dev/null
  printf '\n%s\n' "$unwritten"
}

# The parts of the two files that stand from $1 up to $2 in that order.
slices() {
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
    if [ "$out" -gt "$1" ]; then whole stdout "$1" "$out" && out=$to; fi
    if [ "$err" -gt "$2" ]; then whole stderr "$2" "$err" && err=$to; fi
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
    *) measure "$dir/$stream.log" ;;
  esac
  from=$offset
  if [ -n "$tail" ]; then
    from=$((size - tail))
    if [ "$from" -gt 0 ]; then
      for byte in $(bytes "$stream" "$from" "$((from + 3))" | hex); do
        case $byte in
          [89ab]?) from=$((from + 1)) ;;
          *) break ;;
        esac
      done
    else
      from=0
    fi
  fi
  to=$((from + max))
  [ "$to" -lt "$size" ] || to=$size
  if [ "$to" -le "$from" ]; then
    to=$from
  elif [ "$to" -lt "$size" ] || [ "$life" = alive ]; then
    whole "$stream" "$from" "$to"
    [ -z "$by_line" ] || finished
  fi
}

unwritten=
find_process
window
while [ "$to" -le "$from" ] && [ "$life" = alive ] && [ "$elapsed" -lt "$wait" ]; do
  pause
  window
done
section state
tell
section window
printf '%s %s %s\n' "$from" "$to" "$size"
section output
# What a tool has to say is no output.
exec 2>/dev/null
bytes "$stream" "$from" "$to"
