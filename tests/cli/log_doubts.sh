#!/usr/bin/env bash
# labels: any_build brief
# Logs whose times can be read in several ways: the reading is announced, an option gives another one, or the log is
# refused.
. "$2/tests/cli/common.sh.inc"
export TZ=UTC
gpusort() { "$bin/gpusort" --format log "$@"; }
silent() { [ ! -s err ] || fail "a word about what is certain: $(cat err)"; }
# order NAME...: the last words of the lines of out.
order() { [ "$(sed 's/.* //' out | xargs)" = "$*" ] || fail "the order is $(sed 's/.* //' out | xargs), not $*"; }

# Abbreviations of zones with several meanings: the usual one, with a warning, in every form and once for each input.
printf '2026-11-23 10:00:00 UTC utc\n2026-11-23 11:00:00 IST ist\n2026-11-23 12:00:00 UTC late\n' >ist.log
expect 0 gpusort --timezone UTC -o out ist.log
order ist utc late
says "ist.log: the zone IST was taken for +02:00, and has other meanings; --timezone of a zone that uses \
the word, such as Asia/Kolkata, gives its meaning, .*; the first is '2026-11-23 11:00:00 IST ist'"
[ "$(wc -l <err)" = 1 ] || fail "more than a warning: $(cat err)"
gpusort --explain --timezone UTC ist.log | grep -q '^format .*the zone IST was taken for +02:00' || fail "--explain"
sed 's/10:00:00 UTC/04:00:00 UTC/' ist.log >india.log
expect 0 gpusort --timezone Asia/Kolkata -o out india.log
order utc ist late
silent
expect 0 gpusort --timezone UTC -o out india.log
order utc ist late
says 'taken for +02:00'
expect 0 env TZ=Asia/Kolkata "$bin/gpusort" --format log -o out ist.log
order ist utc late
says 'the zone IST was taken for +05:30, as in Asia/Kolkata (the value of TZ)'
printf '2026-11-23 05:31:00 UTC utc\n2026-11-23 11:00:00 IST ist\n' >half.log
expect 0 gpusort --timezone Asia/Kolkata -o out half.log
order ist utc
expect 0 gpusort --timezone Asia/Jerusalem -o out half.log
order utc ist
silent
expect 0 gpusort --timezone Asia/Kolkata --time '%Y-%m-%d %H:%M:%S IST' --time '%Y-%m-%d %H:%M:%S %Z' -o out half.log
order ist utc
silent
tac half.log >half.want
"$bin/gpusort_check" --format log --timezone Asia/Kolkata --against half.log half.want >check.txt 2>&1 ||
  fail "gpusort_check: $(cat check.txt)"
# A bound of a window has the same meaning, and a zone of this machine that agrees is no doubt.
expect 0 gpusort --timezone Asia/Kolkata --since '2026-11-23 11:00:00 IST' --until '2026-11-23 11:00:01 IST' -o out half.log
order ist
printf '2026-11-23 08:00:00 CST x\n' >own.log
expect 0 env TZ=America/Chicago "$bin/gpusort" --format log -o out own.log
silent
# China's CST, also in JSON, in a log of syslog, and in a text that --time or --time-regex reads.
printf '2026-11-23 01:00:00 UTC utc\n2026-11-23 08:00:00 CST cst\n' >cst.log
expect 0 gpusort --timezone Asia/Shanghai -o out cst.log
order cst utc
silent
expect 0 gpusort --timezone America/Chicago -o out cst.log
order utc cst
silent
expect 0 gpusort --timezone UTC --time '%Y-%m-%d %H:%M:%S %Z' -o out cst.log
says 'CST was taken for -06:00'
expect 0 gpusort --timezone UTC --time-regex '(.*) (utc|cst)' -o out cst.log
says 'CST was taken for -06:00'
printf '{"ts":"2026-11-23 08:00:00 CST","n":1}\n{"ts":"2026-11-23 01:00:00 UTC","n":2}\n' >cst.jsonl
expect 0 gpusort --timezone UTC -o out cst.jsonl
says 'CST was taken for -06:00'
same out <(tac cst.jsonl)
expect 0 gpusort --timezone Asia/Shanghai -o out cst.jsonl
same out cst.jsonl
silent
# The abbreviation can come first after many lines, in any piece of the input, and each input has its own warning.
{ for i in {10000..60000}; do echo "2026-11-22 10:00:00 UTC $i"; done; echo '2026-11-23 10:00:00 AMT late'; } >late.log
expect 0 gpusort --timezone UTC --memory 64M -o out late.log late.log ist.log
says "late.log: the zone AMT was taken for -04:00.*the first is '2026-11-23 10:00:00 AMT late'; the same holds for 1 more"
says 'ist.log: the zone IST'
# Words with one meaning, or nearly always one.
for word in UTC GMT Z CET CEST EST EDT PST MST JST WEST; do
  printf '2026-11-23 11:00:00 %s x\n' $word $word >plain.log
  expect 0 gpusort --timezone UTC -o out plain.log
  silent
