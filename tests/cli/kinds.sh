# Inputs of another kind than the job reads: exit 3 with the command that reads them, before any output is touched.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

printf 'b\na\n' >plain.txt
printf 'old\n' >out
# refused WORDS ARGUMENT...: exit 3, a message of one line with the words, and an unchanged output.
refused() {
  local words=$1
  shift
  expect 3 "$g" "$@"
  says "$words"
  [ "$(wc -l <err)" = 1 ] || fail "several lines: $(cat err)"
  [ "$(cat out)" = old ] || fail "the output was touched by: $*"
}
# everywhere WORDS FILE OPTION...: the file is refused alone, as one of two inputs, through a pipe, and compressed. The
# same holds for -m, --check, --explain, a resumable job, and a task.
everywhere() {
  local words=$1 file=$2
  shift 2
  refused "$words" "$@" "$file" out
  refused "$words" "$@" -o out "$file" "$file"
  refused "$words" "$@" -m -o out "$file"
  refused "$words" "$@" --check "$file"
  refused "$words" "$@" --explain "$file" out
  refused "$words" "$@" --resume-dir kept "$file" out
  refused "$words" "$@" - out <"$file"
  refused "$words" "$@" <(cat "$file") out
  gzip -c "$file" >"$file.gz"
  refused "$words" "$@" "$file.gz" out
  rm -rf task kept "$file.gz"
  expect 3 "$bin/gpusort_task" runs --slice 1/2 --into task "$@" "$file"
  says "$words"
}

# Compressed files whose names do not show it. --format lines, --decompress none and the name sort accept any bytes.
for tool in gzip bzip2 xz zstd lz4; do
  command -v $tool >/dev/null || { echo "NOT TESTED: there is no $tool"; continue; }
  $tool -c plain.txt >packed
  refused "compressed by $tool" packed out
  refused "compressed by $tool" --format csv packed out
  refused "compressed by $tool" - out <packed
  $tool -c packed >packed.gz
  LC_ALL=C sort packed >want
  for how in "--format lines" "--decompress none" --force-format; do
    expect 0 "$g" $how packed got
    same got want
  done
  (export LC_ALL=C; exec -a sort "$g" packed) >got
  same got want
done
gzip -c plain.txt >packed
everywhere 'compressed by gzip: give --decompress gz' packed
expect 0 "$g" --record-size 1 packed got
expect 0 "$g" --type u8 packed got
gzip -c plain.txt >packed
gzip -c packed >packed.txt.gz
refused 'compressed by gzip' packed.txt.gz out
"$g" --decompress gz packed - | cmp -s - <(printf 'a\nb\n') || fail "the advice does not sort it"

