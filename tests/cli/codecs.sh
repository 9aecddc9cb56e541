# Compressed inputs, outputs and temp data, compared with the system's gzip, bzip2, xz, zstd, lz4 and sort.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
programs="gz:gzip bz2:bzip2 xz:xz zst:zstd lz4:lz4"
for pair in $programs sort:sort; do
  command -v "${pair#*:}" >/dev/null || { echo "NOT TESTED: there is no ${pair#*:}"; exit 77; }
done

"$bin/gpusort_gen" --type web-log --bytes 1M web.log
"$bin/gpusort_gen" --type web-log --bytes 300K --seed 2 --distinct 30 few.log
"$bin/gpusort_gen" --type u64 --count 100000 --seed 3 in.u64
printf '3\n1\n\n2' >no_end.txt
sort web.log >web.want
sort web.log few.log no_end.txt >all.want
expect 0 "$g" in.u64 want.u64

round=0
for pair in $programs; do
  codec=${pair%:*} program=${pair#*:} round=$((round + 1)) at=0
  "$program" -c web.log >web.log.$codec
  # Concatenated members are one file.
  "$program" -c few.log >few.log.$codec
  "$program" -c no_end.txt >>few.log.$codec
  for plan in "" "--memory 400M --batch-bytes 33000 --threads 2 --verify-output" "--memory 400M --batch-bytes 17000 --fan-in 2 --threads 1 --compress-temp lz4"; do
    # If a part of the cases is enough: two of the plans for each codec.
    if few && ((round % 3 == at++ % 3)); then continue; fi
    expect 0 "$g" $plan web.log.$codec out.$codec
    "$program" -dc out.$codec | cmp - web.want || fail "$program does not read what sorting web.log.$codec gave ($plan)"
    expect 0 "$g" $plan -o out.log web.log.$codec few.log.$codec
    same out.log all.want
  done
  # Streams: the codec is not guessed from their content.
  "$g" --decompress "$program" --compress "$codec" - - <web.log.$codec >piped || fail "$codec pipes"
  "$program" -dc <piped | cmp - web.want || fail "$codec pipes differ"
  expect 0 "$g" --format lines - raw <web.log.$codec
  [ "$(stat -c %s raw)" -ge "$(stat -c %s web.log.$codec)" ] || fail "standard input was expanded unasked"
  # Records whose type comes from the inner extension or from an option, and from standard input.
  "$program" -c in.u64 >in.u64.$codec
  expect 0 "$g" in.u64.$codec out.u64.$codec
  "$program" -dc out.u64.$codec | cmp - want.u64 || fail "records from $codec differ"
  # Checks.
  expect 0 "$g" -c out.$codec
  expect 1 "$g" -c web.log.$codec
  says "web.log.$codec: not sorted: line "
  # The file ends inside a member, has another format than its name says, or expands to too much: the old output stays.
  echo old >kept
  head -c $(($(stat -c %s web.log.$codec) - 1)) web.log.$codec >cut.$codec
  expect 3 "$g" cut.$codec kept
  says "cut.$codec: cut short at offset "
  cp web.log named.$codec
  expect 3 "$g" named.$codec kept
  says "named.$codec: no $codec data at offset 0"
  expect 3 "$g" --max-expanded 500K web.log.$codec kept
  says "web.log.$codec: expands to more than 512000 bytes (--max-expanded)"
  [ "$(cat kept)" = old ] || fail "bad input of $codec changed the output"
  expect 0 "$g" --decompress none --compress none named.$codec plain.$codec
  same plain.$codec web.want
  nothing_left
done

# An output that is its input; FIFOs; names from a file; an empty input, and one that is not even a member.
cp web.log.gz own.gz
expect 0 "$g" own.gz own.gz
gzip -dc own.gz | cmp - web.want || fail "sorting a compressed file onto itself"
mkfifo in_fifo.zst out_fifo.gz
cat web.log.zst >in_fifo.zst &
gzip -dc <out_fifo.gz >from_fifo &
expect 0 "$g" in_fifo.zst out_fifo.gz
wait
same from_fifo web.want
printf 'web.log.gz\0few.log.xz\0' >names
expect 0 "$g" --files0-from names -o out.log
same out.log all.want
: | gzip -c >empty.gz
expect 0 "$g" empty.gz empty.lz4
[ -z "$(lz4 -dc empty.lz4)" ] || fail "no lines gave some"
: >nothing.gz
expect 3 "$g" nothing.gz out.log
says 'nothing.gz: empty'

# Rotated logs: sorted files of all codecs are merged, and the unsorted file is named.
inputs=
for pair in $programs; do
  codec=${pair%:*} program=${pair#*:}
  "$bin/gpusort_gen" --type web-log --bytes 300K --seed "$(echo "$codec" | cksum | cut -d' ' -f1)" day.log
  sort -k1,1 -s day.log | tee "day.$codec.sorted" | "$program" -c >"day.log.$codec"
  inputs="$inputs day.log.$codec"
done
sort -k1,1 -s day.gz.sorted day.bz2.sorted day.xz.sorted day.zst.sorted day.lz4.sorted >month.want
expect 0 "$g" -m -k1,1 -s --batch-bytes 50000 -o month.zst $inputs
zstd -dc month.zst | cmp - month.want || fail "merged logs differ"
expect 3 "$g" -m -k1,1 -s -o month.zst $inputs web.log.gz
says 'web.log.gz: not sorted: line'
zstd -dc month.zst | cmp - month.want || fail "the merged output was touched"
"$g" --explain -m -o month.zst $inputs >plan.txt
grep -q '^merge .*sorted again' plan.txt || fail "--explain does not say that streams are sorted: $(cat plan.txt)"
grep -q '^compression .*zst, ' plan.txt || fail "--explain does not name the codec: $(cat plan.txt)"

# A decompression bomb with a limit, and a window that is larger than the memory allows.
{ yes || true; } 2>/dev/null | head -c 300M | zstd -q -c >bomb.zst
expect 3 "$g" --max-expanded 10M --memory 64M bomb.zst kept
says 'bomb.zst: expands to more than 10485760 bytes'
zstd -q --long=26 -c <web.log >long.zst
expect 2 "$g" --memory 64M long.zst kept
says 'long.zst: zst data at offset .*: it has a window of 64 MiB, more than 8 MiB, which --memory leaves for it: give at least --memory 2[0-9][0-9]M$'
expect 0 "$g" --memory "$(sed 's/.*--memory //' err)" long.zst out.log
same out.log web.want
# The usual dictionary of xz, 8 MiB, in little memory. The advice of the message helps.
xz -c web.log >long.xz
expect 2 "$g" --memory 8M long.xz kept
says 'long.xz: xz data at offset .*: expanding it takes memory of .*, which --memory leaves for it: give at least --memory [3-4][0-9]M$'
expect 0 "$g" --memory "$(sed 's/.*--memory //' err)" long.xz out.log
same out.log web.want
for codec in bz2 lz4; do
  "$g" --format lines --compress $codec web.log little.$codec
  expect 2 "$g" --memory 3M little.$codec kept
  says 'give at least --memory'
  expect 0 "$g" --memory "$(sed 's/.*--memory //' err)" little.$codec out.log
  same out.log web.want
done
expect 2 "$g" --memory 16M web.log out.xz
says 'give at least --memory'
[ "$(cat kept)" = old ] || fail "a bomb changed the output"

# A full disk while the output is compressed; a reader that leaves.
expect 5 "$g" --compress gz web.log /dev/full
"$bin/gpusort_gen" --type u64 --count 400000 --seed 4 long.u64 # more than a pipe holds
set +e
"$g" --compress gz long.u64 - 2>pipe_err | head -c 100 >/dev/null
codes=("${PIPESTATUS[@]}")
set -e
[ "${codes[0]}" = 141 ] || fail "exit ${codes[0]} instead of 141 when the consumer left"
# The output is read back: a lost write is found.
if ! sanitized && command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  size=$("$g" --compress lz4 web.log - 2>/dev/null | wc -c)
  expect 0 "$g" --verify-output web.log whole.lz4
  expect 8 strace -f -qq -o trace -e trace=pwrite64 -e inject=pwrite64:retval="$size":when=1 \
    "$g" --threads 1 --verify-output web.log kept.lz4
  [ ! -e kept.lz4 ] || fail "an output that was lost got its name"
else
  echo "NOT TESTED: lost writes, there is no strace, or it cannot be used with a sanitizer"
fi

# Temp data.
for how in "--compress-temp none" "--compress-temp lz4" "--compress-temp zstd" "--compress-temp auto" \
           "--compress-program gzip" "--compress-program bzip2"; do
  expect 0 "$g" $how --memory 100M --batch-bytes 100000 --fan-in 3 --stats stats.json web.log out.log
  same out.log web.want
  python3 - "$how" <<'PY'
import json, sys
temp = json.load(open("stats.json"))["temp_bytes"]
codec = {"lz4": "lz4", "zstd": "zst", "gzip": "gz", "bzip2": "bz2"}.get(sys.argv[1].split()[1], "none")
assert temp["codec"] == codec, temp
assert (temp["peak"] < 700_000) == (codec != "none"), temp
PY
done
python3 -c 'import random, struct, sys
sys.stdout.buffer.write(struct.pack("<100000Q", *(random.getrandbits(32) for _ in range(100000))))' >ids.u64
expect 0 "$g" ids.u64 ids.want.u64
expect 0 "$g" --memory 100M --batch-bytes 100000 --fan-in 3 --compress-temp numbers --stats stats.json ids.u64 out.u64
same out.u64 ids.want.u64
python3 - <<'PY'
import json
temp = json.load(open("stats.json"))["temp_bytes"]
assert temp["codec"] == "numbers" and temp["peak"] < 700_000, temp
PY
# Temp data through any program: one process for each block, and none is left however the job ends.
tool() {
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
spills="--memory 100M --batch-bytes 100000 --fan-in 3 --no-fsync"
tool prog 'echo $$ "$@" >>calls; exec gzip -1 "$@"'
expect 0 "$g" $spills --compress-program=./prog --stats stats.json web.log out.log
same out.log web.want
python3 - <<'PY'
import json
temp = json.load(open("stats.json"))["temp_bytes"]
assert temp["codec"] == "program" and temp["peak"] < 700_000, temp
calls = open("calls").read().splitlines()
assert len(calls) > 10 and 2 * sum(call.endswith(" -d") for call in calls) == len(calls), calls
PY
# The parent's handling of SIGCHLD does not matter.
expect 0 sh -c "trap '' CHLD; exec $g $spills --compress-program=./prog web.log out.log"
same out.log web.want
tool longer 'case $1 in -d) exec false;; *) cat; echo;; esac'
expect 0 "$g" $spills --compress-program=./longer web.log out.log
same out.log web.want
tool no_mode 'exec cat'
chmod -x no_mode
for program in ./missing ./no_mode; do
  expect 0 "$g" $spills --compress-program=$program --stats stats.json web.log out.log
  same out.log web.want
  [ "$(grep -c "could not run compress program '$program': " err)" = 1 ] || fail "$program: $(cat err)"
  grep -q 'could not run compress program' stats.json || fail "stats do not note that $program was not run"
done
rm out.log
tool fails 'echo $$ >>pids; cat | gzip; exit 3'
tool fails_back 'echo $$ >>pids; gzip "$@"; test "$1" != -d'
tool killed 'echo $$ >>pids; kill -9 $$'
for program in fails fails_back killed; do
  expect 4 "$g" $spills --compress-program=./$program web.log out.log
  says "'./$program' \[-d\] terminated abnormally"
done
tool cuts 'echo $$ >>pids; case $1 in -d) exec cat;; *) head -c 50; cat >/dev/null;; esac'
expect 8 "$g" $spills --compress-program=./cuts web.log out.log
says "'./cuts' -d did not give back what './cuts' was given"
tool hangs 'echo $$ >>pids; echo >"$HUNG"; exec sleep 1000'
left() {
  local pid
  for pid in $(cat pids); do
    if grep -qs sleep "/proc/$pid/cmdline"; then echo "$pid"; fi
  done
}
for signal in TERM INT; do
  # A job that needs more than a third of a second to stop is ended at once.
  for try in {1..10}; do
    # A new name for each try: the program of an earlier try may only now be starting.
    hung=hung.$signal.$try
    env --default-signal=$signal HUNG=$hung "$g" $spills --compress-program=./hangs web.log out.log &
    until [ -e $hung ]; do sleep 0.01; done
    kill -$signal $!
    code=0
    wait $! || code=$?
    [ "$code" = $((128 + $(kill -l $signal))) ] || fail "signal $signal: exit $code"
    pids=$(left)
    [ -n "$pids" ] || break
    kill -KILL $pids
  done
  [ -z "$pids" ] || fail "a compress program is left"
done
[ ! -e out.log ] || fail "a failed compress program left an output"
nothing_left
# Together with options that count lines from the top.
head -n 2 web.log >two.log
{ cat two.log; sort few.log; } >a.log
{ cat two.log; sort no_end.txt; } >b.log
gzip -c a.log >a.log.gz
zstd -qf b.log
{ cat two.log; sort few.log no_end.txt; } >merged.want
for how in "" "-m"; do
  expect 0 "$g" $how --header 2 --verify-output -o out.zst a.log.gz b.log.zst
  zstd -dcq out.zst | cmp - merged.want || fail "headers of compressed files $how"
  expect 0 "$g" $how --header 2 --top 5 -o out.log a.log.gz b.log
  head -n 7 merged.want | cmp - out.log || fail "the first of compressed files $how"
done
# Different headers are found before a record is read: --explain reads none of compressed files.
{ echo other; echo header; echo x; } | zstd -q >other.log.zst
for inputs in 'a.log.gz other.log.zst' 'b.log other.log.zst' 'other.log.zst b.log'; do
  expect 3 "$g" --explain --header 2 -o out.log $inputs
  says "the headers of [ab].log\(.gz\)\? and other.log.zst differ at byte "
done
expect 0 "$g" -c --header 2 a.log.gz
tac b.log | gzip >r.log.gz
expect 3 "$g" -m --header 1 -o out.log r.log.gz
below=$({ tac b.log | sed 1d | sort -c 2>&1 || true; } | cut -d: -f3)
says "r.log.gz: not sorted: line $((below + 1)) "
expect 0 "$g" --debug -k1,1 no_end.txt out.log
gzip -c no_end.txt >no_end.txt.gz
expect 0 "$g" --debug -k1,1 no_end.txt.gz out2.log
same out.log out2.log
expect 0 "$g" --debug -k1,1 no_end.txt out.log.zst
zstd -dcq out.log.zst | cmp - out.log || fail "annotated lines, compressed"

expect 2 "$g" --compress-temp lz4 --compress-program ./prog web.log out.log
says "exclude each other"
nothing_left
echo "codecs: ok"
