# labels: any_build
# Tests gpusort_check on records with columns. The outputs to check are orders written down here or known to GNU sort,
# sorted tables from gpusort in every format, and outputs that are out of order, incomplete or changed.
. "$2/tests/cli/common.sh.inc"
check() { "$bin/gpusort_check" "$@" >report; }
reports() { grep -q -- "$1" report || fail "no '$1' in: $(cat report)"; }

# column KEY: standard input has one value a line in strictly ascending order. The check must accept it, and refuse it
# with any two neighbours exchanged.
column() {
  cat >values
  sed '1i v' values >column.csv
  expect 0 check --format csv --unique -k "v:$1" column.csv
  expect 0 check --format csv --unique -k "v:$1:desc:nulls-last" <(echo v; tac values)
  local i count
  count=$(wc -l <values)
  for i in $(seq $((count - 1))); do
    awk -v at="$i" 'NR == at { held = $0; next } { print } NR == at + 1 { print held }' values | sed '1i v' >swapped.csv
    expect 1 check --format csv -k "v:$1" swapped.csv
    says "not in order: record $((i + 1)) (line $((i + 2)), byte [0-9]*) is out of order with the record before it: key 'v:$1' is "
  done
}
printf '%s\n' A B a b é | column text
printf '%s\n' a B c D | column nocase
printf '%s\n' -100000000000000000000 -10 -9 0 5 +10 007000 100000000000000000000 | column int
printf '%s\n' -inf -1e3 -1.5 -1.25 -1e-3 0 1e-30 .25 0.5 1. 1.0000000000000000000001 9.99e2 1E+3 1e99999999999999999999 \
  +infinity NaN | column decimal
printf '%s\n' -nan -inf -1e300 -1 -0 0 1e-320 1 1e300 inf nan | column float
printf '%s\n' no TRUE | column bool
printf '%s\n' -infinity -0100-01-01 '0044-03-15 BC' 0001-01-01 1969-12-31 20240228 2024-02-29 2024/03/01 12024-01-01 infinity |
  column date
printf '%s\n' -infinity '0044-03-15 12:00:00 BC' 1969-12-31T23:59:58.4Z -1.5 1969-12-31T23:59:58.6Z 0 '1970-01-01 00:00:00.25' \
  1970-01-01T00:00:01 1970-01-01T01:30:00+01:00 '31/Dec/1970:23:59:59 +0100' 20231114T221319Z 1700000000 1700000000250 \
  '2023-11-14 23:13:20.5 +01' 1700000000750000 '2024-02-28 24:00' 2024-02-29T00:00:01Z infinity | column timestamp
printf '%s\n' '31.12.1999 11 PM' '01.01.2000 12 AM' '01.01.2000 1 am' '29.02.2000 1 am' | column 'timestamp(%d.%m.%Y %I %p)'
printf '%s\n' 1.2.3.4/8 1.2.3.4 10.0.0.1 255.255.255.255 ::1 ::ffff:1.2.3.4 fe80::1/64 fe80::1 | column ip
printf '%s\n' 00000000-0000-0000-0000-000000000001 {0000000000000000000000000000000A} ffff0000-00000000-0000000000000000 | column uuid
printf '%s\n' '\x' 00 0x00ff 01 \\xFF | column bytes-hex
printf '%s\n' . .. .a .b1 a~ a a.b a.tar.gz a1 a1.b a1.c1 a2 a2~x a2x a10 a10.zip b_1 b-2 é >versions
LC_ALL=C sort -V versions | column natural
printf '%s\n' B a | LC_ALL=C column locale
if grep -qx en_US.utf8 <(locale -a); then
  printf '%s\n' a B c | LC_ALL=en_US.UTF-8 column locale
else
  echo "SKIPPED (no en_US.UTF-8): collation"
fi

