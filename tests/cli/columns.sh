#!/usr/bin/env bash
# Columns that differ from their keys. Records do not fit the header, keys have no value, types are not given, or names
# are misspelt. gpusort must read the columns rightly or complain.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
check() { "$bin/gpusort_check" "$@" >report; }
export LC_ALL=C
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }
# sorted FILE OPTION...: prints the sorted FILE; the messages of gpusort are in err.
sorted() { local file=$1; shift; expect 0 "$g" "$@" "$file" got; cat got; }
is() { [ "$1" = "$2" ] || fail "'$1' instead of '$2' ($(cat err))"; }
quiet() { [ ! -s err ] || fail "unexpected: $(cat err)"; }

# --- Quotes mean nothing in TSV -----------------------------------------------------------------------------------
printf 'name\tdesc\nd\t"open quote here\na\tplain\nc\t"other\n' >x.tsv
is "$(sorted x.tsv -k name | cut -f 1 | tail -n +2 | tr -d '\n')" acd
quiet
expect 0 check --format tsv -k name --against x.tsv got
expect 0 "$g" --strict -k name x.tsv strict.tsv
same got strict.tsv
expect 0 "$g" --quote '"' -k name x.tsv got
is "$(cut -f 1 got | tail -n +2 | tr -d '\n')" dac
says '1 record has a newline in quotes and text after the closing quote, the first is record 1: .* --quote none'
expect 0 check --format tsv --quote '"' -k name --against x.tsv got
expect 1 check --format tsv -k name --against x.tsv got
expect 2 "$g" --escape '\' -k name x.tsv got
says "tsv has some with --quote '\"'"

# --- Records that do not fit the header, in a column that is a key or not ------------------------------------------
printf 'a,b\n3,x\n1\n2,y,z\n\n' >wide.csv
sorted wide.csv -k a:int >/dev/null
says 'warning: 3 records have another number of columns than the header, the first is record 2 with 1 column; --strict'
expect 0 "$g" --check -k a:int --format csv got
says '3 records have another number of columns'
expect 3 "$g" --strict -k a:int wide.csv kept
says 'wide.csv: record 2, line 3, byte 8: it has 1 column, and the header has 2'
printf 'a,b\n3,x\n2,y,z\n' >wide.csv
expect 3 "$g" --strict -k a:int wide.csv kept
says 'it has 3 columns, and the header has 2'
expect 0 "$g" --strict --no-header -k '#1' wide.csv got
printf 'a,b\n3,x\n' >fits.csv
expect 0 "$g" -k a -o got fits.csv wide.csv
says '1 record has .* the first is record 2 of wide.csv with 3 columns'
printf 'a,b\n3,"x\ny"z\n1,"q"t\n2,y\n' >glued.csv
is "$(sorted glued.csv -k a:int | head -n 2 | tail -n 1)" '1,"q"t'
says '1 record has a newline in quotes and text after the closing quote, the first is record 1:'
for key in a:int b; do
  expect 3 "$g" --strict -k "$key" glued.csv kept
  says 'glued.csv: record 1, line 2, byte 11: there is text after a closing quote'
done
printf 'a,b\r\n1,"x\r\ny"\r\n' >returns.csv
expect 0 "$g" --strict -k a:int returns.csv got
quiet
[ ! -e kept ] || fail "an output of a job that failed"

