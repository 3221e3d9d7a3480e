section namespaces
if [ -e "$base" ] || [ -h "$base" ]; then
  trusted "$base"
  cd -- "$base" || exit 1
  for meta in ./*/*/meta.json; do
    [ -f "$meta" ] || continue
    name=${meta#./} name=${name%%/*}
    [ "$name" != "$told" ] || continue
    told=$name
    printf '%s\n' "$name"
  done
fi