# Nulls and invalid values come last, but first with desc, or where the key says.
printf 'v,w\n9,a\n10,b\n,c\nx,d\n' >nulls.csv
expect 0 check --format csv -k v:int nulls.csv
reports "^not of their key's type: 1\$"
expect 1 check --format csv -k v:int:nulls-first nulls.csv
says "record 3 (line 4, byte 13) is out of order with the record before it: key 'v:int:nulls-first' is null after '10'"
expect 1 check --format csv -k v:int:desc nulls.csv
expect 0 check --format csv -k v:int:desc -k w <(printf 'v,w\n,""\n,a\nx,\n10,b\n9,a\n')
expect 0 check --format csv -k v:int --null - <(printf 'v\n1\n-\n')
expect 1 check --format csv -k v <(printf 'v\nb\n""\n')
expect 0 check --format csv -k v <(printf 'v\nb\n\\N\n')
# Several keys, -r, equal keys, and all columns.
printf 'a,b\n1,z\n1,y\n2,x\n' >two.csv
expect 0 check --format csv -k a:int -k b:desc --unique two.csv
expect 0 check --format csv -r -k a:int:desc -k b two.csv
expect 1 check --format csv -k a:int -k b two.csv
says "key 'b' is 'y' after 'z'"
expect 0 check --format csv -k a:int two.csv
reports '^duplicates: 1$'
expect 1 check --format csv -k a:int --unique two.csv
says 'not unique: record 2 (line 3, byte 8) has the key of the record before it'
expect 1 check --format csv two.csv
expect 0 check --format csv <(printf 'a,b\n1\n1,a\n1,b\n,a\n')
# Long values are read, or refused.
for type in number interval time; do
  expect 3 check --format csv -k v:$type <(echo v; head -c 1000000 /dev/zero | tr '\0' 1)
  says 'a value of more than 4096 bytes cannot be checked with such a type$'
done
for type in severity macaddr timestamp; do
  expect 0 check --format csv -k v:$type <(echo v; printf '2020-01-01 00:00:00 '; head -c 1000000 /dev/zero | tr '\0' /)
  reports "^not of their key's type: 1$"
done
# Headers, quotes and comments.
printf '1,z\n2,"x\n,""9"\r\n# no,record\n3,y' >plain.csv
expect 1 check --format csv --no-header -k '#1:int' plain.csv
reports '^records:    4$'
expect 0 check --format csv --no-header --comment '#' -k '#1:int' plain.csv
reports '^records:    3$'
expect 1 check --format csv --no-header --comment '#' -k '#2' plain.csv
says "record 2 (line 2, byte 4) is out of order with the record before it: key '#2' is 'x\\\\x0a,\"9' after 'z'"
expect 0 check --format csv --header 2 -k b:int <(printf 'a,a\na,b\n2,1\n1,2\n')
expect 0 check --format csv --quote none --delimiter ';' -k '"x:y"' <(printf 'x:y;z\n"b";\na;"\n')
expect 0 check --format csv --quote "'" --escape '\' -k a:int <(printf "a,b\n1,'\\\\','\n2,\n")
expect 0 check --format tsv --decimal-point , --thousands . -k x:decimal <(printf 'x\n9,5\n1.000,25\n')
expect 0 check --format lines --header 1 <(printf 'b\na\nc\n')

# JSON: paths, escapes, the first of several members with one name; null, and missing members.
printf '%s\n' '{"a":{"b":[1,"\u00e4\ud83d\ude00\n"]},"c/d":1}' '{ "a" : {"b":[1.5,"x"],"b":0}, "x":[{},[],true]}' \
  '{"c/d":null}' '' '[]' >rows.jsonl
expect 0 check --format jsonl -k 'a.b[0]:decimal' rows.jsonl
expect 0 check --format jsonl -k '/a/b/0:decimal' -k /c~1d rows.jsonl
expect 1 check --format jsonl -k 'a.b[1]' rows.jsonl
says "key 'a.b\[1\]' is 'x' after '.*\\\\x0a'"
expect 3 check --format jsonl -k a <(printf '{"a":1}\n{"a":}\n')
says 'line [0-9]* (byte [0-9]*): no JSON at byte 5: no value'
# Files that databases write.
printf '1\tx\\ty\n2\t\\N\n3\t\\\\N\\\n4\t\n5\t\n\\.\n' >rows.copy
expect 0 check --format pgcopy -k '#1:int' --unique rows.copy
reports '^records:    4$'
expect 3 check --format pgcopy -k '#1' <(cat rows.copy rows.copy)
expect 0 check --format mysql --quote '"' --delimiter , -k '#1:desc' <(printf '"b"",\n"\n"a\\"",1\n')
python3 - <<'PY'
import struct
def field(b): return struct.pack(">i", -1) if b is None else struct.pack(">i", len(b)) + b
def row(*fields): return struct.pack(">h", len(fields)) + b"".join(map(field, fields))
head = b"PGCOPY\n\xff\r\n\0" + bytes(8)
numeric = lambda digits, weight, sign: struct.pack(f">hhHh{len(digits)}h", len(digits), weight, sign, 0, *digits)
rows = [row(struct.pack(">i", -5), numeric([1, 5000], 0, 0x4000), struct.pack(">q", -1), struct.pack(">d", -0.0)),
        row(struct.pack(">i", 5), numeric([], 0, 0), struct.pack(">q", 0), struct.pack(">d", 0.0)),
        row(struct.pack(">i", 70000), numeric([12], 1, 0), struct.pack(">q", 1500000), struct.pack(">d", 1e9)), row(None, None, None, None)]