# The numbers of columns must be those of Python's csv module, wherever the 64 bytes end that are searched at once, with
# comments and escapes.
cat >widths.py <<'PY'
import csv, io, random, subprocess, sys
r = random.Random(int(sys.argv[2]))
for round in range(int(sys.argv[3])):
    width = r.randrange(1, 9)
    options = r.choice([[], [], ['--comment', '#'], ['--escape', '\\']])
    dialect = dict(escapechar='\\', doublequote=False, quoting=csv.QUOTE_ALL) if '--escape' in options else {}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=r.choice(['\n', '\r\n']), **dialect)
    # If records end in LF alone, a field must not end in CR.
    row = lambda n: [''.join(r.choice('ab ",\n') for _ in range(r.choice([0, 1, 3, 60]))) + 'e' for _ in range(n)]
    writer.writerow(['c%d' % i for i in range(width)])
    wrong = []
    for i in range(r.randrange(1, 60)):
        n = r.choice([width] * 9 + [r.randrange(1, 12)])
        if n != width: wrong.append((i + 1, n))
        writer.writerow(row(n))
    open('in.csv', 'w', newline='').write(out.getvalue())
    keys = r.choice([[], ['-k', '#1'], ['-k', '#%d' % width], ['-k', '#1', '-k', '#%d:desc' % width]])
    run = subprocess.run([sys.argv[1], '--format', 'csv', '--threads', '2', *options, *keys, 'in.csv', 'out.csv'], capture_output=True, text=True)
    want = '' if not wrong else '%d record%s another number of columns than the header, the first is record %d with %d column%s;' % (
        len(wrong), ' has' if len(wrong) == 1 else 's have', *wrong[0], '' if wrong[0][1] == 1 else 's')
    said = 'another number' in run.stderr
    if run.returncode or said != bool(wrong) or want not in run.stderr or 'closing quote' in run.stderr:
        sys.exit('%r %r: wanted %r, got %s' % (options, keys, want, run.stderr))
PY
python3 widths.py "$g" "${GPUSORT_SEED:-7}" "$(few && echo 30 || echo 200)" || fail "widths.py with seed ${GPUSORT_SEED:-7}"

# --- Keys without any value ----------------------------------------------------------------------------------------
printf 'd,e\n23.11.2026,\n24.11.2026,\n,\n' >dates.csv
for job in '-o kept dates.csv' '-m -o kept dates.csv dates.csv' '-u -o kept dates.csv' '--top 2 -o kept dates.csv' '--check dates.csv' \
  '-o - dates.csv' '--split 2 dates.csv kept' '--resume-dir job -o kept dates.csv'; do
  expect 3 "$g" --format csv -k d:timestamp $job >sent
  says "column 'd': none of its [24] values is of the type timestamp: '23.11.2026', '24.11.2026'; give the type :date(%d.%m.%Y); --force-format"
  [ ! -s sent ] || fail "'$job' sent something"
  # A second try gives the same message.
  expect 3 "$g" --format csv -k d:timestamp $job >sent
  rm -rf job
  expect 3 "$g" --format csv -k d -k e $job >sent
  says "column 'e' is null in all [36] records; --force-format"
  rm -rf job
done
[ -z "$(ls kept* 2>/dev/null)" ] || fail "an output of a job that failed"
expect 3 "$g" --format csv -k e - - <dates.csv
expect 0 "$g" --force-format -k e -k d:timestamp dates.csv got
says "column 'e' is null in all 3 records"
says "column 'd': 2 values are no timestamp"
same got dates.csv
# If one input has values, everything is sorted. Without records nothing is missing.
printf 'd,e\n,1\n' >value.csv
expect 0 "$g" -k e -o got dates.csv value.csv
printf 'd,e\n' >none.csv
expect 0 "$g" -k e none.csv got
expect 0 "$g" -k e --check none.csv
expect 3 "$g" -k d value.csv got
says "value.csv: column 'd' is null in the only record; --force-format"
printf 'a\n1\n' >narrow.csv
expect 3 "$g" --no-header -k '#2' narrow.csv got
says "no record has the column '2'"
printf '1\t\\N\n' >rows.copy
expect 3 "$g" --format pgcopy -k '#2' rows.copy got
says "column '2' is null in the only record"
printf 'd\n20261123\n20261101\n' >days.csv
sorted days.csv -k d:timestamp >/dev/null
says "2 values without separators, such as '20261123', look like days but were taken as counts since 1970: date reads them"
sorted days.csv -k d:date >/dev/null
quiet
printf 'd\n20261123101112\n20261101000000\n' >days.csv
sorted days.csv -k d:timestamp >/dev/null
says 'timestamp(%Y%m%d%H%M%S) reads them'
printf 'd\n1700000000\n1700000000123\n' >days.csv
sorted days.csv -k d:timestamp >/dev/null
! grep -q days err || fail "counts since 1970: $(cat err)"

