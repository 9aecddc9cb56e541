# Tests --split: parts and their manifest, compared with the output that is not split; errors and signals, which leave
# no files.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
export LC_ALL=C
command -v python3 >/dev/null || { echo "NOT TESTED: there is no python3"; exit 77; }

# split.py make KIND... writes in.KIND. split.py check checks cases: each line of the file `cases` has the arguments of
# check(). FOLDER/part-IEXTENSION are the parts of FOLDER/whole. KEY is an expression of its record r. SLACK is the
# share of all bytes by which the end of a part may differ from its ideal place.
cat >split.py <<'PY'
import base64, json, os, random, re, struct, sys

def make(kind, count=3000):
    r = random.Random(7)
    text = lambda: ''.join(r.choice('ab,"\n\u00e9') for _ in range(r.randrange(30))).replace('"', '""')
    number = lambda: r.randrange(count // 4)
    with open('in.' + kind, 'wb') as f:
        if kind == 'csv': f.write(('id,name\n' + ''.join('%d,"%s"\n' % (number(), text()) for _ in range(count))).encode())
        if kind == 'jsonl': f.write(''.join(json.dumps({'id': number(), 'n': text()}) + '\n' for _ in range(count)).encode())
        if kind == 'lines': f.write(''.join('%s %d %s\n' % (r.choice(['a', 'A', 'b', 'B', 'c', 'e' * 40]), number(), 'x' * r.randrange(40)) for _ in range(count)).encode())
        if kind == 'binary': f.write(b''.join(struct.pack('<IQ', number(), r.getrandbits(64)) for _ in range(count)))
        if kind == 'pgcopy': f.write(''.join('%d\tx\\n%d\n' % (number(), r.randrange(9)) for _ in range(count)).encode() + b'\\.\n')
        if kind == 'pgcopy-binary':
            f.write(b'PGCOPY\n\xff\r\n\0' + bytes(8) + b''.join(struct.pack('>hiii', 2, 4, number(), 5) + b'\n\x1d\xff\0\n' for _ in range(count)) + b'\xff\xff')

def records(kind, body):
    if kind == 'csv': return re.findall(rb'(?:[^"\n]|"[^"]*")*\n', body)
    size = {'binary': 12, 'pgcopy-binary': 19}.get(kind)
    return [body[i:i + size] for i in range(0, len(body), size)] if size else body.splitlines(True)

def check(folder, kind, key, n, extension, slack, header):
    n, prefix, whole = int(n), folder + '/part', open(folder + '/whole', 'rb').read()
    assert len(os.listdir(folder)) == n + 2, os.listdir(folder)
    key = eval('lambda r: ' + key)
    trailer = {'pgcopy': b'\\.\n', 'pgcopy-binary': b'\xff\xff'}.get(kind, b'')
    end = len(whole) - len(trailer)
    header = int(header) if header else {'csv': 8, 'pgcopy-binary': 19}.get(kind, 0)
    assert whole[end:] == trailer
    manifest = json.load(open(prefix + '.manifest.json'))
    assert list(manifest) == ['format', 'header_bytes', 'records', 'bytes', 'parts'], manifest
    assert manifest['format'] == kind and manifest['header_bytes'] == header, manifest
    bodies, seen = [], set()
    for i, entry in enumerate(manifest['parts']):
        name = '%s-%d%s' % (prefix, i, extension)
        part = open(name, 'rb').read()
        body = part[header:len(part) - len(trailer)]
        assert part == whole[:header] + body + trailer, name
        own = records(kind, body)
        assert b''.join(own) == body
        def shown(what, record):
            if what in entry: assert entry[what].encode() == record[:len(entry[what].encode())] and len(entry[what].encode()) >= min(len(record), 4093), (entry, record)
            else: assert base64.b64decode(entry[what + '_base64']) == record[:4096], (entry, record)
        if own: shown('first', own[0]); shown('last', own[-1])
        else: assert entry['first'] is None and entry['last'] is None, entry
        assert (entry['file'], entry['records'], entry['bytes']) == (os.path.basename(name), len(own), len(part)), (entry, len(own), len(part))
        keys = set(map(key, own))
        assert not keys & seen, '%s has keys of a part before' % name
        seen |= keys
        bodies.append(body)
    assert len(bodies) == n and b''.join(bodies) == whole[header:end], 'the parts are not what they are parts of'
    assert manifest['records'] == sum(e['records'] for e in manifest['parts'])
    assert manifest['bytes'] == sum(e['bytes'] for e in manifest['parts'])
    sizes, total, at = {}, end - header, 0
    for record in records(kind, b''.join(bodies)): sizes[key(record)] = sizes.get(key(record), 0) + len(record)
    largest = max(sizes.values(), default=0)
    for i, body in enumerate(bodies[:-1]):
        at += len(body)
        share = total * (i + 1) / n
        assert share - float(slack) * total <= at <= share + float(slack) * total + largest, ('part', i, 'ends at', at, 'of', total, largest)

for kind in sys.argv[2:]: make(kind)
for case in open('cases') if sys.argv[1] == 'check' else []:
    try: check(*case.rstrip('\n').split('\t')[:7])
    except BaseException: print(case, file=sys.stderr); raise
PY
names() { (cd "$1" && echo *); }
mkdir out
cases=0

# split KIND KEY N INPUT EXTENSION SLACK OPTION...: makes a case in the folder $case.
split() {
  local input=$4
  case=case$((++cases))
  mkdir $case
  printf '%s\t' $case "$1" "$2" "$3" "$5" "$6" "${header:-}" "${*:7}" >>cases
  echo >>cases
  expect 0 "$g" --no-fsync "${@:7}" -o $case/whole $input
  expect 0 "$g" --no-fsync "${@:7}" --split "$3" -o $case/part $input
}

plans=("" "--memory 24M --batch-bytes 60000 --fan-in 3" "--memory 16M --batch-bytes 9000 --block-size 8K --threads 1")
id="int(re.search(rb'\d+', r)[0])"
i=0
kinds="csv jsonl lines binary pgcopy pgcopy-binary"
python3 split.py make $kinds
for kind in $kinds; do
  case $kind in
    lines) options="-k2,2n" key=$id ;;
    binary) options="--format binary --record-size 12 -k 0:u32" key="r[:4]" ;;
    pgcopy*) options="--format $kind -k #1:int" key="r[:r.find(b'\t')] if r[:1] != b'\0' else r[6:10]" ;;
    *) options="-k id:int" key=$id ;;
  esac
  slack=0.01
  for plan in "${plans[@]}"; do
    i=$((i + 1))
    split $kind "$key" $((i % 3 * 4 + 1)) in.$kind .$kind $slack $options $plan
  done
  split $kind "$key" 5 in.$kind .$kind $slack $options --verify-output -r
  split $kind "$key" 5 in.$kind .$kind 0.1 $options -u --verify-output ${plans[i % 3]}
  split $kind "$key" 3 in.$kind .$kind 0.1 $options --top 500 ${plans[i % 3]}
  split $kind "$key" 3 in.$kind .$kind 0.2 $options -u --top 300
  expect 0 "$g" --no-fsync $options in.$kind sorted.$kind
  split $kind "$key" 4 "sorted.$kind sorted.$kind" .$kind $slack $options -m ${plans[i % 3]}
  # Inputs that are read as a stream have the same parts, and so have compressed outputs.
  split $kind "$key" 4 in.$kind .$kind $slack $options
  mkdir stream
  [[ $options = *--format* ]] || options+=" --format $kind"
  expect 0 "$g" $options --split 4 - stream/part <in.$kind
  gzip -kf in.$kind
  expect 0 "$g" $options --split 4 in.$kind.gz stream/gz
  for part in 0 1 2 3; do
    same $case/part-$part.$kind stream/part-$part
    same $case/part-$part.$kind stream/gz-$part.$kind
  done
  rm -r stream