open("rows.bin", "wb").write(head + b"".join(rows) + b"\xff\xff")
open("bad.bin", "wb").write(head + rows[1] + rows[0] + b"\xff\xff")
PY
for key in '#1:int' '#2:decimal' '#3:timestamp' '#4:float'; do
  expect 0 check --format pgcopy-binary --unique -k "$key" rows.bin
  expect 1 check --format pgcopy-binary -k "$key" bad.bin
  says "record 2 (byte [0-9]*) is out of order with the record before it: key '$key'"
done

# Every generated format, sorted by gpusort: in order, equal keys in their old order, nothing lost or changed.
for format in csv tsv jsonl pgcopy pgcopy-csv pgcopy-binary mysql pgdump; do
  columns=(id created_at amount customer city)
  case $format in
    csv | tsv | jsonl) name() { echo "${columns[$1]}"; } ;;
    pgdump) name() { echo "public.orders.${columns[$1]}"; } ;;
    *) name() { echo "#$(($1 + 1))"; } ;;
  esac
  [ $format != jsonl ] || columns[4]=who.city
  keys=(-k "$(name 4):desc" -k "$(name 1):timestamp" -k "$(name 2):decimal:desc")
  "$bin/gpusort_gen" --type orders-$format --bytes 128K rows
  expect 1 check --format $format "${keys[@]}" rows
  expect 0 check --format $format -k "$(name 0):int" --unique rows
  for order in "${keys[*]}" "-k $(name 4):nocase" "-r -k $(name 4)" ""; do
    read -r -a words <<<"$order"
    "$bin/gpusort" --format $format --device cpu "${words[@]}" rows sorted 2>/dev/null
    expect 0 check --format $format "${words[@]}" --stable --against rows sorted
    reports '^order:      ok$'
    reports '^stable:     ok$'
  done
  if [ $format != pgdump ]; then
    "$bin/gpusort" --format $format --device cpu -u -k "$(name 4)" rows kept
    expect 0 check --format $format -u -k "$(name 4)" --against rows kept
    expect 1 check --format $format --against rows -k "$(name 4)" kept
    says 'has 8 records, the input [0-9]*$'
  fi
done

# Outputs that are incomplete, out of order or changed.
"$bin/gpusort_gen" --type orders-csv --bytes 64K rows.csv
by=(--format csv -k city)
"$bin/gpusort" -k city rows.csv sorted.csv 2>/dev/null
expect 0 check "${by[@]}" --against rows.csv sorted.csv
python3 - <<'PY'
import csv, io
rows = list(csv.reader(open("sorted.csv", newline="")))
lines, at = [], 0
text = open("sorted.csv", newline="").read()
for row in csv.reader(io.StringIO(text, newline="")): pass
reader = csv.reader(l for l in text.splitlines(True))
line = 0
parts = text.splitlines(True)
for row in reader:
    lines.append("".join(parts[line:reader.line_num])); line = reader.line_num