# Dumps of PostgreSQL with INSERT, or without rows, and COPY statements written by hand.
cat >inserts.sql <<'SQL'
--
-- PostgreSQL database dump
--
SET standard_conforming_strings = on;
CREATE TABLE t (a integer, copy text);
INSERT INTO t VALUES (2, 'copy t from stdin;
\.
');
INSERT INTO t VALUES (1, 'x');
SQL
grep -v '^INSERT\|^\\\|copy t\|);$' inserts.sql >schema.sql
{ head -n 5 inserts.sql; tail -n 1 inserts.sql; sed -n 6,8p inserts.sql; } >want
expect 0 "$g" --format pgdump inserts.sql got
same got want
expect 1 "$g" --format pgdump --check inserts.sql
expect 0 "$g" --format pgdump --check want
expect 0 "$g" inserts.sql got
same got want
sed 's/ VALUES/ SELECT/' inserts.sql >select.sql
refused 'INSERT statements have no rows' --format pgdump select.sql out
refused 'INSERT statements' --format pgdump --check select.sql
refused 'INSERT statements' --format pgdump - out <select.sql
refused 'no COPY block.*--schema-only' --format pgdump schema.sql out
refused 'no COPY block' --format pgdump plain.txt out
refused 'no COPY block' --format pgdump --check plain.txt
refused 'no COPY block' --format pgdump -k t.a:int plain.txt out
for name in select.sql plain.txt; do
  expect 0 "$g" --format pgdump --force-format $name got
  same got $name
done
: >empty.sql
expect 0 "$g" --format pgdump empty.sql got
expect 0 "$g" empty.sql got
rm -rf task
for k in 0 1; do "$bin/gpusort_task" runs --slice $k/2 --into task --format pgdump select.sql 2>>err2 && echo $k >>done; done || true
grep -q 'INSERT statements' err2 || fail "no task told of a dump without rows: $(cat err2)"
{ cat select.sql; printf 'copy t (a, b) from stdin;\n2\tb\n1\ta\n\\.\n  Copy public.t\n(a, b) -- it'"'"'s\nfrom STDIN\nwith (format text);\n4\td\n3\tc\n\\.\n'; } >copy.sql
sed -e 's/^2\tb$/@/; s/^1\ta$/2\tb/; s/^@/1\ta/; s/^4\td$/@/; s/^3\tc$/4\td/; s/^@/3\tc/' copy.sql >want
expect 0 "$g" --format pgdump -k t.a:int copy.sql got
same got want
expect 0 "$bin/gpusort_check" --format pgdump -k t.a:int --stable --against copy.sql got
rm -rf task
for k in 0 1 2 3 4 5; do expect 0 "$bin/gpusort_task" runs --slice $k/6 --into task --format pgdump -k t.a:int copy.sql; done
"$bin/gpusort_task" cut --parts 1 task
"$bin/gpusort_task" part --part 0/1 task got
"$bin/gpusort_task" prove --parts 1 task got
same got want
printf 'copy t from stdin with csv;\n2\n1\n\\.\n' >csv.sql
refused 'line 1, .*options that are not known' --format pgdump csv.sql out
printf 'begin; copy t from stdin;\n2\n1\n\\.\n' >inside.sql
refused 'line 4, .*ends the rows of a COPY that was not found' --format pgdump inside.sql out

# Dumps of other databases, and any .sql file without a --format.
printf -- '-- MariaDB dump 10.19  Distrib 10.11\nINSERT INTO `t` VALUES\n(2),\n(1);\n' >maria.txt
printf 'PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(a);\nINSERT INTO t VALUES(1);\n' >lite.txt
printf 'select 2;\nselect 1;\n' >any.sql
everywhere 'MySQL or MariaDB: give --format mysqldump' maria.txt
everywhere 'MySQL or MariaDB' maria.txt --format mysql
everywhere 'MySQL or MariaDB' maria.txt --format tsv
everywhere 'SQLite: give --format sqlitedump' lite.txt
refused 'SQLite' --format pgdump lite.txt out
printf -- '--\n-- PostgreSQL database dump\n--\n' | cat - copy.sql >rows.txt
everywhere 'PostgreSQL: give --format pgdump' rows.txt
cp any.sql any.SQL
for name in any.sql any.SQL; do refused 'no COPY block and no INSERT' $name out; done
expect 3 "$g" -k2,2 any.sql out
says 'SQL, by its name.*--format lines'
expect 0 "$g" --format lines any.sql got
same got <(LC_ALL=C sort any.sql)

# JSON: an array, and values over several lines. A .json file of lines is JSON Lines.
printf '[{"a":2},\n{"a":1}]\n' >array.json
printf '[{"a":2},{"a":1}]\n' >line.json
printf '{\n "a": 2\n}\n{\n "a": 1\n}\n' >pretty.json
printf '{"a":10}\n{"a":9}\n' >lines.json
for name in array line; do
  everywhere "a JSON array.* jq -c '.\[\]'" $name.json
  cp $name.json $name.jsonl
  refused 'a JSON array' -k a:int $name.jsonl out
  cp $name.json $name.txt
  refused 'a JSON array' $name.txt out
done
gzip -c array.json >array.json.gz
refused "a JSON array, compressed: expand it to FILE, then jq -c '.\[\]' FILE" -k a:int array.json.gz out
printf -- '-- PostgreSQL database dump\n' | gzip >packed.sql.gz
refused 'no COPY block and no INSERT' packed.sql.gz out
refused 'several lines: jq -c \. ' -k a:int pretty.json out
"$g" -k a:int lines.json - | cmp -s - <(printf '{"a":9}\n{"a":10}\n') || fail ".json is not JSON Lines"
if command -v jq >/dev/null; then
  jq -c '.[]' array.json | "$g" --format jsonl -k a:int - - | cmp -s - <(printf '{"a":1}\n{"a":2}\n') || fail "the advice for JSON"
fi

# Text in UTF-16, or with CR alone at the ends of lines.
printf 'b,a\r2,x\r1,y\r' >returns.csv
printf 'b,a\n2,x\n1,y\n' >good.csv
everywhere 'CR alone' returns.csv --format csv -k '#1'
for how in UTF-16 UTF-16LE UTF-16BE UTF-32; do
  iconv -f UTF-8 -t $how good.csv >wide.csv
  case $how in UTF-32) ;; *) everywhere "UTF-16.*iconv -f $how" wide.csv --format csv -k '#1' ;; esac
  cp wide.csv wide.txt
  [ $how = UTF-32 ] || refused 'UTF-16' wide.txt out
done

# A run of a task begins with other records than the input. Its kind is not checked again.
printf 'x\n-- MySQL dump is a line here\n' >lines.txt
rm -rf task
expect 0 "$bin/gpusort_task" runs --slice 0/1 --into task lines.txt
"$bin/gpusort_task" cut --parts 1 task
expect 0 "$bin/gpusort_task" part --part 0/1 task got
"$bin/gpusort_task" prove --parts 1 task got
same got <(LC_ALL=C sort lines.txt)

# A file that consists only of a header. A quote that makes the records part of the header is an error; an empty table
# is not.
printf 'a,"b\n2,x\n1,y"\n' >quote.csv
refused 'all of it is one header of 3 lines.*--quote none' -k '#1' quote.csv out
refused 'all of it is one header' --check -k '#1' quote.csv
refused 'all of it is one header' -k '#1' --format csv - out <quote.csv
expect 0 "$g" --force-format -k '#1' quote.csv got
same got quote.csv
printf 'a,"b\nc"\n2,x\n1,y\n' >tall.csv
expect 0 "$g" -k 'a:int' tall.csv got
for how in "-k a:int none.csv" "-k a:int --header 3 some.csv" "--format csv -k a:int -"; do
  printf 'a,b\n' >none.csv
  printf '1\n2\na\n' >some.csv
  expect 0 "$g" $how got <none.csv
  says 'all of the input is header'
  [ -s got ] || fail "the header is lost: $how"
done
expect 0 "$g" --header 1 --format lines none.csv got
says 'all of the input is header'
expect 0 "$g" --check -k a:int none.csv
says 'all of the input is header'
printf 'a,b\n2,x\n' >one.csv
: >empty.csv
for names in "none.csv one.csv" empty.csv; do
  expect 0 "$g" -k a:int -o got $names
  [ ! -s err ] || fail "$names: $(cat err)"
done

echo "kinds: ok"
