# Tests gpusort_task: tasks that run twice, at the same time, too early, or are killed. Also tests damaged files, jobs
# without a shared folder, and refused commands. tests/cluster tests that any number of tasks gives the bytes of one
# gpusort.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
t=$bin/gpusort_task
"$bin/gpusort_gen" --type u64 --bytes 2M --seed 5 in.u64
"$bin/gpusort_gen" --type web-log --bytes 2M --seed 5 in.log
"$bin/gpusort" in.u64 --type u64 want.u64
"$bin/gpusort" in.log want.log
runs() { local k; for k in 0 1 2 3; do expect 0 "$t" runs --slice $k/4 --into dir "$@"; done; }
parts() { local j; for j in 2 0 1; do expect 0 "$t" part --part $j/3 dir "$1" "${@:2}"; done; }

# Command lines.
refused() {
  local message=$1
  shift
  expect 2 "$t" "$@"
  says "$message"
}
refused "none of scan, runs, cut" sort in.log
refused '--slice is missing' runs --into dir in.log
refused "not like 3/16" runs --slice 3 --into dir in.log
refused 'count from 0 to 3' runs --slice 4/4 --into dir in.log
refused '--into is missing' runs --slice 0/4 in.log
refused 'no input is given' runs --slice 0/4 --into dir
refused '--slice is given twice' runs --slice 0/4 --slice=1/4 --into dir in.log
refused '--parts has no meaning' runs --slice 0/4 --into dir --parts 2 in.log
refused '--parts is missing' cut dir
refused 'is not a number from 1' cut --parts 0 dir
refused 'no such folder' cut --parts 2 dir
refused 'unrecognised option' runs --slice 0/4 --into dir --no-such in.log
refused 'has no meaning here' runs --slice 0/4 --into dir -m in.log
refused 'has no meaning here' runs --slice 0/4 --into dir --split 3 in.log
refused 'has no meaning here' runs --slice 0/4 --into dir --resume-dir d in.log
refused 'needs --random-source' runs --slice 0/4 --into dir -R in.log
refused '--unique with --format pgdump' runs --slice 0/4 --into dir --format pgdump -u in.log
refused 'several inputs with --format pgdump' runs --slice 0/4 --into dir --format pgdump in.log in.log
refused 'is a stream, .*: write it to a file first' runs --slice 0/4 --into dir -
refused 'none/dir: cannot make the folder: .*No such file' runs --slice 0/4 --into none/dir in.log
[ ! -e dir ] || fail "what was refused made $(ls dir)"
grep -q 'gpusort_task prove' <("$t" --help) || fail "no help"
[ "$("$t" --version)" = "$("$bin/gpusort" --version | head -n 1)" ] || fail "the version"

# Tasks that run too early, and facts that a job may not change.
expect 0 "$t" runs --slice 0/4 --into dir --type u64 in.u64
refused 'run 1 does not exist yet' cut --parts 3 dir
refused 'another number of slices (4) is there' runs --slice 0/5 --into dir --type u64 in.u64
refused 'another options is there' runs --slice 1/4 --into dir --type i64 in.u64
refused 'another input 1, .*in.u64 is there' runs --slice 1/4 --into dir --type u64 in.log
runs --memory 16M --type u64 in.u64
refused 'the cut into 3 parts does not exist yet' part --part 0/3 dir out
expect 0 "$t" cut --parts 3 dir
refused '--type belongs to all of the job' part --part 0/3 --type u64 dir out
refused 'part 0 of 3 does not exist yet' prove --parts 3 dir out
refused 'takes DIR and OUTPUT, and 1 names' part --part 0/3 dir
touch -d '2001-01-01' in.u64
expect 3 "$t" runs --slice 0/4 --into dir --type u64 in.u64
says 'it was changed since the job in dir began'
rm -r dir
# Other rights and names of an input do not matter. An input that was written is noticed, even if it got its old mtime
# back.
expect 0 "$t" runs --slice 0/4 --into dir --type u64 in.u64
chmod 640 in.u64
expect 0 "$t" runs --slice 1/4 --into dir --type u64 in.u64
rm -r dir
expect 0 "$t" runs --slice 0/4 --into dir --type u64 in.u64
cp -p in.u64 kept.u64
until [ "$(stat -c %z in.u64)" != "$(stat -c %z kept.u64)" ]; do touch -r kept.u64 in.u64; done
printf 01234567 | dd of=in.u64 bs=8 seek=1000 conv=notrunc status=none
touch -r kept.u64 in.u64
expect 3 "$t" runs --slice 1/4 --into dir --type u64 in.u64
says 'it was changed since the job in dir began, as its ctime tells'
mv kept.u64 in.u64
rm -r dir

