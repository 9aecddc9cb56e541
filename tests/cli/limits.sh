# labels: hours serial
# Tests limits of control groups, processes and quotas, and disks and folders that disappear in the middle of a job. The
# result is always the right bytes, or the exit code of the manual page with a message that names the place, the old
# output, and nothing left. GPUSORT_SLOW=1: larger inputs in control groups, and limits on CPU time.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
mounts=() groups=()
clean_up() {
  cd /
  for mount in "${mounts[@]}"; do umount -l "$work/$mount" 2>/dev/null || true; done
  for ((i = ${#groups[@]} - 1; i >= 0; --i)); do rmdir "${groups[i]}" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT
skipped() { echo "SKIPPED: $1"; }
is_root() { [ "$(id -u)" = 0 ]; }
slow=false
[ "${GPUSORT_SLOW-}" != 1 ] || slow=true
"$bin/gpusort_gen" --type u64 --bytes 8M --seed 3 in.u64
"$bin/gpusort_gen" --type web-log --bytes 4M --seed 3 in.log
"$bin/gpusort_gen" --type orders-csv --bytes 4M --seed 3 in.csv
"$g" in.u64 want.u64
"$g" in.log want.log
"$g" -k '#1:int' in.csv want.csv
order() { case $1 in u64) ;; log) ;; csv) echo -k '#1:int' ;; esac; }
old_output() { [ "$(cat "$1")" = old ] || fail "a failed job changed its output: $1"; }

# Limits of one process.
right() {
  expect 0 "$g" "$@"
  same "want.${*: -1}" "${*: -1}"
  rm "${*: -1}"
}
limited() {
  local kind
  for kind in u64 log csv; do
    (
      ulimit "$@"
      expect 0 "$g" $(order $kind) in.$kind got.$kind
    )
    same want.$kind got.$kind
    rm got.$kind
  done
}
if sanitized; then
  skipped "sanitizers reserve terabytes of addresses, and need stack: ulimit -d, -v, -s"
else
  limited -d 20000
  if $slow; then
    limited -d 100000
    limited -v 200000
    limited -S -s 128
  fi
fi
if $slow; then limited -l 0; fi
limited -n 20
# SIGXCPU ends the job like other signals. With --resume-dir the job continues, although the kernel sends the signal
# every second.
if $slow; then
  "$bin/gpusort_gen" --type web-log --bytes 100M --seed 4 big.log
  echo old >kept.log
  code=0
  (ulimit -S -t 1; exec "$g" -g --threads 1 big.log kept.log 2>err) || code=$?
  [ $code = 152 ] || fail "exit $code instead of 128 + SIGXCPU: $(cat err)"
  old_output kept.log
  nothing_left
  (ulimit -S -t 1; expect 75 "$g" -g --threads 1 --resume-dir job big.log kept.log)
  says 'stopped by a signal'
  old_output kept.log
  rm -rf job big.log
fi

# Memory and cores of control groups: without options a job uses what its group has, and is not killed.
memory=/sys/fs/cgroup/memory cpu=/sys/fs/cgroup/cpu
if ! is_root || ! mkdir $memory/gpusort-$$ 2>/dev/null; then
  skipped "needs root and version 1 of control groups: memory of a group"
elif sanitized || [ "$(stat -f -c %T .)" = tmpfs ]; then
  rmdir $memory/gpusort-$$
  skipped "a sanitizer's own memory is not planned, and a tmpfs takes the group's: memory of a group"
else
  groups+=($memory/gpusort-$$ $memory/gpusort-$$/step)
  mkdir "${groups[1]}"
  for size in u64 log csv; do
    if $slow; then
      type=$(case $size in u64) echo u64 ;; log) echo web-log ;; csv) echo orders-csv ;; esac)
      "$bin/gpusort_gen" --type "$type" --bytes 200M --seed 5 in.$size
      "$g" --memory 2G $(order $size) in.$size want.$size
    fi
  done
  # The owner of the limit (the job's own group or its parent), and the limit in MiB.
  limits=("parent 64")
  if $slow; then limits+=("own 64" "parent 256"); fi
  for limit in "${limits[@]}"; do
    read -r who size <<<"$limit"
    echo -1 >"${groups[1]}/memory.limit_in_bytes"
    echo -1 >"${groups[0]}/memory.limit_in_bytes"
    if [ $who = own ]; then group=${groups[1]}; else group=${groups[0]}; fi
    echo $((size << 20)) >$group/memory.limit_in_bytes
    for kind in u64 log csv; do
      (
        echo $BASHPID >"${groups[1]}/cgroup.procs"
        # The page cache fills the group when the job begins, and is given back.
        dd if=/dev/zero of=cache bs=1M count=$((size + 8)) 2>/dev/null
        exec "$g" --log-level info $(order $kind) in.$kind got.$kind 2>err
      ) || fail "exit $? of $kind in a group of $size MiB ($who): $(tail -n 2 err)"
      same want.$kind got.$kind
      rm got.$kind
    done
  done
  rm cache
  grep -q 'oom_kill 0' "${groups[1]}/memory.oom_control" || fail "killed: $(cat "${groups[1]}/memory.oom_control")"
  # If an option asks for more memory than there is, the plan uses what there is, and the message names both sizes. -S
  # accepts that silently.
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat in.u64; done >large.u64
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat in.log; done >large.log
  { head -n 1 in.csv; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do tail -n +2 in.csv; done; } >large.csv
  for group in "${groups[@]}"; do echo $((64 << 20)) >$group/memory.limit_in_bytes; done
  for kind in u64 log csv; do
    "$g" --memory 2G $(order $kind) large.$kind want.large.$kind
    for size in 2G 64M; do
      (echo $BASHPID >"${groups[1]}/cgroup.procs"; expect 0 "$g" --memory $size $(order $kind) large.$kind got.large)
      same want.large.$kind got.large
      says "--memory .* is more than this process can have: the control group .*gpusort-$$.* allows 64.0 MiB"
    done
  done
  ln -s "$g" sort
  (echo $BASHPID >"${groups[1]}/cgroup.procs"; expect 0 env LC_ALL=C ./sort -S 2G large.log -o got.large)
  same want.large.log got.large
  [ ! -s err ] || fail "sort says: $(cat err)"
  rm large.* want.large.* got.large sort
