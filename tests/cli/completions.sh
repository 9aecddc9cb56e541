# labels: any_build
# Tests completion as shells do it: keys typed at prompts of bash, zsh and fish, and the function of bash alone.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort

printf 'id,name,"my name","a:b","say ""hi""",2020,dup,dup,"two\nlines"\n1,2,3,4,5,6,7,8,9\n' >table.csv
cp table.csv 'my table.csv'
gzip -k table.csv
printf 'eins;zwei\n' >semi.csv
mkfifo pipe.csv
ln -s /dev/zero zero.csv
mkdir folder
words() { local n=$1; shift; timeout 600 "$g" --completion=words "$n" gpusort "$@" | cut -f1 | tail -n +2 | tr '\n' '|'; }
is() { [ "$1" = "$2" ] || fail "'$1' instead of '$2'"; }

# Names of columns as keys; columns without a usable name by number. The columns are those of any input on the line, but
# never of a pipe.
is "$(words 4 table.csv out -k '')" 'id|name|my name|"a:b"|say "hi"|"2020"|#7|#8|#9|'
is "$(words 2 -k n table.csv out)" 'name|'
is "$(words 4 table.csv.gz out -k n)" 'name|'
is "$(words 4 table.csv out -k '"n')" '"name"|'
is "$(words 4 table.csv out -k '#1')" '#1|'
is "$(words 4 semi.csv out -k z)" ''
is "$(words 6 --delimiter ';' semi.csv out -k z)" 'zwei|'
is "$(words 5 --format csv - -k '')" ''
is "$(words 4 --no-header table.csv -k '')" ''
is "$(HOME=$work words 3 '~/table.csv' -k n)" 'name|'
for name in pipe.csv zero.csv folder missing.csv; do is "$(words 4 --format=csv $name -k '')" ''; done
head -c 3000000 /dev/zero | tr '\0' x >long.csv
is "$(words 3 long.csv -k '')" ''
# No typed text is an error.
for line in '' '-' '--' '--nonsense=' '-k' '--memory' '--format nonsense a.csv -k' '--type i32 --record-size 0 a -k'; do
  [ "$("$g" --completion=line "gpusort $line " "" ' =:' | head -n 1 | grep -Ec 'words|files|folders')" = 1 ] || fail "no answer to '$line'"
done
expect 2 "$g" --completion csh
says "'csh' is none of: bash, zsh, fish"

# The other programs complete from their own tables. The program accepts every word of a list.
of() { local tool=$1 n=$2; shift 2; timeout 600 "$bin/$tool" --completion=words "$n" "$tool" "$@" | cut -f1 | tr '\n' '|'; }
is "$(of gpusort_check 1 --re)" 'words|--record-size=|--reverse|'
is "$(of gpusort_check 2 --format pgcopy)" 'words|pgcopy|pgcopy-csv|pgcopy-binary|'
is "$(of gpusort_check 1 --format=j)" 'words|--format=jsonl|'
is "$(of gpusort_check 2 --against '')" 'files|'
is "$(of gpusort_check 3 --type u8 '')" 'files|'
is "$(of gpusort_check 2 --header '')" 'words|'
is "$(of gpusort_gen 2 --type orders-t)" 'words|orders-tsv|'
is "$(of gpusort_gen 1 --dist=n)" 'words|--dist=nearly-sorted|'
for word in $(of gpusort_gen 2 --type '' | tr '|' ' ' | sed 's/words//'); do
  case $word in
    record) more='--record-size 8 --bytes 64K' ;;
    *) more='--bytes 64K' ;;
  esac
  expect 0 "$bin/gpusort_gen" --type "$word" $more made
done
for word in $(of gpusort_gen 2 --dist '' | tr '|' ' ' | sed 's/words//'); do
  expect 0 "$bin/gpusort_gen" --type u8 --count 9 --dist "$word" made
done
for word in $(of gpusort_check 2 --type '' | tr '|' ' ' | sed 's/words//'); do
  expect 0 "$bin/gpusort_check" --type "$word" /dev/null >report
done
for word in $(of gpusort_check 2 --format '' | tr '|' ' ' | sed 's/words//'); do
  [ "$word" != parquet ] || continue  # needs pyarrow: check_parquet.sh
  got=0
  "$bin/gpusort_check" --format "$word" /dev/null >/dev/null 2>err || got=$?
  [ $got != 2 ] || fail "--format $word: $(cat err)"
done
for tool in gpusort_check gpusort_gen; do
  "$bin/$tool" --help | grep -Eo '^  (-., |    )--[a-z0-9-]+' | grep -o -- '--.*' | sort >help
  timeout 600 "$bin/$tool" --completion=words 1 $tool -- | cut -f1 | sed '1d; s/=$//' | sort | diff help - ||
    fail "$tool completes other options than its help has"
