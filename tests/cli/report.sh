# labels: any_build
# Tests --report: the page of a job that ended well, failed, or was stopped. With GPUSORT_SLOW=1 also as a browser shows
# it.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

cat >page.py <<'END'
import html.parser, json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
class Page(html.parser.HTMLParser):
    tags, texts = [], []
    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
    def handle_data(self, data):
        self.texts.append(data)
page = Page()
page.feed(text)
# The page refers to no other resource, and forbids that.
assert any(tag == "meta" and "default-src 'none'" in (a.get("content") or "") for tag, a in page.tags)
assert not [a for tag, a in page.tags if "src" in a or "href" in a], "it refers to something"
assert len([tag for tag, a in page.tags if tag == "script"]) == 2, "a name became a script"
assert not [tag for tag, a in page.tags if tag in ("img", "b2", "link", "iframe")], page.tags
data = json.loads(next(t for t in page.texts if t.startswith('{"resources"')))
time = data["series"]["seconds"]
assert time == sorted(time) and all(len(s) == len(time) for s in data["series"]["busy"] + data["series"]["bytes"])
print(json.dumps({"text": " ".join(page.texts), "data": data}))
END
look() { python3 page.py "$1" >page.json || fail "$1"; }
holds() { grep -qF -- "$1" page.json || fail "the page has no '$1'"; }

"$bin/gpusort_gen" --type u64 --count 1000000 --seed 5 in.bin
expect 0 "$g" --memory 8M --threads 2 --device cpu --report page.html --trace trace.json --stats stats.json --type u64 in.bin out.bin
expect 0 "$bin/gpusort_check" --type u64 --against in.bin out.bin
look page.html
python3 - <<'END'
import json, re
data, stats = json.load(open("page.json"))["data"], json.load(open("stats.json"))
size = 8 * 1000000
assert [p["phase"] for p in data["phases"]] == ["start", "form runs", "merge runs", "publish"], data["phases"]
assert data["series"]["bytes"][0][-1] == 2 * size, "what was read is not there"
assert data["stats"]["runs"] == stats["runs"] and data["stats"]["records_out"] == 1000000
assert max(data["series"]["memory"]) <= data["memory_limit"] == 8 << 20
assert re.search(r"^runs +[0-9]+$", data["plan"], re.M) and data["notes"] == stats["notes"]
assert not re.search("lane|slot|ring|fan-in|tier|window", data["plan"]), "words of developers: " + data["plan"]
assert stats["input_bytes"] == stats["output_bytes"] == size
END
holds 'Done'
holds 'exit code 0'
# The page begins with the answer, and says what ran where.
python3 - "$(uname -n)" "$("$g" --version | head -n 1)" <<'END'
import json, re, sys
host, version = sys.argv[1:]
page = json.load(open("page.json"))
answer = r"Done : sorted 7.6 MiB \(1.0 M records\) in [0-9.]+ s, [0-9.]+ [MG]iB/s\s+[0-9]+ runs, memory .*, temp files .*; limited by "
assert re.search(answer, page["text"]), page["text"][:600]
about = dict(page["data"]["about"])
assert re.search(r"gpusort --memory 8M --threads 2 --device cpu --report page.html .* --type u64 in.bin out.bin$", about["command"]), about
assert about["machine"].startswith(host + ": Linux ") and re.search(r"[0-9]+ cores?, .*iB of memory$", about["machine"]), about
assert about["program"] == version and about["sorted by"].startswith("CPU"), about
assert about["input"] == "1000000 records, 7.6 MiB in 1 file" and about["output"] == "1000000 records, 7.6 MiB", about
# Waiting for the disk at the end counts as a use of the disk.
publish = next(phase for phase in page["data"]["phases"] if phase["phase"] == "publish")
assert publish["disk_write"]["busy"] > 0, publish
END
# An old page is replaced like an output: as a whole, with its mode.
chmod 640 page.html
expect 0 "$g" --memory 8M --report page.html --type u64 in.bin out.bin
[ "$(stat -c %a page.html)" = 640 ] || fail "the page has another mode"
"$g" --memory 8M --report /dev/stderr --type u64 in.bin out.bin 2>stream.html || fail "a page on standard error"
look stream.html