fi

# A batch system without control groups says in variables what it granted. The grant bounds the defaults, and the plan
# says so. Values from options stay.
granted() { # granted 'SETTINGS' 'PATTERN' ARGUMENTS
  local settings=$1 pattern=$2
  shift 2
  expect 0 env $settings "$g" --explain "$@" in.u64 got.u64 >plan
  grep -qE "$pattern" plan || fail "$settings: no '$pattern' in $(cat plan)"
}
granted SLURM_MEM_PER_NODE=200 '^memory bound +200.0 MiB by SLURM_MEM_PER_NODE'
granted SLURM_MEM_PER_NODE=200 '^memory +(100.0|9[0-9]\.[0-9]) MiB'
granted 'SLURM_MEM_PER_CPU=50 SLURM_CPUS_ON_NODE=2' '^memory bound +100.0 MiB by SLURM_MEM_PER_CPU'
granted SLURM_CPUS_PER_TASK=1 'CPU, 1 thread$'
granted NSLOTS=1 'CPU, 1 thread$'
granted SLURM_MEM_PER_NODE=200 '^memory +(220.0|21[0-9]\.[0-9]) MiB' --memory 220M
says 'more than this job was granted: 200.0 MiB by SLURM_MEM_PER_NODE'
granted SLURM_CPUS_PER_TASK=1 'CPU, 3 threads$' --threads 3
expect 0 env SLURM_MEM_PER_NODE=64 "$bin/gpusort_task" runs --slice 0/1 --into task --log-level info in.u64
says 'memory is bounded: 64.0 MiB by SLURM_MEM_PER_NODE'
rm -rf task
if ! sanitized; then
  (ulimit -v 300000; expect 0 "$g" --memory 2G in.log got.log)
  same want.log got.log
  says 'ulimit -v or -d allows 293.0 MiB'
  rm got.log
