# labels: any_build hours first
# Tests --resume-dir: jobs that are killed, are stopped, run out of space or are started twice, and continue with the
# same command. GPUSORT_KILLS is the number of kills to survive, at random times. GPUSORT_SEED chooses the times.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
kills=${GPUSORT_KILLS:-$(few && echo 21 || echo 49)}
if sanitized; then kills=12; fi
RANDOM=${GPUSORT_SEED:-$$}
echo "resume: GPUSORT_SEED=${GPUSORT_SEED:-$$}"
survived=0

"$bin/gpusort_gen" --type u64 --bytes 24M --seed 3 in.u64
"$bin/gpusort_gen" --type web-log --bytes 8M --seed 3 in.log
"$bin/gpusort_gen" --type orders-csv --bytes 6M --seed 3 in.csv
for i in 1 2 3; do "$bin/gpusort_gen" --type web-log --bytes 2M --seed $i in.part$i; done

# The command that is killed and given again, with other memory and threads each time. `before=exec job ... &`: then $!
# is the program itself, not a shell that may be killed just before it starts the program.
round=0
inputs() { if [ "$1" = part ]; then echo in.part1 in.part2 in.part3; else echo "in.$1"; fi; }
job() {
  local name=$1 memory=(${memories:-16M 12M 24M}) threads=(2 1 4) checkpoint=(3M 1G 1M 2500001)
  shift
  ${before-} "$g" --resume-dir job --memory "${memory[round % 3]}" --threads "${threads[round % 2]}" --log-level warn \
    --checkpoint "${span:-${checkpoint[round % 4]}}" "$@" -o "out.$name" $(inputs "$name")
}
done_right() {
  same "want.$1" "out.$1"
  rm "out.$1"
}
# killed NAME OPTION...: kills the job at random, again and again, every third time by SIGTERM, and then lets it end.
# The bytes must be those of a job in memory, kept files are never reported as damaged, and nothing is left.
killed() {
  local name=$1 left=$(((kills + kinds - 1) / kinds)) code seconds signal
  "$g" "${@:2}" -o "want.$name" $(inputs "$name")
  local begin=$EPOCHREALTIME
  expect 0 job "$@"
  seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
  done_right "$name"
  while ((left > 0)); do
    round=$((round + 1))
    before=exec job "$@" 2>err &
    local pid=$! random=$RANDOM
    signal=KILL
    [ $((round % 3)) != 0 ] || signal=TERM
    sleep "$(awk -v s="$seconds" -v r=$random 'BEGIN { print 1.2 * s * r / 32768 }')"
    kill -$signal $pid 2>/dev/null || true
    code=0
    wait $pid 2>/dev/null || code=$?
    [ $code = 0 ] || [ $code = 137 ] || [ $code = 75 ] || [ $code = 143 ] || fail "exit $code of $*: $(cat err)"
    ! grep -q 'suspect\|damaged' err || fail "a stop left a mess: $(cat err)"
    if [ $code != 0 ]; then
      left=$((left - 1))
      survived=$((survived + 1))
    fi
    if [ $code = 0 ]; then
      done_right "$name"
      [ ! -e job ] || fail "a job that is done left $(ls -A job)"
    elif [ -e "out.$name" ]; then
      same "want.$name" "out.$name"  # killed after the last rename, which the next job must notice
    fi
  done
  expect 0 job "$@"
  done_right "$name"
  [ ! -e job ] || fail "a job that is done left $(ls -A job)"
  nothing_left
}
kinds=7
killed u64 --type u64 --compress-temp numbers
killed log -k7,7
killed log -k4,4 --batch-bytes 1M --fan-in 3
killed log -u -r --compress-temp zst --temp-dir .
memories='28M 32M 48M' killed log --compress zst
killed csv -k '#2:text' -k '#1:int:desc'
killed part -s -k1,1
echo "resume: $survived kills survived"

