#!/bin/busybox sh
# Process 1 of the virtual machine: runs agents with limits, has commands try to exceed them, and prints what came of it, one line of
# "RESULT|setting|attempt|exit code|seconds|output" each.
export PATH=/bin:/usr/bin

if [ ! -e /moved ]; then
  /bin/busybox mkdir -p /proc /new
  /bin/busybox --install -s /bin
  # bubblewrap can't leave the file system that the kernel begins with (pivot_root(2)).
  mount -t tmpfs -o mode=755 tmpfs /new
  for directory in bin etc lib lib64 usr; do [ -e /$directory ] && cp -a /$directory /new/; done
  cp /init /new/init
  touch /new/moved
  exec switch_root /new /init
fi

mkdir -p /proc /sys /dev /tmp /run /work /home/user /root /state /var/tmp
chmod 1777 /tmp /work
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
chown user /home/user
ifconfig lo 127.0.0.1 up
echo 3 > /proc/sys/kernel/printk

cgroups=/sys/fs/cgroup
api=http://127.0.0.1:7000
cat > /limits.json <<'EOF'
{ "extends": ["PRESET"], "limits": { "memory": "64 MiB", "cpu": 0.25, "processes": 24 } }
EOF

# agent SETTING CGROUP USER PRESET: starts one; its process id is $agent.
agent() {
  sed "s/PRESET/$4/" /limits.json > /policy.json
  state=/state/$3-$4
  work=/work/$3
  mkdir -p $state $work && chown $3 $state $work
  rm -f /ready /log
  command="echo \$\$ > /start; exec env -i PATH=$PATH HOME=$5 SANDPIPE_ADMIN_TOKEN=vm-token-vm-token-vm-token sandpipe-agent --listen 127.0.0.1:7000 --workspace $work --state-dir $state --policy /policy.json"
  : > /start; : > /ready; : > /log; chmod 666 /start /ready /log
  sh -c "echo \$\$ > $2/cgroup.procs; exec su -s /bin/sh $3 -c '$command' > /ready 2> /log" &
  starter=$!
  until [ -s /ready ]; do
    kill -0 $starter 2> /dev/null || break
    usleep 100000
  done
  agent=$(cat /start)
}

# finish SIGNAL: ends it, and says which cgroups are left.
finish() {
  kill -$1 $agent
  while kill -0 $agent 2> /dev/null; do usleep 100000; done
  wait $starter
}

# result SETTING ATTEMPT CODE SECONDS TEXT
result() {
  echo "RESULT|$1|$2|$3|$4|$(printf %s "$5" | tr '\n|' '  ')"
}

left() {
  # What a box has of its own is gone a moment after it was killed.
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    found=$(find $cgroups -name 'sandpipe-*')
    [ -z "$found" ] && break
    usleep 100000
  done
  result "$1" "$2" $([ -z "$found" ]; echo $?) 0 "$found"
}

# attempt SETTING NAME SCRIPT [FIELDS]: what is created has these fields more.
attempt() {
  begun=$(cut -d' ' -f1 /proc/uptime)
  # The scripts have no quotes and no backslashes.
  id=$(wget -q -O - --header 'Authorization: Bearer vm-token-vm-token-vm-token' --header 'Content-Type: application/json' \
    --post-data "{\"command\":\"/bin/sh\",\"args\":[\"-c\",\"$3\"],\"autostart\":true$4}" $api/api/v1/execs | sed 's/.*"id":"\([^"]*\)".*/\1/')
  last=$id
  wget -q -O /output --header 'Authorization: Bearer vm-token-vm-token-vm-token' $api/api/v1/stream/execs/$id/io
  ended=$(cut -d' ' -f1 /proc/uptime)
  code=$(grep -o '"exitCode":-*[0-9]*' /output | tail -1 | cut -d: -f2)
  result "$1" "$2" "${code:-none}" $(echo "$ended $begun" | awk '{ print $1 - $2 }') "$(cat /output)"
}

# stop: kills what the last command has left.
stop() {
  wget -q -O /dev/null --header 'Authorization: Bearer vm-token-vm-token-vm-token' --header 'Content-Type: application/json' \
    --post-data '{"signal":"SIGKILL"}' $api/api/v1/execs/$last/signal
}

# empty CGROUP: waits until nothing is left of the commands in it.
empty() {
  current=$(find $1 -path '*sandpipe-limits-*/policy-0/pids.current')
  for _ in $(seq 300); do
    [ "$(cat $current)" = 0 ] && return
    usleep 100000
  done
}