done
is "$(of gpusort_task 1 '')" 'words|scan|runs|cut|borders|part|prove|--help|--version|'
is "$(of gpusort_task 2 runs --sl)" 'words|--slice=|'
is "$(of gpusort_task 2 cut --sl)" 'words|'
is "$(of gpusort_task 2 cut --fe)" 'words|--fences-only|'
is "$(of gpusort_task 3 runs --into '')" 'folders|'
is "$(of gpusort_task 3 runs --slice '')" 'words|'
is "$(of gpusort_task 2 part --pieces=fo)" 'folders|'
is "$(of gpusort_task 8 runs --slice 0/4 --into d table.csv -k n)" 'words|name|'
is "$(of gpusort_task 5 part --part 0/2 --device c)" 'words|cpu|'
for command in scan runs cut borders part prove; do
  grep -q "gpusort_task $command " <("$bin/gpusort_task" --help) || fail "the help has no $command"
done

# The drivers for many machines have their own options, and gpusort answers for the rest.
driver() { local tool=$1; shift; timeout 600 "$src/tools/cluster/$tool" "$@" | cut -f1 | tr '\n' '|'; }
for at in '--completion=words 1 gpusort-ray --per' '--completion=words 5 gpusort-ray --slices 3 table.csv out --per'; do
  is "$(driver gpusort-ray $at)" 'words|--per-node=|'
done
is "$(driver gpusort-ray --completion=words 5 gpusort-ray --slices 3 --no-shared table.csv -k)" 'words|-k|'
is "$(driver gpusort-ray --completion=words 6 gpusort-ray --slices 3 --no-shared table.csv -k n)" 'words|name|'
is "$(driver gpusort-ray --completion=words 2 gpusort-ray --dir '')" 'folders|'
is "$(driver gpusort-ray --completion=words 1 gpusort-ray --task=)" 'files|'
is "$(driver gpusort-ray --completion=words 2 gpusort-ray --slices '')" 'words|'
is "$(driver gpusort-slurm --completion=words 1 gpusort-slurm --sta)" 'words|--stable|--stats=|--status|'
is "$(driver gpusort-slurm --completion=words 3 gpusort-slurm --wait table.csv '')" 'files|'
is "$(driver gpusort-slurm --completion=line 'gpusort-slurm --mem=4G --wait table.csv -k na' '' ' =:')" 'words|name|'
is "$(driver gpusort-slurm --completion=line 'gpusort-slurm --parti' '' ' =:')" 'words|--partition=|'
for tool in gpusort-ray gpusort-slurm; do
  "$src/tools/cluster/$tool" --help | grep -o -- '^  --[a-z-]*' | while read -r option; do
    [[ $(driver $tool --completion=words 1 $tool "$option") == *"|$option"* ]] || fail "$tool does not complete $option"
  done
done

for shell in bash zsh fish; do "$g" --completion $shell >script.$shell; done
# The scripts that the build installs.
cmp script.bash "$bin/gpusort.bash" && cmp script.zsh "$bin/_gpusort" && cmp script.fish "$bin/gpusort.fish" || fail "other scripts are installed"

# Types keys at a prompt where `show` is completed as gpusort is. Prints the arguments of `show`, one line for each
# command.
cat >type.py <<'PY'
import os, pty, re, select, sys, time
shell, setup = sys.argv[1], sys.argv[2]
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", PS1="", PS2="", LC_ALL="C.UTF-8")
    os.execvp(shell, [shell] + {"bash": ["--norc", "--noprofile"], "zsh": ["-f"]}[shell])
said = b""
def wait_for(mark):
    global said
    end = time.monotonic() + 1200
    while mark not in said:
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]: sys.exit(f"no {mark} in {said}")
        said += os.read(fd, 65536)
os.write(fd, f". ./{setup}; echo re''ady\n".encode())
wait_for(b"ready\r\n")
for line in sys.stdin.read().splitlines():
    said = b""
    os.write(fd, b"show " + line.encode() + b"\t \n")
    wait_for(b"<END>")
    print(re.search(rb"(<.*)<END>", said).group(1).decode().replace("\x1b[K", ""))
os.write(fd, b"exit\n")
PY
typed() {
  cut -d@ -f1 lines | timeout 7200 python3 type.py "$1" "setup.$1" >got || fail "$1: $(cat got)"
  sed -i 's|/>|>|' got  # zsh removes the slash of a folder if a blank follows
  cut -d@ -f2 lines | diff - got || fail "$1 completes otherwise (<: what it should be)"
}
cat >lines.gpusort <<'END'
table.csv out -k nam@<table.csv><out><-k><name>
-k nam@<-k><nam>
table.csv -k my@<table.csv><-k><my name>
table.csv -k 'my@<table.csv><-k><my name>
table.csv -k "my@<table.csv><-k><my name>
table.csv --key=my@<table.csv><--key=my name>
table.csv -kmy@<table.csv><-kmy name>
my\ table.csv -k sa@<my table.csv><-k><say "hi">
'my table.csv' -k '"a:@<my table.csv><-k><"a:b">
table.csv -k \"a:@<table.csv><-k><"a:b">
table.csv -k name:times@<table.csv><-k><name:timestamp>
table.csv -k 'my name':timestamp:des@<table.csv><-k><my name:timestamp:desc>
--progress=al@<--progress=always>
--progress al@<--progress><always>
--no-cl@<--no-clobber>
--memo@<--memory=>
--temp-dir fol@<--temp-dir><folder>
--output=my@<--output=my table.csv>
--split 3 my@<--split><3><my table.csv>
END
cat >setup.bash <<END
. ./script.bash
show() { printf '<%s>' "\$@"; echo '<END>'; }
_show() { _gpusort '$g'; }
complete -F _show show
END
cp lines.gpusort lines
typed bash
# Types the commands with bash-completion, which loads the script by its name.
if [ -e /usr/share/bash-completion/bash_completion ]; then
  mkdir -p home/completions
  cp script.bash home/completions/gpusort
  cat >setup.bash <<END