done

# Columns of timestamps read abbreviations in the same way, with the same warning, and so do times of day.
column() { "$bin/gpusort" "$@"; }
printf 'ts,n\n2026-11-23 11:00:00 IST,a\n2026-11-23 08:00:00 UTC,b\n' >ist.csv
{ head -n 1 ist.csv; tail -n +2 ist.csv | tac; } >turned.csv
expect 0 column -k ts:timestamp ist.csv out.csv
same out.csv turned.csv
says "ist.csv: the zone IST was taken for +02:00, and has other meanings; --timezone of a zone that uses \
the word, such as Asia/Kolkata, gives its meaning, and a format with IST as text .*; the first is '2026-11-23 11:00:00 IST'"
[ "$(wc -l <err)" = 1 ] || fail "more than a warning: $(cat err)"
expect 0 column --timezone Asia/Kolkata -k ts:timestamp ist.csv out.csv
same out.csv ist.csv
silent
sed 's/UTC/IST/' ist.csv >both.csv
expect 0 column --timezone Asia/Kolkata -k 'ts:timestamp(%Y-%m-%d %H:%M:%S IST)' both.csv out.csv
same out.csv <(head -n 1 both.csv; tail -n +2 both.csv | tac)
silent
expect 0 env TZ=Asia/Kolkata "$bin/gpusort" -k ts:timestamp ist.csv out.csv
same out.csv ist.csv
says 'the zone IST was taken for +05:30, as in Asia/Kolkata (the value of TZ)'
expect 0 env TZ=Asia/Jerusalem "$bin/gpusort" -k ts:timestamp ist.csv out.csv
same out.csv turned.csv
silent
"$bin/gpusort_check" --format csv -k ts:timestamp --timezone Asia/Kolkata --against ist.csv ist.csv >check.txt 2>&1 ||
  fail "gpusort_check: $(cat check.txt)"
"$bin/gpusort_check" --format csv -k ts:timestamp --against ist.csv turned.csv >check.txt 2>&1 || fail "gpusort_check: $(cat check.txt)"
printf '{"at":{"t":"23/Nov/2026:08:00:00 CST"}}\n{"at":{"t":"2026-11-23T01:00:00Z"}}\n' >at.jsonl
expect 0 column -k at.t:timestamp --timezone Asia/Shanghai at.jsonl out
same out at.jsonl
silent
expect 0 column -k at.t:timestamp at.jsonl out
same out <(tac at.jsonl)
says 'CST was taken for -06:00'
printf '2026-11-23 08:00:00 UTC at=2026-11-23T08:00:00CST\n2026-11-23 08:00:01 UTC at=2026-11-23T01:00:00Z\n' >field.log
expect 0 gpusort --timezone Asia/Shanghai -k '~at=(.*):timestamp' -o out field.log
same out field.log
silent
expect 0 gpusort --timezone UTC -k '~at=(.*):timestamp' -o out field.log
same out <(tac field.log)
says 'CST was taken for -06:00'
printf '08:00 CST\n01:00 UTC\n' >clock.txt
expect 0 column -t, --timezone Asia/Shanghai -k 1:time clock.txt out
same out clock.txt
silent
expect 0 column -t, -k 1:time clock.txt out
same out <(tac clock.txt)
says 'CST was taken for -06:00'
# Times without a zone are UTC, or times of --timezone. Of an hour that occurs twice they are in the second one.
printf 'ts,n\n2026-10-25 02:30:00,a\n2026-10-25T01:00:00Z,b\n2026-07-01 12:00:00,c\n2026-07-01T11:00:00Z,d\n' >local.csv
expect 0 column -k ts:timestamp local.csv out.csv
[ "$(tail -n +2 out.csv | sed 's/.*,//' | xargs)" = 'd c b a' ] || fail "times of UTC: $(cat out.csv)"
says 'timestamps without a zone were taken as UTC; --timezone ZONE gives another zone'
expect 0 column --timezone Europe/Berlin -k ts:timestamp local.csv out.csv
[ "$(tail -n +2 out.csv | sed 's/.*,//' | xargs)" = 'c d b a' ] || fail "times of Berlin: $(cat out.csv)"
silent
"$bin/gpusort_check" --format csv -k ts:timestamp --timezone Europe/Berlin --against local.csv out.csv >check.txt 2>&1 ||
  fail "gpusort_check: $(cat check.txt)"
