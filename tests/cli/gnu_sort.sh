# labels: first
# Compares gpusort under the name `sort` with the system's GNU sort: the same command line in the same folder must give
# the same output, messages, exit code and files. Differences between newer releases of GNU sort and the system's are
# tested after the table, with fixed results. !PIPE! stands for a pipe in the table. Exit 77: the system's sort is not
# GNU's.
. "$2/tests/cli/common.sh.inc"
grep -q 'GNU coreutils' <(/usr/bin/sort --version 2>/dev/null) || exit 77
export LC_ALL=C
unset POSIXLY_CORRECT _POSIX2_VERSION TMPDIR
mkdir gnu ours
ln -s /usr/bin/sort gnu/sort
ln -s "$bin/gpusort" ours/sort

# The files that every case has.
mkdir fixture
(
  cd fixture
  printf 'b\na\nc\n' >abc
  printf 'a\nb\nc\n' >sorted
  printf 'a\na\nb\n' >twice
  printf 'b 2\na 10\n\tc  5\nb 1\n' >fields
  printf '10\n9\n-3\n1.5\n 7\n+4\n0x10\n1e1\nabc\n\n-0\n0\n.5\n-.5\n007\n' >numbers
  printf '1K\n1M\n900\n2K\n1.5K\n-1K\n1k\n1G\n0\nK\n' >human
  printf 'mar\nJAN x\n feb\nDEC\nfoo\nmarch\n\n' >months
  printf 'f1.10\nf1.9\nf1.9~\nf01\nf-1\nf1.9.tar.gz\nf1.9.tar\n' >versions
  printf 'x:3:c\ny:1:b\nz:2\nw\n:9\n' >colons
  printf 'no end' >open_end
  printf 'b\0a\nc\0a\nb\0' >nuls
  : >empty
  seq 2000 | tac >many
  for i in $(seq 20); do printf '%s\nz%s\n' "$i" "$i" >"m$i"; done
  printf 'abc\0sorted' >list0
)

cases=0
# both NAME TEXT: runs TEXT by sh once for each `sort` and compares the results.
both() {
  local program code
  for program in gnu ours; do
    rm -rf "run/$program"
    mkdir -p run
    cp -R fixture "run/$program"
    code=0
    (
      cd "run/$program"
      PATH=$work/$program:$PATH exec sh -c "$2"
    ) >"$program.out" 2>"$program.err" </dev/null || code=$?
    echo "$code" >"$program.code"
  done
  # Newer wording, as in 9.10.
  sed -i 's/: note numbers use/: numbers use/; s/file names from stdin/file names from standard input/' gnu.err
  for part in out err code; do
    cmp -s gnu.$part ours.$part ||
      fail "$1: $2: other $part: $(diff gnu.$part ours.$part | head -n 5 | cat -v) ($(head -n 3 ours.err))"
  done
  diff -r run/gnu run/ours >files || fail "$1: $2: other files: $(head -n 5 files)"
  cases=$((cases + 1))
}

while IFS='|' read -r name text; do
  case $name in '' | '#'*) continue ;; esac
  both "$name" "${text//!PIPE!/|}"
