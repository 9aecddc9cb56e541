# labels: hours
# Tests gpusort-slurm with a real slurmctld and four nodes, each a slurmd in its own network namespace. Everything is in
# namespaces that end with this script, so that no daemon, device or mount is left. GPUSORT_FEW: without the cases that
# take a minute.
skip() {
  if [ -n "${CI-}" ]; then echo "FAIL: slurm: $*" >&2 && exit 1; fi
  echo "SKIPPED: slurm: $*"
  exit 77
}
if [ $$ != 1 ]; then
  PATH=$PATH:/usr/sbin:/sbin
  for program in slurmctld slurmd sbatch munged ip unshare; do
    [ -n "$(command -v $program)" ] || skip "there is no $program (tools/install-deps --tests)"
  done
  inside=(setpriv --pdeathsig KILL unshare --uts --net --mount --pid --fork --mount-proc --kill-child)
  "${inside[@]}" true 2>/dev/null || skip "this user may make no namespaces"
  . "$2/tests/cli/common.sh.inc"
  TMPDIR=$work "${inside[@]}" bash "$2/tests/cluster/slurm.sh" "$@" &
  trap 'kill -KILL $! 2>/dev/null || true; until rm -rf "$work" 2>/dev/null; do sleep 0.1; done' EXIT
  wait $!
  exit
fi
. "$2/tests/cli/common.sh.inc"
trap - EXIT  # the outer folder is removed when no daemon writes to it any more
PATH=$bin:$PATH  # the driver reads the help of these programs

# The cluster.
ctl=10.77.0.1
export SLURM_CONF=$work/slurm.conf
mkdir slurm munge
chmod 700 munge
head -c 128 /dev/urandom >munge/key
chmod 400 munge/key
cat >cgroup.conf <<END
CgroupPlugin=cgroup/v1
IgnoreSystemd=yes
END
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$(hostname)($ctl)
SlurmUser=root
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/slurm
SlurmdSpoolDir=$work/slurm/spool-%n
SlurmctldPidFile=$work/slurm/ctl.pid
SlurmdPidFile=$work/slurm/%n.pid
SlurmctldLogFile=$work/slurm/ctl.log
SlurmdLogFile=$work/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1
JobRequeue=0
ReturnToService=2
SlurmdTimeout=3
MessageTimeout=5
KillWait=2
NodeName=n1 NodeAddr=10.77.1.2 CPUs=8 RealMemory=1000
NodeName=n2 NodeAddr=10.77.2.2 CPUs=8 RealMemory=1000
NodeName=n3 NodeAddr=10.77.3.2 CPUs=8 RealMemory=1000
NodeName=n4 NodeAddr=10.77.4.2 CPUs=8 RealMemory=1000
PartitionName=safe Nodes=n[1-2] Default=YES LLN=YES
PartitionName=risky Nodes=n[3-4] LLN=YES
END
ip link set lo up
ip address add $ctl/32 dev lo
munged --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed"
declare -A net
for n in 1 2 3 4; do
  unshare --net sleep infinity &
  net[n$n]=/proc/$!/ns/net
  until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
  ip link add n$n type veth peer name uplink netns $!
  ip address add 10.77.$n.1/24 dev n$n
  ip link set n$n up
  on=(nsenter --net="${net[n$n]}")
  "${on[@]}" ip address add 10.77.$n.2/24 dev uplink
  "${on[@]}" ip link set lo up
  "${on[@]}" ip link set uplink up
  "${on[@]}" ip route add default via 10.77.$n.1
  mkdir slurm/spool-n$n
done
start_node() { nsenter --net="${net[$1]}" slurmd -N "$1"; }
# soon SECONDS COMMAND...: waits until the command succeeds. A busy machine gets ten times as many seconds.
soon() {
  local last=$((SECONDS + 10 * $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < last)) || fail "not in time: $*"
    sleep 0.2
  done
}
all_idle() { [ "$(sinfo -h -o %T | sort -u)" = idle ]; }
for n in 1 2 3 4; do start_node n$n; done
slurmctld -i
soon 60 all_idle
# Slurm repeats a task after two minutes. This loop repeats it after three seconds (at once the node would refuse it).
declare -A hurried=()
while sleep 0.3; do
  for task in $(squeue -h -r -t PD -o '%r %i' | sed -n 's/^BeginTime //p'); do
    ((SECONDS > ${hurried[$task]:--9} + 5)) || continue
    hurried[$task]=$SECONDS
    scontrol update JobId="$task" StartTime=now+3
  done
done 2>/dev/null &

