# labels: brief
# Tests the command line, exit codes and messages as a user at a prompt sees them.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

"$bin/gpusort_gen" --type i32 --count 10000 --seed 1 in.bin
expect 0 "$g" in.bin out.bin
expect 0 "$bin/gpusort_check" --type i32 --against in.bin out.bin
expect 0 "$g" --check --type i32 out.bin
expect 1 "$g" --check --type i32 in.bin
says 'record [0-9]* (byte'
expect 2 "$g" --check --type i32 out.bin out.bin
says 'exactly one input'
expect 0 "$g" --explain in.bin explained.bin
[ ! -e explained.bin ] || fail "--explain wrote its output"
grep -q 'i32 (' <("$g" --explain in.bin out.bin) || fail "--explain does not say the type"
"$g" --explain in.bin out.bin >plan
grep -Eq '^in short  *the input fits in memory: one pass, no temp files, about [0-9.]+ s, limited by (the|reading|writing) ' <(head -1 plan) || fail "--explain: $(cat plan)"
grep -q '^sorts on  *CPU, ' plan || fail "--explain does not say what sorts: $(cat plan)"
! grep -qE 'lane|slot|ring|fan-in|tier|window|backend' plan || fail "--explain has words of the plan: $(cat plan)"
"$g" --explain=full in.bin out.bin >plan
for word in runs fan-in level batch window "temp space" block tiers; do
  grep -q "$word" plan || fail "--explain=full does not say: $word"
done
# What standard error shows.
expect 0 "$g" --no-fsync --type i32 in.bin out.bin
says 'warning: --no-fsync'
for quiet in -q --quiet; do
  expect 0 "$g" $quiet --no-fsync --type i32 in.bin out.bin
  [ ! -s err ] || fail "$quiet: $(cat err)"
done
for verbose in -v --verbose; do
  expect 0 "$g" $verbose -j 1 --type i32 in.bin out.bin
  says 'info: done: exit code 0, '
  says 'info: sorts on: CPU, 1 thread'
  says 'info: plan: the input fits in memory: one pass, no temp files'
  ! grep -wE 'lanes?|slots?|ring|fan-in|tiers?|windows?|backend' err || fail "$verbose has words of developers"
done
expect 0 "$g" --log-level debug --type i32 in.bin out.bin
says 'debug: plan: fan-in'
for words in '-q -v' '-q --log-level info' '-v --log-level warn' '--quiet --progress always'; do
  expect 2 "$g" $words --type i32 in.bin out.bin
  says 'exclude each other'
done
# Help: a text that fits a screen of 24 lines and the prompt, all options, and the manual page, which the build makes from the same table.
grep -q 'man gpusort' <("$g" --help) || fail "--help does not say where the manual is"
[ "$("$g" --help | wc -l)" -le 23 ] || fail "--help is long"
grep -q 'Exit codes' <("$g" --help=all) || fail "--help=all without exit codes"
expect 2 "$g" --help=more
says 'none of: all, keys, examples, man, json'
expect 4 "$g" --help=man >/dev/full
"$g" --help=json >options.json
python3 - <<'PY' || fail "--help=json"
import json
rows = {row["name"]: row for row in json.load(open("options.json"))}
assert len(rows) > 60
row = rows["memory"]
assert (row["letter"], row["argument"], row["words"], row["changes_bytes"], row["repeats"]) == ("", "SIZE", [], False, False)
assert row["section"] == "Resources" and row["help"].startswith("host memory")
assert rows["output"]["letter"] == "o" and rows["key"]["repeats"] and rows["key"]["changes_bytes"]
assert rows["reverse"]["argument"] == "" and rows["random-source"]["changes_bytes"]
assert rows["progress"]["words"] == ["auto", "always", "never"]
assert rows[""]["letter"] == "C"
formats = {row["name"]: row for row in rows["format"]["formats"]}
assert ["binary", "lines", *formats] == rows["format"]["words"]
assert formats["jsonl"] == {"name": "jsonl", "extensions": [".jsonl", ".ndjson", ".json"], "scanned": False}
assert [name for name, row in formats.items() if not row["scanned"]] == ["jsonl"] and formats["log"]["extensions"] == []
PY
"$g" --help=man | cmp - "$bin/gpusort.1" || fail "gpusort.1 is not what --help=man prints"
if command -v groff >/dev/null; then
  LC_ALL=C.UTF-8 groff -man -Tutf8 -P-c -ww "$bin/gpusort.1" >page 2>err || fail "groff: $(cat err)"
  [ ! -s err ] || fail "groff warns: $(cat err)"
  sed -i 's/.\x08//g' page  # bold letters, which are printed twice
  for option in $("$g" --help=all | grep -Eo '^  (-.|  ), --[a-z0-9-]+|^      --[a-z0-9-]+|^  -. ' | tr -d ','); do
    grep -Eq "^ +(-., )?$option( |,|\$)" page || fail "the manual page has no $option"
  done
  LC_ALL=C.UTF-8 groff -man -Tutf8 -P-c -ww "$bin/generated/gpusort-keys.7" >keys 2>err || fail "groff: $(cat err)"
  [ ! -s err ] || fail "groff warns: $(cat err)"
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' SIGNALS ENVIRONMENT FILES LIMITS NOTES EXAMPLES; do
    grep -qx "$section" page || fail "the manual page has no $section"
  done
