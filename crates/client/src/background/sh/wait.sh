find_process
inspect
while [ "$life" = alive ] && [ "$elapsed" -lt "$wait" ]; do
  pause
  while_read
  inspect
done
if [ "$life" != alive ] && [ -n "$rest" ] && [ "$pid" != none ]; then wait_for_rest; fi
if [ "$life" = alive ] && [ -z "$last" ]; then
  section waiting
else
  report
fi
