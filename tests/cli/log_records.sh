# Tests logs whose records do not begin with their time (git log, Configuration Manager, and others), lines that may be
# records but are not taken for them, and years of two digits.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
log=(--format log --timezone UTC)
cat >make.py <<'END'
"""Writes logs of git, Configuration Manager and others in random order, and each in order of time."""
import datetime
import random

draw = random.Random(3)
LINE = "-" * 72
KINDS = {
    "svn": LINE + "\nr{n} | a b | {t:%Y-%m-%d %H:%M:%S} {zone} (x) | 3 lines\n\ntext of 2020-01-01 10:00:00\n"
           "r12 | a b | 2020-01-01 10:00:00 +0000 (x) | 1 line\n\n",
    "hg": "changeset:   {n}:0a1b2c\nuser:        a\ndate:        {t:%a %b %d %H:%M:%S %Y} {zone}\nsummary:     x\n\n",
    "bzr": "revno: {n}\ncommitter: a\ntimestamp: {t:%a %Y-%m-%d %H:%M:%S} {zone}\nmessage:\n  x\n" + LINE[12:] + "\n",
    "modsecurity": "--{n:08x}-A--\n[{t:%d/%b/%Y:%H:%M:%S} {zone}] X{n} 10.0.0.1 12 10.0.0.2 80\n--{n:08x}-B--\n"
                   "GET / HTTP/1.1\nDate: Mon, 23 Nov 2020 22:10:01 GMT\n\n--{n:08x}-Z--\n\n",
    "setupapi": ">>>  [Device Install - {n}]\n>>>  Section start {utc:%Y/%m/%d %H:%M:%S}.123\n"
                "     utl: 2020/01/01 00:00:00\n<<<  Section end 2026/11/23 22:10:02.555\n<<<  [Exit status]\n\n\n",
    "wevtutil": "Event[{n}]:\n  Log Name: System\n  Date: {utc:%Y-%m-%dT%H:%M:%S}.123\n  Event ID: 7\n\n",
    "errpt": "LABEL:          A\nIDENTIFIER:     {n}\n\nDate/Time:       {utc:%a %b %d %H:%M:%S UTC %Y}\n---\n",
    "export": "__CURSOR=s={n}\n__REALTIME_TIMESTAMP={e}123456\nMESSAGE=2020-01-01 10:00:00\n\n",
    "fish": "- cmd: echo {n}\n  when: {e}\n  paths:\n    - x\n",
}
for name, count in (("git", 4000), ("sccm", 3000), *((kind, 500) for kind in KINDS)):
    records = []
    for n in range(count):
        t = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=draw.randrange(10**7))
        east = draw.choice([-300, 0, 60, 330])
        local = t + datetime.timedelta(minutes=east)
        zone = f"{'-' if east < 0 else '+'}{abs(east) // 60:02}{abs(east) % 60:02}"
        if name == "git":
            merge = "Merge: 1a2b3c4 5d6e7f8\n" if draw.random() < 0.2 else ""
            body = "".join(f"    Text {n} at 2020-01-01 10:00:00\n" for _ in range(draw.randrange(1, 30)))
            patch = f"\ndiff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-commit {n}\n+2026-01-01 x\n"
            records.append((t, f"commit {draw.getrandbits(160):040x}\n{merge}Author: A <a@b.c>\n"
                            f"Date:   {local:%a %b} {local.day} {local:%H:%M:%S %Y} {zone}\n\n{body}"
                            f"{patch if draw.random() < 0.3 else ''}\n"))
        elif name in KINDS:
            records.append((t, KINDS[name].format(n=n, t=local, utc=t, e=int(t.timestamp()), zone=zone)))
        else:
            lines = "\n".join(f"line {k} of 2019-01-01 00:00:00" for k in range(draw.choice([1, 1, 1, 3, 40])))
            records.append((t, f'<![LOG[{lines}]LOG]!><time="{local:%H:%M:%S}.123{-east:+d}" '
                            f'date="{local:%m-%d-%Y}" component="X" type="1">\n'))
    for ending, ordered in (("log", records), ("want", sorted(records, key=lambda record: record[0]))):
        with open(f"{name}.{ending}", "w") as out:
            out.write("".join(text for _, text in ordered))