# A gpusort_task that waits while the file hold-TASK exists, and is killed once if KILL-TASK or TERM-TASK exists.
cat >gpusort_task <<'END'
#!/bin/bash
task=$1-${3%/*}
while [ -e "$CASE/hold-$task" ]; do sleep 0.1; done
for signal in KILL TERM; do
  if rm "$CASE/$signal-$task" 2>/dev/null; then kill -$signal $$; fi
done
exec gpusort_task "$@"
END
chmod +x gpusort_task
slurm() { "$src/tools/cluster/gpusort-slurm" --task "$work/gpusort_task" "$@"; }
numbers() {
  "$bin/gpusort_gen" --type u64 --bytes 2M --seed 7 in.u64
  "$bin/gpusort" in.u64 want.u64
}
job() { slurm --type u64 --slices 3 --parts 4 in.u64 out.u64 "$@"; }
status_says() {
  job --status >status 2>err || true
  grep -q -- "$1" status err
}

# A whole job, with the driver's own numbers of slices and parts.
case_whole() {
  numbers
  expect 2 slurm --wait --type u46 in.u64 out.u64
  says "gpusort: error: --type: 'u46'"
  mkdir mine
  touch mine/file
  expect 2 slurm --wait --dir mine in.u64 out.u64
  says 'is not empty'
  expect 2 slurm --status out.u64
  expect 0 slurm --wait in.u64 out.u64
  same want.u64 out.u64
  nothing_left
}

# Columns; names with a meaning for the shell, Slurm and sbatch; options after names; two inputs.
case_table() {
  local in='in %a "1".csv' out=$'it\'s $j\n%j \xff.csv'
  "$bin/gpusort_gen" --type orders-csv --bytes 2M --seed 7 "$in"
  "$bin/gpusort_gen" --type orders-csv --bytes 1M --seed 8 2.csv
  "$bin/gpusort" -k city -k amount:decimal:desc "$in" 2.csv -o want.csv
  expect 0 slurm "$in" 2.csv "$out" -k city --key=amount:decimal:desc -S 64M --slices 5 --parts 3 --wait --time=5 \
    --sbatch '--nice=1 --comment "a b"'
  same want.csv "$out"
  nothing_left
}

# A dump, whose statements keep their numbers of rows.
case_dump() {
  { echo '-- MySQL dump 10.13'; echo 'CREATE TABLE `t` (`id` int PRIMARY KEY, `s` text);'
    seq 40000 | awk '{ printf "%s(%d,\047it\134\047s;%d\047)%s", NR % 100 == 1 ? "INSERT INTO `t` VALUES " : ",", $1 * 7919 % 100003, $1,
      NR % 100 ? "" : ";\n" }'; } >in.sql
  "$bin/gpusort" in.sql want.sql
  ! cmp -s in.sql want.sql || fail "the rows are in order already"
  expect 0 slurm --wait --slices 4 --parts 3 in.sql out.sql
  same want.sql out.sql
  nothing_left
}

# A file for each part, names of inputs from a file, several letters in one word.
case_folder() {
  for seed in 1 2; do "$bin/gpusort_gen" --type web-log --bytes 1M --seed $seed $seed.log; done
  printf '1.log\0002.log\000' >names
  "$bin/gpusort" -u -k1,1 1.log 2.log -o want
  expect 0 slurm -uk1,1 --files0-from names -o out/ --slices 2 --parts 3 --wait
  cat out/part-0000[012]-of-00003 >got
  same want got
  nothing_left
}

# Stopped in the middle, cancelled, replaced by another job, and continued to the end.
case_again() {
  local runs
  numbers
  touch hold-runs-2
  expect 0 job >first
  soon 60 status_says 'runs: 2 of 3 done, 1 running (n'
  grep -q 'part: 0 of 4 done, 4 waiting (Dependency)' status || fail "$(cat status)"
  expect 0 job >second
  grep -q 'on its way' second || fail "$(cat second)"
  expect 0 job --cancel
  soon 60 status_says 'stopped with 1 of 3 runs not done'
  expect 75 job --status >/dev/null
  says 'CANCELLED'
  runs=$(stat -c '%i %y' .gpusort-out.u64.slurm/run-0000[01])
  rm hold-runs-2
  expect 2 job -r
  says 'options differ'
  expect 0 job >third
  grep -q 'runs, 1 of 3$' third || fail "$(cat third)"
  soon 60 status_says 'prove: 1 of 1'
  same want.u64 out.u64
  [ ! -e .gpusort-out.u64.slurm/run-00000 ] || fail 'runs are left'
  expect 0 job --wait >fourth
  grep -q 'it is done' fourth || fail "$(cat fourth)"
  nothing_left
}

# One driver at a time submits or cancels a job. Any number of drivers may wait.
case_twice() {
  local waits
  numbers
  mkdir .gpusort-out.u64.slurm
  exec {held}>.gpusort-out.u64.slurm/driver.lock
  echo 'somebody' >&$held
  flock $held
  expect 2 job --wait
  says 'another driver is at work there: somebody'
  exec {held}>&-
  touch hold-part-1
  job --wait >first 2>&1 &
  waits=($!)
  soon 60 status_says 'part: 3 of 4 done, 1 running (n'
  job --wait >second 2>&1 &
  waits+=($!)
  soon 60 grep 'on its way' second
  rm hold-part-1
  for wait in "${waits[@]}"; do wait $wait || fail "$(cat first second)"; done
  same want.u64 out.u64
  nothing_left
}

# Killed tasks are submitted again.
case_killed() {
  numbers
  touch KILL-runs-1 KILL-part-2
  expect 0 job --wait
  same want.u64 out.u64
  [ ! -e KILL-runs-1 ] && [ ! -e KILL-part-2 ] || fail 'nothing was killed'
}

# Tasks that Slurm ends before their script ends are not submitted again.
case_ended() {
  numbers
  touch TERM-runs-1
  expect 75 job --wait
  says 'stopped with 1 of 3 runs not done'
  expect 0 job --wait
  same want.u64 out.u64
}

# A task that fails in every try ends the job, because the work of the other tasks would be useless.
case_wrong() {
  "$bin/gpusort_gen" --type orders-csv --bytes 2M --seed 7 good.csv
  awk -F, -v OFS=, 'NR == 15000 { $1 = "abc" } 1' good.csv >in.csv
  touch hold-runs-0
  expect 3 slurm --strict -k id:int --slices 2 --parts 2 --wait in.csv out.csv
  says 'error: runs-1: exit 3 (bad input) on n'
  says "  | .*'abc'"
  [ ! -e out.csv ] || fail 'there is an output'
  expect 3 slurm --status out.csv
}

# A full disk also ends the job. Not even a log can be written there.
case_full() {
  numbers
  mkdir small
  mount -t tmpfs -o size=1M none small
  expect 5 job --dir "$PWD/small/job" --tries 1 --wait
  says 'runs-[0-9]: exit 5 (no space)'
}

# The daemon of a node dies while tasks run there. The other node repeats the tasks while they still run on the first.
case_node() {
  local lost
  numbers
  touch hold-runs-{0..3}
  expect 0 job --slices 4 --partition=risky >/dev/null
  soon 60 status_says 'runs: 0 of 4 done, 4 running (n3, n4)'
  lost=$(squeue -h -r -t R -w n4 -o %K | sed -n 1p)
  kill -9 "$(cat "$work/slurm/n4.pid")"
  soon 60 status_says 'runs: 0 of 4 done, 4 running (n3)'
  rm hold-*
  soon 60 status_says 'prove: 1 of 1'
  same want.u64 out.u64
  grep -q "runs-$lost: job .* on n3, try 2" ".gpusort-out.u64.slurm/log/runs-$lost.log" || fail 'that was no second try'
}

# A job ends at its time limit. With a longer limit it continues.
case_time() {
  numbers
  touch hold-runs-1
  expect 75 job --time=1 --wait
  says 'DUE TO TIME LIMIT'
  rm hold-runs-1
  expect 0 job --time=9 --wait >again
  grep -q 'runs, 1 of 3$' again || fail "$(cat again)"
  same want.u64 out.u64
}

# A whole node fails in the middle of merging, and slurmctld fails and comes back.
case_lost() {
  start_node n4
  soon 60 all_idle
  numbers
  touch hold-part-{0..3}
  expect 0 job --partition risky >/dev/null
  soon 60 status_says 'part: 0 of 4 done, 4 running (n3, n4)'
  job --wait 2>err >said &
  soon 60 grep 'on its way' said
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/ns/net")" = "$(readlink "${net[n4]}")" ] && [ "$(cat "$process/comm")" != sleep ]; then
      kill -9 "${process#/proc/}" || true  # it may have ended
    fi
  done
  kill "$(cat "$work/slurm/ctl.pid")"
  soon 60 grep 'waiting for it' err
  slurmctld
  soon 60 status_says 'part: 0 of 4 done, 4 running (n3)'
  rm hold-*
  wait $! || fail "$(cat err)"
  same want.u64 out.u64
}

# The cases of one line run at the same time.
cases='whole table dump folder again twice killed ended wrong full node'
few || cases+='
time lost'
while read -r -a names; do
  declare -A running=()
  for name in "${names[@]}"; do
    mkdir "$name"
    (
      cd "$name"
      export CASE=$PWD
      "case_$name"
    ) &
    running[$name]=$!
  done
  for name in "${!running[@]}"; do
    wait "${running[$name]}" || fail "case $name ($(tail -n 20 "$work/slurm/ctl.log"))"
  done
done <<<"$cases"
