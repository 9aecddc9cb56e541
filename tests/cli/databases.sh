#!/usr/bin/env bash
# labels: any_build
# Files of real databases: exports of a server are sorted, compared with the server's own ORDER BY, and loaded again
# without loss. PostgreSQL (COPY in text, CSV and binary, pg_dump), SQLite (CSV), MariaDB (OUTFILE, if it is installed).
# Servers run in a scratch folder and listen on a socket there. DuckDB, if python3 has it, orders the same texts for
# comparison.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/servers.sh.inc"

# --- PostgreSQL ---------------------------------------------------------------------------------------------------

make_table() {
  sql <<'SQL'
SELECT setseed(0.5);
CREATE TABLE t (id int, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, b bool, d date, ts timestamp,
                tz timestamptz, u uuid, a inet, y bytea, s text);
-- One of `choices`, or null; the volatile argument makes each row draw anew.
CREATE FUNCTION draw(choices text[], r float8) RETURNS text LANGUAGE sql IMMUTABLE
  AS $$ SELECT choices[1 + floor(r * (array_length(choices, 1) + 1))::int] $$;
INSERT INTO t SELECT id,
  draw('{0,1,-1,32767,-32768,7,300}', random())::int2,
  CASE WHEN random() < 0.3 THEN draw('{0,-1,2147483647,-2147483648}', random())::int4
       ELSE (random() * 2000 - 1000)::int4 END,
  CASE WHEN random() < 0.5 THEN draw('{0,-1,9223372036854775807,-9223372036854775808,256}', random())::int8
       ELSE (random() * 1e18 - 5e17)::int8 END,
  CASE WHEN random() < 0.3 THEN draw('{NaN,Infinity,-Infinity,0,1e-40,3.4e38}', random())::float4
       ELSE ((random() - 0.5) * 100)::float4 END,
  CASE WHEN random() < 0.3 THEN draw('{NaN,Infinity,-Infinity,0,5e-324,1.7976931348623157e308}', random())::float8
       ELSE (random() - 0.5) * 1e10 ^ (random() * 6 - 3) END,
  CASE WHEN random() < 0.5 THEN draw('{NaN,Infinity,-Infinity,0,-0.0001,1.10,1.1,1e100,-1e100,99999999,100000000,
         10000,9999.9999,1e-30,123456789012345678901234567890.123456789}', random())::numeric
       ELSE ((random() - 0.5) * 1e6)::numeric(20, 4) END,
  draw('{t,f}', random())::bool,
  CASE WHEN random() < 0.3 THEN draw('{infinity,-infinity,0044-03-15 BC,0001-01-01,1969-12-31,1970-01-01,2000-02-29,
         9999-12-31}', random())::date ELSE '1900-01-01'::date + (random() * 80000)::int END,
  CASE WHEN random() < 0.3 THEN draw('{infinity,-infinity,1969-12-31 23:59:59.999999,1970-01-01 00:00:00,
         2000-01-01 00:00:00.5,0099-01-01 01:02:03,0044-03-15 12:00:00 BC}', random())::timestamp
       ELSE '1960-01-01'::timestamp + random() * interval '100 years' END,
  CASE WHEN random() < 0.3 THEN draw('{infinity,-infinity,1969-12-31 23:59:59.1+01,2026-03-29 02:30:00+02}',
         random())::timestamptz ELSE '1960-01-01Z'::timestamptz + random() * interval '100 years' END,
  CASE WHEN random() < 0.9 THEN md5(random()::text)::uuid END,
  CASE WHEN random() < 0.4 THEN '10.0.0.0'::inet + (random() * 1e6)::int8
       WHEN random() < 0.5 THEN set_masklen('10.0.0.0'::inet + ((random() * 64)::int8 << (random() * 18)::int), (random() * 32)::int)
       WHEN random() < 0.6 THEN set_masklen('2001:db8::'::inet + ((random() * 8)::int8 << (random() * 58)::int), (random() * 128)::int)
       ELSE draw('{::1,2001:db8::ff,255.255.255.255,0.0.0.0,fe80::1,::ffff:1.2.3.4}', random())::inet END,
  CASE WHEN random() < 0.9 THEN substr(decode(md5(random()::text), 'hex'), 1, (random() * 4)::int) END,
  draw(array['', 'a', 'A', E'a\tb', E'a\nb', 'a"b', 'a,b', '"', 'it''s', E'a\\b', E'\\', E'a\r\nb', E'\r', E'\\N',
             E'\\.', 'N', 'NULL', ' a ', 'é', '字', E'\u0001', E'\b\f\v', 'a10', 'a9', '_', 'A_', 'Z', 'z'], random())
  FROM generate_series(1, 1500) AS id;
CREATE TABLE got (LIKE t);
ALTER TABLE got ADD pos bigserial;
SQL
}

