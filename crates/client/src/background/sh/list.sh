if open_home; then
  section home
  printf '%s' "$home"
  cd -- "$home" || exit 1
  # Builtins alone: a program for each process would take its time.
  section states
  for meta in ./*/meta.json; do
    [ -f "$meta" ] || continue
    dir=${meta%/meta.json} id=${meta#./} id=${id%/meta.json}
    recall
    inspect
    tell
  done
  # A line for each, without the line that a long script has for itself. Their names are too many for
  # arguments. One may have been removed since.
  section metas
  printf '%s\n' ./*/meta.json | awk '{
    meta = $0
    if ((getline first <meta) > 0 && (getline second <meta) > 0) {
      sub(/,$/, "}", second)
      print first second
    }
    close(meta)
  }'
fi
