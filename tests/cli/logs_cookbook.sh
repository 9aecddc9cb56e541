# labels: brief no_tsan
# Runs the recipes of the manual page's cookbook that are about logs, exactly as --help=examples prints them. Compares
# the results with those of gpusort_check, of Python and of GNU sort.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C TZ=UTC
"$bin/gpusort" --help=examples | awk '/^[0-9]+[.] / { n = int($1) } n && sub(/^      /, "") { print > (n ".sh") }'
[ "$("$bin/gpusort" --help=examples | grep -c '^[0-9]*[.] Logs: ')" = 11 ] || fail 'the recipes for logs are others'
mkdir bin
ln -s "$bin/gpusort" bin/gpusort
PATH=$PWD/bin:$PATH
run() { bash -e -o pipefail "$1.sh" 2>err || fail "recipe $1: $(cat err)"; }
gen() { "$bin/gpusort_gen" --bytes "$2" --seed "$3" --type "logs-$1" --dist "${4-sorted}" "$5"; }
# is_sort OUTPUT OPTION... INPUT...: gpusort_check finds the output right.
is_sort() {
  "$bin/gpusort_check" --format log "${@:2}" "$1" >report 2>err || fail "$1: $(cat err)"
}

# 16: three nodes with three programs each, 20 days.
for node in 1 2 3; do
  mkdir node$node
  gen web 1M $node sorted node$node/access.log
  gen app 1M $node sorted node$node/app.log
  gen syslog 1M $node sorted node$node/system.log
done
run 16
is_sort incident.log --since 2026-11-10T06:00 --until 2026-11-10T06:10 --against node*/*.log
[ "$(wc -l <incident.log)" -gt 15 ] || fail 'nothing happened in the incident'

# 17
gen web 300K 4 uniform plain.log
awk '{ print $0 " rt=" NR * 7919 % 1000 / 1000 }' plain.log >access.log
run 17
awk '{ print $NF, $0 }' access.log | sed 's/^rt=//' | sort -s -k1,1gr | sed -n 1,100p | cut -d' ' -f2- >want
same slowest.log want

# 18: one line of the client in each log, one of them inside a stack trace.
printf '%s\n' '10.0.0.1 - - [10/Nov/2026:07:00:05 +0100] "GET /cart HTTP/1.1" 200 5' \
  '10.0.0.1 - ann [10/Nov/2026:07:00:01 +0100] "POST /pay HTTP/1.1" 500 5 "order 4711"' >web.log
printf '%s\n' '2026-11-10T06:00:02.000Z ERROR cannot pay' 'java.lang.Error: order 4711' '	at Pay.pay(Pay.java:3)' \
  '2026-11-10T06:00:04.000Z ERROR cannot pay' 'java.lang.Error: order 12' >app.log
printf '%s\n' '2026-11-10 06:00:01.500 UTC [7] LOG:  statement: UPDATE orders' "	WHERE name = 'order 4711'" \
  '2026-11-10 06:00:09.000 UTC [7] LOG:  checkpoint' >db.log
run 18
printf '%s\n' 'web.log: 10.0.0.1 - ann [10/Nov/2026:07:00:01 +0100] "POST /pay HTTP/1.1" 500 5 "order 4711"' \
  'db.log: 2026-11-10 06:00:01.500 UTC [7] LOG:  statement: UPDATE orders' "	WHERE name = 'order 4711'" \
  'app.log: 2026-11-10T06:00:02.000Z ERROR cannot pay' 'java.lang.Error: order 4711' '	at Pay.pay(Pay.java:3)' >want
same story.log want

# 19
rm app.log
awk 'BEGIN { for (i = 0; i < 3000; ++i) printf "2026-11-10 %02d:%02d:%02d,%03d %s [main] shop - text ERROR\n%s",
  i / 300, i / 5 % 60, i % 60, i % 1000, i % 7 == 0 ? "ERROR" : " INFO",
  i % 21 == 0 ? "\tat Shop.go(Shop.java)\n" : "" }' >all.txt
awk '/^2/ { to = "app" NR % 3 ".log" } { print > to }' all.txt
run 19
grep ' ERROR \[' all.txt | cut -c1-13 | sort | uniq -c | cmp - errors-by-hour.txt || fail 'errors by hour'
rm app[0-9].log

# 20
gen web 300K 5 sorted whole.log
split -n l/3 whole.log part.
gzip -c part.aa >access.log.2.gz
mv part.ab access.log.1
mv part.ac access.log
run 20
same all.log whole.log

# 21
mkdir -p containers/{1f3c,77ab}
python3 - <<'PY'
import json
for number, container in enumerate(("1f3c", "77ab")):
    with open(f"containers/{container}/{container}-json.log", "w") as out:
        for i in range(200):
            print(json.dumps({"log": f"line {i}\n", "stream": "stdout",
                              "time": f"2026-11-10T06:{i // 60:02}:{i % 60:02}.{i * 7919 + number:09}Z"}), file=out)
with open("journal.json", "w") as out:
    for i in range(200):
        print(json.dumps({"MESSAGE": f"unit {i}", "PRIORITY": "6", "__REALTIME_TIMESTAMP":
                          str((1794290400 + i) * 1000000 + 500000)}), file=out)
PY
gen app 30K 6 sorted app.log
run 21
is_sort all.log --against containers/*/*-json.log journal.json app.log
[ "$(head -n 400 all.log | grep -c '"MESSAGE"')" -lt 400 ] || fail 'the journal is of another time'

# 22
gen app 2M 7 uniform large.log
run 22
is_sort hour.log --timezone Europe/Berlin --since 2026-11-10T06:00 --until 2026-11-10T07:00 --against large.log
is_sort hour.log --since 2026-11-10T05:00Z --until 2026-11-10T06:00Z --against large.log
[ "$(wc -l <hour.log)" -gt 5 ] || fail 'the hour is empty'

# 23
for number in 1 2; do gen web 50K $number uniform web$number.log; done
gen postgres 50K 3 uniform db.log
run 23
is_sort all.log --prefix-name --against web1.log web2.log db.log
[ "$(grep -c '^web2[.]log: ' all.log)" = "$(wc -l <web2.log)" ] || fail 'names of web2.log'

# 24
for number in 1 2; do
  for day in 'Dec 30' 'Dec 31' 'Jan  1' 'Jan  2'; do
    echo "$day 12:0$number:00 mail$number postfix[7]: $day"
  done >mail$number.log
done
run 24
cut -c1-6 winter.log | uniq | tr '\n' , >days
[ "$(cat days)" = 'Dec 30,Dec 31,Jan  1,Jan  2,' ] || fail "the days are $(cat days)"

# 25
printf '2026-11-10 0%d:00:00,000 INFO %s\n' 6 'two' 8 'four' >berlin.log
printf '2026-11-10 0%d:30:00,000 INFO %s\n' 0 'three' 1 'last' >boston.log
sed -i '1i 2026-11-09 23:30:00,000 INFO one' boston.log
run 25
sed 's/.* //' both.log | tr '\n' ' ' >order
[ "$(cat order)" = 'one two three last four ' ] || fail "two zones: $(cat order)"

# 26
cp whole.log delivered.log
run 26
sed -i '5{h;d};900G' delivered.log
expect 1 bash -e 26.sh
says 'delivered.log: not sorted: record 900, line 900'
echo 'logs_cookbook: ok'