END
python3 make.py
for name in git sccm svn hg bzr modsecurity setupapi wevtutil errpt export fish; do
  for options in '' '--memory 16M --batch-bytes 64K --threads 2'; do
    # shellcheck disable=SC2086
    expect 0 "$g" "${log[@]}" $options -o out "$name.log"
    same out "$name.want"
    ! grep warning err | grep -qv 'without a zone' || fail "$(cat err)"
  done
  expect 0 "$g" "${log[@]}" -c "$name.want"
  expect 0 "$bin/gpusort_check" "${log[@]}" --against "$name.log" "$name.want"
  expect 1 "$bin/gpusort_check" "${log[@]}" --against "$name.log" "$name.log"
  expect 0 "$g" "${log[@]}" -m --memory 16M -o out "$name.want"
  same out "$name.want"
done
expect 0 "$g" "${log[@]}" -o both git.log sccm.log
expect 0 "$g" "${log[@]}" -m -o out git.want sccm.want
same out both
for k in 0 1; do expect 0 "$bin/gpusort_task" runs --slice $k/2 --into job "${log[@]}" git.log; done
expect 0 "$bin/gpusort_task" cut --parts 1 job
expect 0 "$bin/gpusort_task" part --part 0/1 job whole
expect 0 "$bin/gpusort_task" prove --parts 1 job whole
same whole git.want
# Lines before the first record belong to it. Without fixed starts, some of these logs have no times.
{ echo '[Device Install Log]'; echo; cat setupapi.log; } >headed.log
expect 0 "$g" "${log[@]}" -o out headed.log
expect 0 "$bin/gpusort_check" "${log[@]}" --against headed.log out
expect 3 "$g" "${log[@]}" --multiline indent -o out modsecurity.log
# Times of day whose dates are in other lines.
printf '%s\n' '--- Log opened Mon Nov 16 08:00:00 2026' '08:01 <a> x' '08:02 <b> y' '--- Day changed Tue Nov 17 2026' \
  '07:00 <a> z' >irc.log
expect 3 "$g" "${log[@]}" -o out irc.log
says 'with a time of day without its date, such as .08:01 <a> x.'
expect 0 "$g" "${log[@]}" -o out <(printf '%s\n' 'Fri Nov 20 21:40:03 UTC 2026' '21:40:03 up 3 days' \
  'Fri Nov 20 21:41:03 UTC 2026' '21:41:03 up 3 days')
says 'a time stands in 2 lines that did not begin a record'
# Records of other programs among records with a fixed start: refused if there are many, otherwise announced.
other='1.1.1.1 - - [20/Nov/2026:21:59:00 +0000] "GET / HTTP/1.1" 200 1'
of_modsecurity() { printf '%s\n' '--a1b2c3d4-A--' "[20/Nov/2026:21:$1:03 +0000] X 1.2.3.4 1 2.3.4.5 80" '--a1b2c3d4-Z--' ''; }
{ of_modsecurity 40; echo "$other"; of_modsecurity 42; } >others.log
expect 3 "$g" "${log[@]}" -o out others.log
{ for n in 10 11 12 13 14 15 16 17 18 19 20 21; do of_modsecurity $n; done; echo "$other"; } >others.log
expect 0 "$g" "${log[@]}" -o out others.log
says "a time stands in 1 line that did not begin a record, the first is '1.1.1.1 - - "
# So are lines after the last line of a record, and indented times of any day.
for line in '<event time="2026-11-22T10:00:00Z">' ' <time>2026-11-20T10:00:00Z</time>'; do
  { for n in 10 11 12; do of_modsecurity $n; done; echo "$line"; of_modsecurity 13; } >others.log
  expect 0 "$g" "${log[@]}" -o out others.log
  says "a time stands in 1 line that did not begin a record, the first is '$line'"
