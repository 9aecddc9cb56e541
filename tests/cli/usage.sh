# The command line, exit codes and messages, as a user at a prompt sees them.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

"$bin/gpusort_gen" --type i32 --count 10000 --seed 1 in.bin
expect 0 "$g" in.bin out.bin
expect 0 "$bin/gpusort_check" --type i32 --against in.bin out.bin
expect 0 "$g" --check --type i32 out.bin
expect 1 "$g" --check --type i32 in.bin
says 'record [0-9]* (byte'
expect 2 "$g" --check --type i32 out.bin out.bin
says 'exactly one input'
expect 0 "$g" --explain in.bin explained.bin
[ ! -e explained.bin ] || fail "--explain wrote its output"
"$g" --explain in.bin out.bin | grep -q 'i32 (' || fail "--explain does not say the type"
for word in runs fan-in level batch window "temp space" block tiers; do
  "$g" --explain in.bin out.bin | grep -q "$word" || fail "--explain does not say: $word"
done
"$g" --help | grep -q 'Exit codes' || "$g" --help | grep -qi 'exit' || fail "--help without exit codes"
"$g" --version | grep -qi 'cpu' || fail "--version does not list the CPU backend"

# An output that exists: --no-clobber, also by another name, in place, and if it comes into being meanwhile.
ln -s out.bin link.bin
for name in out.bin link.bin; do
  for more in "" "--format lines --locale" "--format lines --debug"; do
    expect 2 "$g" --no-clobber $more -o $name in.bin
    says 'out.bin: it exists, and --no-clobber keeps it'
  done
done
expect 2 "$g" --no-clobber in.bin in.bin
expect 0 "$g" --no-clobber in.bin new.bin
same new.bin out.bin
"$g" --no-clobber in.bin - | cmp -s - out.bin || fail "--no-clobber to a pipe"
expect 0 "$g" --no-clobber in.bin /dev/null
mkfifo late
"$g" --no-clobber --type i32 late new2.bin 2>err & job=$!
exec 3>late
cat in.bin >&3
echo old >new2.bin
exec 3>&-
code=0
wait $job || code=$?
[ $code = 4 ] || [ $code = 2 ] || fail "exit $code: an output that came into being meanwhile"
[ "$(cat new2.bin)" = old ] || fail "--no-clobber replaced an output that came into being meanwhile"
# Two logs and a forgotten -o.
cp out.bin monday.bin
cp in.bin tuesday.bin
expect 2 "$g" -m monday.bin tuesday.bin
says "gpusort -m -o OUTPUT 'monday.bin' 'tuesday.bin'"
same tuesday.bin in.bin

# Every slip of the keyboard is exit 2.
expect 2 "$g" in.bin
expect 2 "$g" in.bin out.bin more.bin
expect 2 "$g" --nonsense in.bin out.bin
expect 2 "$g" --type i33 in.bin out.bin
expect 2 "$g" --record-size 0 in.bin out2
expect 2 "$g" --record-size 8 --key 5:u32 in.bin out2
expect 2 "$g" --record-size 99999999999999999999 in.bin out2
expect 2 "$g" --memory 99999999T in.bin out2
expect 2 "$g" missing.bin out2
says 'missing.bin'
expect 2 "$g" in.bin no/such/dir/out.bin
expect 2 "$g" --type i32 "$work" out2
keys=()
for i in $(seq 65); do keys+=(--key 0:u8); done
expect 2 "$g" --record-size 4 "${keys[@]}" in.bin out2
[ ! -e out2 ] || fail "a refused job made its output"

printf 'abcdefghi' >nine
expect 3 "$g" --type u64 nine out2
says 'offset 8'
: >empty
expect 0 "$g" --type u64 empty out3
[ -e out3 ] && [ ! -s out3 ] || fail "an empty input does not give an empty output"
expect 7 "$g" --device gpu:77 in.bin out2

# A strange name cannot forge a log line.
name=$'a\nb\e[31m.bin'
expect 2 "$g" "$name" out2
[ "$(wc -l <err)" = 1 ] || fail "a name with a newline made two lines"

# Unreadable and unwritable things, where root's rights do not hide it.
if [ "$(id -u)" != 0 ]; then
  cp in.bin locked.bin
  chmod 0 locked.bin
  expect 2 "$g" locked.bin out2
  mkdir ro
  chmod 555 ro
  expect 2 "$g" in.bin ro/out.bin
else
  echo "SKIPPED (root): unreadable input, read-only directory"
fi

# Statistics are JSON with what was asked for.
expect 0 "$g" --memory 4M --batch-size 8000 --stats stats.json in.bin out.bin
python3 - <<'PY'
import json
s = json.load(open("stats.json"))
assert s["records_in"] == s["records_out"] == 10000, s
assert s["runs"] == 5 and s["tiers"]["temp"] == 5, s
assert s["host_memory"]["peak"] <= s["host_memory"]["limit"], s
assert s["temp_bytes"]["peak"] > 0
assert [p["phase"] for p in s["phases"]][-1] == "publish", s
for p in s["phases"]:
    for r in ("disk_read", "disk_write", "bus", "compute", "codec"):
        assert 0 <= p[r]["busy"] <= 1.01, p
PY
head -c 8000 out.bin >a.bin
for name in b c d; do cp a.bin $name.bin; done
expect 0 "$g" --memory 4M --fan-in 2 --stats stats.json -m -o merged.bin a.bin b.bin c.bin d.bin
"$g" --explain --memory 4M --fan-in 2 -m -o merged.bin a.bin b.bin c.bin d.bin >plan
grep -q 'temp space  *[0-9.]* KiB' plan || fail "--explain of a merge in levels: $(cat plan)"
python3 - <<'PY'
import json
s = json.load(open("stats.json"))
assert s["runs"] == 4 and s["levels"] == 2, s
PY
expect 0 "$g" --progress always in.bin out.bin
says 'merge runs'
if grep -q 'publish: 0 B' err; then fail "publishing shows a size that says nothing"; fi
expect 0 "$g" --log-file job.log --no-fsync in.bin out.bin
grep -q 'no-fsync' job.log || fail "a skipped fsync is not logged"
expect 0 "$g" --verify-output in.bin out.bin
# Reports never overwrite data, by whatever name, and a closed output is an error.
ln -s in.bin alias
expect 2 "$g" --stats ./out.bin in.bin out.bin
expect 2 "$g" --stats alias in.bin out.bin
expect 2 "$g" --log-file ./in.bin in.bin out.bin
expect 2 "$g" --stats no/such/dir/s.json in.bin out.bin
expect 4 "$g" in.bin - >&-
expect 4 "$g" --type i32 - closed.bin <&-
expect 3 sh -c "head -c 7 in.bin | '$g' --check --type i32 -"
expect 2 "$g" --memory 16M --batch-size 4K --block-size 1048576T in.bin out.bin
nothing_left
echo "usage: ok"