done <<'TABLE'
# Whole lines.
empty input|sort empty
one line|sort open_end
no newline at the end|sort open_end abc
several files|sort abc sorted open_end empty
NULs and newlines|sort nuls
zero-terminated|sort -z nuls
reverse|sort -r abc
reverse and unique|sort -ru twice abc
reverse and stable|sort -rs twice abc
unique|sort -u abc twice
standard input|sort <abc
standard input by name|sort - <abc
standard input among files|sort sorted - twice <abc
standard input twice|sort - - <abc
long options|sort --reverse --unique --ignore-case abc twice
beginnings of long options|sort --rev --uni abc
folded|printf 'b\nA\na\nB\n' !PIPE! sort -f
folded and stable|printf 'b\nA\na\nB\n' !PIPE! sort -fs
folded and unique|printf 'b\nA\na\nB\n' !PIPE! sort -fu
dictionary|printf 'b-1\nb1\n-a\na-\n' !PIPE! sort -d
printable|printf 'b\001\nb\n\001a\n' !PIPE! sort -i
dictionary wins|printf 'b-1\nb1\n-a\na-\n' !PIPE! sort -di
blanks|printf ' b\na\n\tc\n' !PIPE! sort -b
# Orderings.
numeric|sort -n numbers
numeric, reverse|sort -nr numbers
numeric, unique|sort -nu numbers
numeric, stable|sort -ns numbers
general|sort -g numbers
general, unique|sort -gu numbers
human|sort -h human
human, reverse|sort -hr human
month|sort -M months
month, reverse|sort -Mr months
version|sort -V versions
version, reverse|sort -Vr versions
sort word|sort --sort=numeric numbers
sort word, short|sort --sort=g numbers
sort word, human|sort --sort=human-numeric human
random with a source|sort -R --random-source=many abc twice
random, unique|sort -Ru --random-source=many abc twice
random key|sort -k2,2R --random-source=many fields
digits without end|printf '%0400d1\n%0400d2\n1%0400d\n' 0 0 0 !PIPE! sort -n
# Keys.
key 2|sort -k2 fields
key 2,2|sort -k2,2 fields
key 2b|sort -k2b,2 fields
key with number|sort -k2,2n -k1,1r fields
key 1.2|sort -k1.2 fields
key 1.2,1.2|sort -k1.2,1.2 abc fields
key ends before it begins|sort -k2,1 fields
key with end in characters|sort -k1.1,2.1 fields
key far behind the line|sort -k9 fields
key with huge offset|sort -k1.4294967296 fields
key with huge field|sort -k99999999999999999999 fields
end with huge field|sort -k1,99999999999999999999 fields
global options for a key without|sort -n -k2,2 fields
global options not for a key with|sort -n -k2,2b fields
global reverse with a key|sort -r -k2,2n fields
key with reverse only|sort -k1,1r fields
separator|sort -t: -k2 colons
separator, numeric|sort -t: -k2,2n colons
separator, key behind|sort -t: -k3 colons
separator NUL|sort -t '\0' -k2 nuls
separator given twice|sort -t: -t: -k2 colons
separator blank|sort -t ' ' -k2,2 fields
separator tab|sort -t '	' -k2,2 fields
stable by key|sort -s -k1,1 fields
unique by key|sort -u -k1,1 fields
several keys|sort -t: -k3,3 -k2,2nr -k1 colons
end of field by blanks|sort -k1,1.2b fields
number at a field that has none|sort -k3,3n fields
# Keys of the old syntax.
plus|sort +1 fields
plus minus|sort +1 -2 fields
plus with characters|sort +0.1 -0.2 abc fields
plus with letters|sort +1n -2 fields
plus before files|sort +1 fields abc
plus that is no key|sort +x
plus with a dot|sort +1.
plus and an option|sort +1 -r fields
POSIX 2001: plus is a file|_POSIX2_VERSION=200112 sort +1 fields
POSIX 2001: plus minus|_POSIX2_VERSION=200112 sort +1 -2 fields
POSIX 1992: plus|_POSIX2_VERSION=199209 POSIXLY_CORRECT=1 sort +1 fields
POSIX 1992: options behind files|_POSIX2_VERSION=199209 POSIXLY_CORRECT=1 sort abc -o out
POSIX: options behind files|POSIXLY_CORRECT=1 sort abc -r
POSIX: plus minus|POSIXLY_CORRECT=1 _POSIX2_VERSION=200112 sort +1 -2 fields
options behind files|sort abc -r
files behind two dashes|sort -- abc -r
Solaris -y|sort -y abc
Solaris -y0|sort -y0 abc
Solaris -y 10|sort -y 10 abc
# Checks.
check, in order|sort -c sorted
check, not in order|sort -c abc
check, quiet|sort -C abc
check, silent|sort --check=silent abc
check, quiet word|sort --check=quiet abc
check, diagnose|sort --check=diagnose-first abc
check, unique|sort -cu twice
check, equal lines|sort -c twice
check, reverse|sort -cr sorted
check, numeric|sort -cn many
check, standard input|sort -c <abc
check, zero-terminated|sort -cz nuls
check, keys|sort -c -k2,2n fields
check, stable|sort -cs -k1,1 fields
check, a name with a space|cp abc "a b"; sort -c "a b"
check, empty|sort -c empty
check, two files|sort -c abc sorted
check quiet, two files|sort -C abc sorted
check and output|sort -c -o out abc
check quiet and output|sort -Co out abc
check both|sort -c -C abc
check of a missing file|sort -c missing
check of a directory|sort -c .
# Merging.
merge|sort -m sorted twice
merge, unique|sort -mu sorted twice sorted
merge one|sort -m sorted
merge nothing|sort -m empty
merge many|sort -m m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20
merge many, few at once|sort -m --batch-size=2 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19 m20
merge, no place for temp files|sort -m --batch-size=2 -T no/such m1 m2 m3
merge, no place for temp files, usual batch|sort -m -T no/such m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17
merge, no need of temp files|sort -m --batch-size=3 -T no/such m1 m2 m3
merge, stable|sort -m -s -k1,1 sorted twice sorted
merge with standard input|sort -m - twice <sorted
merge of what is not in order: no line is lost|sort -m abc abc !PIPE! sort
merge onto an input|sort -m -o sorted sorted twice
merge onto an input twice|sort -m -o sorted sorted twice sorted
merge, zero-terminated|sort -z nuls >s; sort -mz s s
merge, last line open|sort -m open_end sorted
merge a missing file|sort -m sorted missing
merge a directory|sort -m .
# Output.
output|sort -o out abc
output is input|sort -o abc abc
output is a link to the input|ln -s abc link; sort -o link abc
output has two names|ln abc other; sort -o abc abc; cat other
output behind files|sort abc -o out
output given twice|sort -o out -o out abc
two outputs|sort -o out -o other abc
output in no folder|sort -o no/such/out abc
output is a folder|sort -o . abc
output under a file|sort -o abc/out abc
output in a folder that is not there yet|sort -o new/ abc
output without a name|sort -o '' abc
output is a file with a slash|sort -o abc/ abc
output is a closed descriptor by name|sort -o /dev/fd/9 abc
output is a link to itself|ln -s self self; sort -o self abc; code=$?; rm self; exit $code
output is standard output|sort -o /dev/stdout abc
output to a file of the shell|sort -o /dev/stdout abc >out
output keeps its mode|chmod 640 abc; sort -o abc abc; stat -c %a abc
output takes the umask|umask 027; sort -o out abc; stat -c %a out
output larger than allowed|trap '' XFSZ; ulimit -f 1; sort -o out many 2>e; code=$?; grep -v '^sort: write error' e >&2; rm -f e out; exit $code
no output of what is missing|sort -o out abc missing; ls out
no output without input|sort -o out missing
# Memory, threads, temporary files.
small memory|sort -S1k many
tiny memory|sort -S1b many
small memory, unique|sort -S1k -u many many
small memory, numeric|sort -n -S1k many
small memory, pairs|sort -S1k --batch-size=2 many
memory in percent|sort -S1% many
memory with a letter|sort -S1M many
memory, letter only|sort -SK many
memory twice|sort -S1k -S1M many
threads|sort --parallel=4 many
temporary folders|mkdir t u; seq 400000 !PIPE! sort -T t -T u -S1M; ls -A t u
temporary folder from the environment|mkdir t; seq 400000 !PIPE! TMPDIR=t sort -S1M; ls -A t
no temporary folder|seq 400000 !PIPE! sort -S1M -T /no/such
no temporary folder for a file|seq 400000 >big; sort -S1M -T /no/such big
temporary folder is a file|seq 400000 !PIPE! sort -S1M -T abc
a temporary folder that is not used|sort -T /no/such abc
compressed|seq 400000 !PIPE! sort -S1M --compress-program=gzip
compressed, pairs|seq 700000 !PIPE! sort -S2M --compress-program=gzip --batch-size=2
a compressor that fails|printf '#!/bin/sh\ncat\nexit 3\n' >p; chmod +x p; seq 400000 !PIPE! sort -S1M --compress-program=./p
a decompressor that fails|printf '#!/bin/sh\ngzip "$@"\ntest "$1" != -d\n' >p; chmod +x p; seq 400000 !PIPE! sort -S1M --compress-program=./p
a compressor that is not needed|sort --compress-program=/no/such abc
# Lists of files.
list|sort --files0-from=list0
list from standard input|sort --files0-from=- <list0
list with a NUL at the end|printf 'abc\0' !PIPE! sort --files0-from=-
list and a file|sort --files0-from=list0 abc
list is missing|sort --files0-from=missing
list is a folder|sort --files0-from=.
list is empty|sort --files0-from=empty
list is nothing|sort --files0-from=/dev/null
list with an empty name|printf 'abc\0\0' !PIPE! sort --files0-from=-
list with only an empty name|printf '\0' !PIPE! sort --files0-from=-
list names standard input|printf '%s' - !PIPE! sort --files0-from=-
list behind what was read|printf 'x\nabc\0sorted' >l; (read -r x; sort --files0-from=-) <l
list in a file names standard input|printf '%s' - >l; sort --files0-from=l <abc
list names a missing file|printf 'abc\0missing\0' !PIPE! sort --files0-from=-
list for a check|sort -c --files0-from=list0
# Inputs and outputs that cannot be read or written.
missing|sort missing
missing behind others|sort abc missing sorted
empty name|sort ''
name that needs quotes|sort 'no such' "it's" 'a:b'
a folder|sort .
a folder behind others|sort abc .
closed standard input|sort - <&- 2>/dev/null; echo $?
closed standard input, not used|sort abc <&-
closed standard input, merge|sort -m - <&-
closed standard input, check|sort -c - <&-
closed standard output, nothing to say|sort -c sorted >&-
a list from closed standard input|sort --files0-from=- <&- 2>err; echo $?
a pipe that closes|yes !PIPE! head -n 100000 !PIPE! sort !PIPE! head -n 1
# Mistakes.
unknown option|sort --unknown
unknown letter|sort -x
option without operand|sort -k
long option without operand|sort --sort
ambiguous option|sort --r
operand that is not wanted|sort --unique=x
field 0|sort -k0
character 0|sort -k1.0
end field 0|sort -k1,0
no field|sort -k x
no end field|sort -k 1,x
no character|sort -k 1.x
no end character|sort -k 1,1.x
stray letter|sort -k1x
stray comma|sort -k1,1,1
empty key|sort -k ''
minus in a key|sort -k -1
old key with letter|sort +1 -2x
old key without character|sort +1 -1.x
empty separator|sort -t ''
long separator|sort -t ab
two separators|sort -t a -t b
incompatible: n M|sort -nM abc
incompatible: g h|sort -gh abc
incompatible: d n|sort -dn abc
incompatible: i n|sort -in abc
incompatible in a key|sort -k1,1nM abc
incompatible in a key by inheritance is none|sort -n -k1,1M abc
compatible: R V|sort -RV --random-source=many abc
compatible: R d|sort -Rd --random-source=many abc
incompatible, with blanks and reverse|sort -bdfirsn abc
memory: no number|sort -S x
memory: no number, long|sort --buffer-size=x
memory: suffix|sort -S 1x
memory: two suffixes|sort -S 1Kb
memory: negative|sort -S -1
memory: fraction|sort -S 1.5
memory: empty|sort -S ''
memory: too large|sort -S 99999999999999999999999
memory: too large by its suffix|sort -S 99999999999Y
memory: much, though|sort -S 1E abc
threads: none|sort --parallel=0
threads: no number|sort --parallel=x
threads: suffix|sort --parallel=2k
batch: one|sort --batch-size=1
batch: no number|sort --batch-size=x
batch: suffix|sort --batch-size=2x
batch: too large|ulimit -n 100; sort --batch-size=99999999
batch: far too large|ulimit -n 100; sort --batch-size=99999999999999999999999
sort word|sort --sort=foo
check word|sort --check=foo
check word, ambiguous|sort --check=
two compressors|sort --compress-program=a --compress-program=b
two random sources|sort --random-source=a --random-source=b
random source is missing|sort -R --random-source=missing
random source is a folder|sort -R --random-source=. abc
random source is short|sort -R --random-source=abc abc
random source that is not used|sort --random-source=missing abc
# --debug.
debug|sort --debug fields
debug: key|sort --debug -k2 fields
debug: numeric key|sort --debug -k2n fields
debug: numeric key of one field|sort --debug -k2,2n fields
debug: stable|sort --debug -s -k2,2n fields
debug: unique|sort --debug -u -k2,2n fields
debug: no match|sort --debug -k9 fields
debug: numbers|sort --debug -n numbers
debug: general|sort --debug -g numbers
debug: human|sort --debug -h human
debug: month|sort --debug -M months
debug: version|sort --debug -V versions
debug: zero-terminated|sort --debug -z nuls
debug: merge|sort --debug -m sorted
debug: check|sort --debug -c sorted
debug: output|sort --debug -o out sorted
debug: old key|sort --debug +1 -2 fields
debug: old key of characters|sort --debug -rb -k2n +2.2 -1b fields
debug: zero width|sort --debug -s -k2,1 fields
debug: zero width, numeric|sort --debug -s -k2,1n fields
debug: spans|sort --debug -s -k1,2n fields
debug: ignored|sort --debug -s -rRVMhgb -k1,1n fields
debug: ignored, last resort|sort --debug -rRVMhgb -k1,1n fields
debug: last resort|sort --debug -r -k1,1n fields
debug: two keys|sort --debug -gbr -k1,1n -k1,1r fields
debug: blanks|sort --debug -b -k1b,1bn fields
debug: blanks of the end|sort --debug -b -k1,1bn fields
debug: blanks of another key|sort --debug -b -k1,1bn -k2b,2 fields
debug: reverse, redundant|sort --debug -r -k1,1r fields
debug: printable|sort --debug -i -k1,1i fields
debug: dictionary|sort --debug -d -k1,1b fields
debug: printable by dictionary|sort --debug -i -k1,1d fields
debug: reverse|sort --debug -r fields
debug: reverse, months|sort --debug -rM months
debug: reverse, months, key|sort --debug -rM -k1,1 months
debug: separator is a point|sort --debug -nk1 -t. numbers
debug: separator is a minus|sort --debug -nk1 -t- numbers
debug: separator is a plus|sort --debug -gk1 -t+ numbers
debug: separator is a comma|sort --debug -nk1 -t, numbers
debug: no such locale|LC_ALL=missing sort --debug fields
debug: C.UTF-8|LC_ALL=C.UTF-8 sort --debug -k2,2 fields
debug: wide characters|printf '\303\244 x\n\346\274\242 y\n\377 z\n' !PIPE! LC_ALL=C.UTF-8 sort --debug -k2,2
# Many lines: threads, and the sorter of large blocks.
large|seq 300000 !PIPE! rev !PIPE! sort --parallel=4
large, numeric|seq 300000 !PIPE! rev !PIPE! sort -n --parallel=3
large, unique|seq 300000 !PIPE! cut -c1-3 !PIPE! sort -u --parallel=4
large, stable|seq 300000 !PIPE! rev !PIPE! sort -s -k1.1,1.2 --parallel=8
large, two keys|seq 300000 !PIPE! sed 's/\(.\)/\1 /g' !PIPE! sort -k3,3nr -k2,2 --parallel=2
large, common beginnings|seq 300000 !PIPE! rev !PIPE! sed 's/^/2026-11-21T00:00:00 a host with a name: /' !PIPE! sort --parallel=2
large, spilled|seq 300000 !PIPE! rev !PIPE! sort -S 2M --parallel=2
large, spilled, unique|seq 300000 !PIPE! cut -c1-4 !PIPE! sort -u -S 1M
TABLE