# Columns are named by number in the keys of every format, because only one of the formats has names.
columns=(id i2 i4 i8 f4 f8 n b d ts tz u a y s)
number_of() {
  local i
  for i in "${!columns[@]}"; do [ "${columns[i]}" != "$1" ] || echo $((i + 1)); done
}

# Orders: pairs of a column and the words of its keys, for gpusort and for the server.
orders=(
  'i4:int' 'i8:int:desc' 'i2:int:nulls-first f4:float:desc' 'f8:float' 'f8:float:desc:nulls-last' 'n:decimal'
  'n:decimal:desc i4:int' 'b:bool:desc d:date' 'd:date:desc' 'ts:timestamp' 'b:bool tz:timestamp:desc' 'u:uuid'
  'a:ip' 'a:inet:desc' 'y:bytes-hex' 's:nocase id:int' 's:text' 's:text:desc:nulls-last i2:int' 's'
)
check_copy() {  # FORMAT, COPY's options
  local order key column rest words
  sql -c "COPY (SELECT * FROM t ORDER BY id) TO STDOUT WITH ($2)" >"t.$1"
  for order in "${orders[@]}"; do
    local operands=() server=''
    for key in $order; do
      column=${key%%:*}
      rest=${key#"$column"}
      operands+=(-k "#$(number_of "$column")$rest")
      words=$column
      case $rest in *text*|'') words+=' COLLATE "C"' ;; *nocase*) words='lower(s COLLATE "C") COLLATE "C"' ;; esac
      case $rest in *:desc*) words+=' DESC' ;; esac
      case $rest in *nulls-first*) words+=' NULLS FIRST' ;; *nulls-last*) words+=' NULLS LAST' ;; esac
      server+="$words, "
    done
    expect 0 "$bin/gpusort" --format "$1" --strict "${operands[@]}" "t.$1" "sorted.$1"
    # The sort is stable, and the rows were exported in the order of their numbers.
    sql >differences <<SQL || fail "$1: the sorted file of '$order' cannot be loaded"
TRUNCATE got RESTART IDENTITY;
\\copy got ($(IFS=,; echo "${columns[*]}")) FROM 'sorted.$1' WITH ($2)
SELECT 'place ' || g.pos || ' has row ' || g.id || ' instead of ' || o.id
  FROM got g JOIN (SELECT id, row_number() OVER (ORDER BY $server id) AS pos FROM t) o USING (pos)
  WHERE g.id <> o.id ORDER BY g.pos LIMIT 3;
ALTER TABLE got DROP pos;
SELECT 'lost: ' || x.id FROM (TABLE t EXCEPT ALL TABLE got) x;
SELECT 'made up: ' || x.id FROM (TABLE got EXCEPT ALL TABLE t) x;
ALTER TABLE got ADD pos bigserial;
SQL
    [ ! -s differences ] || fail "$1, $order: $(head -n 5 differences)"
  done
  # Sorted by all columns as text: any order is accepted, but nothing may be lost.
  expect 0 "$bin/gpusort" --format "$1" "t.$1" "sorted.$1"
  [ "$(wc -c <"t.$1")" = "$(wc -c <"sorted.$1")" ] || fail "$1: another size without keys"
}