# attempts SETTING CGROUP PRESET
attempts() {
  attempt "$1" "32 MiB" 'dd if=/dev/zero of=/dev/null bs=32M count=1 2> /dev/null && echo done'
  attempt "$1" "256 MiB in one process" 'dd if=/dev/zero of=/dev/null bs=256M count=1 2> /dev/null; echo survived'
  attempt "$1" "256 MiB in a child" '(dd if=/dev/zero of=/dev/null bs=256M count=1 2> /dev/null; echo survived) & wait; echo survived'
  attempt "$1" "256 MiB of files in memory" 'dd if=/dev/zero of=/tmp/large bs=1M count=256 2> /dev/null; echo survived'
  # A policy with walls has a /tmp of its own.
  attempt "$1" "to remove those files" 'rm -f /tmp/large; echo done'
  attempt "$1" "8 processes" 'i=0; while [ $i -lt 8 ]; do sleep 1 & i=$((i+1)); done; wait; echo done'
  attempt "$1" "100 processes" 'i=0; while [ $i -lt 100 ]; do sleep 2 & i=$((i+1)); done; echo survived'
  empty "$2"
  attempt "$1" "a fork bomb" 'b() { b | b & b; }; b; echo survived'
  stop
  empty "$2"
  usage=$(find $2 -path '*sandpipe-limits-*/policy-0/cpu.stat')
  before=$(awk '/usage_usec/ { print $2 }' $usage)
  attempt "$1" "a busy loop" 'while :; do :; done & sleep 6; kill $!; echo done'
  after=$(awk '/usage_usec/ { print $2 }' $usage)
  result "$1" "processor time, milliseconds" $(((after - before) / 1000)) 0 ""
  # A policy within that of the agent, with half of its limits.
  narrower=',"policy":"{ \"extends\": [\"'$3'\"], \"limits\": { \"memory\": \"32 MiB\", \"cpu\": 0.25, \"processes\": 12 } }"'
  attempt "$1" "16 MiB, narrower" 'dd if=/dev/zero of=/dev/null bs=16M count=1 2> /dev/null && echo done' "$narrower"
  attempt "$1" "48 MiB, narrower" 'dd if=/dev/zero of=/dev/null bs=48M count=1 2> /dev/null; echo survived' "$narrower"
  attempt "$1" "16 processes, narrower" 'i=0; while [ $i -lt 16 ]; do sleep 2 & i=$((i+1)); done; echo survived' "$narrower"
  empty "$2"
  # What the wider one's commands have taken the narrower one's can't have.
  attempt "$1" "18 processes that stay" 'i=0; while [ $i -lt 18 ]; do sleep 600 > /dev/null 2>&1 & i=$((i+1)); done; echo done'
  wider=$last
  attempt "$1" "10 processes, narrower, beside those" 'i=0; while [ $i -lt 10 ]; do sleep 2 & i=$((i+1)); done; echo survived' "$narrower"
  last=$wider
  stop
  empty "$2"
  attempt "$1" "the next command" 'echo done'
}

# setting NAME CGROUP USER PRESET HOME
setting() {
  agent "$@"
  if [ ! -s /ready ]; then
    result "$1" "start" 1 0 "$(cat /log)"
    return
  fi
  result "$1" "start" 0 0 ""
  attempts "$1" "$2" "$4"
  finish TERM
  left "$1" "left when it was stopped"
  # Elsewhere nothing can be started in a cgroup that has been divided: it is the service manager that removes what is left.
  [ $2 = $cgroups ] || return
  agent "$@"
  attempt "$1" "a command of the next agent" 'sleep 600 & echo done'
  finish KILL
  agent "$@"
  finish TERM
  left "$1" "left when it was killed, after the next"
}

mkdir $cgroups/service $cgroups/user $cgroups/shared $cgroups/without
setting "root, open, root of all cgroups" $cgroups root open /root
setting "root, workspace, root of all cgroups" $cgroups root workspace /root
echo "+cpu +memory +pids" > $cgroups/cgroup.subtree_control
chown user $cgroups/user $cgroups/user/cgroup.procs $cgroups/user/cgroup.subtree_control
setting "root, workspace, a service" $cgroups/service root workspace /root
setting "user, open, delegated" $cgroups/user user open /home/user
setting "user, workspace, delegated" $cgroups/user user workspace /home/user
setting "user, workspace, not delegated" $cgroups/without user workspace /home/user
(echo 0 > $cgroups/shared/cgroup.procs; exec sleep 100000) &
setting "root, workspace, a cgroup with others" $cgroups/shared root workspace /root
echo "RESULT|end"
poweroff -f