# The job is killed at every sync: data before the sync count, data after it need not.
if ! sanitized && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  "$g" --type u64 in.u64 want.u64
  for round in 1 2 3 4 5 6 7 8; do
    code=0
    { strace -f -o /dev/null -e trace=fsync -e inject=fsync:signal=KILL:when=$((round % 5 + 2)) "$g" --resume-dir job \
      --memory 16M --threads 2 --log-level error --type u64 in.u64 out.u64 2>err; } 2>/dev/null || code=$?
    [ $code = 137 ] || [ $code = 0 ] || fail "exit $code at a sync: $(cat err)"
  done
  expect 0 job u64 --type u64
  done_right u64
  # A signal arrives at every opening of the input, at first before there is a job.
  "$g" -k '#1:int' in.csv want.csv
  for n in 1 2 3 4; do
    code=0
    { strace -f -o /dev/null -P "$PWD/in.csv" -e trace=openat -e inject=openat:signal=TERM:when=$n "$g" \
      --resume-dir job --log-level error -k '#1:int' "$PWD/in.csv" out.csv 2>err; } 2>/dev/null || code=$?
    [ $code = 75 ] || { [ $code = 0 ] && rm out.csv; } || fail "exit $code at a signal: $(cat err)"
  done
  rm -rf job
else
  echo "SKIPPED: no strace, or a sanitizer that cannot be traced: kills at syncs"
fi

# Starts a job that stands still with some of its runs: other jobs are refused with a message. Sets `running` and
# `waiting`.
stop_with_runs() {
  local try
  for try in {1..50}; do
    before=exec job "$@" --batch-bytes 1M 2>stopped &
    waiting=$!
    while kill -0 $waiting 2>/dev/null; do
      "$g" --resume-dir job --status >status 2>/dev/null || true
      running=$(sed -n 's/^state  *running: process \([0-9]*\) .*/\1/p' status)
      if [ -n "$running" ] && grep -q 'kept  *[1-9]' status && stand_still "$running"; then
        "$g" --resume-dir job --status >status
        if grep -q 'form runs' status; then return; fi
        kill -CONT "$running" 2>/dev/null || true
        break
      fi
    done
    wait $waiting || fail "exit $? of $*: $(cat stopped)"
    rm -f "out.$1"
  done
  fail "a job was never seen with a run ($try)"
}
"$g" --type u64 in.u64 want.u64
stop_with_runs u64 --type u64
expect 2 job u64 --type u64
says "another job has it: process $running on"
for word in 'in.u64 to out.u64' "running: process $running" 'form runs' 'of the input' 'attempts  *1'; do
  grep -q "$word" status || fail "--status does not say '$word': $(cat status)"
done
# Stopped by a signal: exit 75, and a message that says what to do.
kill -TERM "$running"
kill -CONT "$running"
code=0
wait $waiting || code=$?
[ $code = 75 ] || fail "exit $code instead of 75 at SIGTERM: $(cat stopped)"
grep -q 'kept in job: .*The same command continues' stopped || fail "SIGTERM says: $(cat stopped)"
[ ! -e out.u64 ] || fail "a stopped job has an output"
grep -q '^state  *stopped' <("$g" --resume-dir job --status) || fail "--status of a stopped job"
[ "$(stat -c %a job)" = 700 ] || fail "the mode of the folder is $(stat -c %a job)"
[ -z "$(find job -type f ! -perm 600)" ] || fail "modes of files: $(ls -l job)"
# A different job is refused, and the message names the first difference.
expect 2 job u64 --type u64 -r
says "--reverse was not given, and is now given"
expect 2 job u64 --type i64
says "--type was 'u64', and is now 'i64'"
expect 2 "$g" --resume-dir job --type u64 in.u64 other.u64
says "the output was '.*out.u64', and is now '.*other.u64'"
cp -p in.u64 same.u64
touch in.u64
expect 2 job u64 --type u64
says 'the time of the last change of in.u64'
touch -r same.u64 in.u64
rm same.u64
# Damage is found.
cp -pr job whole
sed -i '2s/pid/Pid/' job/gpusort.manifest
expect 8 job u64 --type u64
says 'gpusort.manifest: line 2: it is damaged'
cp -p whole/gpusort.manifest job/
truncate -s 5000 job/gpusort.runs
expect 8 job u64 --type u64
says 'gpusort.runs: the file ends at'
cp -p whole/gpusort.runs job/
# Damages all bytes except those of the indexes: the places of the blocks of a kept run depend on chance, and so does
# the choice of kept runs.
python3 - <<'PY'
import json
lines = [json.loads(line) for line in open("job/gpusort.manifest")]
block = lines[0]["job"]["block_bytes"]
indexes = {at for line in lines if "run" in line for _, at, _ in line["run"]["index"]}
with open("job/gpusort.runs", "r+b") as file:
    for at in range(0, file.seek(0, 2), block):
        if at not in indexes:
            file.seek(at + 100)
            byte = file.read(1) or b"x"
            file.seek(at + 100)
            file.write(bytes([byte[0] ^ 1]))