assert len(lines) == len(rows) and "".join(lines) == text
def put(name, lines): open(name, "w", newline="").write("".join(lines))
put("exchanged.csv", lines[:5] + [lines[6], lines[5]] + lines[7:])
put("short.csv", lines[:-1])
put("other.csv", [lines[0].replace("id", "ID")] + lines[1:])
put("changed.csv", lines[:9] + [lines[9].replace("leave", "Leave")] + lines[10:])
PY
expect 0 check "${by[@]}" --against rows.csv exchanged.csv
expect 1 check "${by[@]}" --stable --against rows.csv exchanged.csv
says 'record 5 (line [0-9]*, byte [0-9]*) is not that of a stable sort of the input$'
expect 1 check "${by[@]}" --against rows.csv short.csv
expect 1 check "${by[@]}" --stable --against rows.csv short.csv
says "record [0-9]* (line [0-9]*, byte [0-9]*) of 'rows.csv' is missing\$"
expect 1 check "${by[@]}" --against rows.csv other.csv
says "'other.csv': the header is not that of 'rows.csv'\$"
expect 1 check "${by[@]}" --against rows.csv changed.csv
says 'the records are not those of the input'
expect 2 check "${by[@]}" --stable --memory-limit 10K --against rows.csv sorted.csv
says 'memory-limit must be at least 16M$'
# Inputs and outputs in pipes are checked, too, but the wrong record is not named.
expect 0 check "${by[@]}" --stable --against <(cat rows.csv) <(cat sorted.csv)
expect 1 check "${by[@]}" --stable --against <(cat rows.csv) - <exchanged.csv
says 'records with equal keys are not in the order of the inputs$'
printf 'x\n2 #\n#a\n1\n#end\n' >comments.csv
printf 'x\n#a\n1\n2 #\n#end\n' >sorted.csv
expect 0 check --format csv --comment '#' -k x:nocase --stable --against comments.csv sorted.csv
expect 1 check --format csv --comment '#' -k x:nocase --against comments.csv <(sed 's/#end/#End/' sorted.csv)
says 'the bytes after the records are not those of the inputs'
# The last byte of an output, and additional bytes. gpusort ends each line in every format. byte_by_byte FORMAT KEY
# INPUT [OPTION...]: the sorted input must be right. Without its last byte, or its last two bytes, it must be wrong.
byte_by_byte() {
  local format=(--format "$1" -k "$2" "${@:4}") cut
  printf "$3" >whole.in
  "$bin/gpusort" "${format[@]}" whole.in whole.out 2>/dev/null
  expect 0 check "${format[@]}" --stable --against whole.in whole.out
  for cut in 1 2; do
    head -c -$cut whole.out >cut.out
    local code=0
    check "${format[@]}" --against whole.in cut.out 2>err || code=$?
    [ $code = 1 ] || [ $code = 3 ] || fail "$1 without its last $cut bytes passes with $code: $3"
  done
  { cat whole.out; echo; } >cut.out
  ! check "${format[@]}" --against whole.in cut.out 2>/dev/null || fail "$1 with a line more passes: $3"
  [ "$1" = lines ] || {
    if [ "$(head -c 3 whole.out)" = $'\xEF\xBB\xBF' ]; then tail -c +4 whole.out; else printf '\xEF\xBB\xBF'; cat whole.out; fi >cut.out
    ! check "${format[@]}" --against whole.in cut.out 2>/dev/null || fail "$1 passes with or without a byte order mark: $3"
  }
}
for ends in '' '\n'; do
  byte_by_byte csv x "x\n2\n1$ends"
  byte_by_byte csv x "x\r\n2\r\n1${ends:+\r\n}"
  byte_by_byte csv x "\xEF\xBB\xBFx\n2\n1$ends"
  byte_by_byte csv x "x\n2\n1\n#end$ends" --comment '#'
  byte_by_byte csv x "x\n2\n#of 1\n1$ends" --comment '#'
  byte_by_byte tsv x "x\n2\n1$ends"
  byte_by_byte jsonl x '{"x":2}\n{"x":1}'"$ends"
  byte_by_byte jsonl x '\xEF\xBB\xBF{"x":2}\n{"x":1}'"$ends"
  byte_by_byte pgcopy '#1' "2\n1$ends"
  byte_by_byte pgcopy '#1' '2\n1\n\\.'"$ends"
  byte_by_byte pgcopy-csv '#1' "2\n1$ends"
  byte_by_byte mysql '#1' "2\n1$ends"
  byte_by_byte pgdump t.a 'COPY t (a) FROM stdin;\n2\n1\n\\.'"$ends"
  byte_by_byte pgdump t.a 'COPY t (a) FROM stdin;\n2\n1\n\\.\n-- end'"$ends"
