#!/usr/bin/env bash
# labels: any_build first
# Dumps of real databases: SQLite, MariaDB and PostgreSQL write dumps with COPY and with INSERT statements of one row and
# of several rows. A sorted dump must restore an equal database. Two equal databases, filled in another order, must give
# equal bytes. A database that is not installed is left out.
. "$2/tests/cli/common.sh.inc"
. "$2/tests/cli/servers.sh.inc"
g="$bin/gpusort"
# The server of PostgreSQL starts while the other checks run.
if [ -n "$pg" ]; then
  start_postgres &
  starting=$!
fi

# by_tasks SLICES PARTS INPUT WANT [OPTION]...: tasks sort INPUT to the bytes of WANT.
by_tasks() {
  local slices=$1 parts=$2 input=$3 want=$4 k
  shift 4
  rm -rf task got.sql
  for ((k = slices - 1; k >= 0; --k)); do expect 0 "$bin/gpusort_task" runs --slice "$k/$slices" --into task "$@" "$input"; done
  expect 0 "$bin/gpusort_task" cut --parts "$parts" task
  for ((k = parts - 1; k >= 0; --k)); do expect 0 "$bin/gpusort_task" part --part "$k/$parts" task got.sql; done
  expect 0 "$bin/gpusort_task" prove --parts "$parts" task got.sql
  same "$want" got.sql
  rm -rf task
}

# --- SQLite -------------------------------------------------------------------------------------------------------

check_sqlite() {
  local order key
  for order in 'ORDER BY id' 'ORDER BY id DESC'; do
    rm -f lite.db
    sqlite3 lite.db <<SQL
CREATE TABLE src AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
  SELECT (i * 7919) % 1000 AS id, CASE i % 8 WHEN 0 THEN NULL WHEN 1 THEN 'it''s; ' || i WHEN 2 THEN 'a' || char(10) || 'b' || i
    WHEN 3 THEN 'INSERT INTO t VALUES(' || i || ');' WHEN 4 THEN x'00ff0a27' WHEN 5 THEN i / 7.0 WHEN 6 THEN '-- ' || i
    ELSE 'é字' END AS v FROM n;
CREATE TABLE "t.1" ("the id" INTEGER NOT NULL, v, PRIMARY KEY ("the id" DESC)) WITHOUT ROWID;
CREATE TABLE plain (id INT,
-- 2026-11-27 06:00:00
v);
CREATE TABLE kinds (n UNSIGNED BIG INT, d DATETIME PRIMARY KEY, x NUMERIC) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, v);
CREATE VIRTUAL TABLE words USING fts4(text);
CREATE TABLE child (id INTEGER PRIMARY KEY, up INT REFERENCES child (id), of INT NOT NULL REFERENCES parent (id));
CREATE TABLE parent (id INTEGER PRIMARY KEY);
CREATE TABLE log (id INT);
CREATE TRIGGER tr AFTER DELETE ON plain BEGIN
INSERT INTO log VALUES(2);
INSERT INTO log VALUES(1);
END;
INSERT INTO "t.1" SELECT DISTINCT id, v FROM src $order;
INSERT INTO plain SELECT id, v FROM src $order;
INSERT INTO kinds SELECT id, CASE id % 4 WHEN 0 THEN id / 3.0 WHEN 1 THEN '2026-01-' || id WHEN 2 THEN CAST(id AS BLOB) ELSE id END, id
  FROM src $order;
INSERT INTO meta SELECT DISTINCT CASE WHEN id % 7 THEN 'k' || char(10) || id END, v FROM src $order;
INSERT INTO parent SELECT DISTINCT id FROM src $order;
INSERT INTO child SELECT DISTINCT id, (SELECT MAX(id) FROM src) - id, id FROM src WHERE id IN (SELECT (SELECT MAX(id) FROM src) - id FROM src);
INSERT INTO words (rowid, text) SELECT id, 'it' || id FROM src WHERE id < 40 ORDER BY id;
DROP TABLE src;
SQL
    sqlite3 lite.db .dump >lite.sql
    expect 0 "$g" --strict -k '"t.1"."the id":desc' lite.sql out.sql
    same <(LC_ALL=C sort lite.sql) <(LC_ALL=C sort out.sql)
    expect 0 "$bin/gpusort_check" --format sqlitedump -k '"t.1"."the id":int:desc' --against lite.sql out.sql >/dev/null
    expect 0 "$bin/gpusort_check" --format sqlitedump -k '"t.1"."the id":desc' --against lite.sql out.sql >/dev/null
    for key in plain.v kinds.d:desc kinds.d:nulls-last plain.v:desc:nulls-last; do
      expect 0 "$g" -k "$key" lite.sql out.sql
      expect 0 "$bin/gpusort_check" --format sqlitedump -k "$key" --against lite.sql out.sql >/dev/null
    done
    expect 0 "$bin/gpusort" --format sqlitedump --strip-volatile lite.sql "sorted${order##* }.sql"
    expect 0 "$bin/gpusort_check" --format sqlitedump --against lite.sql "sorted${order##* }.sql" >/dev/null
    expect 1 "$bin/gpusort_check" --format sqlitedump lite.sql >/dev/null
    rm -f lite2.db
    sqlite3 lite2.db <"sorted${order##* }.sql" || fail "SQLite does not take the sorted dump"
    [ -z "$(sqlite3 lite2.db 'PRAGMA foreign_key_check')" ] || fail "a foreign key of SQLite"
    for table in '"t.1"' plain kinds meta words child parent; do
      same <(sqlite3 -quote lite.db "SELECT * FROM $table" | sort) <(sqlite3 -quote lite2.db "SELECT * FROM $table" | sort)
    done
    same <(sqlite3 lite.db .schema) <(sqlite3 lite2.db .schema)
  done
  same sortedid.sql sortedDESC.sql
  # Rows of kinds have the order of SQLite, and those of the shadow table that of its key.
  same <(sqlite3 -cmd '.mode insert' lite.db 'SELECT d FROM kinds ORDER BY d' | sed 's/^.*VALUES(\(.*\));/\1/') \
    <(sed -n "s/^INSERT INTO kinds VALUES([0-9]*,\([^,]*\),.*/\1/p" sortedDESC.sql)
  same <(sed -n "s/^INSERT INTO words_content VALUES(\([0-9]*\),.*/\1/p" sortedDESC.sql) \
    <(sqlite3 lite.db 'SELECT docid FROM words ORDER BY docid')
  same <(sed -n "s/^INSERT INTO plain VALUES(\([0-9]*\),.*/\1/p" sortedid.sql) \
    <(sed -n "s/^INSERT INTO plain VALUES(\([0-9]*\),.*/\1/p" sortedid.sql | sort -n)
}

# --- MariaDB ------------------------------------------------------------------------------------------------------