fi
if grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null && is_root && mkdir /sys/fs/cgroup/gpusort-$$ 2>/dev/null; then
  groups+=(/sys/fs/cgroup/gpusort-$$)
  echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || true
  if echo $((64 << 20)) 2>/dev/null >"/sys/fs/cgroup/gpusort-$$/memory.max"; then
    (echo $BASHPID >/sys/fs/cgroup/gpusort-$$/cgroup.procs; exec "$g" in.log got.log) || fail "exit $? in a group of version 2"
    same want.log got.log
  else
    skipped "no limit can be set: memory of a group of version 2"
  fi
else
  skipped "no memory controller in version 2 of control groups (FindMemory's tests have it): memory of a group of version 2"
fi
if is_root && mkdir $cpu/gpusort-$$ 2>/dev/null; then
  groups+=($cpu/gpusort-$$)
  if echo 100000 2>/dev/null >$cpu/gpusort-$$/cpu.cfs_period_us && echo 100000 2>/dev/null >$cpu/gpusort-$$/cpu.cfs_quota_us; then
    (echo $BASHPID >$cpu/gpusort-$$/cgroup.procs; exec "$g" --explain in.u64 got.u64 >plan)
    grep -q 'CPU, 1 thread' plan || fail "a quota of one core: $(cat plan)"
  else
    skipped "the kernel has no CPU quotas (FindCores' tests have them): a quota of a group"
  fi
else
  skipped "needs root and version 1 of control groups: a quota of a group"
fi

# A job that waits in its middle: it has read the first half of its input, which is larger than its memory.
"$bin/gpusort_gen" --type u64 --bytes 8M --seed 3 in.u64
"$g" in.u64 want.u64
first=6000000
begin() {
  mkfifo pipe
  "$g" --memory 4M --batch-bytes 500000 --type u64 --log-level error "$@" 2>err <pipe &
  job=$!
  exec 9>pipe
  head -c $first in.u64 >&9
}
# ends CODE: lets the job end and checks its exit code.
ends() {
  local code=0
  tail -c +$((first + 1)) in.u64 2>/dev/null >&9 || true
  exec 9>&-
  wait $job || code=$?
  rm pipe
  [ $code = "$1" ] || fail "exit $code instead of $1: $(cat err)"
  nothing_left
}
trap '' PIPE
mkdir temp out

# Folders and inputs that are removed, renamed or replaced.
begin --temp-dir temp - out/got.u64
rmdir temp
ends 0
same want.u64 out/got.u64
mkdir temp
begin --temp-dir temp - out/got.u64
mv out moved
ends 0
same want.u64 moved/got.u64
mv moved out
echo old >out/kept.u64
begin --temp-dir temp - out/kept.u64
rm out/kept.u64
ends 0
same want.u64 out/kept.u64
begin --temp-dir temp - out/kept.u64
rm out/kept.u64
mkdir out/kept.u64
ends 4
says 'out/kept.u64.*Is a directory'
begin --temp-dir temp - out/got.u64
rm -r out
ends 4
says 'out/got.u64.*the folder was removed meanwhile'
mkdir out
cp in.u64 second.u64
"$g" --type u64 -o want.two in.u64 in.u64
mkfifo pipe
"$g" --memory 4M --batch-bytes 500000 --type u64 --temp-dir temp -o out/two.u64 pipe second.u64 2>err &
job=$!
exec 9>pipe
head -c $first in.u64 >&9
rm second.u64
tail -c +$((first + 1)) in.u64 >&9
exec 9>&-
wait $job || fail "exit $? when an input was removed: $(cat err)"
same want.two out/two.u64
rm -r pipe out/two.u64 want.two