done
printf 'b\na' >lines
printf 'a\nb\n' >sorted
expect 0 check --format lines --against lines sorted
expect 1 check --format lines --against lines <(printf 'a\nb')
says 'the last line has no end$'
expect 1 check --format lines -z --against <(printf 'b\0a') <(printf 'a\0b')
expect 3 check --format pgcopy-binary -k '#1:int' --against rows.bin <(head -c -1 rows.bin)
# Empty inputs have no header. The headers of all other inputs are that of the output.
: >empty
printf 'x\n2\n1\n' >one.csv
printf 'x\n1\n2\n' >sorted.one.csv
expect 0 check --format csv -k x --against empty one.csv empty sorted.one.csv
expect 1 check --format csv -k '#1' --against empty one.csv <(printf 'y\n1\n2\n')

# The rows of a dump stay in their tables, and everything else stays unchanged.
printf '%s\n' 'SET a;' 'COPY t (a, b) FROM stdin;' '2	x' '1	y' '\.' "SELECT 'COPY" 'COPY t (a, b) FROM stdin;' "';" \
  'COPY s.u (a) FROM stdin;' '1' '0' '\.' >dump.sql
dump=(--format pgdump -k t.a:int)
"$bin/gpusort" "${dump[@]}" dump.sql sorted.sql
expect 0 check "${dump[@]}" --stable --against dump.sql sorted.sql
reports '^records:    4$'
expect 1 check "${dump[@]}" dump.sql
says "record 2 (line 4, byte 37) is out of order .* is '1' after '2'"
expect 1 check "${dump[@]}" --against dump.sql <(sed 's/SET a/SET b/' sorted.sql)
says "what are no rows is not that of 'dump.sql'"
expect 1 check "${dump[@]}" --against dump.sql <(sed 's/^1	y$/0/; s/^0$/1	y/' sorted.sql)

# sorted_dump FORMAT OPTIONS: gpusort sorts tables.sql with these options, and the check accepts the output alone.
sorted_dump() {
  expect 0 "$bin/gpusort" --device cpu --force --format $1 ${2-} tables.sql sorted.sql
  local options=${2-}
  options=${options/--force-format/}
  expect 0 check --format $1 $options --stable --against tables.sql sorted.sql
  expect 1 check --format $1 $options --against tables.sql tables.sql
}
# A line that --strip-volatile looks at can be long, also in a comment of MySQL that holds SQL, before its SQL.
printf -- '-- MySQL dump 10.13\n# %s\n/*!40000 \n-- Dump completed\nALTER TABLE t x */;\nINSERT INTO t VALUES (2),(1);\n' \
  "$(head -c 1000000 /dev/zero | tr '\0' x)" >tables.sql
sorted_dump mysqldump --strip-volatile
[ "$(grep -c completed sorted.sql)" = 0 ] || fail "a volatile line is left"
# The checker knows all lines that gpusort leaves out, and no others. # is no comment in other dialects.
printf '%s\n' '-- Started on 2026-11-27 06:00:00 UTC' '-- Completed on 2026-11-27 06:00:00' '-- TOC entry 215 (class 1259 OID 16620)' \
  '-- Dependencies: 215 7' '-- Dump completed on 2026-11-27  6:00:00' '-- Dump completed' '-- Date: Fri, 27 Nov 2026 06:00:00 +0000' \
  '-- Dump start time: Fri Nov  6 06:00:00 2026' '-- Dump end time: Fri Nov 27 06:00:00 2026' '-- Generation Time: Nov 27, 2026' \
  '-- Dump created on Fri' '-- File generated with SQLiteStudio v3.4.4 on Fri' '-- 2026-11-27 06:00:00' '-- 2026-11-27 06:00:00 UTC' \
  '-- 2026-11-27 06:00:00.123456+00' '-- Data Pos: 74161' '-- File: 3345.dat' '-- Started on Monday' '-- Completed on 2026' '-- Date: x' \
  '-- 2026-11-27' '-- 2026-11-27 06:00:00 x' '-- TOC entry 215' '-- Dependencies: x' '-- Dump completed x' '-- Data Pos: ' '-- File: x.dat' \
  '# last: 2026-11-27 06:00:00' '# Generation Time: 2026-11-27 06:00:00 +0000' '# Tempo: 2026-11-27 06:00:00 -0300' '#' '--' >words
