#!/usr/bin/env bash
# labels: hours first
# Tests gpusort_task: any number of slices and parts gives the bytes of one gpusort, in one file, also a compressed one,
# and in a folder of parts.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
t=$bin/gpusort_task
quick=(--memory 16M --no-fsync --log-level error)
"$bin/gpusort_gen" --type u64 --bytes 4M --seed 1 u64.uniform
"$bin/gpusort_gen" --type u64 --bytes 4M --dist all-equal u64.equal
"$bin/gpusort_gen" --type u64 --bytes 4M --dist few-values --values 5 u64.five
"$bin/gpusort_gen" --type gensort-ascii --count 20000 gensort.uniform # in hexadecimal, byte 39 is 0 to 4
"$bin/gpusort_gen" --type web-log --bytes 4M --seed 1 log.uniform
"$bin/gpusort_gen" --type orders-csv --bytes 4M --seed 1 csv.uniform

# For each format: options for keys that mostly differ, for keys that are equal, and for about five keys.
u64=(--type=u64 '' '')
gensort=('--record-size=100 --key=0:bytes10' '--record-size=100 --key=10:bytes2' '--record-size=100 --key=39:bytes1')
log=(-s '-s -k2,2' '-s -k9,9')
csv=('--format=csv -k created_at:timestamp:desc -k id:int' '--format=csv -k note' '--format=csv -k state')
comments=('--format=csv --comment=# -k id:int' '' '--format=csv --comment=# -k five:int')
copy=('--format=pgcopy -k #1:int' '' '--format=pgcopy -k #2:int')
binary=('--format=pgcopy-binary -k #1:int' '' '--format=pgcopy-binary -k #2:int')
pgdump=('--format=pgdump -k t.id:int:desc -k """a.b"".""x""""y"""' '' '--format=pgdump -k t.five:int')
mysql=('--format=mysql --quote=" -k #1:int' '' '--format=mysql --quote=" -k #2:int')
# One record, and so few records that some slices have none.
head -c 8 u64.uniform >u64.one
head -c 40 u64.uniform >u64.empty
head -c 100 gensort.uniform >gensort.one
head -c 500 gensort.uniform >gensort.empty
head -n 1 log.uniform >log.one
{ head -n 2 log.uniform; head -c 100000 log.uniform | tr '\n' ' '; echo; tail -n 3 log.uniform; } >log.empty
"$bin/gpusort" --format csv --top 1 -k id:int csv.uniform csv.one
{
  head -n 1 csv.uniform
  printf '7,2020-01-01T00:00:00Z,1,"%s\n",,,,,,\n' "$(head -c 100000 u64.uniform | od -An -tx1)"
  tail -n 1 csv.one
} >csv.empty

head -n 1 csv.uniform >csv.front
: >csv.none
# Formats with comments, escapes and trailers: SHAPE.behind is the text after the records, SHAPE.front the text before
# them.
python3 - <<'PY'
import random, struct

r = random.Random(3)


def write(name, front, records, behind):
    for file, content in ((name, front + b"".join(records) + behind), (name + ".behind", behind),
                          (name.partition(".")[0] + ".front", front)):
        open(file, "wb").write(content)


def comments(big, at):
    text = "".join(r.choice('a",\n#') for _ in range(100000 if big else r.randrange(20))).replace('"', '""')
    above = "".join('# "' + "," * r.randrange(5) + "\r\n" for _ in range(at % 3))
    return f'{above}{r.randrange(99999)},{r.randrange(5)},"{text}"\r\n'.encode()


def copy(big, at):
    text = "".join(r.choice(["a", "\\\n", "\\\\", "\\t", "\\."]) for _ in range(50000 if big else r.randrange(9)))
    return f"{r.randrange(99999)}\t{r.randrange(5)}\tx{text}\n".encode()


def mysql(big, at):
    text = "".join(r.choice(["a", "\\\n", "\n", "\t", '""', '\\"']) for _ in range(50000 if big else r.randrange(9)))
    return f'{r.randrange(99999)}\t{r.randrange(5)}\t"{text}"\n'.encode()


def binary(big, at):
    text = bytes(r.choice(b"\0\n\xff") for _ in range(100000 if big else r.randrange(20)))
    return struct.pack(">hiiiii", 3, 4, r.randrange(99999), 4, r.randrange(5), len(text) or -1) + text


def table(name, count, big):
    traps = ["CREATE FUNCTION f() AS $_$\nCOPY t (id) FROM stdin;\n' $$ \\.\n$_$;\n", "SELECT E'\\'\n\\.\n';\n", "/* ' /* */\n*/\n",
             "COMMENT ON TABLE t IS 'it''s\nCOPY t (id) FROM stdin;\n1\n\\.\n';\n", "\\restrict it's\n", "\n--\n"]
    text = "".join(r.choice(traps) for _ in range(r.randrange(9))) + "$$\n" * 2 * (20000 if big else 1)
    return (text + f'COPY {name} (id, five, "x""y") FROM stdin;\n').encode() + b"".join(
        copy(big and at == 1, 0) for at in range(count)) + b"\\.\n"


def dump(tables, rows, big):
    names = ["public.t", '"T t"."a.b"', "t", "none"]
    return [table(names[at % 4], 0 if at % 5 == 4 else r.randrange(2 * rows) + 2, big) for at in range(tables)] + [b"-- end\n"]


