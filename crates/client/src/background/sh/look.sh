if [ -r /proc/self/stat ]; then
  boot=
  { read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null

  # Sets $state, $group and $began of process $1; false where there is none. proc(5): behind the name,
  # which may hold anything, come state (3), parent, process group (5) and, as 22nd, the start time.
  look() {
    stat=
    { IFS= read -r stat <"/proc/$1/stat"; } 2>/dev/null
    [ -n "$stat" ] || return 1
    set -- ${stat##*) }
    state=$1 group=$3 began=${20}@$boot
  }

  # Sets $members to the living members of group $1.
  find_members() {
    members=
    for entry in /proc/[0-9]*; do
      if look "${entry#/proc/}" && [ "$group" = "$1" ] && living; then
        members="$members ${entry#/proc/}"
      fi
    done
  }
else
  look() {
    set -- $(LC_ALL=C TZ=UTC0 ps -o state= -o pgid= -o lstart= -p "$1" 2>/dev/null)
    [ "$#" -gt 2 ] || return 1
    state=$1 group=$2
    shift 2
    began=$*
  }

  find_members() {
    members=$(ps -A -o pid= -o pgid= -o state= | while read -r member group state; do
      if [ "$group" = "$1" ] && living; then echo "$member"; fi
    done)
  }
fi

# A zombie only waits for its parent.
living() {
  case $state in
    [ZX]*) return 1 ;;
  esac
}

# Sets $others to the living members of group $1 but its leader, and tells whether there are any.
find_others() {
  find_members "$1"
  others=
  for member in $members; do
    [ "$member" = "$1" ] || others="$others $member"
  done
  [ -n "$others" ]
}