else
  echo "SKIPPED (no groff): the manual page as it is read"
fi
grep -qi 'cpu' <("$g" --version) || fail "--version does not list the CPU backend"

# An existing output and --no-clobber: also by another name, in place, and if the output appears during the job.
ln -s out.bin link.bin
for name in out.bin link.bin; do
  for more in "" "--format lines --locale" "--format lines --debug"; do
    expect 2 "$g" --no-clobber $more -o $name in.bin
    says 'out.bin: it exists, and --no-clobber keeps it'
  done
done
expect 2 "$g" --no-clobber in.bin in.bin
expect 0 "$g" --no-clobber in.bin new.bin
same new.bin out.bin
"$g" --no-clobber in.bin - | cmp -s - out.bin || fail "--no-clobber to a pipe"
expect 0 "$g" --no-clobber in.bin /dev/null
mkfifo late
"$g" --no-clobber --type i32 late new2.bin 2>err & job=$!
exec 3>late
cat in.bin >&3
echo old >new2.bin
exec 3>&-
code=0
wait $job || code=$?
[ $code = 4 ] || [ $code = 2 ] || fail "exit $code: an output that came into being meanwhile"
[ "$(cat new2.bin)" = old ] || fail "--no-clobber replaced an output that came into being meanwhile"
# Two logs, and -o is missing.
cp out.bin monday.bin
cp in.bin tuesday.bin
expect 2 "$g" -m monday.bin tuesday.bin
says "gpusort -m -o OUTPUT 'monday.bin' 'tuesday.bin'"
same tuesday.bin in.bin

# Every mistake in a command line ends with exit code 2.
expect 2 "$g" in.bin out.bin more.bin
expect 2 "$g" --nonsense in.bin out.bin
expect 2 "$g" --type i33 in.bin out.bin
expect 2 "$g" --record-size 0 in.bin out2
expect 2 "$g" --record-size 8 --key 5:u32 in.bin out2
expect 2 "$g" --record-size 99999999999999999999 in.bin out2
expect 2 "$g" --memory 99999999T in.bin out2
expect 2 "$g" missing.bin out2
says 'missing.bin'
expect 2 "$g" in.bin no/such/dir/out.bin
expect 2 "$g" --type i32 "$work" out2
keys=()
for i in $(seq 65); do keys+=(--key 0:u8); done
expect 2 "$g" --record-size 4 "${keys[@]}" in.bin out2
[ ! -e out2 ] || fail "a refused job made its output"

printf 'abcdefghi' >nine
expect 3 "$g" --type u64 nine out2
says 'offset 8'
: >empty
expect 0 "$g" --type u64 empty out3
[ -e out3 ] && [ ! -s out3 ] || fail "an empty input does not give an empty output"
expect 7 "$g" --device gpu:77 in.bin out2

# A strange name cannot forge a log line.
name=$'a\nb\e[31m.bin'
expect 2 "$g" "$name" out2
[ "$(wc -l <err)" = 1 ] || fail "a name with a newline made two lines"

# Files without read or write permission, which root would not notice.
if [ "$(id -u)" != 0 ]; then
  cp in.bin locked.bin
  chmod 0 locked.bin
  expect 2 "$g" locked.bin out2
  mkdir ro
  chmod 555 ro
  expect 2 "$g" in.bin ro/out.bin
else
  echo "SKIPPED (root): unreadable input, read-only directory"
