# Tests --trace: the times of a job's steps as Chrome's trace events, for jobs that end well, fail, and are killed.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

cat >check.py <<'END'
import collections, json, sys
# check.py FILE KIND: KIND is done, failed, or cut (a file without its end).
text = open(sys.argv[1]).read()
if sys.argv[2] == "cut":  # a viewer takes the array without its end
    text = text.rstrip()
    text = text if text.endswith("]") else text[:text.rindex("}\n") + 1 if not text.endswith("}") else None] + "]"
events = json.loads(text)
processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
slices = [e for e in events if e["ph"] == "X"]
for e in slices:
    assert e["pid"] in processes and (e["pid"], e["tid"]) in rows, ("a slice without a track", e)
    assert e["ts"] >= 0 and e["dur"] >= 0 and e["args"]["bytes"] >= 0, e
by_row = collections.defaultdict(list)
for e in slices:
    by_row[e["pid"], e["tid"]].append((round(1000 * e["ts"]), -round(1000 * e["dur"]), e["name"]))
for row, inside in by_row.items():
    open_ends = []
    for begin, minus, name in sorted(inside):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or begin - minus <= open_ends[-1], ("slices that do not nest", rows[row], name, begin)
        open_ends.append(begin - minus)
threads = next(pid for pid, name in processes.items() if name == "gpusort: threads")
totals, counts = collections.Counter(), collections.Counter()
for e in slices:
    if e["pid"] == threads:
        totals[e["name"]] += e["args"]["bytes"]
        counts[e["name"]] += 1
    else:
        totals[processes[e["pid"]]] += e["args"]["bytes"]
end = [e for e in events if e["name"] == "end"]
counters = {e["name"] for e in events if e["ph"] == "C"}
if sys.argv[2] == "done":
    size, batches = int(sys.argv[3]), int(sys.argv[4])
    assert end[0]["args"]["ended"]["exit_code"] == 0 and end[0]["args"]["dropped"] == 0, end
    assert totals["read input"] == totals["sort batch"] == totals["spill run"] == totals["read run"] == size, totals
    assert totals["merge window"] == totals["disk: input"] == size, totals
    assert abs(totals["write output"] - size) <= 4096 * (counts["merge window"] + 1), totals  # pages that two windows share
    assert totals["disk: temp space"] == 2 * size, totals
    assert counts["sort batch"] == batches, (counts, batches)
    numbers = sorted(e["args"]["number"] for e in slices if e["name"] == "sort batch" and e["pid"] == threads)
    assert numbers == list(range(batches)), numbers
    assert {"start", "form runs", "merge runs", "publish"} <= counts.keys(), counts
    assert {"main", "reader 1", "sort lane 1", "merge lane 1", "read ahead 1", "worker 1"} <= set(rows.values()), rows
    assert {"memory in use", "temp space in use", "disk read: bytes per second"} <= counters, counters
elif sys.argv[2] == "failed":
    assert end[0]["args"]["ended"]["exit_code"] == int(sys.argv[3]), end
    assert sys.argv[4] in json.dumps(end), end
else:
    assert slices, "nothing was written before the end"
END

"$bin/gpusort_gen" --type u64 --count 2000000 --seed 5 in.bin
expect 0 "$g" --memory 8M --threads 2 --device cpu --trace trace.json --stats stats.json --verify-output --type u64 in.bin out.bin
expect 0 "$bin/gpusort_check" --type u64 --against in.bin out.bin
batches=$(python3 -c 'import json; s = json.load(open("stats.json")); assert s["tiers"]["temp"] == s["runs"]; print(s["runs"])')
python3 check.py trace.json done "$(stat -c %s in.bin)" "$batches"
python3 -c 'import json; s = json.load(open("stats.json")); assert s["host_memory"]["peak"] <= 8 << 20, s["host_memory"]'

# Perfetto's own reader, if it is installed (PyPI: perfetto; at its first use it fetches a program from the network).
if timeout 1200 python3 -c '
from perfetto.trace_processor import TraceProcessor
TraceProcessor(trace="trace.json").close()' 2>perfetto.err; then
  python3 - "$(stat -c %s in.bin)" "$batches" <<'END'
import sys
from perfetto.trace_processor import TraceProcessor
reader = TraceProcessor(trace="trace.json")
tracks = {row.name for row in reader.query("select thread.name as name from thread_track join thread using (utid)")}
assert {"main", "reader 1", "sort lane 1", "merge lane 1", "worker 1"} <= tracks, tracks
groups = {row.name for row in reader.query("select name from process where name is not null")}
assert {"gpusort: threads", "disk: input", "disk: temp space", "disk: output"} <= groups, groups
for name, count, size in (("sort batch", int(sys.argv[2]), int(sys.argv[1])), ("merge window", None, int(sys.argv[1]))):
    row = next(iter(reader.query(
        "select count(*) as slices, sum(extract_arg(arg_set_id, 'args.bytes')) as bytes from slice "
        f"where name = '{name}' and category = 'thread'")))
    assert count in (None, row.slices) and row.bytes == size, (name, row.slices, row.bytes)
counters = {row.name for row in reader.query("select distinct name from counter_track")}
assert {"memory in use", "temp space in use"} <= counters, counters
END
else
  echo "SKIPPED (no trace_processor of Perfetto's: $(tail -n 1 perfetto.err | cut -c 1-100)): the trace in Perfetto"
fi

# A job that fails: the trace has the error and all steps before it.
head -c 999999 in.bin >cut.bin
expect 3 "$g" --memory 8M --trace failed.json --type u64 cut.bin out.bin
python3 check.py failed.json failed 3 cut.bin
# A job that fails before it begins writes a trace, too, and it is not that of the job before.
expect 2 "$g" --trace failed.json --type u64 nothing.bin out.bin
python3 check.py failed.json failed 2 nothing.bin
expect 5 bash -c 'ulimit -f 9000; exec "$@"' job "$g" --memory 8M --device cpu --no-space-check --trace failed.json --type u64 in.bin out2.bin
python3 check.py failed.json failed 5 "file-size limit"
# Stopped by a signal, and killed: the input is a pipe that does not end, and the job is killed once there is a batch. A
# job that needs more than a third of a second to stop is ended at once, as by a kill.
for try in {1..10}; do
  stop_at_batch TERM trace.json in.bin
  [ $code = 143 ] || fail "exit $code after SIGTERM"
  python3 check.py trace.json cut
  ! grep -q '"name":"end"' trace.json || break
done
python3 check.py trace.json failed 143 SIGTERM
stop_at_batch KILL trace.json in.bin
python3 check.py trace.json cut
nothing_left

# Options, and a full disk.
expect 2 "$g" --trace trace.json --explain --type u64 in.bin out.bin
says '--trace has no meaning with --explain'
expect 2 "$g" --trace trace.json --check --type u64 in.bin
expect 2 "$g" --trace in.bin --type u64 in.bin out.bin
expect 2 "$g" --trace missing/trace.json --type u64 in.bin out.bin
expect 2 "$g" --memory 64K --trace trace.json --type u64 in.bin out.bin
says 'too small for codecs, headers and reports'
if [ -w /dev/full ]; then
  expect 5 "$g" --trace /dev/full --report page.html --type u64 in.bin out4.bin
  says 'cannot write the trace to /dev/full.*the output is in place'
  grep -q 'exit code 5' page.html || fail "no page of a job whose trace was lost"
  expect 0 "$bin/gpusort_check" --type u64 --against in.bin out4.bin
fi
