# Outputs: which file gets the name, owner and rights, which outputs are written in place, and outputs that are inputs,
# too. Tests gpusort, and the same program under the name sort.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
mkdir fast
ln -s "$bin/gpusort" fast/sort
f=$work/fast/sort
export LC_ALL=C TMPDIR=$work
skip() { echo "SKIPPED: $*"; }
root() { [ "$(id -u)" = 0 ]; }
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env -u TMPDIR "$@"; }
access() { stat -c '%u:%g:%a' "$1"; }
seq -w 50000 | tac >in.txt
tac in.txt >want.txt

# Standard output is also an input: everything is read before the first byte is written. After a shorter output the old
# bytes stay, as with sort.
seq -w 400000 >sorted.txt
for options in -m '' -u '-m --top 1000' '--header 1' --debug; do
  expect 0 "$g" $options --memory 4M -o plain.out sorted.txt sorted.txt
  bytes=$(stat -c %s plain.out)
  for output in - /dev/stdout /proc/self/fd/7; do
    [ "$options$output" != --debug/proc/self/fd/7 ] || continue
    cp sorted.txt same.txt
    expect 0 "$g" $options --memory 4M -o $output same.txt same.txt 1<>same.txt 7<>same.txt
    cmp -s -n "$bytes" plain.out same.txt || fail "$options: an input that is $output was destroyed"
  done
done
cp sorted.txt same.txt
expect 0 "$g" --memory 4M -m -o - - <same.txt 1<>same.txt
same sorted.txt same.txt
"$bin/gpusort_gen" --type u64 --bytes 12M --seed 3 in.u64
expect 0 "$g" --type u64 in.u64 want.u64
for order in in.u64 want.u64; do
  cp $order same.u64
  expect 0 "$g" --type u64 --memory 4M same.u64 - 1<>same.u64
  same want.u64 same.u64
done
gzip -c in.txt >same.gz
expect 0 "$g" --compress gz same.gz - 1<>same.gz
head -c "$(stat -c %s want.txt)" <(zcat same.gz 2>/dev/null) | cmp - want.txt || fail "a compressed input was destroyed"
cp sorted.txt same.txt
expect 0 "$f" -S1M -m -o plain.out sorted.txt sorted.txt
expect 0 "$f" -S1M -m same.txt same.txt 1<>same.txt
same plain.out same.txt

# The name of a descriptor means that descriptor at its current position.
printf 'b\na\n' >two.txt
(cd "$work"; { "$g" two.txt /dev/stdout; echo tail; } >f1.out 2>err)
printf 'a\nb\ntail\n' | cmp - f1.out || fail "/dev/stdout was not written where it stood: $(cat f1.out)"
{ echo head; "$g" two.txt /dev/fd/3; echo tail; } 3>f2.out >&3 2>/dev/null
printf 'head\na\nb\ntail\n' | cmp - f2.out || fail "/dev/fd/3: $(cat f2.out)"
echo old >f3.out
"$g" two.txt /proc/self/fd/3 3>>f3.out 2>/dev/null
printf 'old\na\nb\n' | cmp - f3.out || fail "a descriptor that appends: $(cat f3.out)"
ln -s /dev/stdout link.out
"$g" two.txt link.out >f4.out 2>/dev/null
printf 'a\nb\n' | cmp - f4.out || fail "a link to /dev/stdout: $(cat f4.out)"
exec 3<>gone.out
rm gone.out
"$g" two.txt /dev/fd/3 2>/dev/null
printf 'a\nb\n' | cmp - /proc/self/fd/3 || fail "a file without a name was not written"
[ -z "$(find . -name '*deleted*')" ] || fail "$(find . -name '*deleted*') was made"
exec 3>&-
expect 2 "$g" two.txt /dev/fd/9
expect 2 "$g" two.txt /dev/fd/3 3<two.txt
says 'reading only'
expect 2 "$g" two.txt - 1<two.txt
[ "$(cat two.txt)" = "$(printf 'b\na')" ] || fail "a descriptor for reading was written"