PY
expect 8 job u64 --type u64
says 'job/gpusort.runs at [0-9]*: the checksum'
cp -p whole/* job/
rm -r whole
# The job continues: it reads only the rest of the input.
expect 0 job u64 --type u64 --stats stats.json --keep-resume-dir
done_right u64
python3 - <<'PY'
import json
s = json.load(open("stats.json"))
first, *rest, last = s["attempts"]
assert s["resumed"] == len(s["attempts"]) - 1 >= 1, s["attempts"]
assert first["runs_made"] >= 1 and last["runs_kept"] >= first["runs_made"], s["attempts"]
assert sum(a["bytes_read"] for a in s["attempts"]) == 24 << 20, s["attempts"]
assert s["records_in"] == s["records_out"] == 3 << 20
PY
grep -q '^state  *done' <("$g" --resume-dir job --status) || fail "--status of a job that is done"
expect 0 job u64 --type u64
done_right u64
[ ! -e job ] || fail "--keep-resume-dir holds for later jobs"
expect 2 "$g" --resume-dir job --status
says 'no such folder'

# A job that is stopped while it writes the output continues with what is on the disk. Also after a kill, and with -u
# and keys. stop_in_merge SIGNAL NAME OPTION...: sets `code`.
stop_in_merge() {
  local signal=$1 try pid
  shift
  for try in {1..50}; do
    before=exec span=1M job "$@" 2>err &
    waiting=$!
    while kill -0 $waiting 2>/dev/null; do
      "$g" --resume-dir job --status >status 2>/dev/null || true
      pid=$(sed -n 's/^state  *running: process \([0-9]*\) .*/\1/p' status)
      if [ -n "$pid" ] && grep -q 'of the output' status && stand_still "$pid"; then
        if [ -n "$(find . -maxdepth 1 -name '.gpusort-*.partial')" ]; then
          kill -"$signal" "$pid"
          kill -CONT "$pid" 2>/dev/null || true
          code=0
          wait $waiting 2>/dev/null || code=$?
          [ $code = 0 ] || return 0
          done_right "$1"  # the job was past the last place at which it can stop
          continue 2
        fi
        kill -CONT "$pid" 2>/dev/null || true  # the job may have ended
      fi
    done
    wait $waiting || fail "exit $? of $*: $(cat err)"
    done_right "$1"
  done
  fail "a job was never seen while it wrote the output: $*"
}
set -f
for what in 'TERM u64 --type u64' 'KILL log -u -k7,7' 'TERM csv -k #2:text'; do
  read -r signal name options <<<"$what"
  "$g" $options "in.$name" "want.$name"
  stop_in_merge "$signal" "$name" $options
  if [ "$signal" = TERM ]; then
    [ "$code" = 75 ] || fail "exit $code of $what: $(cat err)"
    grep -q 'and [1-9].* of the output' <("$g" --resume-dir job --status) || fail "--status: $("$g" --resume-dir job --status)"
    partial=$(find . -maxdepth 1 -name '.gpusort-*.partial' -printf %s)
    noted=$(sed -n 's/.*"output_bytes":\([0-9]*\).*/\1/p' job/gpusort.manifest | tail -n 1)
    [ "$noted" -gt 0 ] && [ "${partial:-0}" -ge "$noted" ] ||
      fail "of the output are kept ${partial:-no} bytes where ${noted:-no} are noted"
  fi
  expect 0 job "$name" $options --log-file log.txt --verify-output
  done_right "$name"
  grep -q 'the output continues at [1-9]' log.txt || fail "$what began the output anew: $(cat log.txt)"
  rm log.txt
  nothing_left