done

# Orders of lines: the key alone does not order lines with equal keys.
for order in "-k1,1:r.split()[0]" "-s -k1,1:r.split()[0]" "-f:r.upper()" "-k1,1f -k2,2n:r.split()[0].upper() + b' ' + r.split()[1]" ":r" \
  "-k2,2g:int(r.split()[1])" "-R --random-source in.csv:r" "--locale -k1,1:r.split()[0]"; do
  split lines "${order#*:}" 4 in.lines .lines 0.02 ${order%%:*} ${plans[i++ % 3]}
done
header=$(head -n 3 in.lines | wc -c) split lines "r.split()[0]" 3 in.lines .lines 0.02 --header 3 -k1,1
header=
# One key for all, no records, fewer records than parts, long records, bytes that are not text.
yes 'equal line' | head -n 2000 >same.txt || true
split lines r 7 same.txt .txt 0
[ "$(stat -c %s $case/part-6.txt)" = 0 ] || fail "parts of one key: $(ls -l $case)"
: >none
split lines r 3 none "" 0
printf 'id,name\n' >none.csv
split csv r 3 none.csv .csv 0 -k id
printf 'b\na\n\377\n' >few.txt
split lines r 256 few.txt .txt 0
python3 -c "
import random
for i in range(30): print(random.choice('abc') * 3000 + '\u00e9' * random.randrange(3000))" >long.txt
split lines r 4 long.txt .txt 0
expect 0 "$g" --stats stats.json --split 4 long.txt $case/part
grep -q '"records_out": *30' stats.json || fail "--stats: $(cat stats.json)"