# Only tasks of runs read the source of a random order. It must not change.
tail -c 16 in.u64 >source
expect 0 "$bin/gpusort" -R --random-source=source in.log want.random
runs -R --random-source=source in.log
tail -c 32 in.u64 >source
expect 3 "$t" runs --slice 1/4 --into dir -R --random-source=source in.log
says 'source: it was changed since the job in dir began'
rm source
expect 0 "$t" cut --parts 3 dir
parts out
expect 0 "$t" prove --parts 3 dir out
same out want.random
rm -r dir out

# Tasks that run twice, at the same time, or are killed at any moment.
runs --type u64 in.u64
[ "$(stat -c %a dir)" = 700 ] || fail "others can read runs of what they may not read"
inode=$(stat -c %i dir/run-00002)
runs --type u64 in.u64
[ "$(stat -c %i dir/run-00002)" = "$inode" ] || fail "a run that is there was made again"
rm dir/run-00002.fences
runs --type u64 in.u64
for file in dir/*; do [ "$(stat -c %a "$file")" = 600 ] || fail "$file has mode $(stat -c %a "$file")"; done
expect 0 "$t" cut --parts 3 dir
pids=()
for j in 0 1 2 0 1 2; do
  "$t" part --part $j/3 dir out &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "one of several at once"; done
[ ! -e out ] || fail "the output has its name before it is proved"
expect 0 "$t" prove --parts 3 dir out
same out want.u64
expect 0 "$t" part --part 1/3 dir out
nothing_left
# A proof that is given again after the output has its name has nothing to do.
expect 0 "$t" prove --parts 3 --log-level info dir out
says 'it is proved already'
same out want.u64
rm -r out dir/part-*
for _ in 1 2 3; do
  for j in 0 1 2; do
    "$t" part --part $j/3 dir out 2>/dev/null &
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
  done
done
parts out
expect 0 "$t" prove --parts 3 dir out
same out want.u64
rm -r out

# Parts have equal sizes, to a record, also with equal keys. Also tests the first part of an output that is not a
# regular file or belongs to another user.
parts folder/
expect 0 "$t" prove --parts 3 dir folder/
cat folder/part-0000?-of-00003 | cmp - want.u64 || fail "files of parts"
stat -c %s folder/* | awk '{ if ($1 < 699048 - 8 || $1 > 699056 + 8) exit 1 }' || fail "$(ls -l folder)"
rm dir/part-*
expect 0 "$t" part --part 0/3 dir out
hidden=$(echo .gpusort-*.parts)
rm dir/part-*
ln -sf in.log "$hidden"
expect 4 "$t" part --part 0/3 dir out
rm "$hidden"
ln in.log "$hidden"
refused 'no file that only this user can open' part --part 0/3 dir out
rm "$hidden"
refused 'it is a directory' part --part 0/3 dir folder
refused 'standard output has no place' part --part 0/3 dir -
refused 'it is not a regular file' part --part 0/3 dir /dev/null
rm -r folder

# An output that is a link, and another job's parts of the same output.
mkdir folder
ln -s folder/real link
parts link
expect 0 "$t" prove --parts 3 dir link
same folder/real want.u64
[ -L link ] || fail "the link was replaced"
rm dir/part-*
parts out
mv dir first
runs --type u64 --reverse in.u64
expect 0 "$t" cut --parts 3 dir
parts out
expect 0 "$t" prove --parts 3 first out
same out want.u64
expect 0 "$t" prove --parts 3 dir out
"$bin/gpusort" in.u64 --type u64 --reverse want
same out want
rm -r folder link first dir out

# A signal ends a task, also the task that begins the job.
echo id,text >zeros.csv
truncate -s 16G zeros.csv
"$t" scan --slice 0/1 --into dir -k text zeros.csv 2>err &
pid=$!
until [ -e dir/job.json ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -TERM $pid || fail "the scan ended: $(cat err)"
code=0
wait $pid || code=$?
[ $code = 143 ] || fail "a scan with SIGTERM exits $code: $(cat err)"
unset code
rm -r dir zeros.csv

# Damage is reported and never gives wrong bytes.
runs --type u64 in.u64
cp -r dir whole
damaged() {
  local what=$1 code=$2
  shift 2
  expect "$code" "$@"
  says "$what"
  rm -rf dir out .gpusort-*.parts
  cp -r whole dir
}
sed -i 's/bytes/Bytes/' dir/run-00001.json
damaged 'run-00001.json: it is damaged' 8 "$t" cut --parts 3 dir
printf x | dd of=dir/run-00001.fences bs=1 seek=20 conv=notrunc 2>/dev/null
damaged 'run-00001.fences: it is damaged' 8 "$t" cut --parts 3 dir
truncate -s -8 dir/run-00001
damaged 'was written with' 8 "$t" cut --parts 3 dir
expect 0 "$t" cut --parts 3 dir
rm -r whole
cp -r dir whole
truncate -s -8 dir/run-00001
damaged 'was written with' 8 "$t" part --part 2/3 dir folder/
printf x | dd of=dir/cut-3.begins bs=1 seek=70 conv=notrunc 2>/dev/null
damaged 'cut-3.begins: it is damaged' 8 "$t" part --part 1/3 dir out
# The begins of the parts come from another cut.
expect 0 "$t" cut --parts 2 dir
mv dir/cut-2.begins dir/cut-3.begins
damaged 'cut-3.begins: it is damaged' 8 "$t" part --part 0/3 dir out
# A part opens the runs that it merges. It needs neither the fences nor the facts about the runs.
rm dir/run-0000?.fences dir/run-0000?.json
parts out
rm -r dir .gpusort-*.parts
cp -r whole dir
# A record of a run is replaced by another record. The result is out of order, or its sum is not that of the input.
printf '\377' | dd of=dir/run-00001 bs=1 seek=4007 conv=notrunc 2>/dev/null
changed='it was changed after its task had written it: remove it'
for j in 0 1 2; do
  code=0
  "$t" part --part $j/3 dir out 2>err || code=$?
  [ $code = 0 ] || break
done
[ $code = 8 ] || { expect 8 "$t" prove --parts 3 dir out; }
says "dir/run-00001: .*$changed"
[ ! -e out ] || fail "damaged records were published"
# Making the run and the parts again repairs that.
rm -f dir/run-00001 dir/run-00001.json dir/part-*
runs --type u64 in.u64
parts out
expect 0 "$t" prove --parts 3 dir out
same out want.u64
rm out
rm -rf dir .gpusort-*.parts
cp -r whole dir
parts out
printf x | dd of=dir/run-00003 bs=1 seek=1000 conv=notrunc 2>/dev/null
rm .gpusort-*.parts
damaged 'part 0 was written, and is not there' 8 "$t" prove --parts 3 dir out

# Damage that makes a record of a run unreadable or puts it out of order is no fault of the user's data.
mv dir numbers
seq 4000 | awk '{ printf "{\"k\":%d,\"v\":\"some text\"}\n", $1 * 7919 % 4001 }' >in.jsonl
runs -k k:int in.jsonl
printf '"' | dd of=dir/run-00001 bs=1 seek=10012 conv=notrunc status=none
expect 8 "$t" cut --parts 2 dir
says "dir/run-00001: the record at byte [0-9]*: this is not JSON.*$changed"
rm -r dir
runs in.log
expect 0 "$t" cut --parts 1 dir
printf '\n' | dd of=dir/run-00001 bs=1 seek=10000 conv=notrunc status=none
expect 8 "$t" part --part 0/1 dir out
says "dir/run-00001: not sorted: the line at byte [0-9]* sorts before the previous one: $changed"
rm -r dir
# Only the proof notices another text.
runs -k k:int in.jsonl
expect 0 "$t" cut --parts 1 dir
sed -i '20s/some/same/' dir/run-00002
expect 0 "$t" part --part 0/1 dir out
expect 8 "$t" prove --parts 1 dir out
says "dir/run-00002: $changed"
rm -rf dir .gpusort-*.parts in.jsonl
mv numbers dir

# Files that were exchanged: each file knows its own name.
swap() { mv "$1" swapped && mv "$2" "$1" && mv swapped "$2"; }
swap dir/run-00001 dir/run-00002
expect 8 "$t" cut --parts 2 dir
says 'dir/run-0000[12]: it is run [12] of the job under this name'
damaged 'dir/run-0000[12]: it is run [12] of the job under this name' 8 "$t" part --part 1/3 dir out
swap dir/run-00001.json dir/run-00002.json
damaged 'run-0000[12].json: it is run-0000[12].json under this name' 8 "$t" cut --parts 2 dir
swap dir/run-00001.fences dir/run-00002.fences
damaged 'run-0000[12].fences: it has the fences of another run' 8 "$t" cut --parts 2 dir
# All files of two runs are exchanged.
for end in '' .json .fences; do swap dir/run-00001$end dir/run-00002$end; done
damaged 'run-0000[12].json: it is run-0000[12].json under this name' 8 "$t" cut --parts 2 dir
expect 0 "$t" cut --parts 2 dir
swap dir/cut-2.json dir/cut-3.json
damaged 'cut-3.json: it is cut-2.json under this name' 8 "$t" part --part 1/3 dir out
parts out
swap dir/part-00000-of-00003.json dir/part-00001-of-00003.json
damaged 'part-00000-of-00003.json: it is part-00001-of' 8 "$t" prove --parts 3 dir out
# A run of another job with the same slices and the same size.
mv dir first
runs --type u64 --reverse in.u64
cp first/run-00001 dir/run-00001
expect 8 "$t" cut --parts 3 dir
says 'dir/run-00001: it is a run of another job'
rm -r first dir
cp -r whole dir

# The proof reads the parts: it finds every change of a part's bytes, unless it was told to trust them.
bytes=$(stat -c %s in.u64)
zeros() { dd if=/dev/zero of="$1" bs=10240 seek=3 count=1 conv=notrunc status=none; }
flip() { printf "\\x$(printf %02x $((0x$(od -An -tx1 -j 700001 -N 1 "$1" | tr -d " ") ^ 1)))" | dd of="$1" bs=1 seek=700001 conv=notrunc status=none; }
hole() { fallocate -p -o 8192 -l 8192 "$1" 2>/dev/null || dd if=/dev/zero of="$1" bs=8192 seek=1 count=1 conv=notrunc status=none; }
append() { echo more >>"$1"; }
shorten() { truncate -s -8 "$1"; }
for change in zeros flip hole append shorten; do
  parts out
  hidden=$(echo .gpusort-*.parts)
  $change "$hidden"
  expect 8 "$t" prove --parts 3 dir out
  says "$hidden: .*\(not what was written\|was written with\)\|is not there"
  [ ! -e out ] || fail "$change: a damaged output got its name"
  # Making the parts again repairs that, once a file that is too long is removed, as the message says.
  ! grep -q 'remove it and the .json of all parts' err || rm "$hidden"
  rm dir/part-*
  parts out
  expect 0 "$t" prove --parts 3 dir out
  same want.u64 out
  rm -r dir out
  cp -r whole dir
done
parts out
zeros .gpusort-*.parts
expect 0 "$t" prove --parts 3 --trust dir out
[ "$(stat -c %s out)" = "$bytes" ] || fail "--trust"
# A hidden output that was removed is written again by all parts, even if the new file has the inode number of the old
# file.
rm -r dir out
cp -r whole dir
parts out
rm .gpusort-*.parts
parts out
expect 0 "$t" prove --parts 3 --trust dir out
same want.u64 out
rm -rf dir out
cp -r whole dir
for change in zeros hole append shorten; do
  rm -f dir/part-*
  parts folder/
  $change folder/part-00001-of-00003
  expect 8 "$t" prove --parts 3 dir folder/
  says 'part-00001-of-00003: .*\(not what was written\|was written with\)\|is not there'
  # Making this part again repairs that.
  rm dir/part-00001-*
  expect 0 "$t" part --part 1/3 dir folder/
  expect 0 "$t" prove --parts 3 dir folder/
done
# Parts of equal size that were exchanged.
swap folder/part-00001-of-00003 folder/part-00002-of-00003
expect 8 "$t" prove --parts 3 dir folder/
rm -r whole folder

# A task is a process like gpusort: events, reports, exit codes.
rm -rf dir
expect 0 "$t" runs --slice 0/1 --into dir --trace trace.json --report report.html --stats stats.json --log-format json --log-level info in.log
python3 - err <<'PY' || fail "events: $(cat err)"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert [event["event"] for event in (events[0], events[-1])] == ["started", "done"], events
assert events[-1]["exit_code"] == 0 and events[-1]["records"] > 0, events[-1]
json.load(open("trace.json"))
json.load(open("stats.json"))
assert "<html" in open("report.html").read()
PY
expect 2 "$t" cut --parts 0 --log-format json dir
python3 - err <<'PY' || fail "a failure's event: $(cat err)"
import json, sys
last = json.loads(open(sys.argv[1]).readlines()[-1])
assert last["event"] == "failed" and last["exit_code"] == 2, last
PY
for option in --stats --trace --report; do refused "$option has no meaning with gpusort_task cut" cut --parts 2 $option file dir; done
expect 0 "$t" cut --parts 1 dir
expect 0 "$t" part --part 0/1 --trace trace.part --report report.part dir out
python3 -c 'import json; json.load(open("trace.part"))' && [ -s report.part ] || fail "reports of a part"
expect 0 "$t" prove --parts 1 dir out
same out want.log
rm -r out trace.* report.* stats.json

# A border at the fence after a long record, followed by a record of another run.
{ printf 'a\nd\n'; printf 'c%.0s' {1..100000}; printf '\nb\ne\n'; } >long
for k in 0 1; do expect 0 "$t" runs --slice $k/2 --into long.dir long; done
expect 0 "$t" cut --parts 2 long.dir
for j in 0 1; do expect 0 "$t" part --part $j/2 long.dir out; done
expect 0 "$t" prove --parts 2 long.dir out
cmp out <(sort long) || fail "a border at a fence"
rm -r long.dir out

# -u, with which the places of parts in one file are unknown; --top, which gives only the first part.
rm -r dir
seq 30000 | awk '{ print $1 % 5 }' >five
runs -u five
expect 0 "$t" cut --parts 3 dir
refused 'give a folder' part --part 1/3 dir out
parts folder/
expect 0 "$t" prove --parts 3 dir folder/
cat folder/* | cmp - <(sort -u five) || fail "-u"
# The sums cover the records that -u omits, so that none of these can be lost unnoticed.
rm dir/part-*
printf / | dd of=dir/run-00002 bs=1 conv=notrunc 2>/dev/null
parts folder/
expect 8 "$t" prove --parts 3 dir folder/
rm -r dir folder
# All parts must use the same cut. With -u a gap between parts of different cuts would go unnoticed.
seq 30000 | awk '{ print $1 * 7919 % 30011; print }' >pairs
runs -u pairs
expect 0 "$t" cut --fences-only --parts 3 dir
for j in 0 1; do expect 0 "$t" part --part $j/3 dir folder/; done
expect 0 "$t" cut --parts 3 dir
expect 0 "$t" part --part 2/3 dir folder/
expect 0 "$t" prove --parts 3 dir folder/
cat folder/* | cmp - <(sort -u pairs) || fail "two cuts"
rm -r dir folder
# From fences alone, the sizes of parts differ by the distance of fences: 64 KiB and a record. This also holds for
# records with columns.
"$bin/gpusort_gen" --type orders-csv --bytes 2M --seed 1 rows.csv
expect 0 "$t" runs --slice 0/1 --into dir -k created_at:timestamp rows.csv
expect 0 "$t" cut --fences-only --parts 8 dir
python3 - <<'PY' || fail "parts from fences"
import json
places = [place[1] for place in json.load(open("dir/cut-8.json"))["places"]]
wrong = [place - (2 << 20) * (i + 1) / 8 for i, place in enumerate(places)]
assert max(map(abs, wrong)) < (64 << 10) + 1000, wrong
PY
rm -r dir
# All tasks use the order of the first task's locale, and the random bytes that the first task was given.
runs --locale in.log
export LC_ALL=C.UTF-8
refused 'another version or locale (.*locale C) is there' cut --parts 3 dir
refused 'another version or locale (.*locale C) is there' runs --slice 0/4 --into dir --locale in.log
export LC_ALL=C
rm -r dir
"$bin/gpusort" -R --random-source in.u64 in.log want
runs -R --random-source in.u64 in.log
mkdir folder
cd folder
expect 0 "$t" cut --parts 3 ../dir
for j in 0 1 2; do expect 0 "$t" part --part $j/3 ../dir ../out; done
expect 0 "$t" prove --parts 3 ../dir ../out
cd ..
same out want
rm -r dir folder out
# Names of inputs in a file, which later tasks do not need.
printf 'in.log\0five' >names
"$bin/gpusort" in.log five -o want
runs --files0-from names
rm names
expect 0 "$t" cut --parts 3 dir
parts out
expect 0 "$t" prove --parts 3 dir out
same out want
rm -r dir out
runs --top 100 in.log
expect 0 "$t" cut --parts 3 dir
parts out
expect 0 "$t" prove --parts 3 dir out
cmp out <(head -n 100 want.log) || fail "--top"
rm -r dir

# A cut before a fence, where the next record of another run comes after the fence.
for k in $(seq 984); do printf 'b%098d\n' "$k"; done >one
{ echo a; for k in $(seq 1004); do printf 'z%096d\n' "$k"; done; } | head -c 98400 >two
for k in 0 1; do expect 0 "$t" runs --slice $k/2 --into dir one two; done
expect 0 "$t" cut --parts 3 dir
parts out
expect 0 "$t" prove --parts 3 dir out
cmp out <(sort one two) || fail "a cut in front of a fence"
rm -r dir out

# CSV with newlines in quotes, with a scan of the slices and without; compressed inputs next to plain ones; CR LF.
awk 'BEGIN { srand(7); print "id,text\r"; for (i = 0; i < 20000; ++i) printf "%d,\"a \"\"%c\n%s\"\r\n", rand() * 9999, 97 + i % 26, i % 3 ? "\"\",\n" : "b" }' >in.csv
"$bin/gpusort" -k id:int -k text in.csv in.csv -o want.csv
for scan in '' scan; do
  rm -rf dir
  if [ -n "$scan" ]; then for k in 3 1 0 2; do expect 0 "$t" scan --slice $k/4 --into dir -k id:int -k text in.csv in.csv; done; fi
  runs -k id:int -k text in.csv in.csv
  expect 0 "$t" cut --parts 3 dir
  parts out
  expect 0 "$t" prove --parts 3 dir out
  same out want.csv
done
head -c 1000000 in.log | gzip >part.gz
rm -r dir
cat in.log <(head -c 1000000 in.log) | "$bin/gpusort" - -o want
runs part.gz in.log
expect 0 "$t" cut --parts 3 dir
parts out
expect 0 "$t" prove --parts 3 dir out
same out want

# Compressed parts are separate files until they are proved, because their places in the output are unknown.
"$bin/gpusort" -u in.log want
rm -r dir out
runs -u --compress gz in.log
expect 0 "$t" cut --fences-only --parts 3 dir
expect 0 "$t" part --part 1/3 dir out
hidden=$(echo .gpusort-*.parts)
[ "$(stat -c %a "$hidden")" = 700 ] || fail "others can read parts"
mv "$hidden" aside
ln -s aside "$hidden"
rm dir/part-*
refused 'it is no folder, or a link to one' part --part 1/3 dir out
rm -r "$hidden" aside
parts out
refused 'out.zst. means zst' prove --parts 3 dir out.zst
"$t" prove --parts 3 dir out 2>/dev/null &
sleep 0.0$((RANDOM % 10))
kill -KILL $! 2>/dev/null || true
wait $! 2>/dev/null || true
for _ in 1 2; do
  expect 0 "$t" prove --parts 3 dir out
  gzip -dc out | cmp - want || fail "-u, compressed"
  nothing_left
  parts out
done
nothing_left
rm dir/part-*
parts folder/
expect 0 "$t" prove --parts 3 dir folder/
for j in 0 1 2; do gzip -dc folder/part-0000$j-of-00003.gz; done | cmp - want || fail "compressed files of parts"
rm -r dir folder

# Ends of formats, and points in which inputs must agree, as in a single process.
row=$(printf 'PGCOPY\\n\\377\\r\\n'; printf '\\0%.0s' {1..9})
printf "$row"'\0\1\0\0\0\1a\377\377' >one.copy
printf "$row"'\0\2\0\0\0\1a\0\0\0\1b\377\377' >two.copy
runs --format pgcopy-binary one.copy two.copy
expect 3 "$t" cut --parts 3 dir
says 'the number of fields in its records differs from that of another input'
rm -r dir
head -c 19 one.copy >none.copy
expect 3 "$t" runs --slice 0/4 --into dir --format pgcopy-binary none.copy
says 'the trailer is missing'
rm -r dir
printf '1\n\\.\n' >lf.copy
printf '1\r\n\\.\r\n' >crlf.copy
runs --format pgcopy lf.copy crlf.copy
expect 3 "$t" cut --parts 3 dir
says 'the text after its last record differs from that of another input'
rm -r dir
{ cat lf.copy; seq 1000; } >more.copy
for k in 0 1 2 3; do expect 0 "$t" scan --slice $k/4 --into dir --format pgcopy more.copy; done
for k in 0 1 2 3; do
  expect 3 "$t" runs --slice $k/4 --into dir --format pgcopy more.copy
  says 'there is more text after the line'
done
rm -r dir

# A key without a value in all slices is reported once all runs are there. A single slice may lack the values.
{ echo id,day; for id in $(seq 400); do echo "$id,23.11.2026"; done; } >days.csv
{ cat days.csv; echo 401,2026-11-23; } >one_day.csv
runs -k day:date days.csv
expect 3 "$t" cut --parts 3 dir
says "days.csv: column 'day': none of its 400 values is of the type date: '23.11.2026'"
says 'force-format'
expect 0 "$t" cut --force-format --parts 3 dir
parts sorted.csv
expect 0 "$t" prove --parts 3 dir sorted.csv
same sorted.csv days.csv
rm -r dir
runs -k day:date one_day.csv
expect 0 "$t" cut --parts 3 dir
rm -r dir

# Without a shared folder: each run is on its own machine.
runs -k id:int -k text in.csv in.csv
expect 0 "$t" cut --fences-only --parts 3 dir
for k in 0 1 2 3; do
  mkdir -p node$k driver
  cp dir/*.json dir/*.fences node$k
  cp dir/*.json dir/*.fences driver
  cp dir/run-0000$k node$k
  "$t" borders --run $k --parts 3 node$k >borders$k
done
expect 2 "$t" borders --run 0 --parts 3 driver
offset=0
for j in 0 1 2; do
  rm -rf pieces
  mkdir pieces
  bytes=0
  for k in 0 1 2 3; do
    mapfile -t border <borders$k
    { head -c "${border[0]}" node$k/run-0000$k; head -c "${border[j + 1]}" node$k/run-0000$k | tail -c $((border[j + 1] - border[j])); } >pieces/run-0000$k
    bytes=$((bytes + border[j + 1] - border[j]))
  done
  [ $j != 0 ] || bytes=$((bytes + border[0]))
  expect 0 "$t" part --part $j/3 --pieces pieces --offset $offset driver out
  offset=$((offset + bytes))
done
expect 0 "$t" prove --parts 3 driver out
same out want.csv
rm -r dir node? driver pieces

# A dump from pieces. A wrong --offset puts the texts between rows to wrong places, which `prove` notices.
{ printf -- '-- MySQL dump 10.13\nCREATE TABLE t (a int PRIMARY KEY);\n'; seq 30000 -1 1 | paste -d, - - - | sed 's/,/),(/g; s/.*/INSERT INTO t VALUES (&);/'; } >rows.sql
expect 0 "$bin/gpusort" rows.sql want.sql
# piece J OUTPUT [BYTES ROWS SEPARATORS]: merges part J of 3 from pieces. The numbers are added to those of --offset.
piece() {
  local j=$1 k begin end offset wrong="${*:3}"
  rm -rf pieces dir/part-0000$j-of-*
  mkdir pieces
  for k in 0 1 2 3; do
    begin=$(sed -n "$((j + 1))s/ .*//p" borders$k) end=$(sed -n "$((j + 2))s/ .*//p" borders$k)
    head -c "$end" dir/run-0000$k | tail -c +$((begin + 1)) >pieces/run-0000$k
  done
  offset=$(awk -v line=$((j + 1)) -v wrong="${wrong:-0 0 0}" 'FNR == line { for (i = 2; i <= 5; ++i) n[i] += $i }
    END { split(wrong, add); print n[2] + add[1] ":" n[3] + add[2] ":" n[4] + add[3] ":" n[5] }' borders?)
  [ "$offset" != 0:0:0:0 ] || offset=0
  expect 0 "$t" part --part $j/3 --pieces pieces --offset "$offset" dir "$2"
}
for output in out.sql out.sql.gz folder/; do
  runs rows.sql
  expect 0 "$t" cut --fences-only --parts 3 dir
  for k in 0 1 2 3; do "$t" borders --run $k --parts 3 dir >borders$k; done
  for j in 0 2; do piece $j $output; done
  refused "part 0 begins at 0, and '1:0:0:0' is given" part --part 0/3 --pieces pieces --offset 1:0:0:0 dir $output
  # The first two change the number of bytes by nothing: they cancel each other out.
  for wrong in '0 1 1' '-1 1 0' '1 1 0'; do
    piece 1 $output $wrong
    expect 8 "$t" prove --parts 3 dir $output
    says 'part 1 does not begin where the part before it ends'
  done
  # Numbers that no part can have, and the pieces of another part.
  piece 1 $output
  rm dir/part-00001-of-*
  refused 'all runs have only' part --part 1/3 --pieces pieces --offset 99999999999:0:0:0 dir $output
  refused 'each byte has at most one row' part --part 1/3 --pieces pieces --offset 9:99:0:0 dir $output
  piece 0 $output
  refused 'are not those of part 1' part --part 1/3 --pieces pieces --offset 99:9:9:0 dir $output
  for j in 0 1 2; do piece $j $output; done
  expect 0 "$t" prove --parts 3 dir $output
  case $output in *.gz) gzip -dc $output ;; *.sql) cat $output ;; *) cat folder/part-* ;; esac | cmp - want.sql || fail "$output from pieces"
  rm -rf dir out.sql* folder