done
set +f
# A job whose times are read in the zone of TZ or of the machine does not continue in another zone, also if TZ names a
# file that has changed. With --timezone, TZ does not matter.
stop_in_zone() {
  "$g" "$@" in.csv want.csv 2>err
  stop_in_merge KILL csv "$@"
}
zoned=(-k created_at:timestamp)
zones=/usr/share/zoneinfo
TZ=Asia/Kolkata stop_in_zone "${zoned[@]}"
TZ=Europe/Berlin expect 2 job csv "${zoned[@]}"
says "the time zone was 'Asia/Kolkata', and is now 'Europe/Berlin'"
TZ=:Asia/Kolkata expect 0 job csv "${zoned[@]}"
done_right csv
cp -L $zones/Asia/Kolkata zone
TZ=:$PWD/zone stop_in_zone "${zoned[@]}"
cp -L $zones/Europe/Berlin zone
TZ=:$PWD/zone expect 2 job csv "${zoned[@]}"
says 'the hash of the local times of .*/zone was'
rm -r job zone .gpusort-*.partial
zoned+=(--timezone Europe/Berlin)
TZ=Asia/Kolkata stop_in_zone "${zoned[@]}"
TZ=America/New_York expect 0 job csv "${zoned[@]}"
done_right csv
nothing_left
# Without the partial output, or with a fan-in that needs other runs, the output is begun again.
"$g" --type u64 in.u64 want.u64
stop_in_merge KILL u64 --type u64
rm .gpusort-*.partial
expect 0 job u64 --type u64
done_right u64
stop_in_merge KILL u64 --type u64 --batch-bytes 1M
expect 0 job u64 --type u64 --fan-in 4
done_right u64
nothing_left

# An input that was changed and got its old mtime back. The first process dies before the output has its name, so that
# all input is in runs. touched CHANGE WARNING NAME OPTION...: runs CHANGE on in.NAME, and then restores the mtime.
touched() {
  local change=$1 warning=$2 name=$3 code=0
  shift 3
  { strace -f -o /dev/null -e trace=rename,renameat,renameat2 -e inject=rename,renameat,renameat2:signal=KILL:when=1 \
    "$g" --resume-dir job --memory 16M --threads 2 "$@" -o "out.$name" "in.$name" 2>err; } 2>/dev/null || code=$?
  [ $code = 137 ] || fail "exit $code at a rename: $(cat err)"
  cp -p "in.$name" "kept.$name"
  until [ "$(stat -c %z "in.$name")" != "$(stat -c %z "kept.$name")" ]; do touch -r "kept.$name" "in.$name"; done
  eval "$change"
  touch -r "kept.$name" "in.$name"
  "$g" "$@" -o "want.$name" "in.$name"
  expect 0 job "$name" "$@"
  if [ -n "$warning" ]; then says "$warning"; else ! grep -q ctime err || fail "$change: $(cat err)"; fi
  done_right "$name"
  [ ! -e job ] || fail "a job that is done left $(ls -A job)"
  # Later attempts continue from the attempt that began again.
  mv "kept.$name" "in.$name"
}
if ! sanitized && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  # The change is between the places that are compared.
  write='printf 01234567 | dd of=in.u64 bs=8 seek=1234567 conv=notrunc status=none'
  touched "$write" 'in.u64: its ctime .* its content has changed' u64 --type u64
  touched 'chmod 600 in.u64' '' u64 --type u64
  touched 'printf x | dd of=in.log bs=1 seek=4000005 conv=notrunc status=none' 'its content has changed' log -u -k7,7 \
    --batch-bytes 1M --fan-in 3
  touched 'printf 9 | dd of=in.csv bs=1 seek=3000000 conv=notrunc status=none' 'its content may have changed' csv -k '#2:text'