python3 split.py check || fail "parts are not what they should be"

# With --resume-dir the manifest and the parts have the same bytes, also if parts are empty. This includes a kill at the
# first rename, between two renames, and at the rename of the manifest.
resumed() {  # resumed KILLS N INPUT OPTION...
  local at want got code
  mkdir plain resumed
  expect 0 "$g" "${@:4}" --split "$2" -o plain/part $3
  for at in $(seq "$1"); do
    code=0
    { strace -f -o /dev/null -e trace=rename,renameat,renameat2 -e inject=rename,renameat,renameat2:signal=KILL:when=$at \
      "$g" "${@:4}" --resume-dir job --split "$2" -o resumed/part $3 2>err; } 2>/dev/null || code=$?
    [ $code = 137 ] || fail "exit $code at rename $at: $(cat err)"
  done
  expect 0 "$g" "${@:4}" --resume-dir job --split "$2" -o resumed/part $3
  python3 -m json.tool resumed/part.manifest.json >/dev/null || fail "the manifest of $* with --resume-dir is no JSON"
  want=$(cd plain && sha256sum *)
  got=$(cd resumed && sha256sum *)
  [ "$got" = "$want" ] || fail "$* with --resume-dir: $got instead of $want"
  [ ! -e job ] || fail "a job that is done left $(ls -A job)"
  rm -r plain resumed
}
kills=3
if sanitized || ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
  echo "SKIPPED: no strace, or a sanitizer that cannot be traced: kills at renames"
  kills=0
fi
resumed $kills 2 in.csv -k id:int
resumed 0 5 in.lines -k2,2n --verify-output --no-fsync
resumed 0 3 in.binary --format binary --record-size 12 -k 0:u32 -u --memory 16M
resumed 0 4 in.pgcopy-binary --format pgcopy-binary -k '#1:int'
resumed 0 3 in.jsonl -k id:int --top 100
resumed 0 7 same.txt
resumed 0 3 none
resumed 0 3 none.csv -k id
# A kill between two renames must not take an input away.
mkdir parts
printf 'b\na\n' >parts/part-1.txt
expect 2 "$g" --resume-dir job --split 2 -o parts/part parts/part-1.txt
says 'part-1.txt is an input and a part of the output'
[ ! -e job ] && [ "$(names parts)" = part-1.txt ] || fail "a refused job left $(names parts)"
rm -r parts

# Existing files: those that are replaced, those that stay, and those that cannot be replaced.
printf 'b\na\nc\n' >abc.txt
echo old >out/part-1.txt
echo other >out/part-7.txt
expect 2 "$g" --no-clobber --split 3 abc.txt out/part
says part-1.txt
[ "$(names out) $(cat out/part-1.txt)" = "part-1.txt part-7.txt old" ] || fail "--no-clobber: $(names out)"
chmod 640 out/part-1.txt
expect 0 "$g" --split 3 abc.txt out/part
[ "$(names out)" = "part-0.txt part-1.txt part-2.txt part-7.txt part.manifest.json" ] || fail "$(names out)"
[ "$(cat out/part-[012].txt | xargs) $(cat out/part-7.txt) $(stat -c %a out/part-1.txt)" = "a b c other 640" ] || fail "$(tail out/*)"
# An input that is also a part.
expect 0 "$g" -r --split 2 -o out/part out/part-0.txt out/part-1.txt out/part-2.txt
[ "$(cat out/part-[01].txt | xargs)" = "c b a" ] || fail "$(tail out/*)"

