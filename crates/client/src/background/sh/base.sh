case $base in
  /*) ;;
  *) base=$PWD/$base ;;
esac
case $namespace in
  [!0-9A-Za-z]* | *[!0-9A-Za-z._-]*)
    fail failed "the variable SANDPIPE_NAMESPACE is no name of a background namespace: $namespace"
    ;;
esac
home=$base/$namespace

# Another user must not be able to say what runs here, or what is killed.
trusted() {
  [ ! -h "$1" ] || fail untrusted "$1 is a symbolic link"
  [ -d "$1" ] || fail untrusted "$1 is not a directory"
  [ -O "$1" ] || fail untrusted "$1 belongs to another user"
}

# False where nothing has ever been run.
open_home() {
  [ -e "$base" ] || [ -h "$base" ] || return 1
  trusted "$base"
  [ -e "$home" ] || [ -h "$home" ] || return 1
  trusted "$home"
}

make_home() {
  open_home && return
  message=$(umask 077 && mkdir -p -- "$base" "$home" 2>&1) || fail failed "$message"
  open_home
}

# Removes directory $1. Whoever renames it has it: nobody else sees a part of it.
discard() {
  gone=$home/.gone.$$.${1##*/}
  mv -- "$1" "$gone" && rm -rf -- "$gone"
}

# Removes what was left by others that were stopped while they made or removed a process.
sweep() {
  for left in "$home"/.gone.* "$home"/.new.*; do
    [ -d "$left" ] || continue
    case $left in
      "$home"/.new.*) if look "${left##*.}" && living; then continue; fi ;;
    esac
    discard "$left" 2>/dev/null
  done
}
