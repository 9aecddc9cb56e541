# Tests logs whose records do not begin with their time (git log, Configuration Manager), and years of two digits.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
log=(--format log --timezone UTC)
cat >make.py <<'END'
"""Writes a log of git and one of Configuration Manager in random order, and both in order of time."""
import datetime
import random

draw = random.Random(3)
for name, count in (("git", 4000), ("sccm", 3000)):
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
        else:
            lines = "\n".join(f"line {k} of 2019-01-01 00:00:00" for k in range(draw.choice([1, 1, 1, 3, 40])))
            records.append((t, f'<![LOG[{lines}]LOG]!><time="{local:%H:%M:%S}.123{-east:+d}" '
                            f'date="{local:%m-%d-%Y}" component="X" type="1">\n'))
    for ending, ordered in (("log", records), ("want", sorted(records, key=lambda record: record[0]))):
        with open(f"{name}.{ending}", "w") as out:
            out.write("".join(text for _, text in ordered))
END
python3 make.py
for name in git sccm; do
  for options in '' '--memory 16M --batch-bytes 64K --threads 2'; do
    # shellcheck disable=SC2086
    expect 0 "$g" "${log[@]}" $options -o out "$name.log"
    same out "$name.want"
    ! grep -q warning err || fail "$(cat err)"
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
years '09/06/09 20:10:40 INFO spark.SecurityManager: a' '09/06/09 20:10:41 INFO spark.SparkContext: b'
expect 0 "$g" "${log[@]}" -o out years.log