done
# A cut without --fences-only knows where parts begin.
runs rows.sql
expect 0 "$t" cut --parts 3 dir
refused "'9:9:9:0' is given, and part 1 begins at [0-9]*:[0-9]*:[0-9]*:0" part --part 1/3 --pieces pieces --offset 9:9:9:0 dir out.sql
rm -r dir
runs -k id:int in.csv
expect 0 "$t" cut --parts 3 dir
refused "'7' is given, and part 1 begins at [0-9]" part --part 1/3 --pieces pieces --offset 7 dir out
rm -r dir pieces

# A row whose key the server may change, in another slice than the ON DUPLICATE KEY for which this key matters.
{ printf -- '-- MySQL dump 10.13\nCREATE TABLE t (a tinyint PRIMARY KEY);\nINSERT INTO t VALUES (999)'; seq -f ',(%g)' 120 -1 1
  echo ' ON DUPLICATE KEY UPDATE a = a;'; } >odd.sql
runs odd.sql
expect 0 "$t" cut --parts 3 dir
says '1 row with a key that the server may change'
rm -r dir
# If a task of a slice has told this already, cut does not.
expect 0 "$t" runs --slice 0/1 --into dir odd.sql
says '1 row with a key that the server may change'
expect 0 "$t" cut --parts 3 dir
[ ! -s err ] || fail "a warning is told again: $(cat err)"
rm -r dir

# Slices all of whose lines --strip-volatile leaves out.
{ printf -- '-- PostgreSQL database dump\nCOPY t (a) FROM stdin;\n2\n1\n\\.\n'; for day in $(seq 40); do echo "-- Dump completed on $day"; done; } >volatile.sql
for k in $(seq 0 30); do expect 0 "$t" runs --slice $k/31 --into dir --strip-volatile volatile.sql; done
expect 0 "$t" cut --parts 3 dir
parts out.sql
expect 0 "$t" prove --parts 3 dir out.sql
"$bin/gpusort" --strip-volatile volatile.sql | cmp - out.sql || fail "--strip-volatile in slices"
rm -r dir
nothing_left