# --- Paths of JSON that no record has, and misspelt names -----------------------------------------------------------
printf '%s\n' '{"user":{"id":10,"n":"a"},"t":[{"x":1}]}' '{"user":{"id":9}}' >j.jsonl
for path in user.idd user.Id user.ix; do
  for more in '' --strict; do
    expect 3 "$g" $more -k "$path:int" j.jsonl kept
    says "j.jsonl: no record has the path '$path' (a record has 'user.id', .*); did you mean user.id\(?\| or user.n?\); --force-format"
  done
done
expect 3 "$g" --check -k user.idd j.jsonl
expect 0 "$g" --force-format -k user.idd j.jsonl got
same got j.jsonl
printf '%s\n' '{"user":{"id":9}}' '{"user":{"id":10,"n":"a"},"t":[{"x":1}]}' >want.jsonl
for path in user.id '$.user.id' /user/id; do
  expect 0 "$g" -k "$path:int" j.jsonl got
  same got want.jsonl
  expect 0 check --format jsonl -k "$path:int" --against j.jsonl got
done
expect 0 "$g" -k '$.t[0].x:int' j.jsonl got
expect 0 "$g" -k '$[1].x:int' --format jsonl <(echo '[0,{"x":1}]') got
printf 'Amount,City\n1,b\n2,a\n' >names.csv
for name in amount amout AMUONT; do
  expect 2 "$g" -k "$name" names.csv got
  says "there is no column '$name' (the header has 2 columns: .*); did you mean Amount?"
done
for delimiter in ';' '|' '\t'; do
  printf "amount${delimiter}city\n1${delimiter}b\n2${delimiter}a\n" >other.csv
  expect 2 "$g" -k city other.csv got
  says "; is it --delimiter '${delimiter/\\/\\\\}'?"
  expect 3 "$g" -k '#1:int' other.csv got
  says "is it --delimiter '${delimiter/\\/\\\\}'?"
  expect 0 "$g" other.csv got
  says "the header is a single column: is it --delimiter '${delimiter/\\/\\\\}'?"
  expect 0 "$g" --delimiter "$delimiter" -k city other.csv got
done
printf 'a,b\n1,2\n' >commas.tsv
expect 2 "$g" -k b commas.tsv got
says "is it --delimiter ','?"