# rows_of BEGINNING: prints the rows of the COPY statement that begins with BEGINNING.
rows_of() {
  awk -v begin="$1" '/^\\\.$/ { inside = 0 } inside; index($0, begin) == 1 && /FROM stdin;$/ { inside = 1 }'
}
check_dump() {
  sql <<'SQL'
CREATE SCHEMA "odd one";
CREATE TABLE "odd one"."a.b" ("x""y" int, "COPY t (id) FROM stdin;" text);
INSERT INTO "odd one"."a.b" SELECT (random() * 1000)::int, E'\\.\n' || g FROM generate_series(1, 300) g;
CREATE TABLE empty (id int);
SET check_function_bodies = off;
CREATE FUNCTION trap() RETURNS text LANGUAGE sql AS $_$
SELECT E'\'$$' || '\'; -- '
COPY public.t (id) FROM stdin;
$_$;
COMMENT ON TABLE t IS 'it''s
COPY public.t (id, s) FROM stdin;
9
\.
/*';
CREATE DATABASE restored;
SQL
  "$pg/pg_dump" -h "$work/pg" -U postgres postgres >dump.sql
  expect 0 "$bin/gpusort" --format pgdump --strict -k public.t.n:decimal -k t.f8:float:desc \
    -k '"odd one"."a.b"."x""y":int' dump.sql sorted.sql
  same <(LC_ALL=C sort dump.sql) <(LC_ALL=C sort sorted.sql)
  same <(grep -n -A3 '^CREATE\|^ALTER\|^COMMENT' dump.sql) <(grep -n -A3 '^CREATE\|^ALTER\|^COMMENT' sorted.sql)
  database=restored sql -f sorted.sql >/dev/null || fail "the sorted dump cannot be restored"
  rows_of 'COPY public.t (id, i2' <sorted.sql >rows
  same <(sql -c 'SELECT trim_scale(n), f8 FROM t ORDER BY n, f8 DESC') <(sql <<'SQL'
TRUNCATE got RESTART IDENTITY;
\copy got (id, i2, i4, i8, f4, f8, n, b, d, ts, tz, u, a, y, s) FROM 'rows'
SELECT trim_scale(n), f8 FROM got ORDER BY pos;
SQL
  )
  same <(sql -c 'SELECT "x""y" FROM "odd one"."a.b" ORDER BY "x""y"') <(rows_of 'COPY "odd one"' <sorted.sql | cut -f1)
  same <(sql -c 'COPY (SELECT * FROM t ORDER BY id) TO STDOUT') \
    <(database=restored sql -c 'COPY (SELECT * FROM t ORDER BY id) TO STDOUT')
  expect 2 "$bin/gpusort" --format pgdump -k nobody.id:int dump.sql sorted.sql
  says 'no rows of such a table'
}

# Names of time zones with one offset at all times, a header in the server's text format, and money.
check_zones() {
  awk '$2 ~ /^-?[0-9]+$/ { print $1 }' "$("${pg%/bin}/bin/pg_config" --sharedir 2>/dev/null || echo /usr/share/postgresql/15)/timezonesets/Default" >zones
  [ "$(wc -l <zones)" -gt 100 ] || fail "zones of PostgreSQL: $(wc -l <zones)"
  sql <<'SQL'
CREATE TABLE zones (name text);
\copy zones FROM 'zones'
INSERT INTO zones VALUES ('Europe/Berlin'), ('America/New_York'), ('Asia/Kathmandu'), ('Australia/Lord_Howe');
SELECT setseed(0.25);
CREATE TABLE z AS SELECT row_number() OVER () AS id, '2020-05-05 00:00:00'::timestamp + random() * interval '3 days' || ' ' || name AS text,
  ((random() - 0.5) * 10 ^ (random() * 9))::numeric::money AS m FROM zones, generate_series(1, 5);
-- Hours that occur twice and hours that are left out.
INSERT INTO z SELECT 10000 + row_number() OVER (), day + g * interval '10 min' || ' Europe/Berlin', 0::money
  FROM generate_series(0, 30) g, unnest('{2026-10-25 00:00,2026-03-29 00:00}'::timestamp[]) day;
\copy (SELECT * FROM z ORDER BY id) TO 'z.copy' WITH (HEADER)
\copy (SELECT * FROM z ORDER BY id) TO 'z.csv' WITH (FORMAT csv, HEADER)
\copy (SELECT * FROM z ORDER BY id) TO 'z.binary' WITH (FORMAT binary)
\copy (SELECT id FROM z ORDER BY text::timestamptz, id) TO 'by-time'
\copy (SELECT id FROM z ORDER BY m DESC, id) TO 'by-money'
SQL
  for format in pgcopy csv; do
    file=z.${format#pg}
    expect 0 "$bin/gpusort" --format $format --header 1 --strict -k text:timestamp "$file" sorted
    same by-time <(tail -n +2 sorted | cut -d "$([ $format = csv ] && echo , || printf '\t')" -f 1)
    expect 0 "$bin/gpusort_check" --format $format --header 1 -k text:timestamp --against "$file" sorted >/dev/null
    expect 0 "$bin/gpusort" --format $format --header 1 --strict -k m:money:desc "$file" sorted
    same by-money <(tail -n +2 sorted | cut -d "$([ $format = csv ] && echo , || printf '\t')" -f 1)
  done
  expect 0 "$bin/gpusort" --format pgcopy-binary --strict -k '#3:money:desc' z.binary sorted
  expect 0 "$bin/gpusort_check" --format pgcopy-binary -k '#3:money:desc' --against z.binary sorted >/dev/null
}

# Types that databases have besides numbers and texts, in the notations that the server writes.
check_types() {
  sql <<'SQL'
SELECT setseed(0.75);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very, very happy', 'it''s');
CREATE TABLE v AS SELECT id, draw('{00:00,24:00,12:30:00.5,23:59:59.999999,09:00}', random())::time AS ti,
  draw('{00:00+00,02:00+02,10:00-05:30,15:30+00,24:00-15:59:59,23:30+15:59,12:00:00.25+01}', random())::timetz AS tz,
  CASE WHEN random() < 0.5 THEN make_interval((random() * 4 - 2)::int, (random() * 4 - 2)::int, 0, (random() * 4 - 2)::int,
         (random() * 40 - 20)::int, 0, random() * 9 - 5)
       ELSE draw('{0,30 days,1 mon,-1 mon,24:00:00,1 day,-00:00:00.000001,-1 day +23:59:59,178000000 years}', random())::interval END AS iv,
  ('08:00:2b:01:02:' || lpad(to_hex((random() * 255)::int), 2, '0'))::macaddr AS mac,
  draw('{08:00:2b:01:02:03,00:00:00:00:00:00:00:00,ff:00:2b:01:02:03:04:05,08:00:2b:ff:fe:01:02:04}', random())::macaddr8 AS mac8,
  draw('{0,1,00,01,10,11111111,111111110,011111111}', random())::varbit AS bi, draw(enum_range(NULL::mood)::text[], random())::mood AS mo,
  draw('{10.0.0.0/8,10.0.0.0/9,10.0.0.0/32,::/0,192.168.0.0/16,2001:db8::/32}', random())::cidr AS ci,
  ((random() - 0.5) * 10 ^ (random() * 9))::numeric::money AS m, draw('{"{\"a\": 1}","[]","1","null"}', random())::json AS js
  FROM generate_series(1, 400) AS id;
CREATE TABLE vgot (LIKE v);
ALTER TABLE vgot ADD pos bigserial;
SQL
  local columns=(id ti tz iv mac mac8 bi mo ci m js) pair key column words style format
  local types=(ti:time tz:timetz:desc iv:interval iv:interval:desc mac:macaddr mac8:macaddr8 bi:bit bi:varbit:desc ci:cidr
    "mo:enum(sad,ok,'very, very happy','it''s')" m:money:desc js:json)
  for style in postgres postgres_verbose iso_8601 sql_standard; do
    PGOPTIONS="-c intervalstyle=$style" sql -c "\\copy (SELECT * FROM v ORDER BY id) TO 'v.$style'"
    expect 0 "$bin/gpusort" --format pgcopy --strict -k '#4:interval' "v.$style" sorted
    same <(sql -c 'SELECT id FROM v ORDER BY iv, id') <(cut -f 1 sorted)
    expect 0 "$bin/gpusort_check" --format pgcopy -k '#4:interval' --stable --against "v.$style" sorted >/dev/null
  done
  sql -c "\\copy (SELECT * FROM v ORDER BY id) TO 'v.binary' WITH (FORMAT binary)"
  for pair in "${types[@]}"; do
    column=${pair%%:*}
    words=$column
    case $column in js) words='js::text COLLATE "C"' ;; esac
    case $pair in *:desc) words+=' DESC' ;; esac
    for key in "${!columns[@]}"; do [ "${columns[key]}" != "$column" ] || break; done
    key="#$((key + 1)):${pair#*:}"
    expect 0 "$bin/gpusort" --format pgcopy --strict -k "$key" v.postgres sorted
    sql -c "SELECT id FROM v ORDER BY $words, id" >want
    same want <(cut -f 1 sorted)
    expect 0 "$bin/gpusort_check" --format pgcopy -k "$key" --stable --against v.postgres sorted >/dev/null
    expect 0 "$bin/gpusort" --format pgcopy-binary --strict -k "$key" v.binary sorted
    expect 0 "$bin/gpusort_check" --format pgcopy-binary -k "$key" --stable --against v.binary sorted >/dev/null
    same want <(sql <<SQL
TRUNCATE vgot RESTART IDENTITY;
\\copy vgot ($(IFS=,; echo "${columns[*]}")) FROM 'sorted' WITH (FORMAT binary)
SELECT id FROM vgot ORDER BY pos
SQL
    )
  done
}

check_broken_files() {
  head -c -2 t.pgcopy-binary >cut
  expect 3 "$bin/gpusort" --format pgcopy-binary cut out
  says 'trailer is missing'
  head -c -7 t.pgcopy-binary >cut
  expect 3 "$bin/gpusort" --format pgcopy-binary cut out
  { cat t.pgcopy-binary; echo; } >long
  expect 3 "$bin/gpusort" --format pgcopy-binary long out
  says 'after the trailer'
  expect 3 "$bin/gpusort" --format pgcopy-binary t.pgcopy out
  says 'does not begin as COPY'
  printf '1\n\\.\n2\n' >more
  expect 3 "$bin/gpusort" --format pgcopy more out
  says 'after the line'
}

# --- SQLite -------------------------------------------------------------------------------------------------------

check_sqlite() {
  python3 - "$bin/gpusort" <<'PYTHON'
import csv, random, sqlite3, subprocess, sys
random.seed(1)
texts = ["a", "A", "a,b", 'quo"te', "line\nbreak", "cr\r\nlf", " blank ", "é", "字", "tab\t", "'", "\\N.", None]
db = sqlite3.connect(":memory:")
db.execute("CREATE TABLE t (id INTEGER, i INTEGER, r REAL, s TEXT)")
rows = [(n, random.choice([None, 0, -1, 2**63 - 1, -(2**63), random.randint(-999, 999)]),
         random.choice([None, float("inf"), 0.1, 1e-300, random.uniform(-1e6, 1e6)]), random.choice(texts))
        for n in range(2000)]
db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
names = ["id", "i", "r", "s"]
with open("t.csv", "w", newline="", encoding="utf-8") as out:
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerows(db.execute("SELECT * FROM t ORDER BY id"))
for keys, order in [(["i:int:nulls-first"], "i"), (["r:float:desc"], "r DESC NULLS FIRST"),
                    (["s:text:nulls-first", "i:int:desc:nulls-last"], "s, i DESC"),
                    (["s:text:desc", "r:float"], "s DESC NULLS FIRST, r NULLS LAST")]:
    options = [word for key in keys for word in ("-k", key)]
    subprocess.run([sys.argv[1], "--format", "csv", *options, "t.csv", "sorted.csv"], check=True)
    with open("sorted.csv", newline="", encoding="utf-8") as file:
        got = list(csv.reader(file))
    want = [["" if value is None else str(value) for value in row]
            for row in db.execute(f"SELECT * FROM t ORDER BY {order}, id")]
    assert got[0] == names, got[0]
    assert got[1:] == want, (order, next(pair for pair in zip(got[1:], want) if pair[0] != pair[1]))
PYTHON
}

# --- DuckDB -------------------------------------------------------------------------------------------------------

# Texts of each type in many spellings, and invalid texts, which order as null.
check_duckdb() {
  python3 - "$bin/gpusort" <<'PYTHON'
import csv, random, subprocess, sys, uuid
import duckdb
random.seed(3)
def stamp():
    text = f"{random.choice([1, 1890, 1969, 1970, 2026]):04}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    text += random.choice(" T") + f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"
    text += random.choice(["", ".5", ".500000", ".123456", ".000001"])
    return text + random.choice(["", "Z", "+00", "+05:30", "-11:00"])
makers = {
    "int:HUGEINT": lambda: str(random.choice([0, -0, 7, -7, 10**30, -(10**30), random.randint(-999, 999)])),
    "decimal:DECIMAL(38, 10)": lambda: random.choice(["0", "-0.0", ".5", "0.50", "+3", "-.25", "1e3", "12e-2", "99999999999",
                                                      f"{random.uniform(-1e3, 1e3):.4f}"]),
    "float:DOUBLE": lambda: random.choice(["inf", "-inf", "nan", "1e308", "5e-324", "0.1", repr(random.gauss(0, 1e9))]),
    "bool:BOOLEAN": lambda: random.choice(["true", "false", "t", "f", "TRUE", "1", "0"]),
    "date:DATE": lambda: stamp()[:10],
    "timestamp:TIMESTAMPTZ": stamp,
    "uuid:UUID": lambda: random.choice([str, lambda u: str(u).upper(), lambda u: "{%s}" % u])(uuid.UUID(int=random.getrandbits(128))),
}
duckdb.sql("SET TimeZone='UTC'")
for typed, make in makers.items():
    kind, theirs = typed.split(":")
    with open("t.csv", "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "v"])
        writer.writerows([n, random.choice(["", "?"]) if random.random() < 0.05 else make()] for n in range(3000))
    for direction in ("asc nulls last", "desc nulls first"):
        subprocess.run([sys.argv[1], "-k", f"v:{kind}:{direction.split()[0]}", "t.csv", "sorted.csv"], check=True,
                       stderr=subprocess.DEVNULL)
        with open("sorted.csv", newline="") as file:
            got = [(int(row["id"]), row["v"]) for row in csv.DictReader(file)]
        want = [(n, v or "") for n, v in duckdb.sql(
            "SELECT id::INT, v FROM read_csv('t.csv', all_varchar=true, header=true) "
            f"ORDER BY try_cast(v AS {theirs}) {direction}, id::INT").fetchall()]
        assert got == want, (typed, direction, next(pair for pair in zip(got, want) if pair[0] != pair[1]))
PYTHON
}

# --- MariaDB ------------------------------------------------------------------------------------------------------

check_mariadb() {
  local quoted fields
  start_mariadb --secure-file-priv='' --skip-grant-tables
  maria_sql <<'SQL' || fail "MariaDB takes no table"
CREATE DATABASE x; USE x;
CREATE TABLE t (id int, i int, n decimal(30, 10), s varbinary(20));
INSERT INTO t SELECT seq, IF(RAND(1) < 0.1, NULL, FLOOR(RAND(2) * 200 - 100)), IF(RAND(3) < 0.1, NULL, RAND(4) * 1e9),
  ELT(1 + FLOOR(RAND(5) * 12), '', 'a', 'A', 'a\tb', 'a\nb', 'q"q', '"', 'b\\', '\\N', 'x\0y', 'x\Zy', NULL)
  FROM seq_1_to_2000;
SQL
  for quoted in '' '"'; do
    fields=${quoted:+FIELDS ENCLOSED BY \'\"\'}
    rm -f out.mysql
    maria_sql -e "SELECT * FROM x.t ORDER BY id INTO OUTFILE '$work/out.mysql' $fields"
    expect 0 "$bin/gpusort" --format mysql ${quoted:+--quote "$quoted"} --strict -k '#4:text:nulls-first' \
      -k '#2:int:desc:nulls-last' -k '#3:decimal:nulls-first' out.mysql sorted.mysql
    maria_sql <<SQL >differences || fail "MariaDB does not load what was sorted"
USE x; CREATE OR REPLACE TABLE got LIKE t; ALTER TABLE got ADD pos int AUTO_INCREMENT PRIMARY KEY;
LOAD DATA INFILE '$work/sorted.mysql' INTO TABLE got $fields (id, i, n, s);
SELECT g.pos, g.id, o.id FROM got g JOIN (SELECT id, ROW_NUMBER() OVER (ORDER BY s, i DESC, n, id) AS pos FROM t) o
  USING (pos) WHERE g.id <> o.id LIMIT 3;
(SELECT * FROM t EXCEPT SELECT id, i, n, s FROM got) LIMIT 3;
SELECT COUNT(*) FROM got HAVING COUNT(*) <> 2000;
SQL
    [ ! -s differences ] || fail "mysql $quoted: $(head -n 5 differences)"
  done
}

# check_log FILE FORM: sorts the log of a server, which is in order, and its lines in reverse. The last words of --explain
# show that a line of the server was read.
check_log() {
  local records
  records=$(grep -c '^20' "$1")
  [ "$records" -ge 5 ] || fail "the server's log: $(cat "$1")"
  expect 0 "$bin/gpusort" --format log --stats log.json -o sorted.log "$1"
  same sorted.log "$1"
  grep -q "\"records_out\": $records\b" log.json || fail "$records records of $1: $(cat log.json)"
  "$bin/gpusort" --explain --format log "$1" | grep -q "^format .*: $2.* is 20" || fail "the form of $1"
  grep '^20' "$1" | sort -R --random-source="$1" >mixed.log
  expect 0 "$bin/gpusort" --format log -o sorted.log mixed.log
  cut -c 1-23 sorted.log | LC_ALL=C sort -c || fail "the order of the lines of $1"
}

check_sqlite
if python3 -c 'import duckdb' 2>/dev/null; then
  check_duckdb || fail "DuckDB orders otherwise"
else
  echo "databases: no DuckDB here (pip install --target DIR duckdb; PYTHONPATH=DIR): its orders are not checked" >&2
fi
if [ -n "$maria" ]; then
  check_mariadb
  sed -n '/\[Note\]/,$p' maria.log >server.log
  check_log server.log 'ISO 8601 in word 1'
else
  echo "databases: no MariaDB here: its files are not checked" >&2
fi
if [ -z "$pg" ]; then
  echo "databases: SKIPPED: no PostgreSQL server here" >&2
  exit 77
fi
start_postgres
make_table
check_copy pgcopy 'FORMAT text'
check_copy pgcopy-csv 'FORMAT csv'
check_copy pgcopy-binary 'FORMAT binary'
check_dump
check_zones
check_types
check_broken_files
for i in 1 2; do ! sql -c "SELECT $i,"$'\n  1/0' 2>/dev/null || fail "PostgreSQL divides by 0"; done
cp pg/log server.log
grep -q $'^\t' server.log || fail "no statement of several lines in the server's log"
check_log server.log 'ISO 8601 in word 1'
nothing_left
echo "databases: ok"