# Tests of gpusort alone: differences between releases, and behaviour that no comparison shows.
sort=$work/ours/sort
cp -R fixture alone
cd alone
seq 2000 >exp
# gives CODE TEXT: runs TEXT by sh and expects the exit code. Leaves out and err.
gives() {
  local code=0
  PATH=$work/ours:$PATH sh -c "$2" >out 2>err </dev/null || code=$?
  [ "$code" = "$1" ] || fail "$2: exit $code instead of $1: $(head -n 3 err)"
}

gives 0 'sort -n --parallel=99999999999999999999 many'
same out exp
# A compress program that cannot be started is not used. A compress program that fails is an error, also if a signal
# ends it.
seq 400000 >ascending
tac ascending >big
for program in ./missing ./abc; do
  gives 0 "chmod +x abc; sort -n -S1M --compress-program=$program big"
  same out ascending
  [ "$(grep -c 'could not run compress program' err)" = 1 ] || fail "compress program $program: $(cat err)"
done
# This also holds if the lines are larger than -S but fit the memory. A program that can be started gets some lines.
seq -w 2000 >small.exp
tac small.exp >small
gives 0 'sort -S1k --compress-program=missing small'
same out small.exp
[ "$(cat err)" = "sort: could not run compress program 'missing': No such file or directory" ] || fail "no program: $(cat err)"
printf '#!/bin/sh\ntr 41 14\ntouch started\n' >swaps
chmod +x swaps
gives 0 'sort -S1k --compress-program=./swaps small'
same out small.exp
[ -e started ] && [ ! -s err ] || fail "the program was not started: $(cat err)"
# A folder is read, and the error is that of the read.
if ! sanitized && strace -o /dev/null true 2>/dev/null; then
  gives 2 'strace -f -o /dev/null -P . -e trace=read -e inject=read:error=EIO sort .'
  says 'sort: read failed: .: Input/output error'