# Changes of rights during the job stay. Each program makes the output before it opens the input.
mkfifo pipe
for program in "$g" "$f"; do
  echo old >kept
  chmod 664 kept
  "$program" -o kept pipe &
  exec 9>pipe
  chmod 600 kept
  ! root || chown 1234:2345 kept
  cat in.txt >&9
  exec 9>&-
  wait $! || fail "$program failed"
  same want.txt kept
  [ "$(stat -c %a kept)" = 600 ] || fail "$program: chmod of the output was undone: $(access kept)"
  ! root || [ "$(access kept)" = 1234:2345:600 ] || fail "$program: chown of the output was undone: $(access kept)"
  # A removed output comes back with the rights it had. An output that another user makes meanwhile gets that user's
  # rights.
  ! root || chown 0:0 kept
  chmod 640 kept
  "$program" -o kept pipe &
  exec 9>pipe
  rm kept
  exec 9>&-
  wait $! || fail "$program failed"
  [ "$(stat -c %a kept)" = 640 ] || fail "$program: an output that was removed came back as $(access kept)"
  rm kept
  "$program" -o kept pipe &
  exec 9>pipe
  (umask 077; echo other >kept)
  exec 9>&-
  wait $! || fail "$program failed"
  [ "$(stat -c %a kept)" = 600 ] || fail "$program: an output that another made meanwhile is $(access kept)"
done

# ACLs: those of the old file, and those that a folder gives to a new file.
if setfacl -m u:65534:rw,g::---,m::rw two.txt 2>/dev/null; then
  for program in "$g" "$f"; do
    echo old >acl.out
    setfacl -m u:65534:rw,g::---,m::rw acl.out
    getfacl -cn acl.out >acl.want
    expect 0 "$program" -o acl.out in.txt
    same want.txt acl.out
    getfacl -cn acl.out | cmp - acl.want || fail "$program: the output's ACL is $(getfacl -cn acl.out | xargs)"
    for acl in u::rwx,g::r-x,o::--- u::rwx,u:65534:rwx,g::---,m::rwx,o::--- u::r-x,u:65534:rw-,g:2345:rwx,g::rwx,m::r--,o::-wx; do
      rm -rf given
      mkdir given
      setfacl -d --set $acl given
      touch given/want
      expect 0 "$program" -o given/out in.txt
      getfacl -cn given/out | cmp - <(getfacl -cn given/want) ||
        fail "$program: under the default ACL $acl the output has $(getfacl -cn given/out | xargs), a new file $(getfacl -cn given/want | xargs)"
      # The old file has fewer rights than the folder gives.
      setfacl -b given/want
      chmod 600 given/want
      expect 0 "$program" -o given/want in.txt
      [ "$(getfacl -cn given/want | xargs)" = "user::rw- group::--- other::---" ] || fail "$program widened an ACL: $(getfacl -cn given/want | xargs)"
    done
  done
else
  skip "no setfacl, or a file system without ACLs: ACLs of outputs"
fi

# Extended attributes, set-ID bits and owner of the old file are kept, in either way of writing. A warning names those
# that are lost.
cat >attributes.py <<'PY'
import os, sys
name, *texts = sys.argv[1:]
for text in texts:
    key, value = text.split("=", 1)
    os.setxattr(name, key, os.fsencode(value))