# --- The type that a message proposes reads the values, in their order ----------------------------------------------
cat >advice.py <<'PY'
import csv, itertools, random, re, shlex, subprocess, sys
# Ascending values of a column. Text would order them in another way, or only by chance in the right way.
columns = '''9|10|100
9|10.5|1e2
9|1,000|12,345|1,234,567
9.5|1,000.25|12,345
9,5|10,25|100,0
9,5|1.000,25|12.345,0
9|1.000.000|2.000.000
9|1 000|12 000
9|1'000|12'000
$9|$10.50|$1,000.00
($10.00)|-$9|$0.5|$1,000
9%|10 %|100.5%
€ 9|€10|€ 1.000,50
9 €|10,50 €
11/23/2025|1/2/2026|11/3/2026|11/23/2026
24.11.2025|2.1.2026|23.11.2026
24-11-2025|02-01-2026
24/11/2025 9:05|02/01/2026 10:00
11/23/25|01/02/26
Jan 2 2000|Feb 1 2000|Jan 1 2001
Jan 2, 2000|February 1, 2000|Dec 31, 2001
2 Jan 2000|1 Feb 2000
02-Jan-26|01-Feb-26
Mon Nov 23 09:00:00 2026|Fri Nov 27 08:00:00 2026
Mon Nov 23 09:00:00 UTC 2026|Mon Nov 23 08:30:00 EST 2026
Mon, 23 Nov 2026 09:00:00 +0000|Mon, 23 Nov 2026 09:30:00 GMT
11/23/2026 9:05 AM|11/23/2026 10:00 AM|11/23/2026 1:00 PM
11/23/2026 09:05:10.5 PM|11/24/2026 01:05:10.25 AM
2026-11-23 10:00:00 CEST|2026-11-23 09:30:00 CET|2026-11-23 07:00:00 EST
2026-11-23 10:00:00.123 CET|2026-11-23 10:00:00 UTC
2026.02.28|2026.11.23
2026-11-23|2026-11-24
10.0.0.9|10.0.0.10
Nov 2025|Jan 2026|Feb 2026
9/2025|10/2025'''
r = random.Random(5)
for line in columns.splitlines():
    values = line.split('|')
    rows = values[::-1] + r.sample(values, len(values))
    with open('advice.csv', 'w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([['v']] + [[v] for v in rows])
    said = subprocess.run([sys.argv[1], '-k', 'v', 'advice.csv', 'out.csv'], capture_output=True, text=True).stderr
    match = re.search(r'but is ordered as text: give (.*), or :text', said)
    assert match, (line, said)
    ways = [shlex.split(way) for way in match[1].split(', or ')]
    good = []
    for way in ways:
        run = subprocess.run([sys.argv[1], '--strict', *way, 'advice.csv', 'out.csv'], capture_output=True, text=True)
        assert run.returncode == 0, (line, way, run.stderr)
        checked = subprocess.run([sys.argv[2], '--format', 'csv', *way, '--against', 'advice.csv', 'out.csv'], capture_output=True, text=True)
        assert checked.returncode == 0, (line, way, checked.stdout, checked.stderr)
        good.append([row[0] for row in csv.reader(open('out.csv', newline=''))][1:] == [v for v in values for _ in range(2)])
    assert any(good), (line, ways)
    # A message also proposes this type if the key names a type that reads none of the values.
    said = subprocess.run([sys.argv[1], '-k', 'v:uuid', 'advice.csv', 'out.csv'], capture_output=True, text=True)
    types = [re.sub('^v', '', way[1]) for way in ways]
    assert said.returncode == 3 and any('; give the type ' + t in said.stderr for t in types), (line, types, said.stderr)
for line in 'v1|v2', '1.2.3|1.10.2', 'a1|b2', '12:30|1:15', '555-1234|555-9876', 'x|1', '2026-W01|2026-W12', '1,23|1,2,3', 'a@b.c1|d@e.f2', '007|008':
    with open('advice.csv', 'w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([['v']] + [[v] for v in line.split('|')])
    said = subprocess.run([sys.argv[1], '-k', 'v', 'advice.csv', 'out.csv'], capture_output=True, text=True).stderr
    assert not said, (line, said)
PY
python3 advice.py "$g" "$bin/gpusort_check" || fail "advice.py"

# --- Types ---------------------------------------------------------------------------------------------------------
# column KEY VALUE...: checks that gpusort and gpusort_check find the values in order.
column() {
  local key=$1
  shift
  { echo v; printf '%s\n' "$@"; } >want.tsv
  { echo v; printf '%s\n' "$@" | tac; } >in.tsv
  expect 0 "$g" --strict -k "v:$key" in.tsv got
  same got want.tsv
  expect 0 check --format tsv -k "v:$key" --unique --against in.tsv got
  expect 1 check --format tsv -k "v:$key" in.tsv
}
column ip 0.0.0.0/0 10.0.0.0/7 10.0.0.0/8 10.0.0.1/8 10.255.0.0/8 10.0.0.0/16 10.0.0.0 10.0.0.1 10.1.0.0/16 10.1.2.0/24 ::/0 ::1 \
  2001:db8::/32 2001:db8::1/32 2001:db8::/64 2001:db8::1/64 2001:db8::/65 2001:db8:: 2001:db8::1
column number '−1,000' '($5.00)' '-$4' '$-3.5' -0.5% 0 '5 %' '€5.01' '£ 6' '7 ₽' '$1000' '1,500.5' '1.6K' '1.6 Ki' '₽ 12 345' '$1M' '1.5G'
column money '$9' '$10'
column timestamp '2026-11-23 10:00:00 CEST' '2026-11-23 10:00:00 cet' '2026-11-23 10:00:00Z' '2026-11-23 06:00:00 EST' '2026-11-23 04:00:00 pst'
column 'timestamp(%H:%M %Z)' '12:00 MSK' '12:00 CEST' '12:00 CET' '12:00 GMT' '12:00 EST'
column nocase _ a A_ ab B
column 'date(%d.%m.%Y)' 31.12.1999 1.1.2000 02.01.2000
column time -01:00:00 00:00 '1:00 am' '09:00 CET' 08:00 '12:00 PM' 24:00 100:00:00
column interval '-1 day' '-1 day +02:03:00' -500ms 0 1.5 '1 day, 2:03:04' PT30H '1 mon' '+1-2 -3 +4:05:06' infinity
column macaddr 00:00:00:00:00:01 08-00-2b-01-02-03 0800.2b01.0204 08002b010205 ff:ff:ff:ff:ff:ff 0:0:0:0:0:0:0:1
column bit 0 00 01 "b'010'" 1 11
column severity trace D INFO '[notice]' WARNING: err FATAL alert panic
column "enum(low,mid high,'a,b')" low 'mid high' 'a,b'
column 'set(read,write,a b)' read write read,write 'a b' 'a b,read' 'a b,write,read'
expect 2 "$g" -k 'v:date(%d.%m.%Y %H)' in.tsv got
says 'say timestamp(%d.%m.%Y %H)'
for key in enum 'enum()' "enum('a)" 'enum(a,,b)' 'enum(a,a)' "enum('a'b,c)" set 'set()' "set('a,b')" "set($(seq -s, 65))"; do expect 2 "$g" -k "v:$key" in.tsv got; done
printf 'v\n01/02/2026\n02/03/2026\n' >days.csv
expect 3 "$g" -k v:date days.csv got
says 'give the type :date(%m/%d/%Y), or :date(%d/%m/%Y)'
printf 'x low\ny high\nz low\n' >in.txt
printf 'y high\nx low\nz low\n' >want.txt
for key in '2:enum(high,low)' '~ (.*):enum(high,low)' '2:enum(low,high):desc'; do
  expect 0 "$g" -t ' ' -k "$key" in.txt got
  same got want.txt
done
expect 3 "$g" -k v:timestamp --format tsv <(printf 'v\n2026-11-23 10:00:00 NIX\n') got

# --- Headers of COPY, and names as a dump writes them ----------------------------------------------------------------
printf 'id\tna\\tme\n3\tc\n1\ta\n\\.\n' >h.copy
printf 'id\tna\\tme\n1\ta\n3\tc\n\\.\n' >want.copy
for key in '#1:int' id:int "na	me" '#2'; do
  expect 0 "$g" --format pgcopy --header 1 -k "$key" --verify-output h.copy got
  same got want.copy
  expect 0 check --format pgcopy --header 1 -k "$key" --against h.copy got
done
expect 0 "$g" --format pgcopy --header 1 -k id:int -m -o got want.copy want.copy
is "$(grep -c me got)" 1
expect 2 "$g" --format pgcopy --header 1 -k name h.copy got
says "there is no column 'name' (the header has 2 columns: "
expect 2 "$g" --format pgcopy -k id h.copy got
printf 'id\tname\n' >h.mysql
expect 0 "$g" --format mysql --header 1 -k id:int h.mysql got
same got h.mysql
cat >dump.sql <<'SQL'
--
-- PostgreSQL database dump
--
COPY "My Schema"."t:1" (id, "Col A", "q""q") FROM stdin;
10	b	2
9	a	1
\.
SQL
sed -e '5{h;d}' -e '6{G}' dump.sql >want.sql
for key in '"My Schema"."t:1"."Col A"' '"My Schema"."t:1".id:int' '"t:1".id:int' '"My Schema"."t:1"."Col A":text:asc' '"My Schema"."t:1"."q""q":int'; do
  expect 0 "$g" --format pgdump -k "$key" dump.sql got
  same got want.sql
  expect 0 check --format pgdump -k "$key" --against dump.sql got
done
expect 3 "$g" --format pgdump -k '"t:1"."Col A":int' dump.sql got
nothing_left
echo "columns: ok"