fi
printf '#!/bin/sh\nkill -9 $$\n' >killed
printf '#!/bin/sh\nhead -c 50\ncat >/dev/null\n' >cuts
chmod +x killed cuts
gives 2 'sort -S1M --compress-program=./killed big'
says "'./killed' \[-d\] terminated abnormally"
gives 2 'sort -S1M --compress-program=./cuts big'
says 'did not give back'
# The parent's handling of SIGCHLD does not matter, nor do children from before.
gives 0 "trap '' CHLD; exec sort -n -S1M --compress-program=gzip big"
same out ascending
gives 0 '(sleep 0.2; exit 3) & exec sort -n -S1M --compress-program=gzip big'
same out ascending

# The environment decides where to sort. Small inputs need no GPU.
gives 0 'GPUSORT_DEVICE=gpu sort -n many'
same out exp
for device in cpu auto ''; do
  gives 0 "GPUSORT_DEVICE=$device sort -n big"
  same out ascending
done
gives 2 'GPUSORT_DEVICE=tpu sort abc'
says "^sort: GPUSORT_DEVICE: 'tpu' is none of: auto, cpu, gpu"
gives 2 'GPUSORT_DEVICE=gpu:1,x sort abc'

# Inputs are read once, so an input may be rewritten meanwhile. An input that cannot be read is an error, also next to
# others.
cp ascending rewritten
for wait in 0.02 0.05 0.1; do
  gives 0 "sort -S1M rewritten >o & sleep $wait; dd if=big of=rewritten conv=notrunc bs=1M 2>/dev/null; wait \$!"
  [ "$(wc -l <o)" -gt 360000 ] || fail "a rewritten input lost its lines"
  cp ascending rewritten