BASH_COMPLETION_USER_DIR=$work/home
. /usr/share/bash-completion/bash_completion
_completion_loader gpusort
show() { printf '<%s>' "\$@"; echo '<END>'; }
_show() { _gpusort '$g'; }
complete -F _show show
END
  typed bash
else
  echo "SKIPPED (no bash-completion): completion beside it"
fi
# The other programs under their own names, found on PATH.
cat >lines.tools <<'END'
gpusort_check --format js@<--format><jsonl>
gpusort_check --agai@<--against=>
gpusort_gen --type=orders-j@<--type=orders-jsonl>
gpusort_task ru@<runs>
gpusort_task runs --into fol@<runs><--into><folder>
END
tools_typed() {
  local tool
  for tool in gpusort_check gpusort_gen gpusort_task; do
    sed -n "s/^$tool //p" lines.tools >lines
    tool_setup $tool >"setup.$1"
    typed "$1"
  done
}
tool_setup() {
  echo ". ./script.bash
show() { printf '<%s>' \"\$@\"; echo '<END>'; }
_show() { _gpusort '$bin/$1'; }
complete -p $1 >/dev/null || echo 'not registered'
complete -F _show show"
}
tools_typed bash
# The function of bash alone.
bash --norc -c '. ./script.bash
COMP_WORDBREAKS=" =:" COMP_LINE="gpusort --log-lev" COMP_POINT=17 COMP_WORDS=(gpusort --log-lev) COMP_CWORD=1
_gpusort "$0"; [ "${COMPREPLY[*]}" = "--log-level=" ]' "$g" || fail "bash: COMP_WORDS"

if command -v zsh >/dev/null; then
  cat >setup.zsh <<END
unsetopt prompt_cr prompt_sp
autoload -Uz compinit && compinit -u -D
. ./script.zsh
[[ \${_comps[gpusort]} == _gpusort ]] || echo "not registered"
show() { printf '<%s>' "\$@"; echo '<END>' }
_show() { words[1]=$g; _gpusort }
compdef _show show
END
  cp lines.gpusort lines
  typed zsh
  tool_setup() {
    echo "unsetopt prompt_cr prompt_sp
autoload -Uz compinit && compinit -u -D
. ./script.zsh
[[ \${_comps[$1]} == _gpusort ]] || echo 'not registered'
show() { printf '<%s>' \"\$@\"; echo '<END>' }
_show() { words[1]=$bin/$1; _gpusort }
compdef _show show"
  }
  tools_typed zsh
else
  echo "SKIPPED (no zsh): completion in zsh"
fi

if command -v fish >/dev/null; then
  mkdir -p bin
  ln -s "$bin"/gpusort{,_task,_gen,_check} bin/
  # Prints the candidates for a line. Quoting is done by fish.
  offered() { env HOME="$work" PATH="$work/bin:$PATH" fish --no-config -c 'source script.fish; complete -C $argv[1]' "$1" | cut -f1 | tr '\n' '|'; }
  is "$(offered 'gpusort table.csv out -k my')" 'my name|'
  is "$(offered "gpusort 'my table.csv' -k 'my")" 'my name|'
  is "$(offered 'gpusort my\ table.csv --key=my')" '--key=my name|'
  is "$(offered 'gpusort table.csv -k \"a')" '"a:b"|'
  is "$(offered 'gpusort table.csv -k name:times')" 'name:timestamp|'
  is "$(offered 'gpusort --progress al')" 'always|'
  is "$(offered 'gpusort --log-lev')" '--log-level=|'
  is "$(offered './bin/gpusort --temp-dir fol')" 'folder/|'
  is "$(offered 'gpusort --output=my')" '--output=my table.csv|'
  is "$(offered 'gpusort --split 3 my')" 'my table.csv|'
  is "$(offered 'gpusort --top 1')" ''
  is "$(offered 'gpusort_check --format js')" 'jsonl|'
  is "$(offered 'gpusort_gen --type=orders-j')" '--type=orders-jsonl|'
  is "$(offered 'gpusort_task ru')" 'runs|'
  is "$(offered 'gpusort_task runs --into fol')" 'folder/|'
else
  echo "SKIPPED (no fish): completion in fish"
fi