else
  echo "SKIPPED: no strace, or a sanitizer that cannot be traced: inputs changed behind their mtime"
fi

# Temp folders of the new command are used in addition to the first ones. All are empty at the end.
mkdir temp1 temp2
stop_with_runs u64 --type u64 --temp-dir temp1
kill -KILL "$running"
wait $waiting 2>/dev/null || true
[ -n "$(ls temp1)" ] && [ ! -e job/gpusort.runs ] || fail "runs are not in --temp-dir"
expect 0 job u64 --type u64 --temp-dir temp2
done_right u64
rmdir temp1 temp2

# A disk with runs is not mounted.
mkdir temp1
stop_with_runs u64 --type u64 --temp-dir temp1
kill -KILL "$running"
wait $waiting 2>/dev/null || true
mv temp1 away
mkdir temp1
expect 4 job u64 --type u64 --temp-dir temp1
says 'mount it, or remove job'
rmdir temp1
mv away temp1
expect 0 job u64 --type u64 --temp-dir temp1
done_right u64
rmdir temp1

# A full disk, and then enough room.
if mkdir small && mount -t tmpfs -o size=12m tmpfs small 2>/dev/null; then
  trap 'cd /; umount "$work/small" 2>/dev/null || true; rm -rf "$work"' EXIT
  full=("$g" --resume-dir small/job --memory 16M --type u64 in.u64 out.u64)
  expect 5 "${full[@]}"
  says 'temporary runs'
  expect 5 "${full[@]}" --no-space-check
  says 'kept in small/job: [1-9]'
  [ -e small/job/gpusort.manifest ] || fail "exit 5 has removed what was done"
  mount -o remount,size=64m small
  expect 0 "${full[@]}"
  done_right u64
  [ -z "$(ls -A small)" ] || fail "left on the disk that was full: $(ls -A small)"
else
  echo "SKIPPED: mounts are not allowed here: full disks"
fi

# Options that are refused.
expect 2 "$g" --resume-dir job - out <in.log
says 'standard input'
expect 2 "$g" --resume-dir job in.log -
says 'a stream'
mkfifo fifo
expect 2 "$g" --resume-dir job --format lines fifo out
says 'a stream'
gzip -k in.csv
expect 2 "$g" --resume-dir job in.csv.gz out
says 'compressed'
expect 2 "$g" --resume-dir job -m -o out in.log
says 'nothing to keep with -m'
expect 2 "$g" --resume-dir job -R in.log out
says '--random-source'
expect 2 "$g" --status
says 'needs --resume-dir'
[ ! -e job ] || fail "a refused job made its folder"
ln -s . link
expect 2 "$g" --resume-dir link in.log out
says 'a link'
expect 2 "$g" --resume-dir link/. in.log out
says 'a link'
mkdir open
chmod 777 open
expect 2 "$g" --resume-dir open in.log out
says 'others can write'
chmod 700 open
echo mine >open/mine
expect 0 "$g" --resume-dir open/ in.log out
[ "$(ls -A open)" = mine ] || fail "in a folder with a file of its own there is now: $(ls -A open)"
if [ "$(id -u)" = 0 ]; then
  rm open/mine
  chown 60000 open
  expect 2 "$g" --resume-dir open in.log out
  says "another user's"
fi
(umask 000; expect 0 "$g" --resume-dir open2 --keep-resume-dir in.log out)
[ -z "$(find open2 -perm /077)" ] || fail "others can read: $(ls -la open2)"
nothing_left
echo "resume: ok"
