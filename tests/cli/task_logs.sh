# Tests gpusort_task with logs: random jobs give the bytes of one gpusort, and what was changed in a run is noticed.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
g=$bin/gpusort
t=$bin/gpusort_task
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }

count=$(few && echo 12 || echo 40)
[ -z "${GPUSORT_SLOW-}" ] || count=1500
expect 0 env TMPDIR="$work" python3 "$src/tests/cli/task_logs_random.py" "$bin" "$count" "${GPUSORT_SEED:-1}"

# sorted OPTION...: sorts web.log, sys.log and app.log with tasks, and compares the output with that of one gpusort.
python3 - <<'PY'
import datetime, random
draw = random.Random(3)
def write(name, line):
    t = datetime.datetime(2025, 12, 30, 22)
    with open(name, "w") as out:
        for n in range(600):
            t += datetime.timedelta(seconds=draw.randrange(900))
            out.write(line(t, n))
write("web.log", lambda t, n: f'10.0.0.{n % 7} - - [{t:%d/%b/%Y:%H:%M:%S} +0000] "GET /{n} HTTP/1.1" {draw.choice([200, 404])} {n}\n')
write("sys.log", lambda t, n: f"{t:%b %e %H:%M:%S} host{n % 3} prog[{n % 50}]: status={draw.choice([1, 22, 333])} warning {n}\n")
write("app.log", lambda t, n: f"{t:%H:%M:%S} {draw.choice(['INFO', 'ERROR'])} text {n}\n" + "  at line\nCaused by: x\n" * (n % 5 == 0))
PY
logs=(web.log sys.log app.log)
sorted() {
  local k
  rm -rf dir out
  expect 0 "$g" --format log --timezone UTC --log-level error -o want "$@" "${logs[@]}"
  for k in 3 0 2 1; do expect 0 "$t" runs --slice $k/4 --into dir --no-fsync --format log --timezone UTC "$@" "${logs[@]}"; done
  expect 0 "$t" cut --parts 3 dir
  for k in 2 0 1; do expect 0 "$t" part --part $k/3 --no-fsync dir out; done
  expect 0 "$t" prove --parts 3 dir out
  same out want
}
dates=(--year 2025 --date 2025-12-30)
sorted "${dates[@]}" -k status:int:desc -k time
sorted "${dates[@]}" -k host -k pid:int -k level
sorted "${dates[@]}" --multiline indent -k level:severity
sorted "${dates[@]}" --multiline none
sorted "${dates[@]}" --prefix-name
[ "$(cut -d: -f1 out | sort | uniq -c | wc -l)" = 5 ] || fail "names: $(cut -d: -f1 out | sort | uniq -c)"
# The names in the output are those of the command line, so all tasks must give the same names.
expect 2 "$t" runs --slice 0/4 --into dir --format log --timezone UTC "${dates[@]}" --prefix-name ./web.log sys.log app.log
says 'a job with another name of input 1, web.log, for --prefix-name is there'

# Changed bytes of sort keys in runs, of logs and of dumps. Each changed run ends the job with an error.
cat >flip.py <<'PY'
"""Changes one bit of a sort key in a run: flip.py RUN LINE PLACE, where PLACE counts from the beginning of the key."""
import sys
path, line, place = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, "rb") as file:
    bytes_ = bytearray(file.read())
at = 0
for _ in range(line):
    at = bytes_.index(b"\n", at) + 1
key = bytes_.index(b"\1", at) + 1
end = bytes_.index(b"\1", key)
at = key + place % (end - key)
changed = bytes_[at] ^ 0x20
bytes_[at] = changed if changed not in (0, 1, 10) else bytes_[at] ^ 0x40
with open(path, "wb") as file:
    file.write(bytes_)
PY
{
  echo 'CREATE TABLE t (a int PRIMARY KEY, b text);'
  for k in {1..300}; do echo "INSERT INTO t VALUES ($((k * 7919 % 1000)),'text $k');"; done
} >in.sql
for kind in log sql; do
  names=(--format mysqldump in.sql)
  [ $kind = sql ] || names=(--format log --timezone UTC "${dates[@]}" -k level -k time "${logs[@]}")
  rm -rf dir
  for k in 0 1; do expect 0 "$t" runs --slice $k/2 --into dir --no-fsync "${names[@]}"; done
  expect 0 "$t" cut --parts 2 dir
  for when in 'cut first' 'change first'; do
    for place in '0 0' '0 1' '3 2' '7 3' '60 4' '80 6' '90 9' '99 12'; do
      rm -rf copy out
      cp -r dir copy
      [ "$when" = 'cut first' ] || rm copy/cut-*
      # shellcheck disable=SC2086
      python3 flip.py copy/run-00001 $place
      code=0
      {
        { ls copy/cut-2.json || "$t" cut --parts 2 copy; } && "$t" part --part 0/2 --no-fsync copy out &&
          "$t" part --part 1/2 --no-fsync copy out && "$t" prove --parts 2 copy out
      } >err 2>&1 || code=$?
      [ $code = 8 ] && [ ! -e out ] || fail "a changed key of a $kind ($place, $when) is not noticed: $(cat err)"
      rm -rf .gpusort-*
    done
  done
done

# Two copies of an input differ, although their sizes and times are equal: the slices do not meet.
printf '2026-01-01 00:00:%02d aaaaaaaaaa\n' {0..59} >copy.log
touch -d 2026-02-01 copy.log
rm -rf dir
expect 0 "$t" runs --slice 0/2 --into dir --format log --timezone UTC copy.log
{ head -n 20 copy.log | sed 's/a*$/aaaaaaaaaaa/' && head -n 20 copy.log | sed 's/a*$/aaaaaaaaa/' && tail -n 20 copy.log; } >other.log
[ "$(stat -c %s other.log)" = "$(stat -c %s copy.log)" ]
touch -d 2026-02-01 other.log
mv other.log copy.log
expect 0 "$t" runs --slice 1/2 --into dir --format log --timezone UTC copy.log
expect 8 "$t" cut --parts 2 dir
says 'copy.log: the slices do not meet at byte'
echo "task_logs: ok"