expect 2 column --timezone Europe/Berlin -k n local.csv out.csv
says 'no meaning without a key of the type timestamp or time'
expect 2 column --timezone Europe/Nowhere -k ts:timestamp local.csv out.csv
says 'there is no time zone'
# What was assumed about times is said as well if they are out of order.
expect 1 column -c -k ts:timestamp local.csv
says 'timestamps without a zone were taken as UTC'
expect 3 column -m -k ts:timestamp -o out.csv local.csv local.csv
says 'timestamps without a zone were taken as UTC'
says 'local.csv: not sorted: record 2, line 3, .*; sort it without -m$'
expect 1 column -C -k ts:timestamp local.csv
silent
expect 1 column -c -k ts:timestamp ist.csv
says 'the zone IST was taken for +02:00'
printf '2026-07-01 12:00:00 a\n2026-07-01 11:00:00 b\n' >local.log
for check in '1 -c' '3 -m -o out local.log'; do
  set -f
  # shellcheck disable=SC2086
  expect ${check%% *} env TZ=Europe/Berlin "$bin/gpusort" --format log ${check#* } local.log
  set +f
  says 'timestamps without a zone were taken as times of Europe/Berlin (the value of TZ)'
done
# The row of --explain about the zone. zone_row ROW OPTION...
zone_row() {
  local row
  row=$("$bin/gpusort" --explain "${@:2}" 2>err | sed -n 's/^time zone  *//p')
  [ "$row" = "$1" ] || fail "--explain ${*:2}: the zone is '$row' ($(cat err))"
}
words='for abbreviations such as CST'
zone_row "UTC (the value of TZ) for times without a zone, and $words" --format log local.log
zone_row "Europe/Berlin (--timezone) for times without a zone, and $words" --format log --timezone Europe/Berlin local.log
zone_row "+02:00 (--timezone) for times without a zone, and $words" -k ts:timestamp --timezone +02:00 local.csv
zone_row "UTC for times without a zone (--timezone gives another); UTC (the value of TZ) $words" -k ts:timestamp local.csv
zone_row "UTC (the value of TZ) $words" -t, -k 1:time clock.txt
TZ=Nowhere zone_row "there is no time zone 'Nowhere' (the value of TZ): give --timezone a name like Europe/Berlin, or an \
offset like +01:00; the package tzdata has the names" -k ts:timestamp local.csv
zone_row '' -k n local.csv
# A sort of many machines looks at no TZ.
for zone in UTC Asia/Kolkata; do
  rm -rf tasks out.csv
  expect 0 env TZ=$zone "$bin/gpusort_task" runs --slice 0/1 --into tasks -k ts:timestamp ist.csv
  expect 0 env TZ=$zone "$bin/gpusort_task" cut --parts 1 tasks
  expect 0 env TZ=$zone "$bin/gpusort_task" part --part 0/1 tasks out.csv
  expect 0 env TZ=$zone "$bin/gpusort_task" prove --parts 1 tasks out.csv
  same out.csv turned.csv
done
# The meanings in all zones, as Python knows them.
if python3 -c 'import zoneinfo; zoneinfo.ZoneInfo("Asia/Kolkata")' 2>/dev/null; then
  expect 0 python3 "$src/tests/cli/zone_words.py" "$bin/gpusort" "$(few && echo 40 || echo 1000)"
fi

# A number after the clock is an offset from UTC or, as in the log of cron, the number of a process. Numbers that are no
# offsets tell.
printf 'Nov 23 22:10:01-%s x\n' 0417 1015 0512 1100 9999 >pids.log
expect 0 gpusort --year 2026 -o out pids.log
same out pids.log
says "were taken for text, because the numbers of other lines are no offsets: --time with %z.*22:10:01-1015 x'"
printf 'root (11/23-22:%s) CMD (x)\n' 10:01-104 10:02-1015 10:03-12345 10:04-1200 10:05-877 >cron.log
expect 0 gpusort --year 2026 -o out cron.log
same out cron.log
says 'were taken for text'
printf 'Nov 23 22:10:01-1015 a\nNov 23 22:10:00-1145 b\n' >none.log  # no zone has these offsets
expect 0 gpusort --year 2026 -o out none.log
order a b
says 'were taken for offsets from UTC'
printf '2026-11-23 22:10:0%s x\n' 1-0400 2-0400 3-0400 >zone.log
expect 0 gpusort -o out zone.log
silent
gpusort --explain zone.log | grep -q 'is 2026-11-24T02:10:01Z' || fail "an offset of all lines: $(gpusort --explain zone.log)"
printf '2026-11-23 22:10:0%s\n' '1-0400 a' '1+0530 c' '1+0100 b' '1-1200 d' >zones.log
expect 0 gpusort -o out zones.log
order c b a d
silent
printf '2026-11-23 22:10:0%s\n' '1-1000 b' '2-1100 c' '1 a' >few.log
expect 0 gpusort -o out few.log
order a b c
says 'were taken for offsets from UTC: --time without %z'
printf 'h - - [23/Nov/2026:22:10:09 -%s] "GET /"\n' 1000 1100 >web.log
expect 0 gpusort -o out web.log
silent
printf '2026-11-23 22:10:0%s\n' '1-0400 b' '1-1015 c' '1-0100 a' >some.log
expect 0 gpusort -o out some.log
order a b c
says 'were taken for offsets from UTC'
{ for i in {1..9}; do echo "2026-11-23 22:10:0$i +0100 x"; done; echo '2026-11-23 22:10:09 -1510 EUR'; } >mixed.log
expect 0 gpusort -o out mixed.log
says "were taken for offsets from UTC.*the first is '2026-11-23 22:10:09 -1510 EUR'"

# gzip notes the time of the file that it compresses. A time without a year is of the year before that time.
member() { python3 -c 'import gzip, sys
with gzip.GzipFile("", "wb", 9, open(sys.argv[1], "wb"), int(sys.argv[2])) as file:
    file.write(b"Jan  1 10:00:00 host p: x\n")' "$1" "$2"; }
member 2024.log.gz 1704153600
member 0.log.gz 0
touch -d 2026-03-01 2024.log.gz 0.log.gz
gpusort --explain 2024.log.gz | grep -q 'is 2024-01-01T10:00:00Z' || fail "the time of the member: $(gpusort --explain 2024.log.gz)"
gpusort --explain 0.log.gz | grep -q 'is 2026-01-01T10:00:00Z' || fail "the time of the file: $(gpusort --explain 0.log.gz)"

# The members of a file can be of different years, so that the time of the first one says nothing of the others.
cat 2024.log.gz 2024.log.gz >two.log.gz
touch -d 2026-03-01 two.log.gz
gpusort --explain two.log.gz | grep -q 'is 2026-01-01T10:00:00Z' || fail "two members: $(gpusort --explain two.log.gz)"

# A log whose form is not known: the message names the options that read it.
for time in 1145552216 1131564689 1077804742 1074119817; do
  echo "134681 node-246 unix.hw state_change.unavailable $time 1 Component x"
done >hpc.log
expect 3 gpusort -o out hpc.log
says ", --time-regex RE finds them anywhere in the line, such as --time-regex '^(?:\[^ \]+ ){4}(\[0-9\]+)' in word 5"
expect 0 gpusort --time-regex '^(?:[^ ]+ ){4}([0-9]+)' -o out hpc.log
same out <(tac hpc.log)
# Spark's order is known by classes with their packages. Short names are those of any Java program.
printf '17/06/09 20:10:4%s\n' '0 INFO executor.Executor: Running' '1 INFO storage.BlockManager: external' >spark.log
touch -d 2026-03-01 spark.log
expect 0 gpusort -r -o out spark.log
says 'the times are year/month/day of two digits, as in logs of Hadoop and Spark'
same out <(tac spark.log)
for i in 09 10 11 12; do echo "$i/10/11 08:00:00 INFO OrderService: x"; done >java.log
touch -d 2026-03-01 java.log
expect 3 gpusort -o out java.log
says 'year or day first'

# A log of few times: stack traces, statements and tables continue records. Sentences do not, unless an option says so.
{ echo '2026-01-01 10:00:00 x'; for i in {1..8}; do echo "prose $i without"; done; echo '2026-01-01 09:00:00 x'; } >prose.log
expect 3 gpusort -o out prose.log
says "only 2 of 10 lines have a time in a known form, and most lines are text, such as 'prose 1 without' and 'prose 2 \
without'; --multiline auto takes such lines for parts of the records before them"
expect 0 gpusort --multiline auto -o out prose.log
[ "$(head -n 1 out)" = '2026-01-01 09:00:00 x' ] || fail "--multiline auto: $(cat out)"
expect 0 gpusort --multiline none -o out prose.log
same out <(tail -n 1 prose.log; head -n 9 prose.log)
expect 0 gpusort --time '%Y-%m-%d %H:%M:%S' -o out prose.log
for i in {1..9}; do printf '2026-01-01 10:00:0%s x\nthis is a sentence\nand this is another\n' $i; done >grows.log
expect 0 gpusort -o out grows.log
same out grows.log
for text in 'java.lang.Error: not a sentence' 'Caused by: x.Error' 'at org.example.Main.run(Main.java:7)' \
  'select a from b' 'a | b | c' '  indented text of a record' 'name      value' '{"a": 1}' '}' 'key=value of x' \
  'File "x.py", line 7, in run' 'ERROR:  relation does not exist'; do
  { echo '2026-01-01 10:00:00 x'; for _ in {1..4}; do echo "$text"; done; echo '2026-01-01 09:00:00 x'; } >trace.log
  expect 0 gpusort -o out trace.log
  same out <(tail -n 1 trace.log; head -n 5 trace.log)
done

for i in 2 1 3; do printf '%%%%%%%%  OPCOM  2%s-NOV-2026 21:58:50.41  %%%%%%%%\nMessage from user X on N1\nlink up on port %s\n\n' $i $i
done >opcom.log
expect 0 gpusort -o out opcom.log
[ "$(grep -o 'port .' out | xargs)" = 'port 1 port 2 port 3' ] || fail "records between blank lines: $(cat out)"

# The form is learnt from the first 256 KiB, also of a stream and in little memory, whose pieces are smaller.
{
  for ((i = 0; i < 3000; ++i)); do echo "2026-11-23 22:10:01 $i"; done
  for ((i = 0; i < 300; ++i)); do echo "Nov 22 10:00:01 host prog: $i"; done
} >change.log
[ "$(stat -c %s change.log)" -gt 65536 ]
{ tail -n 300 change.log; head -n 3000 change.log; } >change.want
gzip -k change.log
change() { gpusort --timezone UTC --year 2026 -o out "$@"; }
for memory in 12M 1G; do
  for input in change.log change.log.gz -; do
    expect 0 change --memory $memory $input <change.log
    same out change.want
    silent
  done
  expect 0 change --memory $memory --threads 1 - <change.log
  same out change.want
done
echo "log_doubts: ok"