maria_dump() { mariadb-dump --no-defaults --socket="$work/maria/socket" --user=root "$@"; }
check_mariadb() {
  local order options query keys=(-k plain.at:desc -k plain.s -k wide.mood -k wide.id:desc)
  # The third kind has statements that are cut by size, so that they differ between the two databases.
  local kinds=('' '--skip-extended-insert --replace' '--hex-blob --complete-insert --net-buffer-length=4096')
  # MariaDB does not take its own programs from a dump with --compatible=ansi.
  few || kinds+=(--complete-insert --skip-extended-insert --skip-opt '--compatible=ansi --skip-events --skip-routines --skip-triggers')
  start_mariadb
  for order in id 'id DESC'; do
    maria_sql --comments <<SQL || fail "MariaDB takes no table"
CREATE OR REPLACE DATABASE x; USE x;
CREATE TABLE src (id int, d decimal(12, 3), s varchar(60), b varbinary(20), bits bit(3), at datetime);
INSERT INTO src SELECT seq, IF(seq % 9 = 0, NULL, seq % 300 / 7), ELT(1 + seq % 8, '', 'it\'s', 'a\nb', 'x\\\\', '),(1,', 'INSERT INTO \`t\` VALUES (1);',
  '-- "', NULL), IF(seq % 3, UNHEX(MD5(seq)), '\0\n\\\\\\''), seq % 8, '2026-01-01' + INTERVAL seq * 7919 % 1000 HOUR FROM seq_1_to_800;
CREATE TABLE \`a.b\` (id int NOT NULL, d decimal(12, 3), s varchar(60) COMMENT 'it\\'s (', b varbinary(20), bits bit(3), at datetime,
  g int GENERATED ALWAYS AS (id * 2) VIRTUAL, parent int, PRIMARY KEY (id), FOREIGN KEY (parent) REFERENCES \`a.b\` (id)) ENGINE=InnoDB;
CREATE TABLE plain (d decimal(12, 3), s varchar(60), b varbinary(20), bits bit(3), at datetime) ENGINE=MyISAM;
CREATE TABLE log (id int);
CREATE TABLE wide (id int PRIMARY KEY, mood enum('sad','ok','happy'), s text);
INSERT INTO wide SELECT id, 1 + id % 3, REPEAT('x', IF(id = 1, 9000, 20)) FROM src ORDER BY $order;
INSERT INTO \`a.b\` (id, d, s, b, bits, at) SELECT * FROM src ORDER BY $order;
UPDATE \`a.b\` SET parent = 801 - id WHERE id % 2;
INSERT INTO plain SELECT d, s, b, bits, at FROM src ORDER BY $order;
DROP TABLE src;
DELIMITER ;;
CREATE TRIGGER tr AFTER DELETE ON plain FOR EACH ROW BEGIN
INSERT INTO log VALUES (2);
INSERT INTO log VALUES (1);
END;;
CREATE PROCEDURE p() BEGIN
-- Started on 2026-11-27 06:00:00
INSERT INTO log VALUES (2);
INSERT INTO log VALUES (1);
-- Dump completed
END;;
DELIMITER ;
CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01' DO INSERT INTO log VALUES (3);
CREATE VIEW v AS SELECT id FROM \`a.b\`;
SQL
    # The smallest buffer makes statements of one row and of several rows.
    for options in "${kinds[@]}"; do
      maria_dump --routines --events $options x >maria.sql
      expect 0 "$g" --format mysqldump --strict "${keys[@]}" maria.sql out.sql
      expect 0 "$bin/gpusort_check" --format mysqldump "${keys[@]}" --against maria.sql out.sql >/dev/null
      expect 0 "$bin/gpusort_check" --format mysqldump -k plain.at:timestamp:desc -k plain.s -k 'wide.mood:enum(sad,ok,happy)' \
        -k wide.id:int:desc --against maria.sql out.sql >/dev/null
      expect 1 "$bin/gpusort_check" --format mysqldump -k plain.at:timestamp -k plain.s -k wide.id:int:desc --against maria.sql \
        out.sql >/dev/null
      expect 0 "$g" --format mysqldump --strip-volatile maria.sql "sorted.${order#id }$options.sql"
      expect 0 "$bin/gpusort_check" --format mysqldump --strip-volatile --against maria.sql "sorted.${order#id }$options.sql" >/dev/null
      expect 1 "$bin/gpusort_check" --format mysqldump --against maria.sql "sorted.${order#id }$options.sql" >/dev/null
      by_tasks 5 4 maria.sql "sorted.${order#id }$options.sql" --format mysqldump --strip-volatile
      maria_sql -e 'CREATE OR REPLACE DATABASE y'
      maria_sql --comments y <"sorted.${order#id }$options.sql" || fail "$options: MariaDB does not take the sorted dump"
      [[ $options = *--skip-routines* ]] || same <(maria_sql x -e 'SHOW CREATE PROCEDURE p') <(maria_sql y -e 'SHOW CREATE PROCEDURE p')
      for query in '*, HEX(b) FROM `a.b`' '*, HEX(b) FROM plain' '* FROM log' '* FROM wide'; do
        same <(maria_sql x -e "SELECT $query" | LC_ALL=C sort) <(maria_sql y -e "SELECT $query" | LC_ALL=C sort)
      done
    done
  done
  # The rows of a statement stay in it, also in the third kind, whose first row of wide has a statement of its own.
  maria_dump ${kinds[2]} x >maria.sql
  expect 0 "$g" --format mysqldump --strict "${keys[@]}" maria.sql out.sql
  grep -q '^INSERT INTO `wide`.* VALUES (1,.*);$' maria.sql || fail "the first statement of the table wide has several rows"
  maria_sql -e 'CREATE OR REPLACE DATABASE y'
  maria_sql y <out.sql || fail "MariaDB does not take statements of one row and of several rows"
  same <(maria_sql x -e "SELECT * FROM wide ORDER BY id") <(maria_sql y -e "SELECT * FROM wide ORDER BY id")
  # Two databases with equal names of tables and other types in one dump.
  maria_sql -e 'CREATE OR REPLACE DATABASE y; CREATE TABLE y.wide (id varchar(9) PRIMARY KEY); INSERT INTO y.wide VALUES (10), (9)'
  maria_dump --databases x y >both.sql
  expect 0 "$g" --format mysqldump --strict -k x.wide.id:desc both.sql out.sql
  expect 0 "$bin/gpusort_check" --format mysqldump -k x.wide.id:int:desc --against both.sql out.sql >/dev/null
  [ "$(grep -c '^(' out.sql)" = "$(grep -c '^(' both.sql)" ] || fail "rows are lost"
  maria_sql -e 'DROP DATABASE x; DROP DATABASE y'
  maria_sql <out.sql || fail "MariaDB does not take a dump of two databases"
  [ "$(maria_sql -e 'SELECT COUNT(*) FROM x.wide, y.wide')" = 1600 ] || fail "two databases"
  check_maria_types
  check_maria_conflicts
  check_folders ''
  check_folders 'ORDER BY seq DESC'
  same tab tab2
  same mydumper mydumper2
  unset 'kinds[2]'
  for options in "${kinds[@]}"; do same "sorted.id$options.sql" "sorted.DESC$options.sql"; done
}

# Keys with the types of CREATE TABLE have the order of the server, also values that only MariaDB has.
check_maria_types() {
  local column options words
  words=$(for k in $(seq 64); do echo "'$((k * 29 % 67))'"; done | paste -sd,)
  maria_sql <<SQL || fail "MariaDB takes no table with types"
CREATE OR REPLACE DATABASE x; USE x; SET sql_mode = '';
CREATE TABLE v (id int, d date, dt datetime(3), t time(1), y year, e enum('sad','ok','it''s'), i inet6, n double, u bigint unsigned, b bit(9),
  m SET ( 'it''s' , ' r','w x','ö') CHARACTER SET utf8mb4 NOT NULL DEFAULT '', w set($words));
INSERT INTO v SELECT seq, ELT(1 + seq % 7, '0000-00-00', '2020-00-00', '2020-01-00', '2019-12-31', '2020-01-01', '9999-12-31', NULL),
  ELT(1 + seq % 5, '0000-00-00', '2020-00-00 10:00:00.5', '2019-12-31 23:59:59.999', '2020-01-01', '2020-00-00 10:00'),
  ELT(1 + seq % 4, '-10:00:00.5', '838:59:59', '00:00:01', '-00:00:00.1'), 1970 + seq * 7 % 90, ELT(1 + seq % 4, 'sad', 'ok', 'it''s', ''),
  CONCAT(ELT(1 + seq % 2, '2001:db8::', '::'), seq % 30), SIN(seq) * POW(10, seq % 9), 18446744073709551615 - seq * 9, seq * 77 % 512,
  seq * 7 % 16, CAST(CONV(LEFT(MD5(seq), 16), 16, 10) AS unsigned) & IF(seq % 3, 18446744073709551615, 9)
  FROM seq_1_to_100;
SQL
  for options in '' --skip-extended-insert; do
    maria_dump $options x >maria.sql
    for column in d dt t y e i n u b m w; do
      expect 0 "$g" -k "v.$column:nulls-first" -k v.id maria.sql out.sql
      [ ! -s err ] || fail "$column: $(cat err)"
      same <(maria_sql x -e "SELECT id FROM v ORDER BY $column, id") <(LC_ALL=C sed -n 's/^[^(]*(\([0-9]*\),.*/\1/p' out.sql)
    done
    expect 0 "$g" maria.sql out.sql
    expect 0 "$bin/gpusort_check" --format mysqldump --against maria.sql out.sql >/dev/null
    expect 0 "$g" -k v.w:desc -k v.m -k v.id maria.sql out.sql
    expect 0 "$bin/gpusort_check" --format mysqldump -k "v.w:set($words):desc" -k "v.m:set('it''s',' r',w x,ö)" -k v.id:int --against maria.sql \
      out.sql >/dev/null
  done
  # A set as primary key, and in a table without one.
  maria_sql -e "CREATE OR REPLACE DATABASE x; USE x; CREATE TABLE p (m set($words) PRIMARY KEY); CREATE TABLE n (m set($words));
    INSERT INTO p SELECT DISTINCT seq * 7919 % 1000 FROM seq_1_to_300; INSERT INTO n SELECT m FROM p ORDER BY CONCAT(m)"
  for options in 'x p' 'x n' '--skip-extended-insert x p' '--skip-extended-insert x n'; do
    maria_dump $options >maria.sql
    expect 0 "$g" maria.sql out.sql
    same <(maria_sql x -e "SELECT m FROM ${options##* } ORDER BY m") <(sed -n "s/^[^(]*('\(.*\)')[,;]*$/\1/p" out.sql)
    expect 0 "$bin/gpusort_check" --format mysqldump --against maria.sql out.sql >/dev/null
    expect 0 "$bin/gpusort_check" --format mysqldump -k "${options##* }.m" --against maria.sql out.sql >/dev/null
    expect 1 "$bin/gpusort_check" --format mysqldump -k "${options##* }.m:text" out.sql >/dev/null
  done
}

# A sorted dump must do the same as the dump where its statements meet rows that exist, and read strings as the server does.
check_maria_conflicts() {
  local kind f table
  maria_sql <<'SQL' || fail "MariaDB takes no table with foreign keys"
CREATE OR REPLACE DATABASE z; USE z;
CREATE TABLE p (id int PRIMARY KEY, s varchar(40));
CREATE TABLE c (id int PRIMARY KEY, p int NOT NULL, FOREIGN KEY (p) REFERENCES p (id));
INSERT INTO p SELECT seq, ELT(1 + seq % 3, 'it''s', 'a\\b', NULL) FROM seq_1_to_200;
INSERT INTO c SELECT seq, seq * 79 % 200 + 1 FROM seq_1_to_200;
SQL
  maria_dump z >maria.sql
  expect 0 "$g" --strict -k c.p:desc -k p.s -k p.id:desc maria.sql out.sql
  expect 0 "$bin/gpusort_check" --format mysqldump -k c.p:desc -k p.s -k p.id:desc --against maria.sql out.sql >/dev/null
  maria_sql -e 'CREATE OR REPLACE DATABASE y'
  maria_sql y <out.sql || fail "MariaDB does not take a sorted dump with foreign keys"
  for table in p c; do same <(maria_sql -e "SELECT * FROM z.$table ORDER BY id") <(maria_sql -e "SELECT * FROM y.$table ORDER BY id"); done
  # Half of the rows exist with another text, and two rows of a dump can have the same key.
  maria_dump --skip-extended-insert --no-create-info z p | sed -n '/^INSERT/p' | "$bin/gpusort" -R --random-source /dev/zero >rows.sql
  sed 's/^INSERT/REPLACE/' rows.sql >replace.sql
  sed 's/^INSERT/INSERT IGNORE/; p; s/,.*/,'"'again');/" rows.sql >ignore.sql
  sed 's/;$/ ON DUPLICATE KEY UPDATE s=CONCAT(COALESCE(s,0),VALUES(s),1);/; p; s/,.* ON/,'"'again') ON/" rows.sql >update.sql
  { echo "SET sql_mode = 'NO_BACKSLASH_ESCAPES';"; sed "s/'a.*b'/'b\\\\'/; s/'it.*s'/'\\\\''s'/" rows.sql; } >mode.sql
  maria_dump --no-data z p >schema.sql
  for kind in replace ignore update mode; do
    cat schema.sql $kind.sql >maria.sql
    expect 0 "$g" --format mysqldump maria.sql out.sql
    ! cmp -s maria.sql out.sql || fail "$kind: the rows are in order already"
    expect 0 "$bin/gpusort_check" --format mysqldump --against maria.sql out.sql >/dev/null
    sed -nE '/^(INSERT|REPLACE|SET sql_mode)/p' out.sql >sorted.sql
    for f in $kind sorted; do
      { cat schema.sql
        [ $kind = mode ] || echo "INSERT INTO p SELECT seq, 'old' FROM seq_1_to_100;"
        cat $f.sql; } >load.sql
      maria_sql -e "CREATE OR REPLACE DATABASE \`$f\`"
      maria_sql $f <load.sql || fail "$kind: MariaDB does not take the statements"
    done
    [ "$(maria_sql -e "SELECT COUNT(*) FROM \`$kind\`.p")" = 200 ] || fail "$kind: rows are missing"
    same <(maria_sql -e "SELECT * FROM \`$kind\`.p ORDER BY id") <(maria_sql -e 'SELECT * FROM sorted.p ORDER BY id')
  done
  grep -qF "'b\\'" maria.sql || fail "the mode has no backslash: $(grep -m 1 INTO maria.sql)"
}

# Dumps in many files, with the loops of the manual page.
check_folders() {
  local f
  maria_sql -e "CREATE OR REPLACE DATABASE z; USE z; CREATE TABLE z.t (id int, s text, b varbinary(16));
    INSERT INTO z.t SELECT seq * 7919 % 1000, ELT(1 + seq % 4, 'it''s', 'a\\nb', 'x\\\\\ty', NULL), UNHEX(MD5(seq)) FROM seq_1_to_500 $1"
  # mysqldump --tab: the table is described in a file of its own.
  rm -rf folder
  mkdir -m 777 folder
  maria_dump --tab="$work/folder" z
  cp -r folder SORTED
  for f in SORTED/*.txt; do expect 0 "$g" --format mysql -o "$f" "$f"; done
  ! cmp -s folder/t.txt SORTED/t.txt || fail "the rows of mysqldump --tab are in order already"
  same <("$bin/gpusort" --format mysql folder/t.txt) SORTED/t.txt
  maria_sql -e 'CREATE OR REPLACE DATABASE y'
  maria_sql y <SORTED/t.sql
  maria_sql y -e "LOAD DATA INFILE '$work/SORTED/t.txt' INTO TABLE t"
  same <(maria_sql -e 'SELECT *, HEX(b) FROM z.t ORDER BY id') <(maria_sql -e 'SELECT *, HEX(b) FROM y.t ORDER BY id')
  cat SORTED/t.* | grep -av '^-- Dump completed' >"tab${1:+2}"
  # The files of MySQL Shell have the same lines, in parts that are compressed.
  if [ -e "$bin/gpusort_zst.so" ]; then
    rm -rf SORTED
    mkdir SORTED
    for f in z@t@0 z@t@@1 z@u; do "$g" --format mysql -k '#2' -o "SORTED/$f.tsv.zst" folder/t.txt; done
    for f in SORTED/*.tsv.zst; do printf '\0\0\0\0\0\0\0\1' >"$f.idx"; done
    cp SORTED/z@u.tsv.zst.idx index
    for f in SORTED/*.tsv.zst; do expect 0 "$g" --format mysql -o "$f" "$f"; done
    for f in z@t@0 z@t@@1 z@u; do
      same <("$g" --format mysql "SORTED/$f.tsv.zst") <("$g" --format mysql folder/t.txt)
      same index "SORTED/$f.tsv.zst.idx"
    done
  fi
  # mydumper, whose files with rows do not describe the table.
  rm -rf folder SORTED
  if command -v mydumper >/dev/null && mydumper --socket="$work/maria/socket" --user=root --database=z --outputdir=folder >mydumper.log 2>&1; then
    cp -r folder SORTED
    for f in SORTED/*.sql; do expect 0 "$g" --force-format -o "$f" "$f"; done
    ! cmp -s folder/z.t.sql SORTED/z.t.sql || fail "the rows of mydumper are in order already"
    expect 0 "$bin/gpusort_check" --format mysqldump --against folder/z.t.sql SORTED/z.t.sql >/dev/null
    myloader --socket="$work/maria/socket" --user=root --database=y --overwrite-tables --directory=SORTED >mydumper.log 2>&1 ||
      fail "myloader: $(tail -n 3 mydumper.log)"
    same <(maria_sql -e 'SELECT *, HEX(b) FROM z.t ORDER BY id') <(maria_sql -e 'SELECT *, HEX(b) FROM y.t ORDER BY id')
    cat SORTED/*.sql >"mydumper${1:+2}"
  else
    echo "sqldump: no mydumper here" >&2
    : | tee mydumper >mydumper2
  fi
  rm -rf folder SORTED
}

# --- PostgreSQL ---------------------------------------------------------------------------------------------------

# Rows of COPY have the order of ORDER BY: a table for each type, without a primary key.
check_types_of_postgres() {
  local table
  sql -c 'DROP DATABASE IF EXISTS k' -c 'CREATE DATABASE k'
  database=k sql <<'SQL'
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
DO $do$
DECLARE t text; v text;
BEGIN
  FOR t, v IN VALUES ('smallint', '(i * 7919) % 300 - 150'), ('bigint', 'i::bigint * 7919000000 % 3000000000007'),
    ('numeric', $$(ARRAY['NaN', 'Infinity', '-Infinity', i / 7.0 || '', i % 5 || '.0', i % 5 || '.00', -i / 3 || ''])[1 + i % 7]::numeric$$),
    ('real', $$(ARRAY['NaN', 'Infinity', '-Infinity', '-0', '0', exp(i % 60 - 30) || '', i || ''])[1 + i % 7]::real$$),
    ('double precision', $$(ARRAY['NaN', 'Infinity', '-Infinity', '-0', -exp(i - 150) || '', exp(i - 150) || ''])[1 + i % 6]::float8$$),
    ('boolean', 'i % 3 = 0'), ('char(5)', $$(ARRAY['b', 'a', 'B', 'a b', ''])[1 + i % 5]$$), ('oid', '(i::bigint * 791900 % 4294967295)::oid'),
    ('date', $$(ARRAY['infinity', '-infinity', '0044-03-15 BC', '12345-01-01', (date '2020-01-01' + i * 79 % 500) || ''])[1 + i % 5]::date$$),
    ('timestamp', $$(ARRAY['infinity', '-infinity', '0044-03-15 BC', (timestamp '2020-01-01' + i * 79 % 500 * interval '1.37 hours') || ''])[1 + i % 4]::timestamp$$),
    ('timestamptz', $$timestamptz '2020-01-01' + i * 79 % 500 * interval '1.37 hours'$$), ('time', $$time '00:00' + i * 7919 * interval '1.3 seconds'$$),
    ('timetz', $$((time '00:00' + i * 7919 * interval '1.3 seconds') || (ARRAY['+02', '-03:30', '+00'])[1 + i % 3])::timetz$$),
    ('interval', $$i * 79 % 100 * interval '1 day 3 hours' - i % 5 * interval '1 mon 2 days 00:00:01.5'$$), ('uuid', 'md5(i::text)::uuid'),
    ('inet', $$(ARRAY['10.' || i % 256 || '.3.4/8', 'fe80::' || i, '192.168.' || i % 256 || '.1', '10.1.0.0/' || 16 + i % 8])[1 + i % 4]::inet$$),
    ('cidr', $$('10.' || i % 256 || '.0.0/16')::cidr$$), ('macaddr', $$('08:00:2b:01:02:' || lpad(to_hex(i * 79 % 256), 2, '0'))::macaddr$$),
    ('bytea', $$decode(md5(i::text), 'hex')$$), ('bit(8)', '(i * 7919 % 256)::bit(8)'), ('varbit', $$(ARRAY[B'1', B'01', B'', B'10', B'101'])[1 + i % 5]$$),
    ('money', '((i * 7919 % 100000) / 7.0 - 3000)::numeric::money'), ('mood', '(enum_range(NULL::mood))[1 + i % 3]') LOOP
    EXECUTE format('CREATE TABLE %I (v %s, n int, w numeric, s text)', 'k_' || regexp_replace(t, '\W', '_', 'g'), t);
    EXECUTE format('INSERT INTO %I SELECT CASE WHEN i %% 11 > 0 THEN %s END, i %% 4, CASE i %% 3 WHEN 0 THEN 1.0 WHEN 1 THEN 1.00 END, md5(i::text)
      FROM generate_series(1, 300) i ORDER BY 4', 'k_' || regexp_replace(t, '\W', '_', 'g'), v);
  END LOOP;
END $do$;
SQL
  "$pg/pg_dump" -h "$work/pg" -U postgres k >k.sql
  expect 0 "$g" --strict k.sql out.sql
  expect 0 "$bin/gpusort_check" --format pgdump --against k.sql out.sql >/dev/null
  expect 1 "$bin/gpusort_check" --format pgdump k.sql >/dev/null
  { for table in $(sed -n 's/^COPY public\.\([^ ]*\) .*/\1/p' out.sql); do echo "COPY (SELECT * FROM $table ORDER BY v, n, w, s) TO stdout;"; done; } >orders.sql
  same <(database=k sql -f orders.sql) <(sed -n '/^COPY /,/^\\\.$/{//!p}' out.sql)
  [ "$(wc -l <orders.sql)" = 23 ] || fail "tables are missing"
  sql -c 'DROP DATABASE k'
}

check_postgres() {
  local order options table key kinds=('' --inserts '--column-inserts --rows-per-insert=7 --on-conflict-do-nothing')
  few || kinds+=('--inserts --rows-per-insert=7' --column-inserts)
  wait "$starting" || exit 1
  check_types_of_postgres
  for order in id 'id DESC'; do
    sql <<'SQL'
DROP DATABASE IF EXISTS x;
CREATE DATABASE x;
SQL
    database=x sql <<SQL
CREATE TABLE "a.b" (id int PRIMARY KEY, n numeric, s text, y bytea, b bool, a int[], parent int REFERENCES "a.b", g int GENERATED ALWAYS AS (id * 2) STORED,
  i int GENERATED ALWAYS AS IDENTITY (START 5));
INSERT INTO "a.b" SELECT id, id % 50 / 7.0, (ARRAY['', 'it''s', E'a\nb', E'x\\\\', '),(1,', 'INSERT INTO t VALUES (1);', '-- "', NULL])[1 + id % 8],
  decode(md5(id::text), 'hex'), id % 2 = 0, ARRAY[id, 2], NULL FROM generate_series(1, 400) id;
UPDATE "a.b" SET parent = 401 - id WHERE id % 2 = 1;
CREATE TABLE plain AS SELECT n, s, y FROM "a.b" ORDER BY $order;
CREATE TABLE kid (id int PRIMARY KEY, of int NOT NULL REFERENCES "a.b");
INSERT INTO kid SELECT id, 401 - id FROM "a.b" ORDER BY $order;
CREATE TABLE moved (LIKE "a.b" INCLUDING ALL);
INSERT INTO moved (id, n, s, y, b, a, parent, i) OVERRIDING SYSTEM VALUE SELECT id, n, s, y, b, a, parent, i FROM "a.b" ORDER BY $order;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE moods (id int, mood mood);
INSERT INTO moods SELECT id, (enum_range(NULL::mood))[1 + id % 3] FROM generate_series(1, 50) id ORDER BY $order;
CREATE RULE r AS ON DELETE TO plain DO ALSO (INSERT INTO moods VALUES (2); INSERT INTO moods VALUES (1));
CREATE FUNCTION f() RETURNS void LANGUAGE sql BEGIN ATOMIC
INSERT INTO plain VALUES (2);
INSERT INTO plain VALUES (1);
END;
SQL
    for options in "${kinds[@]}"; do
      "$pg/pg_dump" -h "$work/pg" -U postgres $options x >pg.sql
      expect 0 "$g" --format pgdump --strip-volatile pg.sql "sorted.${order#id }$options.sql"
      expect 0 "$bin/gpusort_check" --format pgdump --strip-volatile --against pg.sql "sorted.${order#id }$options.sql" >/dev/null
      # The times and numbers of a verbose dump are left out, too.
      "$pg/pg_dump" -h "$work/pg" -U postgres --verbose $options x 2>/dev/null >verbose.sql
      expect 0 "$g" --format pgdump --strip-volatile verbose.sql out.sql
      same <(grep . "sorted.${order#id }$options.sql") <(grep . out.sql)
      expect 0 "$bin/gpusort_check" --format pgdump --strip-volatile --against verbose.sql out.sql >/dev/null
      expect 0 "$g" --strict -k moved.n:desc -k moods.mood -k moved.b pg.sql out.sql
      expect 0 "$bin/gpusort_check" --format pgdump -k moved.n:desc -k moods.mood -k moved.b --stable --against pg.sql out.sql >/dev/null
      expect 0 "$g" -k moved.id:int:desc pg.sql out.sql
      [ "$options" = '' ] ||
        expect 0 "$bin/gpusort_check" --format sqldump -k moved.id:int:desc --against pg.sql out.sql >/dev/null
      [ "$options" = '' ] || {
        expect 0 "$bin/gpusort_check" --format sqldump "sorted.${order#id }$options.sql" >/dev/null
        expect 0 "$g" -k moods.mood -k moods.id:desc pg.sql out.sql
        same <(database=x sql -F ', ' -c "SELECT id, mood FROM moods ORDER BY mood, id DESC") \
          <(sed -n "/INTO public.moods/,/;/s/^.*(\([0-9]*, '[a-z]*\)').*/\1/p" out.sql | tr -d "'")
      }
      sql -c 'DROP DATABASE IF EXISTS y' -c 'CREATE DATABASE y'
      database=y sql -f "sorted.${order#id }$options.sql" >/dev/null || fail "$options: PostgreSQL does not take the sorted dump"
      same <(database=x sql -c '\sf f' -c '\d+ plain') <(database=y sql -c '\sf f' -c '\d+ plain')
      for table in '"a.b"' moved plain moods kid; do
        same <(database=x sql -c "SELECT * FROM $table t ORDER BY t::text") <(database=y sql -c "SELECT * FROM $table t ORDER BY t::text")
      done
    done
    # Backslashes are escapes in strings of such a dump.
    PGOPTIONS='-c standard_conforming_strings=off' "$pg/pg_dump" -h "$work/pg" -U postgres --inserts x >pg.sql
    grep -q '^SET standard_conforming_strings = off' pg.sql || fail "the server does not turn off standard_conforming_strings"
    for key in plain.s plain.s:nocase plain.s:locale:desc plain.s:natural:nulls-first; do
      expect 0 "$g" --strict -k "$key" -k plain.y pg.sql out.sql
      expect 0 "$bin/gpusort_check" --format pgdump -k "$key" -k plain.y --against pg.sql out.sql >/dev/null
    done
    sql -c 'DROP DATABASE IF EXISTS y' -c 'CREATE DATABASE y'
    database=y sql -f out.sql >/dev/null || fail "PostgreSQL does not take a dump without standard_conforming_strings"
    for table in '"a.b"' plain; do
      same <(database=x sql -c "SELECT * FROM $table t ORDER BY t::text") <(database=y sql -c "SELECT * FROM $table t ORDER BY t::text")
    done
    # pg_dumpall has several databases.
    "$pg/pg_dumpall" -h "$work/pg" -U postgres --inserts >all.sql
    expect 0 "$g" --format pgdump --strict --strip-volatile all.sql "sorted.${order#id }all.sql"
    expect 0 "$g" --format pgdump --strict all.sql out.sql
    expect 0 "$bin/gpusort_check" --format sqldump --against all.sql out.sql >/dev/null
    sql -c 'DROP DATABASE x' -c 'DROP DATABASE y'
    sed '/ROLE postgres/d' out.sql >all.sorted
    sql -f all.sorted >/dev/null || fail "PostgreSQL does not take the sorted dump of pg_dumpall"
    [ "$(database=x sql -c 'SELECT COUNT(*) FROM moods')" = 50 ] || fail "pg_dumpall"
    for options in ${FORMATS:-c t d}; do
      rm -rf pg.archive
      "$pg/pg_dump" -h "$work/pg" -U postgres -F$options -f pg.archive x
      expect $([ $options = d ] && echo 2 || echo 3) "$g" --format pgdump pg.archive out
      says "pg_restore -f - F.* | gpusort --format pgdump - OUTPUT sorts it"
      "$pg/pg_restore" -f - pg.archive | "$g" --format pgdump --strip-volatile - "sorted.${order#id }$options.sql"
      same <(sed -n '/^COPY/,/^.\.$/p' "sorted.${order#id }.sql") <(sed -n '/^COPY/,/^.\.$/p' "sorted.${order#id }$options.sql")
      # The places of rows in the archive, which a verbose pg_restore writes, are left out, too.
      "$pg/pg_restore" --verbose -f verbose.sql pg.archive 2>/dev/null
      grep -q -e '^-- Data Pos: [0-9]*$' -e '^-- File: [0-9]*\.dat$' verbose.sql || fail "pg_restore does not write the places of rows"
      expect 0 "$g" --format pgdump --strip-volatile verbose.sql "sorted.${order#id }$options.verbose.sql"
      expect 0 "$bin/gpusort_check" --format pgdump --strip-volatile --against verbose.sql "sorted.${order#id }$options.verbose.sql" >/dev/null
      same <(grep . "sorted.${order#id }$options.sql") <(grep . "sorted.${order#id }$options.verbose.sql")
      few || {
        sql -c 'DROP DATABASE IF EXISTS y' -c 'CREATE DATABASE y'
        database=y sql -f "sorted.${order#id }$options.sql" >/dev/null || fail "$options: PostgreSQL does not take the sorted archive"
        for table in '"a.b"' moved plain moods; do
          same <(database=x sql -c "SELECT * FROM $table t ORDER BY t::text") <(database=y sql -c "SELECT * FROM $table t ORDER BY t::text")
        done
      }
    done
    # COPY ... WITH (HEADER) writes the names of the columns first.
    database=x sql -c "COPY plain (n, s) TO '$work/pg/header.txt' WITH (HEADER)"
    expect 0 "$g" --format pgcopy --header 1 -k n:decimal "$work/pg/header.txt" header.txt
    expect 0 "$bin/gpusort_check" --format pgcopy --header 1 -k n:decimal --against "$work/pg/header.txt" header.txt >/dev/null
    database=x sql -c 'CREATE TABLE header AS SELECT n, s FROM plain WHERE false' -c "\\copy header FROM header.txt WITH (HEADER)"
    same <(database=x sql -c 'SELECT n, s FROM plain t ORDER BY t::text') <(database=x sql -c 'SELECT n, s FROM header t ORDER BY t::text')
    database=x sql -c 'DROP TABLE header'
  done
  for options in "${kinds[@]}" ${FORMATS:-c t d} c.verbose all; do
    same "sorted.id$options.sql" "sorted.DESC$options.sql"
  done
}

# Statements that are longer than the pieces in which the output is written.
awk 'BEGIN { srand(7); for (s = 0; s < 6; ++s) { printf "INSERT INTO `t` VALUES "
  for (i = 0; i < 30000; ++i) printf "%s(%d,'"'it''s'"')", i ? "," : "", 1e6 * rand(); print ";" } }' >long.sql
expect 0 "$g" long.sql out.sql
expect 0 "$bin/gpusort_check" --format mysqldump --against long.sql out.sql >/dev/null

# What is not understood is refused: nothing is torn or left unsorted without a word.
refused() {  # TEXT MESSAGE: a dump of MySQL that ends with TEXT
  printf -- '-- MySQL dump 10.13\nCREATE TABLE `t` (\n  `a` int PRIMARY KEY,\n  `s` text\n);\n%b' "$1" >bad.sql
  expect 3 "$g" bad.sql out.sql
  says "$2"
}
refused "INSERT INTO \`t\` VALUES (2,'b'),(1,'a');\nINSERT INTO \`t\` VALUES (0,'b') ON DUPLICATE KEY UPDATE s='a';\n" 'ends in another way'
refused "INSERT INTO \`t\` VALUES (2,'b');\nINSERT INTO \`t\` VAL" 'ends inside an INSERT'
refused "INSERT INTO \`t\` VALUES (2,'b');\nSELECT 'a\n" 'ends inside a string'
refused "INSERT INTO \`t\` VALUES (2,'b');\nCREATE TABLE \`u\` (\n" 'ends inside a CREATE TABLE'
# Rows of a table that other SQL separates are sorted apart, with a warning, and so is an INSERT after other SQL.
printf -- '-- MySQL dump 10.13\nINSERT INTO `t` VALUES (2);\nSET @a = 1;\nINSERT INTO `t` VALUES (1);\nBEGIN; INSERT INTO `t` VALUES (0);\n' >parted.sql
expect 0 "$g" parted.sql out.sql
says '1 statement with rows of a table after other lines'
says '1 INSERT statement without rows that are known, or after other text'
same parted.sql out.sql
# Rows of one table in two places, and rows that the server numbers.
cat >places.sql <<'SQL'
-- MySQL dump 10.13
CREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT, `s` text, PRIMARY KEY (`id`));
INSERT INTO `t` VALUES (2,'a'); # one
INSERT INTO `t` VALUES (1,'b');

INSERT INTO `t` VALUES (NULL,'d'),(3,'c');
INSERT INTO `u` VALUES (1);
INSERT INTO `t` VALUES (0,'e');
SQL
expect 0 "$g" places.sql out.sql
says '2 statements with rows of a table after other lines'
says '2 rows with a value that the server counts up or takes from the rows before it, the first in table'
# Statements keep their numbers of rows and what stands between them.
cat >shapes.sql <<'SQL'
-- MySQL dump 10.13
CREATE TABLE `t` (`id` int NOT NULL, `s` text, PRIMARY KEY (`id`));
INSERT INTO `t` VALUES (9,'it\'s; ');
INSERT INTO `t` VALUES (10,'a');

  INSERT INTO `t` VALUES (4,'b'),
(8,'c') , /* (0,0); */
(1,'d') ;
-- INSERT INTO `t` VALUES (0,'x');
INSERT INTO `t` VALUES (2,'e'); INSERT INTO `t` VALUES (3,'f'); # it's
SQL
cat >sorted.sql <<'SQL'
-- MySQL dump 10.13
CREATE TABLE `t` (`id` int NOT NULL, `s` text, PRIMARY KEY (`id`));
INSERT INTO `t` VALUES (1,'d');
INSERT INTO `t` VALUES (2,'e');

  INSERT INTO `t` VALUES (3,'f'),
(4,'b') , /* (0,0); */
(8,'c') ;
-- INSERT INTO `t` VALUES (0,'x');
INSERT INTO `t` VALUES (9,'it\'s; '); INSERT INTO `t` VALUES (10,'a'); # it's
SQL
expect 0 "$g" --strict shapes.sql out.sql
same sorted.sql out.sql
expect 0 "$g" -c out.sql
expect 1 "$g" -c shapes.sql
# gpusort_check knows the same default keys: the primary key, and the types of CREATE TABLE.
expect 0 "$bin/gpusort_check" --format mysqldump --against shapes.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format mysqldump shapes.sql >/dev/null
# Tasks sort statements of one row and of several rows.
{ echo 'PRAGMA foreign_keys=OFF;'; echo 'CREATE TABLE t(id INTEGER PRIMARY KEY, s);'
  seq 1 2000 | awk '{ printf "INSERT INTO t VALUES(%d,\047it\047\047s;\\n%d\047);\n", $1 * 7919 % 10000, $1 }'; } >one.sql
expect 0 "$g" --format sqlitedump one.sql sorted.sql
by_tasks 3 2 one.sql sorted.sql --format sqlitedump
expect 0 "$g" --format mysqldump long.sql sorted.sql
by_tasks 3 7 long.sql sorted.sql --format mysqldump
expect 0 "$bin/gpusort_task" runs --slice 0/1 --into task --format mysqldump long.sql
expect 0 "$bin/gpusort_task" cut --parts 1 task
expect 0 "$bin/gpusort_task" part --verify-output --part 0/1 task parts/
same sorted.sql parts/part-00000-of-00001
printf x >>task/cut-1.gaps
expect 8 "$bin/gpusort_task" part --part 0/1 task got.sql
says 'cut-1.gaps: it is damaged'
rm -rf task parts
# A table that refers to itself: a warning unless the dump turns the checks off.
printf -- '-- MySQL dump 10.13\nCREATE TABLE `t` (a int PRIMARY KEY, b int REFERENCES `t` (a));\nINSERT INTO `t` VALUES (2,NULL),(1,2);\n' >self.sql
expect 0 "$g" self.sql out.sql
says 'names the table itself'
{ echo 'SET FOREIGN_KEY_CHECKS=0;'; cat self.sql; } >self0.sql
expect 0 "$g" self0.sql out.sql
[ ! -s err ] || fail "a warning about checks that are off: $(cat err)"
# A trigger may change what a backslash means, and the dump changes it back.
cat >mode.sql <<'SQL'
-- MySQL dump 10.13
/*!50003 SET @saved_sql_mode = @@sql_mode */ ;
/*!50003 SET sql_mode = "NO_BACKSLASH_ESCAPES" */ ;
/*!50003 SET sql_mode = @saved_sql_mode */ ;
INSERT INTO `t` VALUES ('b\'),(0'),('a');
SQL
expect 0 "$g" mode.sql out.sql
[ "$(tail -n 1 out.sql)" = "INSERT INTO \`t\` VALUES ('a'),('b\'),(0');" ] || fail "backslashes: $(tail -n 1 out.sql)"
expect 0 "$bin/gpusort_check" --format mysqldump --against mode.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format sqldump mode.sql >/dev/null
sed -e 4d -e "s/('b.*/('b\\\\'),('a\\\\');/" mode.sql >plain.sql
expect 0 "$g" plain.sql out.sql
[ "$(tail -n 1 out.sql)" = "INSERT INTO \`t\` VALUES ('a\\'),('b\\');" ] || fail "no backslashes: $(tail -n 1 out.sql)"
expect 0 "$bin/gpusort_check" --format mysqldump --against plain.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format mysqldump plain.sql >/dev/null
# A comment of several lines between two statements of a table keeps its place. The checker reads the same statements.
printf -- '-- MySQL dump 10.13\nINSERT INTO `t` VALUES (2);\n/* a\n-- Dump completed\n b */ -- c\nINSERT INTO `t` VALUES (1);\n-- Dump completed\n' >comments.sql
expect 0 "$g" --format mysqldump --strip-volatile comments.sql out.sql
same <(printf -- '-- MySQL dump 10.13\nINSERT INTO `t` VALUES (1);\n/* a\n-- Dump completed\n b */ -- c\nINSERT INTO `t` VALUES (2);\n') out.sql
expect 0 "$bin/gpusort_check" --format mysqldump --strip-volatile --against comments.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format mysqldump --against comments.sql out.sql >/dev/null
# gpusort_check reads rows of INSERT and of COPY with a format each, and statements whose rows begin on a later line.
printf -- '-- PostgreSQL database dump\nINSERT INTO t (a)\n  VALUES (2);\nINSERT INTO t (a)\n  VALUES (1);\n' >lines.sql
expect 0 "$g" --format pgdump lines.sql out.sql
expect 0 "$bin/gpusort_check" --format sqldump --against lines.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format sqldump lines.sql >/dev/null
expect 0 "$bin/gpusort_check" --format pgdump --against lines.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format pgdump lines.sql >/dev/null
expect 1 "$bin/gpusort_check" --format pgdump - <lines.sql >/dev/null
# Rows of COPY and of INSERT in one dump, and a column that gets another type before the rows.
sed 's/\\t/\t/' >mixed.sql <<'SQL'
-- PostgreSQL database dump
CREATE TABLE public.t (
    a integer,
    b integer
);
ALTER TABLE ONLY public.t ALTER COLUMN a TYPE text;
INSERT INTO public.t VALUES ('9', 1);
INSERT INTO public.t VALUES ('10', 1);
COPY public.t (b,
  a) FROM stdin;
1\tx
-1\ty
10\tz
9\tz
\.
CREATE TABLE public.u (
    a character(3) PRIMARY KEY
);
INSERT INTO public.u VALUES ('b'), ('a  '), ('a');
SQL
sed 's/\\t/\t/' >sorted.sql <<'SQL'
-- PostgreSQL database dump
CREATE TABLE public.t (
    a integer,
    b integer
);
ALTER TABLE ONLY public.t ALTER COLUMN a TYPE text;
INSERT INTO public.t VALUES ('10', 1);
INSERT INTO public.t VALUES ('9', 1);
COPY public.t (b,
  a) FROM stdin;
-1\ty
1\tx
9\tz
10\tz
\.
CREATE TABLE public.u (
    a character(3) PRIMARY KEY
);
INSERT INTO public.u VALUES ('a  '), ('a'), ('b');
SQL
expect 0 "$g" mixed.sql out.sql
same sorted.sql out.sql
for format in pgdump sqldump; do
  expect 0 "$bin/gpusort_check" --format $format --against mixed.sql out.sql >/dev/null
  for swap in '7{h;d};8G' '11{h;d};12G' '13{h;d};14G' "s/('a  '), ('a'), ('b')/('b'), ('a  '), ('a')/"; do
    sed "$swap" sorted.sql >bad.sql
    expect 1 "$bin/gpusort_check" --format $format bad.sql >/dev/null
  done
done
# Texts that MySQL pads are equal to those without blanks at the end.
printf -- '-- MySQL dump 10.13\nCREATE TABLE `t` (\n  `a` varchar(9) NOT NULL,\n  PRIMARY KEY (`a`)\n) COLLATE=utf8mb4_bin;\nALTER TABLE `t` ADD COLUMN `b` int;\n' >bin.sql
echo "REPLACE INTO \`t\` VALUES ('b',1),('a ',2),('a',3);" >>bin.sql
expect 0 "$g" bin.sql out.sql
[ ! -s err ] || fail "a warning about keys that keep their order: $(cat err)"
[ "$(tail -n 1 out.sql)" = "REPLACE INTO \`t\` VALUES ('a ',2),('a',3),('b',1);" ] || fail "padded keys: $(tail -n 1 out.sql)"
expect 0 "$bin/gpusort_check" --format mysqldump --against bin.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format mysqldump bin.sql >/dev/null
# Statements with one row and several ends are sorted apart from those after an empty line and those with several rows.
for rows in "\nINSERT INTO t VALUES (3);\nINSERT INTO t VALUES (2);" "INSERT INTO t VALUES (3),(2);"; do
  printf -- "-- MySQL dump 10.13\nINSERT INTO t VALUES (9); -- a\nINSERT INTO t VALUES (8);\n$rows\n" >ends.sql
  expect 0 "$g" ends.sql out.sql
  expect 0 "$bin/gpusort_check" --format mysqldump --against ends.sql out.sql >/dev/null
  expect 1 "$bin/gpusort_check" --format mysqldump ends.sql >/dev/null
done
# A column may be called key, except in MySQL, and the columns of a parent come first.
cat >names.sql <<'SQL'
-- PostgreSQL database dump
CREATE TABLE public.p (
    key integer,
    a integer
);
CREATE TABLE public.t (
    b integer
)
INHERITS (public.p);
INSERT INTO public.t VALUES (2, 1, 10);
INSERT INTO public.t VALUES (1, 2, 9);
INSERT INTO public.t VALUES (10, 2, 8);
SQL
expect 0 "$g" names.sql out.sql
[ "$(sed -n 's/^INSERT.*(\([0-9]*\),.*/\1/p' out.sql | tr '\n' ' ')" = '1 2 10 ' ] || fail "columns of a parent: $(cat out.sql)"
expect 0 "$bin/gpusort_check" --format sqldump --against names.sql out.sql >/dev/null
expect 0 "$g" -k t.b names.sql out.sql
[ "$(sed -n 's/^INSERT.*(\([0-9]*\),.*/\1/p' out.sql | tr '\n' ' ')" = '10 1 2 ' ] || fail "a column after a parent's: $(cat out.sql)"
# gpusort leaves an INSERT with a conditional comment in place, and gpusort_check refuses it.
printf -- '-- MySQL dump 10.13\nINSERT INTO `t` VALUES (1);\nINSERT /*!50000 IGNORE */ INTO `t` VALUES (3),(2);\n' >only.sql
expect 0 "$g" only.sql out.sql
says '1 INSERT statement without rows that are known'
same only.sql out.sql
expect 3 "$bin/gpusort_check" --format mysqldump only.sql
says 'only some servers read'
# gpusort_check reads rows wherever gpusort sorts them, and refuses rows that gpusort leaves in place.
checked() {  # FORMAT EXIT ROWS...: exit code of the check of a dump whose rows are not in order
  local rows
  for rows in "${@:3}"; do
    printf -- "${begin[$1]}$rows" >bad.sql
    expect "$2" "$bin/gpusort_check" --format "$1" bad.sql >/dev/null
    [ "$2" = 1 ] || says 'cannot check'
  done
}
declare -A begin=(
  [mysqldump]='-- MySQL dump 10.13\nCREATE TABLE t (a int PRIMARY KEY);\n'
  [pgdump]='-- PostgreSQL database dump\nCREATE TABLE t (a int PRIMARY KEY);\n'
  [sqlitedump]='PRAGMA foreign_keys=OFF;\nCREATE TABLE t(a INTEGER PRIMARY KEY);\n'
)
checked mysqldump 1 '/*a*/ INSERT INTO t VALUES (2);\n/*a*/ INSERT INTO t VALUES (1);\n' '/* it/*s */ INSERT INTO t VALUES (2),(1);\n' \
  'INSERT INTO t VALUES (1); INSERT INTO t VALUES (3); INSERT INTO t VALUES (2);\n' 'INSERT INTO t VALUE (3),(2);\n' \
  'ALTER TABLE IF EXISTS t MODIFY a varchar(9);\nINSERT INTO t VALUES (9),(10);\n' 'INSERT t VALUES ROW(3),ROW(2);\n' \
  '/*!50000 ALTER TABLE t MODIFY a varchar(9) */;\nINSERT INTO t VALUES (9),(10);\n'
checked mysqldump 3 '/*!50000 INSERT INTO t VALUES (2),(1) */;\n' 'SET @a=1; INSERT INTO t VALUES (2),(1);\n' \
  'INSERT INTO t VALUES (1); SELECT 1; INSERT INTO t VALUES (3),(2);\n' '/* a\n */ INSERT INTO t VALUES (3),(2);\n' \
  'INSERT INTO t SET a=3;\nINSERT INTO t SET a=2;\n'
checked pgdump 1 '/*a /* b */ c */INSERT INTO t VALUES (3),(2);\n' \
  "ALTER TABLE IF EXISTS ONLY t ALTER a TYPE text;\nINSERT INTO t VALUES ('9'),('10');\n"
checked pgdump 3 'BEGIN; INSERT INTO t VALUES (3),(2);\n' ';INSERT INTO t VALUES (3),(2);\n' \
  'WITH x AS (SELECT 1) INSERT INTO t VALUES (3),(2);\n' 'BEGIN; COPY t (a) FROM stdin;\n3\n2\n\\.\n'
checked sqlitedump 3 'BEGIN; INSERT INTO t VALUES(3); INSERT INTO t VALUES(2);\n'
# It knows the same keys as gpusort, whatever else CREATE TABLE and ALTER TABLE say.
agrees() {  # FORMAT COLUMNS STATEMENTS
  printf -- "-- %s\nCREATE TABLE t (%s;\n%s\n" "$([ $1 = pgdump ] && echo PostgreSQL database dump || echo MySQL dump)" "$2" "$3" >some.sql
  expect 0 "$g" --format "$1" some.sql out.sql
  ! cmp -s some.sql out.sql || fail "in order already: $2"
  expect 0 "$bin/gpusort_check" --format "$1" --against some.sql out.sql >/dev/null
}
agrees pgdump 'a int)' $'ALTER TABLE t ADD COLUMN IF NOT EXISTS b int;\nINSERT INTO t VALUES (2,10),(2,9);'
agrees pgdump 'a char(3)[] PRIMARY KEY, b int)' "INSERT INTO t VALUES ('{b}',10),('{a }',9),('{a}',3);"
agrees pgdump 'a int, CONSTRAINT x CHECK (a > 0), b int, LIKE u)' 'INSERT INTO t VALUES (9,2),(10,1);'
agrees pgdump 'a int2, b int8, c float8, e timestamptz, f timetz, g serial4)' \
  "INSERT INTO t VALUES (9,10,3,'2020-01-01 00:00:00+01','00:00:00+02',1),(9,9,3,'2020-01-01 00:00:00+02','00:00:00+02',1);"
agrees mysqldump 'a varchar(9), b int)' $'ALTER TABLE t CHANGE a a int;\nINSERT INTO t VALUES (10,10),(9,9);'
agrees mysqldump "a varchar(9) PRIMARY KEY, b int) COLLATE=utf8mb4_bin COMMENT='x (y)'" "INSERT INTO t VALUES ('b',10),('a ',9),('a',3);"
agrees mysqldump 'a tinytext COLLATE utf8mb4_bin, b int, PRIMARY KEY (a(5)))' "INSERT INTO t VALUES ('b',10),('a ',9),('a',3);"
agrees mysqldump "a int, b int COMMENT 'primary key', c int DEFAULT 5 CHECK (c in (1,2)), KEY (b))" 'INSERT INTO t VALUES (10,9,2),(2,10,1);'
agrees mysqldump 'a bit(8), b int)' "INSERT INTO t VALUES (b'1',2),(b'01',3),(_latin1'0',4);"
# The first line of mariadb-dump is a comment that no semicolon ends.
printf '/*M!999999\\- enable the sandbox mode */ \nINSERT INTO `t` VALUES (2);\nINSERT INTO `t` VALUES (1);\n' >sandbox.sql
expect 0 "$g" sandbox.sql out.sql
[ "$(tail -n 1 out.sql)" = 'INSERT INTO `t` VALUES (2);' ] || fail "the sandbox mode: $(cat out.sql)"
# A trigger on one line.
printf 'PRAGMA foreign_keys=OFF;\nCREATE TABLE t(a INTEGER PRIMARY KEY);\nCREATE TRIGGER x AFTER DELETE ON t BEGIN INSERT INTO t VALUES(9); END;\nINSERT INTO t VALUES(2);\nINSERT INTO t VALUES(1);\n' >trigger.sql
expect 0 "$g" trigger.sql out.sql
expect 0 "$bin/gpusort_check" --format sqlitedump --against trigger.sql out.sql >/dev/null
expect 1 "$bin/gpusort_check" --format sqlitedump trigger.sql >/dev/null
# Values of generated columns are not in the dump.
printf 'PRAGMA foreign_keys=OFF;\nCREATE TABLE t(g AS (b*2), a INTEGER PRIMARY KEY, b);\nINSERT INTO t VALUES(2,1);\nINSERT INTO t VALUES(1,2);\n' >made.sql
expect 0 "$g" made.sql out.sql
[ "$(tail -n 1 out.sql)" = 'INSERT INTO t VALUES(2,1);' ] || fail "the key of a table with a generated column: $(cat out.sql)"
# A comment before END does not hide the end of a trigger.
printf 'PRAGMA foreign_keys=OFF;\nCREATE TABLE u(a);\nCREATE TRIGGER g AFTER INSERT ON u BEGIN\n UPDATE u SET a=1; -- c\n/* d */\nEND;\nINSERT INTO u VALUES(2);\nINSERT INTO u VALUES(1);\n' >ends.sql
expect 1 "$bin/gpusort_check" --format sqlitedump ends.sql >/dev/null
# MySQL may leave INTO out.
printf 'CREATE TABLE t (k int NOT NULL, PRIMARY KEY (k));\nINSERT IGNORE t VALUES (9);\nINSERT t VALUES (10);\n' >no_into.sql
expect 0 "$bin/gpusort_check" --format mysqldump no_into.sql >/dev/null

# Statements that depend on the order of the rows: split over lines, ended by the end of the dump, or after DELIMITER.
depends() {  # FORMAT WARNING STATEMENTS...
  local text
  for text in "${@:3}"; do
    printf -- "${begin[$1]}INSERT INTO t VALUES (2),(1);\n$text" >some.sql
    expect 0 "$g" some.sql out.sql
    says "$2"
  done
}
result='whose result may depend on the order of the rows'
depends pgdump "$result" "UPDATE t SET a = nextval('s')" "UPDATE t SET a = nextval('s')\n" "UPDATE t\n SET a =\n nextval('s')\n;\nSELECT 1;\n" \
  "UPDATE t\n SET a =\n nextval('s') -- ;" "SELECT 1; UPDATE t SET a = nextval('s')" "WITH x AS (SELECT 1) UPDATE t SET a = nextval('s');\n" \
  "MERGE INTO t USING t u ON true WHEN MATCHED THEN UPDATE SET a = nextval('s')"
depends pgdump 'sorting changes such values' 'ALTER TABLE t ADD COLUMN b serial' 'ALTER TABLE t\n ADD COLUMN b serial\n'
depends mysqldump "$result" 'UPDATE t SET a = (@i := @i + 1)' '/*!50000 UPDATE t SET a = (@i := @i + 1) */;\n' 'DELETE FROM t\nLIMIT 1\n' \
  'DELIMITER ;;\nUPDATE t SET a = (@i := @i + 1);;\nDELIMITER ;\n'
depends mysqldump 'a trigger or a rule comes before the rows' 'DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER x AFTER INSERT ON t FOR EACH ROW BEGIN
INSERT INTO u VALUES (1);\nEND */;;\nDELIMITER ;\nINSERT INTO t VALUES (4),(3);\n'
depends sqlitedump "$result" 'DELETE FROM t LIMIT 1'

if command -v sqlite3 >/dev/null; then check_sqlite; else echo "sqldump: no SQLite here" >&2; fi
if [ -n "$maria" ]; then check_mariadb; else echo "sqldump: no MariaDB here: its dumps are not checked" >&2; fi
if [ -n "$pg" ]; then check_postgres; else echo "sqldump: no PostgreSQL server here" >&2; fi
nothing_left
echo "sqldump: ok"