done
gives 2 'sort /proc/self/mem big'
says '^sort: read failed: /proc/self/mem: Input/output error$'
gives 0 'sort -S1M big /sys/kernel/mm/transparent_hugepage/enabled >o'
gives 2 'cp big x; sort 0>>x'
says '^sort: read failed: -: Bad file descriptor$'
if ! sanitized; then gives 0 'ulimit -v 100000; sort -n -S4M big'; same out ascending; fi
gives 0 'ulimit -n 20; sort $(yes /dev/null | head -n 40)'

# Full devices and closed pipes.
gives 2 'sort abc >/dev/full'
says "^sort: write failed: 'standard output': No space left on device$"
gives 2 'sort -o /dev/full abc'
says '^sort: write failed: /dev/full: No space left on device$'
gives 2 'sort --help >/dev/full'
gives 2 'sort --version >/dev/full'
gives 2 'sort abc >&-'
says "write failed: 'standard output': Bad file descriptor"
# unread COMMAND...: runs the command with a pipe as output whose reader has gone.
cat >unread <<'PY'
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
code = subprocess.run(sys.argv[1:], stdout=writer, restore_signals=False).returncode
sys.exit(128 - code if code < 0 else code)
PY
gives 2 "python3 unread sort many"  # Python ignores SIGPIPE
says "^sort: write failed: 'standard output': Broken pipe$"
gives 141 'python3 unread env --default-signal=PIPE sort many'
[ ! -s err ] || fail "SIGPIPE: $(cat err)"
gives 0 'sort --help | grep -q -- --compress-program'
gives 0 'sort --version | grep -q gpusort'