print(sorted((key, os.getxattr(name, key)) for key in os.listxattr(name) if not key.startswith("system.")))
PY
echo old >attr.out
if python3 -I attributes.py attr.out user.origin=plant user.empty= $'user.\xff\n=\xfe' >attr.want 2>/dev/null; then
  chmod 4750 attr.out
  ! root || { chown 1234:2345 attr.out && chmod 6750 attr.out; }
  access attr.out >access.want
  for options in '' '--verify-output --stats stats' '--resume-dir attr.kept'; do
    expect 0 "$g" $options -o attr.out in.txt
    same want.txt attr.out
    [ ! -s err ] || fail "$options said: $(cat err)"
    python3 -I attributes.py attr.out | cmp - attr.want || fail "$options: attributes are $(python3 -I attributes.py attr.out)"
    access attr.out | cmp - access.want || fail "$options: the output is $(access attr.out)"
  done
  printf 'id\n2\n1\n' >attr.csv
  echo old >attr-0.csv
  python3 -I attributes.py attr-0.csv user.part=0 >attr.want
  expect 0 "$g" --split 1 -k id:int attr.csv attr
  python3 -I attributes.py attr-0.csv | cmp - attr.want || fail "a part's attributes are $(python3 -I attributes.py attr-0.csv)"
  rm -f attr-0.csv
  # Under the name sort the output is written in place, as by GNU sort, so everything is kept.
  echo old >attr.out
  python3 -I attributes.py attr.out user.origin=plant >attr.want
  expect 0 "$f" -o attr.out in.txt
  python3 -I attributes.py attr.out | cmp - attr.want || fail "sort: attributes are $(python3 -I attributes.py attr.out)"
  if python3 -I attributes.py attr.out trusted.mark=x >/dev/null 2>&1; then
    expect 0 "$g" --stats stats -o attr.out in.txt
    says '^gpusort: warning: .*attr.out has not got all that the old file had: trusted.mark: only user.\* and security'
    grep -q 'trusted.mark' stats || fail "the statistics do not name what was lost"
  else
    skip "needs root: attributes that are not kept"
  fi
  rm -f attr.* attr-* access.want stats
else
  skip "a file system without extended attributes: those of outputs"
fi

# A file with another user's group or owner, or in a folder where nothing can be replaced, is written in place after all
# input is read.
if root && as_nobody true 2>/dev/null; then
  chmod 755 .
  mkdir open
  chmod 777 open
  in_place() {  # in_place FILE COMMAND...: the same file afterwards, with the same owner and rights
    local file=$1 before after
    shift
    cp "$work/want.txt" "$file.was"
    before=$(stat -c '%i:%u:%g:%a' "$file")
    expect 0 "$@"
    after=$(stat -c '%i:%u:%g:%a' "$file")
    [ "$before" = "$after" ] || fail "$*: $before is now $after"
    same want.txt "$file"
    rm "$file.was"
  }
  for program in "$g" "$f"; do
    # A group that the user is not in, another user's file, a sticky folder, a folder that cannot be written to.
    for case in 65534:1:664 0:0:666 1:1:646; do
      IFS=: read -r user group mode <<<"$case"
      cat sorted.txt in.txt >open/out
      chown $user:$group open/out
      chmod $mode open/out
      in_place open/out as_nobody "$program" -o open/out in.txt
    done
    for mode in 1777 755; do
      chmod $mode open
      cp in.txt open/out
      chown 0:0 open/out
      chmod 666 open/out
      in_place open/out as_nobody "$program" -o open/out open/out
      cp sorted.txt open/out
      expect 2 as_nobody "$program" -o open/out in.txt no-such
      same sorted.txt open/out
    done
    chmod 777 open
  done
  expect 0 as_nobody "$g" -o open/out in.txt
  says 'written in place'
  # Inputs that are written in place, in every way of reading them.
  for options in '' -m '-u --verify-output' '-m --top 10 --no-fsync' '--header 1'; do
    cp sorted.txt open/out
    expect 0 as_nobody "$g" ${options% --*} --memory 4M -o - sorted.txt open/out >plain.out
    expect 0 as_nobody "$g" $options --memory 4M -o open/out sorted.txt open/out
    same plain.out open/out
  done
  cp sorted.txt open/out
  chmod 622 open/out
  expect 2 as_nobody "$g" --verify-output -o open/out in.txt
  same sorted.txt open/out
  expect 0 as_nobody "$g" -o open/out in.txt
  same want.txt open/out
  cp in.u64 open/out.u64
  chmod 666 open/out.u64
  expect 0 as_nobody "$g" --memory 4M --verify-output open/out.u64 open/out.u64
  same want.u64 open/out.u64
  echo old >open/out.gz
  chmod 666 open/out.gz
  expect 0 as_nobody "$g" --verify-output in.txt open/out.gz
  zcat open/out.gz | cmp - want.txt || fail "a compressed output in place"
  chmod 700 .
else
  skip "needs root and setpriv: outputs of other users"
fi

# Mount points, and files that can only be appended to.
if root && unshare -m true 2>/dev/null; then
  cat >mounted.sh <<'SCRIPT'
    mount --make-rprivate / && cp sorted.txt volume && touch out.mounted && mount --bind volume out.mounted || exit 77
    "$@" -o out.mounted in.txt && cmp want.txt volume &&
      cp in.txt volume && "$@" -o out.mounted out.mounted && cmp want.txt volume
