# Descriptor 3 has the rest of meta.json, 4 the script, 5 the supervising script.
make_home
sweep
final=$home/$id
# It gets its name when all is in it, from the supervising script. Until then it has that of its maker.
dir=$home/.new.$id.$$
mask=$(umask)

abandon() {
  discard "$dir"
  fail failed "$1"
}

[ ! -e "$final" ] || fail failed "$final is there already"
if [ -n "$output_file" ]; then
  case $output_file in
    /*) ;;
    *) output_file=$PWD/$output_file ;;
  esac
  message=$({ mkdir -p -- "${output_file%/*}/" && true >"$output_file"; } 2>&1) || fail failed "$message"
fi

umask 077
trap 'discard "$dir" 2>/dev/null; exit 1' HUP INT TERM
message=$(mkdir -- "$dir" 2>&1) || fail failed "$message"
# A script that ends without a newline has got one on its way here.
message=$({
  if [ -n "$output_file" ]; then
    ln -s -- "$output_file" "$dir/stdout.log"
  else
    true >"$dir/stdout.log"
  fi &&
    true >"$dir/stderr.log" &&
    cat <&3 >"$dir/meta.rest" &&
    head -c "$script_size" <&4 >"$dir/script" &&
    cat <&5 >"$dir/supervise" &&
    reserve
} 2>&1) || abandon "$message"

shell=${BASH:-$(command -v sh)}
lead "$shell" "$dir/supervise" "$dir" "$final" "$mask" "$shell" || abandon "$told"
# From here on it is not this script's to discard.
trap - HUP INT TERM
dir=$final

section home
printf '%s' "$home"
section head
IFS= read -r line <"$dir/meta.json"
printf '%s' "$line"