fi

# Statistics are JSON with the requested facts.
expect 0 "$g" --memory 4M --threads 2 --batch-size 8000 --stats stats.json in.bin out.bin
python3 - <<'PY'
import json
s = json.load(open("stats.json"))
assert s["records_in"] == s["records_out"] == 10000, s
assert s["runs"] == 5 and s["tiers"]["temp"] == 5, s
assert s["host_memory"]["peak"] <= s["host_memory"]["limit"], s
assert s["temp_bytes"]["peak"] > 0
assert [p["phase"] for p in s["phases"]][-1] == "publish", s
for p in s["phases"]:
    for r in ("disk_read", "disk_write", "bus", "compute", "codec", "pipe_read", "pipe_write"):
        assert 0 <= p[r]["busy"] <= 1.01, p
PY
head -c 8000 out.bin >a.bin
for name in b c d; do cp a.bin $name.bin; done
expect 0 "$g" --memory 4M --fan-in 2 --stats stats.json -m -o merged.bin a.bin b.bin c.bin d.bin
"$g" --explain --memory 4M --fan-in 2 -m -o merged.bin a.bin b.bin c.bin d.bin >plan
grep -q 'temp space  *[0-9.]* KiB' plan || fail "--explain of a merge in levels: $(cat plan)"
python3 - <<'PY'
import json
s = json.load(open("stats.json"))
assert s["runs"] == 4 and s["levels"] == 2, s
PY
expect 0 "$g" --progress always in.bin out.bin
says 'merge runs'
if grep -q 'publish: 0 B' err; then fail "publishing shows a size that says nothing"; fi
expect 0 "$g" --log-file job.log --no-fsync in.bin out.bin
grep -q 'no-fsync' job.log || fail "a skipped fsync is not logged"
expect 0 "$g" --verify-output in.bin out.bin
# Reports never overwrite data under any name. A closed output is an error.
ln -s in.bin alias
expect 2 "$g" --stats ./out.bin in.bin out.bin
expect 2 "$g" --stats alias in.bin out.bin
expect 2 "$g" --log-file ./in.bin in.bin out.bin
expect 2 "$g" --stats no/such/dir/s.json in.bin out.bin
# Two roles of one file, under any names: each pair of roles if one of them writes.
printf './././././in.bin\0' >list
printf './././././in.bin\0' >list.before
ln list list.hard
ln -s list list.soft
ln -s none.bin nowhere
lines=(--format lines -R)
refused() {
  expect 2 "$g" "$@"
  says 'one file'
  same list list.before
}
refused --files0-from list --stats list.hard -o out2 --type i32
refused --files0-from list --log-file list.soft -o out2 --type i32
refused --files0-from list -o list.soft --type i32
refused --stats list.hard --log-file list.soft in.bin out2
refused --stats none.bin --log-file nowhere in.bin out2
refused --stats nowhere in.bin none.bin
refused "${lines[@]}" --random-source list --stats list.soft in.bin out2
refused "${lines[@]}" --random-source list --log-file list.hard in.bin out2
refused "${lines[@]}" --random-source list in.bin list.hard
refused --type i32 --stats list.soft - out2 <list
refused --log-file list.soft in.bin - >>list
[ ! -e out2 ] && [ ! -e none.bin ] || fail "a refused job made a file"
expect 0 "$g" --stats /dev/null --log-file /dev/zero in.bin out2
rm out2

