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
  section metas
  # One may have been removed since.
  cat ./*/meta.json 2>/dev/null
fi