rm -f out/*
refused() {  # refused WHY ARGUMENT...
  expect 2 "$g" "${@:2}"
  says "$1"
  [ -z "$(ls -A out)" ] || fail "${*:2} made $(names out)"
}
refused 'is a stream' --split 2 abc.txt -
refused 'is a stream' --split 2 abc.txt /dev/stdout
refused "beginning of the files' names" --split 2 abc.txt out/
refused 'no meaning' --split 2 --compress gz abc.txt out/part
refused 'no meaning' --split 2 --debug abc.txt out/part
refused 'no meaning' --split 2 --check abc.txt
refused 'no meaning' --split 2 --format pgdump abc.txt out/part
refused 'split' --split 0 abc.txt out/part
refused 'split' --split 257 abc.txt out/part
refused 'No such file' --split 2 abc.txt missing/part
refused 'are one file' --split 2 --stats out/part-1.txt abc.txt out/part
ln -s "$bin/gpusort" sort
expect 2 ./sort --split 2 abc.txt
(ulimit -n 100; refused 'ulimit -n' --split 256 abc.txt out/part)
mkdir out/part-1.txt
expect 2 "$g" --split 2 abc.txt out/part
rmdir out/part-1.txt
grep -q '^parts *5' <("$g" --explain --split 5 abc.txt out/part) || fail "--explain"
[ -z "$(ls -A out)" ] || fail "--explain made $(names out)"

# Jobs that fail or are killed leave all old files and no others.
echo old | tee out/part-0.txt out/part-1.txt out/part.manifest.json >/dev/null
old() {  # old WHAT
  [ "$(names out) $(cat out/* | xargs)" = "part-0.txt part-1.txt part.manifest.json old old old" ] || fail "$1: $(ls -la out)"
  nothing_left
}
printf 'id,n\n1,"a\n' >open.csv
cp open.csv open.txt
expect 3 "$g" --format csv -k id --split 3 open.txt out/part
old "a job that failed"
seq 200000 >many.txt
(ulimit -f 400; trap '' XFSZ; for option in "" --no-space-check; do expect 5 "$g" $option --split 2 many.txt out/part; done)
old "no space"
mkfifo pipe.txt
for preload in "" "$bin/tests/libno_tmpfile.so"; do
  [ -z "$preload" ] || { [ -e "$preload" ] && ! sanitized; } || { echo "SKIPPED: signals where O_TMPFILE is missing"; continue; }
  for signal in TERM INT $(sanitized || echo SEGV); do
    (
      ulimit -c 0
      LD_PRELOAD=$preload exec env --default-signal "$g" --split 3 pipe.txt out/part 2>/dev/null
    ) &
    exec 9>pipe.txt
    [ -z "$preload" ] || [ "$(find out -name '.gpusort-*' | wc -l)" = 4 ] || fail "hidden outputs: $(ls -A out)"
    kill -$signal $!
    code=0
    wait $! 2>/dev/null || code=$?
    exec 9>&-
    [ $code -gt 128 ] || fail "exit $code by SIG$signal"
    old "SIG$signal"
  done
done
# A folder as OUTPUT would mean hidden files in the folder, or files next to it.
mkdir folder
for output in . .. folder/. folder/.. folder; do
  expect 2 "$g" --split 2 abc.txt $output
  says "--split: the names of parts begin with OUTPUT, and '$output' is a folder: give '$output/part'$"
done
[ -z "$(ls -A folder; ls -d .-* folder-* .manifest.json ..manifest.json 2>/dev/null)" ] || fail "files of a folder's name: $(ls -A . folder)"
expect 0 "$g" --split 2 abc.txt folder/part
echo "split: ok"
