# Tests keys of the type order(FILE) against python3: the values of the file in its order, and then all others by their
# bytes, for lines, rows, JSON Lines and logs, with all plans.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }
plans=("--threads 2" "--memory 16M --batch-bytes 20000" "--memory 5M --batch-bytes 9000 --fan-in 2 --threads 1")
cat >oracle.py <<'PY'
import random, sys
r = random.Random(7)
listed = [f"chr{i}" for i in r.sample(range(1, 60), 40)] + ["chrX", "chr\u00e9", "\x01", "a:b)"]
with open("listed", "w") as f:
    f.write("".join(v + r.choice(["\n", "\t12\n", " x\n", "\r\n", "\n\n"]) for v in listed))
others = ["chr", "chrXY", "chr1_random", "CHR1", "zz", "\x7f", "chr\u00e8"]
rows = [(r.choice(listed * 2 + others), r.randrange(1000)) for _ in range(4000)]
place = {v: i for i, v in enumerate(listed)}
def key(row, sign=1):
    value = row[0].encode()
    return (0, place[row[0]], b"") if row[0] in place else (1, 0, value)
def write(name, rows, form):
    with open(name, "w", newline="") as f:
        f.write("".join(form(v, n) for v, n in rows))
tsv = lambda v, n: f"{v}\t{n}\n"
jsonl = lambda v, n: '{"n": %d, "v": "%s"}\n' % (n, v.replace("\x01", "\\u0001"))
up = sorted(rows, key=lambda row: (key(row), row[1]))
down = sorted(sorted(rows, key=lambda row: row[1]), key=key, reverse=True)
groups = {}
for row in rows: groups.setdefault(row[0], row)
once = sorted(groups.values(), key=key)
for name, of in (("rows", rows), ("up", up), ("once", once)):
    write(name + ".lines", of, tsv)
    write(name + ".jsonl", of, jsonl)
    with open(name + ".tsv", "w", newline="") as f:
        f.write("v\tn\n" + "".join(tsv(*row) for row in of))
# Descending: the others come first, in reverse.
import itertools
down = [row for _, group in itertools.groupby(sorted(rows, key=key, reverse=True), key=key) for row in sorted(group, key=lambda row: row[1])]
write("down.lines", down, tsv)
print(sum(1 for row in rows if row[0] not in place))
PY
unlisted=$(python3 oracle.py)
for plan in "${plans[@]}"; do
  expect 0 "$g" $plan -t '\t' -k '1:order(listed)' -k 2:int rows.lines got.out
  same got.out up.lines
  says "$unlisted values are not in 'listed' and come after those that are"
  [ "$(wc -l <err)" = 1 ] || fail "several messages: $(cat err)"
  expect 0 "$g" $plan -t '\t' -k '1:order(listed):desc' -k 2:int rows.lines got.out
  same got.out down.lines
  expect 0 "$g" $plan -k 'v:order(listed)' -k n:int rows.tsv got.tsv
  same got.tsv up.tsv
  expect 0 "$bin/gpusort_check" --format tsv -k 'v:order(listed)' -k n:int --against rows.tsv got.tsv
  expect 0 "$g" $plan -u -k 'v:order(listed)' rows.tsv got.tsv
  same got.tsv once.tsv
  expect 0 "$g" $plan -k 'v:order(listed)' -k n:int rows.jsonl got.jsonl
  same got.jsonl up.jsonl
done
# No file that a job writes replaces the file of an order.
cp listed kept
cp listed index.bgz.gzi
for option in '-o ./listed' '-o out --stats listed' '-o out --log-file ./listed' '-o index.bgz --index'; do
  order=listed
  case $option in *--index) order=index.bgz.gzi ;; esac
  expect 2 "$g" --force $option -t '\t' -k "1:order($order)" rows.lines
  says 'would be overwritten'
  same $order kept
done
expect 0 "$g" -t '\t' -k '1:order(listed)' -k '1:order(listed)' -k 2:int rows.lines got.out
same got.out up.lines
expect 0 "$g" -k '~^([^\t]*):order(listed)' -k '~\t(.*):int' rows.lines got.out
same got.out up.lines
expect 0 "$g" -k 'v:order(listed)' -k n:int --verify-output rows.tsv got.tsv
expect 0 "$g" --check -k 'v:order(listed)' -k n:int got.tsv
expect 1 "$g" --check -k 'v:order(listed)' rows.tsv
# The independent check.
expect 0 "$bin/gpusort_check" --format jsonl -k 'v:order(listed)' -k n:int --against rows.jsonl up.jsonl
{ head -n 1 rows.tsv; cat down.lines; } >down.tsv
expect 0 "$bin/gpusort_check" --format tsv -k 'v:order(listed):desc' -k n:int --against rows.tsv down.tsv
expect 1 "$bin/gpusort_check" --format tsv -k 'v:order(listed)' -k n:int down.tsv
printf 'a\na\n' >twice
for file in none twice /dev/null; do
  expect 2 "$bin/gpusort_check" --format tsv -k "v:order($file)" up.tsv
