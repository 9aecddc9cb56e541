# labels: brief
# Runs each recipe of the manual page's cookbook exactly as --help=examples prints it, and compares the result with that
# of GNU sort. tests/cli/logs_cookbook.sh runs those for logs, from 16 on.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
for program in sort gzip zstd; do
  command -v "$program" >/dev/null || { echo "NOT TESTED: there is no $program"; exit 77; }
done
gnu=$(command -v sort)
"$bin/gpusort" --help=examples | awk '/^[0-9]+[.] / { n = int($1) } n && sub(/^      /, "") { print > (n ".sh") }'
[ "$(ls ./*.sh | wc -l)" = 32 ] || fail "the cookbook has other recipes: $(ls ./*.sh)"
mkdir bin
ln -s "$bin/gpusort" bin/gpusort
PATH=$PWD/bin:$PATH
run() { bash -e "$1.sh" || fail "recipe $1"; }

# Three months, so that the order of dates differs from the order of bytes; 40 clients.
for month in Nov Feb Jan; do
  "$bin/gpusort_gen" --type web-log --bytes 120K --seed "${#month}$(($(printf %d "'$month") % 7))" --distinct 400 part
  awk -v month="$month" '{ $1 = "10." NR * 7 % 13 "." NR * 5 % 3 ".9"; sub("/Nov/", "/" month "/")
    if (NR % 5 == 0) sub(" - - ", " - Jane van  Dyk "); print }' part
done >unsorted.log
time="-s -t[ -k2.8,2.11n -k2.4,2.6M -k2.1,2.2n -k2.13,2.20"
# by_time FILE: checks that the lines are in the order of their times, which sort's keys cannot express here.
by_time() {
  [ "$(grep -c 'Jane van' "$1")" -gt 10 ] || fail "$1 has no user names with blanks"
  awk -F'[][/: ]' '{ match($0, /\[.*\]/); split(substr($0, RSTART + 1), t, "[/: ]")
    now = t[3] sprintf("%02d", index("JanFebMarAprMayJunJulAugSepOctNovDec", t[2])) t[1] t[4] t[5] t[6]
    if (now < last) { print NR ": " $0; exit 1 } last = now }' "$1" || fail "$1 is not by time"
}
split -n r/3 unsorted.log part.
$gnu $time part.aa | gzip >access.log.2.gz
$gnu $time part.ab >access.log.1
$gnu $time part.ac >access.log
zcat access.log.2.gz >2.log

run 4
$gnu $time 2.log access.log.1 access.log | cmp - all.log || fail "merged logs"
by_time all.log
cp access.log kept.log
cp unsorted.log access.log
run 1
$gnu $time access.log | cmp - by-time.log || fail "by time"
by_time by-time.log
run 2
$gnu -s -k1,1V access.log | cmp - by-address.log || fail "by address"
run 3
cut -d' ' -f1 access.log | $gnu | uniq -c | $gnu -k1,1nr | sed -n 1,10p | cmp - talkers.txt || fail "top talkers"
cut -d'"' -f2 access.log >words.txt
$gnu -u words.txt >want.txt
[ "$(wc -l <words.txt)" -gt "$(wc -l <want.txt)" ] || fail "no word is there twice"
run 5
same words.txt want.txt
run 6
$gnu -k1,1 2.log >want.log
zstd -dcq by-client.log.zst | cmp - want.log || fail "by client"
run 7
grep ' 404 ' access.log | $gnu -t'"' -k2,2 | cut -d'"' -f2 | uniq -c | cmp - missing.txt || fail "missing pages"
[ -s missing.txt ] || fail "no page is missing"
cp unsorted.log events.log
$gnu events.log >want.log
run 8
same events.sorted.log want.log
[ -s events.json ] && [ -s events.txt ] || fail "no report"
rm events.sorted.log
# The schedule and the folder of recipe 9 are for cron.
sed -E 's/^([^ ]+ ){5}cd [^ ]+ && //' 9.sh >nine.sh && mv nine.sh 9.sh
grep -q '^ionice' 9.sh || fail "recipe 9 is no line of a crontab"
run 9 >said 2>&1
[ ! -s said ] || fail "recipe 9 is not quiet: $(cat said)"
same events.sorted.log want.log
printf '#!/bin/sh\ncommand -v sort >which\nsort -k2,2 -u unsorted.log >report.txt\n' >monthly-report.sh
chmod +x monthly-report.sh
run 10
grep -q '/fast/sort$' which || fail "recipe 10 runs $(cat which)"
$gnu -k2,2 -u unsorted.log | cmp - report.txt || fail "the script's report"
# Records with columns. tables.sh and databases.sh test their orders.
"$bin/gpusort_gen" --type orders-csv --bytes 64K orders.csv
run 11
[ "$(head -n 1 sorted.csv)" = "$(head -n 1 orders.csv)" ] && [ "$(sort sorted.csv | cksum)" = "$(sort orders.csv | cksum)" ] || fail "orders"
gpusort --check -k created_at:timestamp:desc -k amount:decimal sorted.csv || fail "orders by time"
printf '{"user":{"id":%d},"ts":%d}\n' 3 5 1 9 3 2 | gzip >events.jsonl.gz
run 12
[ "$(zstd -qdc sorted.jsonl.zst | tr -dc '0-9\n' | tr '\n' ' ')" = "19 32 35 " ] || fail "events: $(zstd -qdc sorted.jsonl.zst)"
printf 'id,n\n1,a\n4,b\n' >monday.csv
printf 'id,n\n1,c\n2,d\n' >tuesday.csv
run 13
[ "$(tr '\n' ' ' <all.csv)" = "id,n 1,a 2,d 4,b " ] || fail "exports: $(cat all.csv)"
printf -- '--\nCOPY public.t (a) FROM stdin;\nb\na\n\\.\n\nSELECT 1;\n' >monday.sql
printf -- '--\n\\restrict x\nCOPY public.t (a) FROM stdin;\na\nb\n\\.\n\nSELECT 1;\n' >tuesday.sql
run 14
[ "$(sed -n 3,4p a.sql | tr -d '\n')" = ab ] && [ "$(tail -n 1 a.sql)" = 'SELECT 1;' ] || fail "a dump: $(cat a.sql)"
cmp a.sql b.sql || fail "two dumps"
cp unsorted.log events.log
printf '#!/bin/sh\nexec "$@"\n' >bin/srun
chmod +x bin/srun
SCRATCH=$PWD run 15
$gnu events.log | cmp - events.sorted.log || fail "the job that is requeued"
[ ! -e sort-events ] || fail "it left its folder"
# The units of systemd, with the program and the folder of this test.
sed -i "s|/usr/bin/gpusort|$bin/gpusort|; s|/var/log/app|$PWD|" 27.sh
awk '/^# / { name = $2; next } { print > name }' 27.sh
grep -q '^ExecStart=' sort-events.service && grep -q '^OnCalendar=' sort-events.timer || fail 'recipe 27 has no units'
if command -v systemd-analyze >/dev/null; then
  systemd-analyze verify ./sort-events.service ./sort-events.timer >said 2>&1 || fail "systemd-analyze: $(cat said)"
  [ "$(grep -c sort-events said)" = 0 ] || fail "systemd-analyze: $(cat said)"
else
  echo 'SKIPPED (no systemd-analyze): whether systemd takes the units'
fi
rm events.sorted.log
sed -n 's/^ExecStart=//p' sort-events.service >service.sh
run service
$gnu events.log | cmp - events.sorted.log || fail 'the service of systemd'
echo "cookbook: ok"