for shape, records in ("uniform", dump(30, 500, False)), ("empty", dump(2, 2, True)), ("one", dump(2, 1, False)):
    write(f"pgdump.{shape}", b"", records, b"")

for make, front, behind in ((comments, b"# top\r\nid,five,text\r\n", b"#\r\n# the end\r\n"), (copy, b"", b"\\.\n"),
                            (mysql, b"", b""), (binary, b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff")):
    for shape, count, big in ("uniform", 15000, -1), ("empty", 5, 2), ("one", 1, -1), ("none", 0, -1):
        write(f"{make.__name__}.{shape}", front, [make(at == big, at) for at in range(count)], behind)
PY

# job SLICES PARTS INPUTS OPTION...: runs a job to one file. The file is compressed if there are two slices. The output
# is a folder if there are three parts. 7 slices are scanned before.
codecs=(gz:gzip bz2:bzip2 xz:xz zst:zstd lz4:lz4)
job() {
  local slices=$1 parts=$2 k stage name=got codec=
  local -a inputs
  read -ra inputs <<<"$3"
  shift 3
  if [ ! -e "dir/run-$(printf %05d $((slices - 1))).json" ]; then
    rm -rf dir
    for stage in $([ "$slices" != 7 ] || echo scan) runs; do
      for k in $(seq $((slices - 1)) -1 0); do
        "$t" "$stage" --slice "$k/$slices" --into dir "${quick[@]}" "$@" "${inputs[@]}" ||
          fail "$stage of slice $k/$slices of ${inputs[*]}: $*"
      done
    done
  fi
  local -a of_part=("${quick[@]}")
  if [ "$slices" = 2 ]; then
    codec=${codecs[jobs % 5]}
    name=got.${codec%:*}
    of_part=(--memory 300M --threads 1 "${quick[@]:2}") # xz needs this much memory
  fi
  "$t" cut --parts "$parts" dir || fail "cut into $parts: ${inputs[*]} $*"
  for k in $(seq $((parts - 1)) -1 0); do
    "$t" part --part "$k/$parts" "${of_part[@]}" dir "$name" || fail "part $k/$parts of ${inputs[*]}: $*"
  done
  "$t" prove --parts "$parts" dir "$name" || fail "prove $parts: ${inputs[*]} $*"
  if [ -n "$codec" ]; then "${codec#*:}" -dc "$name" >got || fail "${codec#*:} does not read $parts parts"; fi
  cmp got want || fail "$slices slices, $parts parts of ${inputs[*]}: $*"
  [ "$parts" = 3 ] || return 0
  rm -f dir/part-*
  mkdir -p folder
  for k in 2 0 1; do
    "$t" part --part "$k/3" "${quick[@]}" dir folder/ || fail "part file $k of ${inputs[*]}: $*"
  done
  "$t" prove --parts 3 dir folder/ || fail "prove a folder: ${inputs[*]} $*"
  local front=0 behind=0
  [ ! -e "$format.front" ] || front=$(stat -c %s "$format.front")
  # Comments after the last records are concatenated. Any other trailer appears once.
  for k in "${inputs[@]}"; do
    [ -e "$k.behind" ] || continue
    [ "$format" = comments ] || behind=0
    behind=$((behind + $(stat -c %s "$k.behind")))
  done
  : >got.records
  for k in folder/part-*; do
    tail -c +$((front + 1)) "$k" | head -c -"$behind" >one.records
    { head -c "$front" want; cat one.records; tail -c "$behind" want; } | cmp - "$k" || fail "the ends of $k"
    cat one.records >>got.records
  done
  { head -c "$front" want; cat got.records; tail -c "$behind" want; } | cmp - want ||
    fail "$slices slices, part files of ${inputs[*]}: $*"
  rm -r folder
}

number=0 jobs=0
for format in u64 gensort log csv comments copy binary pgdump mysql; do
  declare -n of=$format
  shapes="uniform equal sorted five empty one"
  case $format in
    csv) shapes+=" none many" ;;
    pgdump) shapes="uniform five empty one" ;;
    comments | copy | binary | mysql) shapes="uniform $(few || echo five) empty none many" ;;
  esac
  for shape in $shapes; do
    input=$format.uniform options=${of[0]}
    [ -e "$format.$shape" ] && input=$format.$shape
    case $shape in
      equal) options=${of[1]:-$options} ;;
      five) options=${of[2]:-$options} ;;
      sorted)
        # shellcheck disable=SC2086 # words
        "$bin/gpusort" $options "$input" "$format.sorted"
        input=$format.sorted
        ;;
      many) input="$format.uniform $format.one $format.none $format.uniform" ;;
    esac
    # shellcheck disable=SC2086
    "$bin/gpusort" $options $input -o want
    rm -rf dir
    number=$((number + 1)) pair=0
    for slices in 1 2 7 16; do
      for parts in 1 3 64; do
        pair=$((pair + 1))
        if few && ((number * 5 % 12 + 1 != pair)); then continue; fi
        # shellcheck disable=SC2086
        job $slices $parts "$input" $options
        jobs=$((jobs + 1))
      done
    done
  done
done
rm -rf got* want dir
nothing_left
echo "task: $jobs jobs are one gpusort's bytes"