for format in mysqldump pgdump sqlitedump; do
  while IFS= read -r line; do
    [[ $line != '#'* || $format = mysqldump ]] || continue
    printf '%s\n' '-- x' "$line" 'SELECT 1;' 'INSERT INTO t VALUES (2),(1);' "$line" >tables.sql
    sorted_dump $format '--strip-volatile --force-format'
  done <words
done
# A comment before END does not hide the end of a trigger of SQLite.
printf '%s\n' 'PRAGMA foreign_keys=OFF;' 'CREATE TRIGGER x AFTER INSERT ON t BEGIN' 'SELECT 1;' '-- a */' 'END;' \
  'INSERT INTO t VALUES (2),(1);' >tables.sql
sorted_dump sqlitedump
# DELIMITER in all spellings of the client of MySQL, also with CR LF.
for word in 'DELIMITER ;' 'delimiter ;' 'DELIMITER ; ' "DELIMITER ';'" 'Delimiter	";" x'; do
  printf '%s\n' '-- MySQL dump 10.13' 'DELIMITER ;;' 'CREATE TRIGGER x BEFORE INSERT ON a FOR EACH ROW BEGIN' \
    '-- Dump completed' 'INSERT INTO `a` VALUES (3),(1); END;;' "$word" 'INSERT INTO `a` VALUES (3),(1);' '-- Dump completed' >tables.sql
  sorted_dump mysqldump
  sorted_dump mysqldump --strip-volatile
  sed -i 's/$/\r/' tables.sql
  sorted_dump mysqldump
  sorted_dump mysqldump --strip-volatile
done
# Blobs of SQLite are bytes for keys with a type. Rows with nulls in their primary key are ordered by their texts.
printf '%s\n' 'PRAGMA foreign_keys=OFF;' 'CREATE TABLE t (a TEXT PRIMARY KEY, b);' \
  "INSERT INTO t VALUES(NULL,'b'),('k',1),(X'62',0),(NULL,'c'),('C',3),(NULL,'a'),(X'4132',3),('a10',2),(X'',2);" \
  'CREATE TABLE u (b, a INTEGER PRIMARY KEY);' 'INSERT INTO u VALUES(2,NULL),(1,NULL);' >tables.sql
for options in '' -r '-k t.a' '-k t.a:text' '-k t.a:nocase' '-k t.a:natural:desc'; do sorted_dump sqlitedump "$options"; done
# Many blocks of two tables take no more memory than few ones, but for what stands outside of rows.
awk 'BEGIN { print "PRAGMA foreign_keys=OFF;\nCREATE TABLE a (i INTEGER);\nCREATE TABLE b (i INTEGER);"
  for (i = 0; i < 40000; ++i) printf "INSERT INTO a VALUES(0);\nINSERT INTO b VALUES(0);\n" }' >tables.sql
sanitized || for options in '' '-k a.i'; do
  python3 - "$bin/gpusort_check" --format sqlitedump $options tables.sql >report <<'PY'