# Few descriptors: three standard streams and four more. Little memory: 4 MB more than the program needs to start.
if sanitized; then
  echo "SKIPPED (a sanitizer takes descriptors and address space): few descriptors, little memory"
else
  few='exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; ulimit -n 7;'
  files=$(seq 31)
  for i in $files; do echo "$i" >"n$i"; done
  names=$(printf 'n%s ' $files)
  gives 0 "$few exec sort -n -m $names"
  seq 31 >exp31
  same out exp31
  echo 32 >n32
  gives 0 "exec <n32; $few exec sort -n -m $names -"
  seq 32 >exp32
  same out exp32
  gives 0 "$few exec sort -n -S1k many"
  same out exp
  gives 0 "cp n6 place; $few exec sort -n -m --batch-size=4 -o place place n1 n2 n3 n4 n5 place"
  printf '1\n2\n3\n4\n5\n6\n6\n' >exp6
  same place exp6
  gives 0 "ulimit -n 20; sort -mR --random-source=many --batch-size=16 $names"
  seq 50000 | tac >more
  seq 50000 >exp50000
  for limit in 9000 10000 11000 12000 14000 16000 20000 28000 40000; do
    if (ulimit -v $limit && "$sort" empty) 2>/dev/null; then break; fi
  done
  for threads in 1 8; do
    gives 0 "ulimit -v $((limit + 4000)); sort -n --parallel=$threads more"
    same out exp50000
  done
  # Small inputs and a long line take only the memory that they need, however large the limit is.
  gives 0 "ulimit -v $((limit + 16000)); sort -n -m -S1G $names"
  same out exp31
  { head -c 16000000 /dev/zero | tr '\0' y; echo; echo z; } >wide
  gives 0 "ulimit -v $((limit + 24000)); sort -c -S1M wide"