# Reports to streams, to writable files in folders that are not writable, and to files that cannot be written, which is
# noticed before any work.
"$g" --stats /dev/stderr in.bin out.bin 2>err
grep -q '"records_out": 10000' err || fail "no statistics on standard error: $(cat err)"
"$g" --stats /dev/stdout --log-file /dev/stderr in.bin out.bin >stats.json 2>err
grep -q '"records_out": 10000' stats.json || fail "no statistics on standard output"
says 'done: exit code 0'
(echo before; "$g" --stats /dev/stderr in.bin out.bin; echo after) >both 2>&1
[ "$(head -n 1 both)" = before ] && [ "$(tail -n 1 both)" = after ] || fail "a report overwrote what was on the stream"
mkdir reports
: >reports/stats
: >reports/log
chmod 666 reports/*
chmod 555 reports
as_user=()
[ "$(id -u)" != 0 ] || as_user=(setpriv --reuid 60001 --clear-groups)
if "${as_user[@]}" test -r in.bin 2>/dev/null; then :; else chmod 755 .; fi
if "${as_user[@]}" true 2>/dev/null; then
  for report in "--stats reports/stats" "--log-file reports/log" "--stats /dev/stderr" "--log-file /dev/stderr"; do
    expect 0 "${as_user[@]}" "$g" $report in.bin - >written
    same written out.bin
  done
  grep -q '"records_out": 10000' reports/stats || fail "no statistics in a folder that cannot be written"
  expect 2 "${as_user[@]}" "$g" --stats reports/new in.bin -
  says 'cannot be made'
  chmod 444 reports/stats
  expect 2 "${as_user[@]}" "$g" --stats reports/stats in.bin -
else
  echo "SKIPPED (root without setpriv): reports in a folder that cannot be written"
fi
for report in . reports no/such; do
  for option in --stats --log-file; do
    expect 2 "$g" $option $report in.bin out4.bin
    [ ! -e out4.bin ] || fail "the job ran before $option $report failed"
  done
done

# The log begins with the job and ends with its result.
first() { head -n 1 "$1" | grep -Eq "$2" || fail "the log begins: $(head -n 1 "$1")"; }
last() { tail -n 1 "$1" | grep -Eq "$2" || fail "the log ends: $(tail -n 1 "$1")"; }
rm -f job.log
expect 0 "$g" --log-file job.log in.bin out.bin
first job.log "^[-0-9T:.]*Z info: gpusort [0-9.]+, pid [0-9]+: 'in.bin' to 'out.bin'\$"
last job.log 'Z info: done: exit code 0, 10000 records, 40000 bytes, [0-9.]+ seconds$'
# With debug the log has lines for each run and merge.
expect 0 "$g" --log-file job.log --log-level debug in.bin out.bin
for line in 'run 0: batch 0, 39.1 KiB, in memory$' 'merge of 1 runs: 39.1 KiB, in windows of '; do
  grep -q "debug: $line" job.log || fail "the log does not have '$line'"
done
expect 0 "$g" --log-file job.log --format lines --debug list out4
last job.log 'done: exit code 0, 1 records, [0-9]+ bytes, [0-9.]+ seconds$'
rm -f job.log
expect 3 "$g" --type u64 --log-file job.log --log-level off nine out4
last job.log 'failed: exit code 3, [0-9.]+ seconds$'
expect 2 "$g" --log-file job.log missing.bin out4
last job.log 'failed: exit code 2, [0-9.]+ seconds$'
expect 1 "$g" --check --log-file job.log in.bin
grep -q "'in.bin' (--check)\$" job.log || fail "the log does not say that it is a check"
last job.log 'done: not sorted, exit code 1, [0-9.]+ seconds$'
(for i in {1..20}; do printf 'in.bin\0'; done) >many
expect 0 "$g" --log-file job.log --files0-from many --type i32 -o out4
grep -q "'in.bin' and 12 more to 'out4'" job.log || fail "the log names too many inputs"
# The output is larger than a pipe, and no process reads it.
"$bin/gpusort_gen" --type i32 --bytes 8M more.bin
mkfifo unread
"$g" --log-file ended.log more.bin - >unread 2>err & job=$!
exec 3<unread
exec 3<&-
code=0
wait $job || code=$?
[ $code = 141 ] || fail "exit $code instead of 141"
last ended.log 'failed: ended by signal 13, [0-9.]+ seconds$'

# The program says which options have no effect.
expect 0 "$g" --device cpu --gpu-memory 1G in.bin out.bin
says '--gpu-memory has no effect with --device cpu'

expect 4 "$g" in.bin - >&-
expect 4 "$g" --type i32 - closed.bin <&-
expect 3 sh -c "head -c 7 in.bin | '$g' --check --type i32 -"
expect 2 "$g" --memory 16M --batch-size 4K --block-size 1048576T in.bin out.bin
# A log that cannot be written causes one warning. A report that cannot be written changes the exit code.
expect 0 "$g" --log-file /dev/full in.bin out.bin
says 'warning: the log in /dev/full (--log-file) is not complete: ENOSPC'
[ "$(wc -l <err)" = 1 ] || fail "a full disk for the log: $(cat err)"
expect 0 "$g" --log-file /dev/full --log-format json --log-level warn in.bin out.bin
says '"event":"note","message":"the log in /dev/full (--log-file) is not complete'
for option in --stats --trace --report; do expect 5 "$g" $option /dev/full in.bin out.bin; done

# --check accepts --device and needs no GPU.
for device in auto cpu gpu; do expect 0 "$g" --check --device $device --type i32 out.bin; done
expect 2 "$g" --check --device gup --type i32 out.bin

# Lines from a file whose name means columns cause a warning, which names the same keys as columns. --format lines says
# that lines are meant.
printf 'id,name\n3,c\n1,"a\nb"\n' >rows.csv
rows_as_lines() {  # rows_as_lines WANT OPTION...
  expect 0 "$g" "${@:2}" rows.csv out.txt
  says "warning: 'rows.csv' is sorted as lines because of $1; for lines, and without this warning: --format lines"
  expect 0 "$g" --format lines "${@:2}" rows.csv out.txt
  [ ! -s err ] || fail "--format lines: $(cat err)"
}
columns=": a header is sorted like any line, and a newline in quotes ends a record; by columns:"
rows_as_lines "-t$columns --delimiter ','" -t,
rows_as_lines "-k1,1nr$columns -k '#1:decimal:desc'" -k1,1nr
rows_as_lines "-t$columns --delimiter ',' -k '#2:nocase' -k '#1'" -t, -k2f,2 -k1,1
rows_as_lines "-n$columns -k '#1:decimal'" -n
expect 0 "$g" --delimiter , -k '#2:nocase' -k '#1:int' rows.csv out.csv
[ ! -s err ] || fail "columns: $(cat err)"
expect 1 "$g" --check -k1,1n rows.csv
says "because of -k1,1n: a header"
printf 'rows.csv\0' >list.of.rows
expect 0 "$g" -t, --files0-from list.of.rows -o out.txt
says "'rows.csv' is sorted as lines because of -t"
printf '{"id":2}\n' >rows.jsonl
expect 0 "$g" -k1 rows.jsonl out.txt
says 'because of -k1; by its members: -k PATH'
expect 0 "$g" -t, -k2 out.txt out2.txt
[ ! -s err ] || fail "lines: $(cat err)"
# Names that mean different formats.
printf 'id,name\n2,b\n' >rows.txt
for other in rows.txt rows.jsonl -; do
  expect 2 "$g" -o out.txt rows.csv $other <rows.txt
  says "the name 'rows.csv' means csv, and .*: give --format csv or --format lines"
done
expect 0 "$g" --format lines -o out.txt rows.csv rows.txt

# Errors of an input are reported before errors of the key.
for key in name 2,x '#1'; do
  expect 2 "$g" -k $key gone.txt out.txt
  says 'input gone.txt: ENOENT'
  expect 2 "$g" -k $key . out.txt
  says 'input . is a directory'
done
expect 2 "$g" --record-size 4 -k id gone.bin out.bin
says 'input gone.bin: ENOENT'
expect 2 "$g" -t, -k id:int gone.csv out.csv
says 'input gone.csv: ENOENT'
expect 2 "$g" -t, -k id:int rows.csv out.csv
says "'id:int' is not a key of lines, and -t is for lines: for columns by name give --delimiter ',' instead$"
expect 2 "$g" -k id -k 2 rows.csv out.csv
says "'id' is not a key of lines, and -k2 is one: give columns by number as #N$"
expect 2 "$g" -n -k id rows.csv out.csv
says "'id' is not a key of lines, and -n is for lines: for columns by name leave it out$"
expect 2 "$g" --format lines -k id rows.csv out.csv
says 'for columns by name give another --format, like csv$'
# A column key with a type, for an input whose name tells no format: the format is CSV if the header has the column.
expect 0 "$g" -k id:int rows.txt out.txt
expect 2 "$g" -k amount:int rows.txt out.txt
says "there is no column 'amount'"

# A log with records of several lines: sorting its lines would tear the records apart.
printf '2026-01-02 a\n\tat b\n2026-01-03 c\n' >traces.log
for options in "" "-k1,1" "--memory 4M --fan-in 2"; do
  expect 3 "$g" -m $options -o out.txt traces.log traces.log
  says 'sort it without -m if each of its lines is a record; --format log keeps records of several lines'
done
gzip -k traces.log
expect 3 "$g" -m -o out.txt traces.log.gz traces.log.gz
says 'sort it without -m if each of its lines is a record'
nothing_left
echo "usage: ok"
