# Folders that others can write to. Another user has planted a link, a pipe or a hard link under a name that gpusort
# makes. gpusort must never follow it, wait for it, or write to it. Others must not be able to read a job's files while
# it runs. GPUSORT_SLOW=1 plants each kind everywhere.
. "$2/tests/cli/common.sh.inc"
g=(timeout -s KILL 600 "$bin/gpusort" --device cpu)
slow=${GPUSORT_SLOW:-0}
export LC_ALL=C
skip() { echo "SKIPPED: $*"; }
chmod 755 .
mkdir shared mine
chmod 1777 shared
"$bin/gpusort_gen" --type i32 --count 20000 --seed 1 in.bin
"${g[@]}" in.bin want.bin
printf 'id\n3\n1\n2\n' >in.csv
echo secret >mine/victim
chmod 600 mine/victim
untouched() {  # untouched WHAT
  [ "$(cat mine/victim)" = secret ] && [ "$(stat -c %a mine/victim)" = 600 ] || fail "$1: a file behind what was planted was changed"
  [ -z "$(ls -A mine/far 2>/dev/null)" ] || fail "$1: made in a folder behind what was planted: $(ls -A mine/far)"
  rm -rf mine/*
  echo secret >mine/victim
  chmod 600 mine/victim
}
other() { if [ "$(id -u)" = 0 ]; then chown -h 65534:65534 "$@"; fi; }
plant() {  # plant KIND NAME
  case $1 in
    link) ln -s "$work/mine/victim" "$2" ;;
    dangling) ln -s "$work/mine/new" "$2" ;;
    hard) ln mine/victim "$2" ;;
    far) mkdir -m 700 mine/far && ln -s "$work/mine/far" "$2" ;;
    fifo) mkfifo -m 666 "$2" ;;
    folder) mkdir -m 777 "$2" ;;
    file) : >"$2" && chmod 666 "$2" ;;
  esac
  case $1 in hard) ;; *) other "$2" ;; esac
}
kinds=(link dangling hard fifo folder file)
[ "$slow" != 0 ] || kinds=(link hard fifo)

# A resumable job: its folder, and each name in it. Exit code 2: refused; 0: the planted file was put aside and not
# used.
refused() {  # refused WHAT COMMAND...
  local what=$1 code=0
  shift
  "$@" 2>err || code=$?
  case $code in
    0) same want.bin "${@: -1}" ;;
    2 | 4 | 5 | 8) [ -s err ] || fail "$what: exit $code without a word" ;;
    *) fail "$what: exit $code ($(cat err))" ;;
  esac
  rm -f out.bin
  untouched "$what"
}
for kind in "${kinds[@]}" far; do
  plant $kind shared/job
  refused "--resume-dir is a $kind" "${g[@]}" --resume-dir shared/job --memory 4M in.bin out.bin
  [ -e shared/job ] || [ -L shared/job ] || fail "--resume-dir that is another's $kind was removed"
  rm -rf shared/job
done
# A job reports the names that it makes.
"$bin/gpusort_gen" --type i32 --bytes 8M --seed 2 large.bin
"$bin/gpusort" --resume-dir shared/job --memory 4M large.bin mine/large.out 2>err & job=$!
while kill -0 $job 2>/dev/null && [ ! -s shared/job/gpusort.runs ]; do sleep 0.01; done
kill -TERM $job 2>/dev/null || true
code=0
wait $job || code=$?
[ $code = 75 ] || [ $code = 0 ] || fail "exit $code"
names=$(ls -A shared/job 2>/dev/null || true)
[[ $code = 0 || $names = *manifest* ]] || fail "what is kept: $names"
# No other user can read the kept files or the folder.
if [ $code = 75 ]; then
  [ "$(stat -c %a shared/job)" = 700 ] || fail "--resume-dir has mode $(stat -c %a shared/job)"
  for name in $names; do [ "$(stat -c %a "shared/job/$name")" = 600 ] || fail "$name has mode $(stat -c %a "shared/job/$name")"; done
fi
rm -rf shared/job mine/.gpusort* mine/large.out
for name in ${names:-gpusort.lock gpusort.manifest gpusort.runs}; do
  for kind in "${kinds[@]}"; do
    mkdir -m 700 shared/job
    plant $kind "shared/job/$name"
    refused "$name in --resume-dir is a $kind" "${g[@]}" --resume-dir shared/job --memory 4M in.bin out.bin
    rm -rf shared/job
  done
done
# A folder that others can write to is refused, and so is a folder of another user.
mkdir -m 777 shared/job
expect 2 "${g[@]}" --resume-dir shared/job in.bin out.bin
rmdir shared/job
if [ "$(id -u)" = 0 ]; then
  mkdir -m 700 shared/job
  other shared/job
  expect 2 "${g[@]}" --resume-dir shared/job in.bin out.bin
  rmdir shared/job
fi

# Tasks: their folder, each name in it, the folder of an output, and the pieces of runs. DIR is writable for this user
# alone.
task=(timeout -s KILL 600 "$bin/gpusort_task")
"${task[@]}" runs --slice 0/1 --into mine.dir --type i32 in.bin
"${task[@]}" cut --parts 1 mine.dir
mkdir -m 777 shared/open
ln -s "$work/mine/victim" shared/open/run-00000
expect 2 "${task[@]}" runs --slice 0/1 --into shared/open --type i32 in.bin
says 'others can write to it'
untouched "a folder of tasks that others can write"
rm -r shared/open
for kind in "${kinds[@]}" far; do
  plant $kind shared/job
  refused "--into is a $kind" "${task[@]}" runs --slice 0/1 --into shared/job --type i32 in.bin
  rm -rf shared/job
done
for name in job.json run-00000 run-00000.json run-00000.fences cut-1.json cut-1.begins part-00000-of-00001.json; do
  for kind in "${kinds[@]}"; do
    cp -rp mine.dir shared/job
    rm -f "shared/job/$name"
    plant $kind "shared/job/$name"
    stage=(cut --parts 1 shared/job)
    case $name in run*) stage=(runs --slice 0/1 --into shared/job --type i32 in.bin) ;; part*) stage=(part --part 0/1 shared/job mine/out) ;; esac
    code=0
    "${task[@]}" "${stage[@]}" 2>err || code=$?
    case $code in 0 | 2 | 4 | 8) ;; *) fail "$name is a $kind: exit $code ($(cat err))" ;; esac
    untouched "$name of a job of tasks is a $kind"
    rm -rf shared/job mine/.gpusort-*
  done
done
# The name of the hidden file next to the output is unpredictable: two jobs with the same command use two names.
rm -rf other.dir
"${task[@]}" runs --slice 0/1 --into other.dir --type i32 in.bin
"${task[@]}" cut --parts 1 other.dir
for dir in mine.dir other.dir; do "${task[@]}" part --part 0/1 $dir shared/out.bin; done
[ "$(find shared -name '.gpusort-*.parts' | wc -l)" = 2 ] || fail "two jobs of the same command share a hidden name"
[ -z "$(find shared -name '.gpusort-*.parts' ! -perm 600)" ] || fail "others can read the hidden output"
"${task[@]}" prove --parts 1 other.dir shared/out.bin
same shared/out.bin want.bin
rm -rf shared/.gpusort-* shared/out.bin other.dir mine.dir/part-*
# OUTPUT as a folder.
mkdir -m 777 shared/parts
ln -s "$work/mine/victim" shared/parts/part-00000-of-00001
expect 2 "${task[@]}" part --part 0/1 mine.dir shared/parts/
says 'others can write to it'
chmod 755 shared/parts
expect 2 "${task[@]}" part --part 0/1 mine.dir shared/parts/
says 'it is no file of this user'
untouched "a part's name is a link"
rm shared/parts/*
(umask 002 && "${task[@]}" part --part 0/1 mine.dir shared/parts/ && "${task[@]}" prove --parts 1 mine.dir shared/parts/) || fail "tasks with umask 002"
same shared/parts/part-00000-of-00001 want.bin
rm -rf shared/parts mine.dir

# Outputs, parts and their manifest: links are not followed, a hard link keeps its content, and a file of another user
# is not written, because that user could read it.
for kind in "${kinds[@]}"; do
  plant $kind shared/out.bin
  refused "the output is a $kind" "${g[@]}" in.bin shared/out.bin
  if [ "$(id -u)" = 0 ] && [ $kind != hard ]; then
    [ ! -s err ] || says 'in a folder that all can write\|is a directory'
    [ "$(stat -c %u shared/out.bin)" = 65534 ] || fail "the output that is another's $kind was replaced"
  fi
  rm -rf shared/out.bin
  for part in shared/p-0.csv shared/p.manifest.json; do
    plant $kind $part
    code=0
    "${g[@]}" --split 2 -k id:int in.csv shared/p 2>err || code=$?
    [ $code = 0 ] || [ $code = 2 ] || fail "--split where $part is a $kind: exit $code ($(cat err))"
    untouched "--split where $part is a $kind"
    rm -rf shared/p*
  done
done

# Temp folders and hidden outputs, with O_TMPFILE and without: every file is newly made, for this user alone, whatever
# the umask is. Another user can open none of the files while the job runs.
umask 000
preloads=('')
sanitized() { grep -qa -e __asan_init -e __tsan_init "$bin/gpusort"; }
if sanitized; then skip "sanitizers do not load after another library: folders without O_TMPFILE"
else preloads+=("$bin/tests/libno_tmpfile.so"); fi
opened() { find -L /proc/$job/fd -mindepth 1 -maxdepth 1 2>/dev/null -exec readlink {} + | grep -c "^$work/shared" || true; }
mkfifo pipe
mkdir -m 1777 shared/temp shared/out
for preload in "${preloads[@]}"; do
  for options in '' '--resume-dir shared/job --keep-resume-dir' '--split 2'; do
    input=pipe
    [[ $options != *resume* ]] || input=large.bin
    # Wait until the job stands still with its files open. A job that does not wait for a pipe may have ended before
    # that.
    for ((try = 1; ; ++try)); do
      LD_PRELOAD=$preload "$bin/gpusort" --type i32 $options --memory 4M --temp-dir shared/temp $input shared/out/o.bin 2>err & job=$!
      [ $input != pipe ] || { exec 9>pipe; head -c 7M large.bin >&9; }
      while kill -0 $job 2>/dev/null && [ "$(opened)" -lt 2 ]; do :; done
      stand_still $job || true
      [ "$(opened)" -lt 2 ] || break
      kill -CONT $job 2>/dev/null || true
      [ $input != pipe ] || exec 9>&-
      wait $job || fail "exit $? ($(cat err))"
      [ $try -lt 50 ] || fail "no file of the job was seen: $options"
      rm -rf shared/job shared/out/* shared/temp/*
    done
    for fd in /proc/$job/fd/*; do
      target=$(readlink "$fd" 2>/dev/null || true)
      case $target in "$work"/shared/*) [ ! -d "$fd" ] || continue ;; *) continue ;; esac
      case $(stat -L -c %a "$fd") in 600) ;; *) fail "$target has mode $(stat -L -c %a "$fd") while the job runs" ;; esac
    done
    find shared -mindepth 1 -type f >files
    while read -r file; do
      [ "$(stat -c %a "$file")" = 600 ] || fail "$file has mode $(stat -c %a "$file") while the job runs"
      if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups cat "$file" >/dev/null 2>&1; then
        fail "another user read $file"
      fi
    done <files
    kill -CONT $job
    [ $input != pipe ] || exec 9>&-
    wait $job || fail "exit $? ($(cat err))"
    [ -n "$options" ] || [ "$(stat -c %a shared/out/o.bin)" = 666 ] || fail "the output has not the umask's mode"
    rm -rf shared/job shared/out/* shared/temp/*
  done
done
umask 022

# Reports are checked before any work. A job does not wait after its work for a user's own pipe that has no reader.
for option in --stats --log-file --trace --report; do
  for kind in "${kinds[@]}"; do
    plant $kind shared/report
    if [ "$(id -u)" = 0 ] || [ $kind = hard ]; then
      expect 2 "${g[@]}" $option shared/report in.bin out.bin
      [ ! -e out.bin ] || fail "the job ran before $option was refused"
      untouched "$option is a $kind"
    fi
    rm -rf shared/report
  done
  mkfifo mine/report
  code=0
  "${g[@]}" $option mine/report in.bin out.bin 2>err || code=$?
  [ $code = 2 ] || [ $code = 4 ] || fail "$option: exit $code with a pipe that nobody reads"
  grep -q 'ENXIO\|No such device' err || fail "$option: $(cat err)"
  cat mine/report >read & reader=$!
  expect 0 "${g[@]}" $option mine/report in.bin out.bin
  wait $reader
  [ -s read ] || fail "$option wrote nothing into a pipe"
  rm -f mine/report out.bin
  # A user's own file and own link are accepted as in any other folder.
  expect 0 "${g[@]}" $option shared/report in.bin out.bin
  ln -s report shared/link
  expect 0 "${g[@]}" $option shared/link in.bin out.bin
  rm -f shared/report shared/link out.bin
done
echo "planted: ok"