fi

# A line longer than the memory.
{ head -c 300000 /dev/zero | tr '\0' y; echo; head -c 200000 /dev/zero | tr '\0' x; echo; echo a; } >long
gives 0 'sort -S1k long'
LC_ALL=C /usr/bin/sort long >exp
same out exp

# Signals end the program, and no temporary file stays. Each signal has its own pipe. A gzip that is about to start when
# the signal comes has the other pipe open for a moment, and a writer to that pipe would lose its reader.
mkdir temp
for signal in TERM INT HUP; do
  mkfifo $signal
  (
    env --default-signal "$sort" -S1M -T temp --compress-program=gzip $signal >/dev/null &
    exec 9>$signal
    cat big >&9
    kill -$signal $!
    code=0
    wait $! || code=$?
    [ "$code" -gt 128 ] || fail "signal $signal: exit $code"
  ) 2>/dev/null
  left=$(ls -A temp)
  [ -z "$left" ] || fail "signal $signal leaves $left"
done

# While no process takes the output, the program only waits: there is a second with hardly any CPU time, however long it
# takes to get there.
mkfifo slow
seq 200000 >input
"$sort" --parallel=8 input >slow &
pid=$!
exec 8<slow
read -r -N 1 <&8  # everything is sorted now
ticks() { local stat; read -r -a stat <"/proc/$pid/stat"; echo $((stat[13] + stat[14])); }
for ((i = 1; ; ++i)); do
  before=$(ticks)
  sleep 1
  [ $(($(ticks) - before)) -gt 2 ] || break
  [ $i -lt 300 ] || fail "it spins while output blocks"
done
exec 8<&-
wait $pid 2>/dev/null || true

# An output that a new file cannot replace is rewritten in place. Other outputs are never half written.
gives 0 'cp big a; ln a b; sort -n -S1M -o a a; cmp a b; cmp a ascending'
gives 0 'cp big a; sort -n -S1M -T /no/such -o a a || cmp a big'
says 'cannot create temporary file'
gives 2 'mkfifo p; sort -o made p & exec 3>p; mkdir made; echo x >&3; exec 3>&-; wait $!'
says '^sort: write failed: made: Is a directory$'
gives 0 'cp many one; before=$(stat -c %i one); sort -n -o one one; test "$before" != "$(stat -c %i one)"'
cd ..

# Random options on random data.
python3 "$src/tests/cli/gnu_sort_random.py" "$sort" "${GPUSORT_GNU_CASES:-300}" "${GPUSORT_GNU_SEED:-1}" >random.log ||
  fail "$(cat random.log)"
nothing_left
echo "gnu_sort: $cases cases as GNU sort"
