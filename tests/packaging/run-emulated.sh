#!/bin/sh
# run-emulated.sh PROGRAM ARG...: runs a program for arm64 by Debian's qemu-user, as process 1 of a namespace.
#
# It is process 1 since qemu-user knows no subreapers (prctl(2)), which the agent else has to be. What it executes of
# its own kind is told by its first bytes (binfmt_misc), which is arranged in a user namespace: so nowhere else.
export RULE='
:qemu-aarch64:M:
:\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00
:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff
:/usr/bin/qemu-aarch64:PF'
export PREPARE='
/bin/mount -t proc proc /proc &&
/bin/mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc &&
IFS="
" && printf %s $RULE >/proc/sys/fs/binfmt_misc/register &&
unset IFS RULE PREPARE && exec "$@"'

# The first child is process 1; this shell hands on signals to it.
exec /usr/bin/unshare --user --map-root-user --mount --pid /bin/sh -c '
/bin/sh -c "$PREPARE" sh "$@" <&3 3<&- &
pid=$!
trap "kill -TERM $pid" TERM
trap "kill -INT $pid" INT
wait $pid
code=$?
while kill -0 $pid 2>/dev/null; do
  wait $pid
  code=$?
done
exit $code' sh "$@" 3<&0
