# bash takes over the options of the shell before it where that has exported SHELLOPTS.
set +efuxvC

# What is told stands between lines that nothing else can print: $nonce and $nonce2 are new for each script.
section() { printf '\n%s%s:%s\n' "$nonce" "$nonce2" "$1"; }

# Ends the script: $1 says what kind of failure it is, $2 tells people.
fail() {
  section "$1"
  printf '%s' "$2"
  section end
  exit 1
}