done
split -n l/3 --filter='sort >$FILE' rows.lines piece.
for piece in piece.*; do expect 0 "$g" -t '\t' -k '1:order(listed)' -k 2:int "$piece" "$piece.sorted"; done
expect 0 "$g" -m -t '\t' -k '1:order(listed)' -k 2:int -o got.out piece.*.sorted
expect 0 "$g" -t '\t' -k '1:order(listed)' -k 2:int -o want.out piece.*.sorted
same got.out want.out
cut -f1 up.lines | cmp - <(cut -f1 got.out) || fail "a merge"
printf 'Jan 05 10:00:00 a web: x\nJan 05 10:00:01 a db: x\nJan 05 10:00:02 a web: y\n' >some.log
printf 'web\ndb\n' >programs
expect 0 "$g" --format log -k '~a (\w+):order(programs)' some.log got.out
printf 'Jan 05 10:00:00 a web: x\nJan 05 10:00:02 a web: y\nJan 05 10:00:01 a db: x\n' | cmp - got.out || fail "a log"
expect 3 "$g" --strict -k 'v:order(listed)' rows.tsv got.tsv
says "is not in 'listed'"
expect 0 "$g" --strict -k 'v:order(programs)' - - <<<'v' >got.out
# A group of a regular expression is no type, and an old key means what it meant.
printf 'x:order12\nx:order7\n' >orders
expect 0 "$g" -k '~x:order([0-9]+)' orders got.out
expect 0 "$g" -k '~x:order([0-9]+):int' orders got.out
printf 'x:order7\nx:order12\n' | cmp - got.out || fail "a regular expression"

# A changed file ends a job that goes on.
rm -rf kept
"$g" -k 'v:order(listed)' -k n:int --resume-dir kept --memory 5M --batch-bytes 9000 --fan-in 2 rows.tsv got.tsv 2>/dev/null &
job=$!
until [ -s kept/gpusort.manifest ] || ! kill -0 $job 2>/dev/null; do :; done
kill -KILL $job 2>/dev/null || true
wait $job 2>/dev/null || true
if [ -e kept/gpusort.manifest ]; then
  cp listed listed.old
  tac listed.old >listed
  expect 2 "$g" -k 'v:order(listed)' -k n:int --resume-dir kept --memory 5M --batch-bytes 9000 --fan-in 2 rows.tsv got.tsv
  says 'the values in listed'
  cp listed.old listed
fi
expect 0 "$g" -k 'v:order(listed)' -k n:int --resume-dir kept --memory 5M --batch-bytes 9000 --fan-in 2 rows.tsv got.tsv
same got.tsv up.tsv

: >none
printf 'a b\na c\n' >twice
printf ' a\n' >blank
printf 'a\0' >binary
for file in none twice blank missing binary ''; do
  expect 2 "$g" -k "v:order($file)" rows.tsv got.tsv
done
expect 2 "$g" -k v:order rows.tsv got.tsv
says 'needs a file'

# Tasks: only those of runs read the file, and a file that changed is refused. The folder of the job has the values for
# all others.
t=$bin/gpusort_task
# tasks WANT INPUT OPTION...: divides the records of INPUT into two inputs, four slices and three parts.
tasks() {
  local want=$1 name=$2 head=0 k
  shift 2
  rm -rf dir
  case $name in *.tsv) head=1 ;; esac
  head -n 1500 "$name" >"one.$name"
  { head -n $head "$name"; tail -n +1501 "$name"; } >"two.$name"
  for k in 2 0 3 1; do expect 0 "$t" runs --slice $k/4 --into dir --no-fsync "$@" "one.$name" "two.$name"; done
  mv listed listed.old
  tac listed.old >listed
  expect 3 "$t" runs --slice 0/4 --into dir "$@" "one.$name" "two.$name"
  says 'error: listed: it was changed since the job in dir began: remove that folder to begin again'
  rm listed
  expect 0 "$t" cut --parts 3 dir
  rm -f got.gz
  for k in 1 2 0; do expect 0 "$t" part --part $k/3 --no-fsync dir got.gz; done
  expect 0 "$t" prove --parts 3 dir got.gz
  mv listed.old listed
  gzip -dc got.gz | cmp -s - "$want" || fail "tasks differ: $name $*"
}
tasks up.tsv rows.tsv -k 'v:order(listed)' -k n:int
tasks once.tsv rows.tsv -u -k 'v:order(listed)'
tasks down.lines rows.lines -t '\t' -k '1:order(listed):desc' -k '1:order(listed)' -k 2:int
tasks up.jsonl rows.jsonl -k 'v:order(listed)' -k n:int
nothing_left
echo "order_file: ok"