# A stream is no file.
printf 'b\na\n' >two.txt
expect 0 "$g" --report page.html - sorted.txt <two.txt
look page.html
holds '2 records, 4 B from a stream'
holds '["input", "standard input"]'
# moved WORDS FILE: the page FILE says that the bytes of the input and of the output were moved by WORDS.
moved() {
  look "$2"
  python3 - "$1" <<'END' || fail "$2 does not say $1"
import json, sys
data = json.load(open("page.json"))["data"]
moved = [f"{name} {all[-1]}" for name, all in zip(data["resources"], data["series"]["bytes"]) if name != "compute" and all[-1] > 0]
assert moved == sys.argv[1].split(", "), moved
END
}
cat two.txt | "$g" --report page.html - - | cat >sorted.txt
moved 'pipe read 4, pipe write 4' page.html
"$g" --report page.html - - <two.txt >sorted.txt
moved 'disk read 4, disk write 4' page.html
cat two.txt | "$g" --report page.html --compress gz - - | cat >sorted.gz
moved "codec 4, pipe read 4, pipe write $(stat -c %s sorted.gz)" page.html
mkfifo in.fifo out.fifo
cat two.txt >in.fifo & cat out.fifo >sorted.txt &
expect 0 "$g" --report page.html -o out.fifo in.fifo
wait
moved 'pipe read 4, pipe write 4' page.html
expect 0 "$g" --report page.html -o sorted.txt two.txt two.txt <(cat two.txt)
look page.html
holds '6 records, 12 B in 2 files and a stream'

# Names that look like markup, in files and in messages.
evil="x<script>alert(1)<\\script>'\"&<b2>.txt"
printf 'b\na\n' >"$evil"
expect 0 "$g" --report page.html "$evil" "$evil.out"
look page.html
holds '<script>alert(1)'
printf 'a,b\n1,2\n' >"$evil.csv"
code=0
"$g" --report page.html -k '<script>alert(2)</script>' --format csv "$evil.csv" out.csv 2>err || code=$?
[ $code != 0 ] || fail "a column that is not there"
[ ! -e page.html ] || look page.html

# Failed and stopped.
expect 5 bash -c 'ulimit -f 4000; exec "$@"' job "$g" --memory 8M --device cpu --no-space-check --report failed.html --type u64 in.bin out2.bin
look failed.html
holds 'exit code 5'
holds 'file-size limit'
holds 'What to do: free space'
expect 2 "$g" --report missing.html --type u64 nothing.bin out.bin
look missing.html
holds 'exit code 2'
# A job that needs more than a third of a second to stop is ended at once.
for try in {1..10}; do
  stop_at_batch TERM seen.json in.bin --report stopped.html
  [ $code = 143 ] || fail "exit $code after SIGTERM"
  [ ! -e stopped.html ] || break
done
look stopped.html
holds 'exit code 143'
holds 'ended by SIGTERM'
nothing_left

# Data in the place of a report, because the name of the report was forgotten. A report may replace a report of its kind.
printf 'id,name\n2,b\n1,a\n' >data.csv
printf '{"id":2}\n' >data.jsonl
printf '[{"id":2}]\n' >data.json
printf '<!doctype html>\n<title>mine</title>\n' >data.html
{ printf '%2048s' ''; echo precious; } >data.blank
echo >data.newline
for option in --report --stats --trace; do
  for data in data.csv data.jsonl data.json data.html data.blank data.newline; do
    cp $data before
    expect 2 "$g" $option $data sorted.txt
    says "$option $data: it exists, and no report of this kind is in it"
    cmp $data before || fail "$option has changed $data"
  done
  : >empty
  for try in 1 2; do expect 0 "$g" $option empty sorted.txt out.txt; done
  cp empty cut
  truncate -s 500 cut
  expect 0 "$g" $option cut sorted.txt out.txt
done

expect 2 "$g" --report page.html --explain --type u64 in.bin out.bin
expect 2 "$g" --report in.bin --type u64 in.bin out.bin
expect 2 "$g" --report none/page.html --type u64 in.bin out.bin

if [ "${GPUSORT_SLOW-}" != 1 ]; then
  echo "SKIPPED (only with GPUSORT_SLOW=1): the page in a browser"
elif ! command -v chromium >/dev/null; then
  echo "SKIPPED (no chromium): the page in a browser"
else
  python3 "$src/tests/cli/report_browser.py" page.html failed.html stopped.html || fail "the page in a browser"
fi