import os, resource, subprocess, sys
def most(files):
    pid = os.posix_spawn(sys.argv[1], sys.argv[1:-1] + files, os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return usage.ru_maxrss
lines = open("tables.sql").readlines()
open("few.sql", "w").writelines(lines[:5])
grown = most(["tables.sql"]) - most(["few.sql"])
assert grown < 24000, f"{grown} KiB for 80000 blocks"
PY
  [ -s report ] || fail "no report"
done

# Equal values in different notations. equal TYPE LESS VALUE... GREATER: the values are one key; LESS and GREATER are
# two more.
equal() {
  local type=$1 values=("${@:2}") i
  { echo v,i; for ((i = ${#values[@]} - 1; i >= 0; --i)); do echo "\"${values[i]}\",$i"; done; } >equal.csv
  "$bin/gpusort" -k v:$type equal.csv equal.out 2>/dev/null
  expect 0 check --format csv -k v:$type --stable --against equal.csv equal.out
  reports "^duplicates: $((${#values[@]} - 3))\$"
  { sed -n 1,2p equal.out; sed -n 4p equal.out; sed -n 3p equal.out; sed 1,4d equal.out; } >exchanged.csv
  expect 0 check --format csv -k v:$type --against equal.csv exchanged.csv
  expect 1 check --format csv -k v:$type --stable --against equal.csv exchanged.csv
  says 'record 2 (.*) is not that of a stable sort'
  "$bin/gpusort" -u -k v:$type equal.csv equal.out 2>/dev/null
  expect 0 check --format csv -k v:$type --unique --against equal.csv equal.out
  reports '^records:    3$'
}
equal int 1 2 +2 002 ' 2 ' 3
equal decimal -1 0 -0 0.00 0e5 .0 1
equal decimal 1.4 1.5 1.50 15e-1 0.15E1 +1.5 ' 1.5' 1.6
equal decimal 1 inf Infinity +inf nan
equal float 1.4 1.5 1.50 15e-1 0.15E1 +1.5 1.6
equal nocase aa ab aB AB Ab b
equal natural a00 a1b a01b a001b a1c
equal natural a a1 a01 a001 a2
equal date 2020-01-01 2020-01-02 20200102 2020/01/02 2020-01-03
equal timestamp 0 1970-01-01T00:00:01Z '1970-01-01 01:00:01+01' 1.0 1 1.000 2
equal timestamp 2024-01-01 '2024-02-28 24:00' 2024-02-29 2024-03-01
equal bool f t TRUE yes On 1 ''
equal ip 1.2.3.4 10.0.0.1 10.0.0.1/32 10.0.0.2
equal uuid 00000000-0000-0000-0000-000000000001 00000000-0000-0000-0000-00000000000a {0000000000000000000000000000000A} 00000000-0000-0000-0000-00000000000b
equal bytes-hex 00 ff 0xFF '\xFf' ffff

# More records than fit the memory: hashes go to a temporary file, and keys are taken in several passes. One key for all
# records, few keys, and a key for each record.
awk 'BEGIN { print "one,few,id"; for (i = 0; i < 450000; ++i) print "x," i * 7919 % 13 "," i * 7919 % 450000 }' >many.csv
small=(--stable --memory-limit 16M --temp-dir . --against many.csv)
for key in one id:int:desc few; do
  "$bin/gpusort" -k $key many.csv many.sorted.csv 2>/dev/null
  expect 0 check --format csv -k $key "${small[@]}" many.sorted.csv
  reports '^stable:     ok$'
done
awk 'NR == 300001 { held = $0; next } { print } NR == 300002 { print held }' many.sorted.csv >near.csv
expect 0 check --format csv -k few --against many.csv near.csv
expect 1 check --format csv -k few "${small[@]}" near.csv
says "'near.csv': record 300000 (line 300001, byte [0-9]*) is not that of a stable sort of the input\$"
expect 4 check --format csv -k few --stable --memory-limit 16M --temp-dir no/such --against many.csv many.sorted.csv
says "'no/such': no folder for temporary files: No such file"
# A folder without space is refused before anything is read.
expect 2 check --format csv -k few --stable --memory-limit 16M --temp-dir /proc --against many.csv many.sorted.csv
says "needs about [0-9]* MiB of temporary space, and '/proc' has 0 MiB: give more --memory-limit or another --temp-dir\$"
[ ! -s report ] || fail "refused after the work"
rm many.*

# A file that is read in pieces at the same time must give the same records as a file read from its start: odd quotes,
# escapes, comments.
python3 - <<'PY'
import random
random.seed(7)
kinds = [['"', ',', '\n', 'a', '#', '\r', '\\', 'b', '\t'], ['"', '\n', '\n', 'abc', ',', '\\'], ['aaaa,', '\n', 'b"', '#\n', '"\n', '\\\n'],
         ["'", '"', '#', '\n', 'a', '\\', '\r\n', ','], ['"x,y"', ',', '\n', 'z', '""'], ['abcdefgh', '\n']]
for i, kind in enumerate(kinds):
    text = "".join(random.choices(kind, k=25000)).replace("\\.", ".")
    # One of the two files ends outside of quotes.
    open(f"odd.{i}", "w", newline="").write(text + ["", "\n", "\n#", "\n", "", "x"][i])
    open(f"odd.{i}x", "w", newline="").write(text + 'x"\n')
PY
turns=0
for options in 'csv' 'csv --quote " --escape \ --comment #' 'csv --quote none --comment #' 'csv --no-header --comment a -k #1' \
  "csv --quote ' --delimiter \" --escape #" 'tsv' 'pgcopy-csv -k #1' 'mysql -k #1' 'mysql --quote " -k #1' \
  'mysql --quote " --escape # --delimiter , -k #1' 'pgcopy -k #1' 'lines' 'lines -z' 'lines --header 3'; do
  read -r -a words <<<"$options"
  ((++turns))
  for odd in odd.*; do
    # If a part of the cases is enough: the other kinds of text for the next options.
    kind=${odd//[!0-9]/}
    if few && (((kind + turns) % 2)); then continue; fi
    code=0 code_of_pieces=0
    "$bin/gpusort_check" --format "${words[@]}" - <$odd >report.top 2>err.top || code=$?
    "$bin/gpusort_check" --format "${words[@]}" --threads 3 $odd >report 2>err || code_of_pieces=$?
    sed -i "s/standard input/'$odd'/" err.top
    [ $code = $code_of_pieces ] && cmp -s report report.top && cmp -s err err.top ||
      fail "pieces of $odd with $options differ: $code, $code_of_pieces, $(cat err.top err)"
  done
done
# Tables of dumps, and tuples of COPY's binary form, are read in pieces as well.
for format in pgdump pgcopy-binary; do
  "$bin/gpusort_gen" --type orders-$format --bytes 200K odd.$format
done
python3 - <<'PY'
import random
random.seed(3)
rows = lambda: "".join(random.choices(["a", "\t", "\n", "\\\n", "\\\\\n", "\\.x\n", "x\\.\n", "\\\\.\n", "\\\n\\.\n"], k=random.choice([0, 1, 30000])))
tables = ["COPY t%d (a, b) FROM stdin;\n%s%s\\.%s\n-- x\n" % (i, text, "" if text == "" or text.endswith("\n") and not text.endswith("\\\n") else "\n\n", random.choice(["", "\r"]))
          for i, text in enumerate(rows() for _ in range(12))]
open("odd.sql", "w", newline="").write("SET x;\n" + "".join(tables) + "-- end")
PY
for options in 'pgdump -k public.orders.id:int odd.pgdump' 'pgdump odd.sql' 'pgcopy-binary -k #1:int odd.pgcopy-binary'; do
  read -r -a words <<<"$options"
  for bytes in 1000000 150000 100000 50000; do
    head -c $bytes "${words[-1]}" >odd
    code=0 code_of_pieces=0
    "$bin/gpusort_check" --format "${words[@]:0:${#words[@]}-1}" - <odd >report.top 2>err.top || code=$?
    "$bin/gpusort_check" --format "${words[@]:0:${#words[@]}-1}" --threads 3 odd >report 2>err || code_of_pieces=$?
    sed -i "s/standard input/'odd'/" err.top
    [ $code = $code_of_pieces ] && cmp -s report report.top && cmp -s err err.top ||
      fail "pieces of $bytes bytes with $options differ: $code, $code_of_pieces, $(cat err.top err)"
  done
done

# Lines may also be compared in full.
printf 'b\na\nb\n' >lines
printf 'a\nb\n' >kept
expect 0 check --format lines --unique --against lines kept
printf 'a\n' >kept
expect 1 check --format lines --unique --against lines kept
says "'kept': line 1 (byte 0) of 'lines' is missing, first of equal keys kept"
printf 'a\nc\n' >kept
expect 1 check --format lines --unique --against lines kept
says "'kept': line 2 (byte 2) is not that of a stable sort of the input, first of equal keys kept"

# Usage errors, and files that are not tables.
for words in "--format csv -k x two.csv" "--format csv -k #3 two.csv" "--format csv -k a:numbr two.csv" "--format jsonl -k #1 rows.jsonl" \
  "--format pgcopy -k a rows.copy" "--format pgdump -k t.z dump.sql" "--format pgdump -k v.a dump.sql" "--format csv --no-header -k a two.csv" \
  "--format csv -k a:int:int two.csv" "--format csv -k a:timestamp(%Q) two.csv" "--format jsonl --delimiter ; -k a rows.jsonl" \
  "--format lines --null x lines" "--format lines -k 1,1 lines" "--type u8 --comment x lines" "--format xml lines"; do
  read -r -a words <<<"$words"
  expect 2 check "${words[@]}"
done
expect 3 check --format csv -k a <(printf 'a\n"b\n')
says 'line 3 (byte 5): a quote is opened and not closed'
expect 3 check --format pgcopy-binary -k '#1' lines
expect 3 check --format pgdump -k t.a:int <(head -n 4 dump.sql)
echo "check_tables: ok"