# Disks that become read-only, disappear, or are filled by other programs.
truncate -s 48M disk
mkdir mnt
if command -v mkfs.ext4 >/dev/null && mkfs.ext4 -q disk && mount -o loop disk mnt 2>/dev/null; then
  mounts+=(mnt)
  again() {
    umount mnt
    e2fsck -fy disk >/dev/null 2>&1 || true
    mount -o loop disk mnt
  }
  echo old >mnt/kept.u64
  sync -f mnt
  begin --temp-dir temp - mnt/kept.u64
  mount -o remount,abort mnt
  ends 4
  says 'mnt/kept.u64.*read-only.*dmesg'
  again
  old_output mnt/kept.u64
  echo old >out/kept.u64
  begin --temp-dir mnt - out/kept.u64
  mount -o remount,abort mnt
  ends 4
  says 'temporary file in mnt.*read-only.*dmesg'
  old_output out/kept.u64
  again
  # Unmounted: open files stay usable.
  begin --temp-dir mnt - out/got.u64
  umount -l mnt
  ends 0
  same want.u64 out/got.u64
  mount -o loop disk mnt
  begin --temp-dir temp - mnt/kept.u64
  umount -l mnt
  ends 0
  [ -z "$(ls -A mnt)" ] || fail "written below the mount point: $(ls -A mnt)"
  mount -o loop disk mnt
  same want.u64 mnt/kept.u64
  umount mnt
else
  skipped "mounts are not allowed here, or no mkfs.ext4: disks that become read-only or are unmounted"
fi
if mount -t tmpfs -o size=20m tmpfs mnt 2>/dev/null; then
  mounts+=(mnt)
  echo old >mnt/kept.u64
  begin --temp-dir temp - mnt/kept.u64
  head -c 17M /dev/zero >mnt/fill
  ends 5
  says 'mnt/kept.u64.*free in mnt'
  old_output mnt/kept.u64
  rm mnt/fill
  echo old >out/kept.u64
  begin --temp-dir mnt - out/kept.u64
  head -c 30M /dev/zero >mnt/fill 2>/dev/null || true
  ends 5
  says 'temporary.*free in mnt'
  old_output out/kept.u64
  umount mnt
else
  skipped "mounts are not allowed here: disks that others fill"
fi

# A quota. ext4 needs a kernel with quotas; btrfs needs only its tools.
truncate -s 128M disk
if command -v mkfs.btrfs >/dev/null && mkfs.btrfs -q -f disk >/dev/null && mount -o loop disk mnt 2>/dev/null &&
  btrfs -q quota enable mnt && btrfs -q subvolume create mnt/sub && btrfs -q qgroup limit 5M mnt/sub; then
  mounts+=(mnt)
  echo old >mnt/sub/kept.u64
  sync -f mnt
  expect 5 "$g" in.u64 mnt/sub/kept.u64
  says 'mnt/sub/kept.u64.*a disk quota is used up'
  old_output mnt/sub/kept.u64
  echo old >out/kept.u64
  expect 5 "$g" --memory 4M --batch-bytes 500000 --temp-dir mnt/sub in.u64 out/kept.u64
  says 'temporary runs.*mnt/sub.*a disk quota is used up'
  old_output out/kept.u64
  resumed=("$g" --memory 4M --batch-bytes 500000 --resume-dir mnt/sub/job in.u64 out/kept.u64)
  expect 5 "${resumed[@]}"
  says 'a disk quota is used up'
  says 'kept in mnt/sub/job'
  old_output out/kept.u64
  btrfs -q qgroup limit none mnt/sub
  expect 0 "${resumed[@]}"
  same want.u64 out/kept.u64
  [ ! -e mnt/sub/job ] || fail "left: $(ls -A mnt/sub/job)"
  umount mnt
else
  skipped "no btrfs, or its tools: quotas"
  umount mnt 2>/dev/null || true
fi
nothing_left
echo "limits: ok"