SCRIPT
  for program in "$g" "$f"; do
    code=0
    unshare -m bash mounted.sh "$program" 2>err || code=$?
    [ $code != 77 ] || skip "mounts are not allowed here: outputs that are mount points"
    [ $code = 0 ] || [ $code = 77 ] || fail "$program: an output that is a mount point: exit $code ($(cat err))"
    rm -f out.mounted
  done
  # Too little room is found out before anything is written, also if the folder of the mount point is in memory.
  for name in out.mounted ram/out; do
    code=0
    unshare -m bash -c 'mkdir -p tiny ram && mount -t tmpfs -o size=64k tmpfs tiny && mount -t tmpfs tmpfs ram &&
      echo old >tiny/out && touch "$2" && mount --bind tiny/out "$2" || exit 77
      code=0; "$1" in.txt "$2" || code=$?; [ "$(cat tiny/out)" = old ] && exit $code' bash "$g" "$name" 2>err || code=$?
    [ $code = 5 ] || [ $code = 77 ] || fail "a full disk behind the mount point $name: exit $code ($(cat err))"
  done
else
  skip "needs root and unshare: outputs that are mount points"
fi
touch appended
if root && chattr +a appended 2>/dev/null; then
  trap 'chattr -a "$work"/appended "$work"/additions 2>/dev/null || true; rm -rf "$work"' EXIT
  expect 2 "$g" in.txt appended
  says 'EPERM'
  expect 2 "$f" -o appended in.txt
  says 'Operation not permitted'
  chattr -a appended
  mkdir additions
  echo old >additions/old
  chattr +a additions
  for program in "$g" "$f"; do
    for name in old new; do
      expect 0 "$program" -o additions/$name in.txt
      same want.txt additions/$name
    done
  done
  chattr -a additions
else
  skip "needs root and a file system with chattr +a"
fi

# Other users' links in a folder like /tmp are followed if the kernel follows them.
protected=/proc/sys/fs/protected_symlinks
if root && before=$(cat $protected) && echo 1 2>/dev/null >$protected && [ "$(cat $protected)" = 1 ]; then
  mkdir sticky far
  chown 1234 sticky
  chmod 1777 sticky
  echo old >far/there
  ln -s "$work/far/there" sticky/link
  ln -s "$work/far/missing" sticky/dangling
  chown -h 65534 sticky/link sticky/dangling
  code=0
  for program in "$g" "$f"; do
    for name in link dangling; do
      "$program" -o sticky/$name in.txt 2>err || code=$((code + $?))
    done
  done
  echo "$before" >$protected
  [ "$code" = 8 ] || fail "links of others were followed"
  [ "$(cat far/there)" = old ] && [ ! -e far/missing ] || fail "written through a link of others"
else
  skip "needs root and a writable $protected: links of other users"
fi

# Without O_TMPFILE the output has a hidden file. No signal that can be caught leaves that file.
if sanitized; then
  skip "sanitizers do not load after another library: signals where O_TMPFILE is missing"
else
  echo old >kept
  for program in "$g" "$f"; do
    for signal in HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 TERM STKFLT XCPU VTALRM PROF IO PWR SYS RTMIN RTMAX; do
      [ "$program $signal" != "$g USR1" ] || continue  # this signal asks for the progress
      (
        ulimit -c 0
        LD_PRELOAD="$bin/tests/libno_tmpfile.so" exec env --default-signal "$program" -o kept pipe 2>/dev/null
      ) &
      exec 9>pipe
      [ -n "$(find . -maxdepth 1 -name '.gpusort-*')" ] || fail "$program: no hidden output where O_TMPFILE is missing"
      kill -$signal $!
      code=0
      wait $! 2>/dev/null || code=$?
      exec 9>&-
      [ $code -gt 128 ] || fail "$program: exit $code by SIG$signal"
      nothing_left
    done
  done
  [ "$(cat kept)" = old ] || fail "a job that was killed changed its output"
fi
nothing_left
echo "output: ok"