done
printf '%s\n' '2026-11-23 22:10:01 a' '  at b' '  at b' '  at b' '  2020-01-01 10:00:00 c' '  2020-01-01 10:00:00' '  at d' \
  '2026-11-23 22:10:02 e' >others.log
expect 0 "$g" "${log[@]}" -o out others.log
says "a time stands in 1 line that did not begin a record, the first is '  2020-01-01 10:00:00 c'"
{ for n in 40 41 42; do echo "[main] 2026-11-20 21:$n:03 a"; done; echo 'Nov 20 21:41:00 h p: c'; echo 'Nov 20 21:39:00 h p: d'
  echo 'Nov 20 21:43:00 h p: e'; } >others.log
expect 0 "$g" "${log[@]}" -o out others.log
says "a time stands in 3 lines that did not begin a record, the first is '.main. 2026"
# A longer line of dashes in a message begins no commit of svn log.
dashes=$(printf '%072d' 0 | tr 0 -)
printf '%s\n' "$dashes" 'r2 | jo | 2026-11-20 21:41:00 +0000 (x) | 3 lines' '' 'msg' "$dashes--" 'more' "$dashes" \
  'r1 | jo | 2026-11-20 21:40:00 +0000 (x) | 1 line' '' 'msg' >svn.dashes
expect 0 "$g" "${log[@]}" -o out svn.dashes
{ tail -n 4 svn.dashes; head -n 6 svn.dashes; } | cmp - out || fail 'a message of svn was torn'
# The line of dashes at the end stays there, also with --strict.
echo "$dashes" >>svn.dashes
expect 0 "$g" "${log[@]}" --strict -o out svn.dashes
{ sed -n '7,10p' svn.dashes; head -n 6 svn.dashes; echo "$dashes"; } | cmp - out || fail 'the end of svn log moved'
# Dates of two digits that can be of Hadoop, but only in another order near the last change of the file.
printf '%s\n' '28/11/26 01:00:00 ERROR web.Client: a' '02/12/26 01:00:00 ERROR web.Client: c' >days.log
expect 0 "$g" "${log[@]}" -k time:desc -o out days.log
{ tail -n 1 days.log; head -n 1 days.log; } | cmp - out || fail 'the day is not first'
# Lines with times that begin no record are announced, and so are times at another place that do.
{ for n in 10 11 12 13 14 15 16 17 18 19 20 21; do echo "2026-11-23 22:10:$n a"; done
  echo 'Received: from a by b; Mon, 23 Nov 2026 22:10:12 +0000'; echo 'INFO [11-23|22:10:22] b'; } >inner.log
expect 0 "$g" "${log[@]}" -o out inner.log
same out inner.log
says "a time stands in 2 lines that did not begin a record, the first is 'Received: from a by b;"
expect 0 "$g" "${log[@]}" --time '%Y-%m-%d %H:%M:%S' -o out inner.log
! grep -q 'a time stands in' err || fail "$(cat err)"
{ cat inner.log; echo '(2026-11-23 22:10:01) c'; } >places.log
expect 0 "$g" "${log[@]}" -o out places.log
says "have times at another place than most lines and were taken for records; the first is '(2026-11-23 22:10:01) c'"
# Words that are aligned before the times, for gpusort_check too; the local times of the firewall of Windows.
python3 - <<'END'
import datetime
import random

draw = random.Random(4)
records = []
for n in range(3000):
    t = datetime.datetime(2026, 3, 1) + datetime.timedelta(seconds=draw.randrange(10**6))
    more = "".join(draw.choice(["java.lang.X: y\n", "\tat a.b(C.java:1)\n"]) for _ in range(draw.choice([0, 0, 1, 3])))
    level = draw.choice(["INFO", "WARN", "ERROR", "DEBUG"])
    time = f"{t:%Y-%m-%d %H:%M:%S},{n % 1000:03}"
    records.append((time, f"{level:>5} {time} text {n}\n{more}"))
for name, ordered in (("log", records), ("want", sorted(records, key=lambda record: record[0]))):
    with open(f"aligned.{name}", "w") as out:
        out.write("".join(text for _, text in ordered))
END
expect 0 "$g" "${log[@]}" -o out aligned.log
same out aligned.want
expect 0 "$bin/gpusort_check" "${log[@]}" --against aligned.log out
expect 1 "$bin/gpusort_check" "${log[@]}" aligned.log
printf '%s\n' '#Version: 1.5' '#Software: Microsoft Windows Firewall' '#Time Format: Local' \
  '#Fields: date time action protocol' '' >head
{ cat head; echo '2026-11-23 22:10:01 DROP TCP'; } >firewall.log
{ grep -v Local head; echo '2026-11-23 22:10:01 GET /'; } >iis.log
echo '2026-11-23T21:30:00Z between' >between.log
expect 0 "$g" --format log --timezone Europe/Berlin -o out iis.log between.log firewall.log
[ "$(grep -o 'DROP\|between\|GET' out | tr '\n' ' ')" = 'DROP between GET ' ] || fail "$(cat out)"
expect 0 "$bin/gpusort_check" --format log --timezone Europe/Berlin --against iis.log --against between.log \
  --against firewall.log out
# Other lines between the commits are no part of them.
{ head -n 30 git.log; echo '2026-11-23 10:00:00 other'; echo '2026-11-23 10:00:01 other'; } >mixed.log
expect 3 "$g" "${log[@]}" -o out mixed.log

# The order of the date is known if other orders give times to come, or years between neighbours.
years() { printf '%s\n' "$@" >years.log; touch -d "$changed" years.log; }
changed=2017-07-01
years '17/06/29 20:10:40 INFO a' '17/06/30 01:00:00 INFO b' '17/06/30 00:00:00 INFO c'
expect 0 "$g" "${log[@]}" -o out years.log
says 'the times are year/month/day of two digits'
[ "$(sed 's/.* //' out | tr -d "\n")" = acb ] || fail "$(cat out)"
years '29.06.17 20:10:40 a' '30.06.17 01:00:00 b' '30.06.17 00:00:00 c'
expect 0 "$g" "${log[@]}" -o out years.log
says 'the times are day.month.year of two digits'
changed=2026-11-01
years '09/06/09 20:10:40 INFO a' '09/06/09 20:10:41 INFO b'
expect 3 "$g" "${log[@]}" -o out years.log
says 'year or day first'
years '09/06/09 20:10:40 INFO mapred.JobClient: a' '09/06/09 20:10:41 WARN hdfs.DFSClient: b'
expect 0 "$g" "${log[@]}" -o out years.log
says 'the times are year/month/day of two digits, as in logs of Hadoop and Spark'
years '09/06/09 20:10:40 INFO spark.SecurityManager: a' '09/06/09 20:10:41 INFO spark.SparkContext: b'
expect 0 "$g" "${log[@]}" -o out years.log
# Records that all have the same lines give no warning that most lines have no time. A statement that repeats the time
# of its record, and fields of a mail, are no records.
slow() { printf '%s\n' "# Time: 2026-11-20T21:$1:03.5Z" "# User@Host: r @ h" "SET timestamp=$2;" 'SELECT 1;'; }
{ slow 41 1795210863; slow 40 1795210803; } >slow.log
expect 0 "$g" "${log[@]}" -o out slow.log
[ ! -s err ] || fail "$(cat err)"
{ tail -n 4 slow.log; head -n 4 slow.log; } | cmp - out || fail 'the slow log is out of order'
{ slow 41 1795210800; slow 40 1795210803; } >slow.log
expect 0 "$g" "${log[@]}" -o out slow.log
says "a time stands in 1 line that did not begin a record, the first is 'SET timestamp=1795210800"
mail() { printf '%s\n' "2026-11-20 21:$1:00 mail" 'Return-Path: <a@b>' "Date: Fri, 20 Nov 2026 21:$1:01 +0000" '' x; }
{ mail 42; mail 41; } >mail.log
expect 0 "$g" "${log[@]}" -o out mail.log
! grep -q 'a time stands\|begin with no time' err || fail "$(cat err)"
# So are aligned seconds since 1970 that only begin after the front.
{ for ((i = 0; i < 3000; ++i)); do echo "2026-11-20 21:41:00.5 text $i"; done; echo '    1795210890.943 D Tag: m'; } >late.log
expect 0 "$g" "${log[@]}" -o out late.log
says "a time stands in 1 line that did not begin a record, the first is '    1795210890"
# A warning about the times of several inputs names the first, and counts the others.
echo '2026-01-01 10:00:00 a' >far.txt
for i in 1 2 3 4 5 6 7; do printf '13/02/2026 10:00:0%s a\n' $i $i >day$i.log; done
expect 0 "$g" "${log[@]}" -o out far.txt day1.log
says 'day1.log: the times are day/month/year in digits, as the values of other lines show$'
expect 0 "$g" "${log[@]}" -o out far.txt day[1-7].log
says 'day1.log: the times are day/month/year in digits, as .* show; the same holds for 6 more inputs'
[ "$(grep -c 'the times are day/month/year in digits' err)" = 1 ] || fail "$(cat err)"
for i in 1 2 3 4 5 6 7; do printf '{"a%s":"2026-02-03 1%s:00:00","b":"2026-02-03 20:00:00"}\n' $i 1 $i 2 |
  sed 's/ 12:00:00","b":"2026-02-03 20/ 12:00:00","b":"2026-02-03 19/' >member$i.log; done
expect 0 "$g" "${log[@]}" -o out member[1-7].log
[ "$(grep -c 'would give another order' err)" = 5 ] || fail "$(cat err)"
says 'not shown: 2 more warnings about the times of logs'
# Lines before the first record are announced if several have times, even of other years.
printf '%s\n' '[DEBUG 2015-05-20 12:22:19] a' '[DEBUG 2015-05-20 12:22:19] b' '2026-11-20 21:41:00 c' \
  '2026-11-20 21:40:00 d' '2026-11-20 21:42:00 e' '2026-11-20 21:43:00 f' '2026-11-20 21:44:00 g' >far.log
for _ in {1..200}; do echo '2026-11-20 22:00:00 x'; done >>far.log
expect 0 "$g" "${log[@]}" -o out far.log
says "a time stands in 2 lines that did not begin a record, the first is '.DEBUG 2015"
# gpusort_check knows the logs of JES2, of vmstat -t, and of audits of Kubernetes.
{ for n in 45 32 24; do echo "22.10.$n JOB00123  IEF403I A - STARTED"; done; echo '    of the record before'
  echo '00.01.00 STC00004  $HASP395 B ENDED'; } >jes2.log
{ echo 'procs -----------memory---------- -----timestamp-----'; echo ' r  b   swpd   free  buff  cache  UTC'
  for n in 45 32 24; do echo " $((n / 30))  0 123456  1234 56789 1 2 3 4  5  1 94  0  0 2026-11-20 22:10:$n"; done; } >vmstat.log
for n in 45 32 24; do printf '{"kind":"Event","stage":"%s","requestReceivedTimestamp":"2026-11-20T22:10:%s.123456Z","stageTimestamp":"%s"}\n' \
  ResponseComplete $n 2026-11-20T22:10:59.5Z; done >audit.log
for name in jes2 vmstat audit; do
  date=()
  [ $name != jes2 ] || date=(--date 2026-11-20)
  expect 0 "$g" "${log[@]}" "${date[@]}" -o out $name.log
  expect 0 "$bin/gpusort_check" "${log[@]}" "${date[@]}" --against $name.log out
  expect 1 "$bin/gpusort_check" "${log[@]}" "${date[@]}" --against $name.log $name.log
done
