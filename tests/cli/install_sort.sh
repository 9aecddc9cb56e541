# Tests --install-sort: the link is GNU sort, what PATH finds is said truly, and nothing of other people is replaced.
. "$2/tests/cli/common.sh.inc"
unset LANG LANGUAGE LC_COLLATE LC_CTYPE LC_MESSAGES POSIXLY_CORRECT _POSIX2_VERSION
export LC_ALL=C
mkdir programs other
cp "$bin/gpusort" programs/gpusort
g=$work/programs/gpusort
old=$PATH
printf '2\n10\n1\n' >numbers
printf '1\n10\n2\n' >want

# A folder that is not in PATH.
expect 0 "$g" --install-sort 'new/my folder/' >said
[ "$(readlink 'new/my folder/sort')" = "$g" ] || fail "the link is $(ls -l new/*)"
cat >expected <<END
'$work/new/my folder/sort' is a link to '$g', which is GNU sort under this name
sort is still '$(command -v sort)': in PATH, '$work/new/my folder' is missing
  for one command:  PATH='$work/new/my folder':\$PATH COMMAND
  for all commands: export PATH='$work/new/my folder':\$PATH, in ~/.profile
to undo it: rm '$work/new/my folder/sort'
END
same expected said
# Both commands that it prints do what it says.
(eval "$(sed -n 's/^  for one command:  //; s/COMMAND$/sort numbers/p' said)") >got
same want got
(eval "$(sed -n 's/^  for all commands: //; s/, in .*//p' said)"; sort --version) | grep -q gpusort || fail "PATH does not find the link"
eval "$(sed -n 's/^to undo it: //p' said)"
[ ! -e 'new/my folder/sort' ] || fail "the link is still there"

# A folder that comes first in PATH, last in PATH, and twice the same command.
for path in "$work/first:$old" "$old:$work/first"; do
  for _ in 1 2; do PATH=$path expect 0 "$g" --install-sort first >said; done
  if [ "$path" = "$work/first:$old" ]; then
    grep -q '^commands and scripts that run sort use it now' said || fail "first in PATH: $(cat said)"
    PATH=$path sort numbers >got
    same want got
  else
    grep -q "^sort is still '.*': in PATH, its folder comes before '$work/first'\$" said || fail "last in PATH: $(cat said)"
  fi
done
# The folder is the one that mkdir means, and PATH can name it.
mkdir -p real/deep/inner
ln -s deep/inner real/s
expect 0 "$g" --install-sort real/s/../x >said
[ -L real/deep/x/sort ] || fail "no link in the folder: $(cat said)"
expect 2 "$g" --install-sort co:lon
says 'PATH cannot name a folder with a colon'
PATH= expect 0 "$g" --install-sort first >said
grep -q '^sort is still no program: in PATH, ' said || fail "no PATH: $(cat said)"

# A link to a gpusort that is gone, or of another place, is replaced. Everything else stays.
for target in "$work/gone/bin/gpusort" "$bin/gpusort"; do
  ln -sfn "$target" other/sort
  expect 0 "$g" --install-sort other >said
  [ "$(readlink other/sort)" = "$g" ] || fail "the link is $(ls -l other)"
done
rm other/sort
refused() {
  expect 2 "$g" --install-sort other >said
  says "'$work/other/sort' exists and is not a link to gpusort: give another folder"
  [ ! -s said ] || fail "refused, and says: $(cat said)"
}
echo mine >other/sort
refused
[ "$(cat other/sort)" = mine ] || fail "a file was replaced"
ln -sf "$(command -v sort)" other/sort
refused
[ "$(readlink other/sort)" = "$(command -v sort)" ] || fail "a link to another program was replaced"
ln -sfn nowhere other/sort
refused
rm other/sort
mkdir other/sort
refused
rmdir other/sort
# Other errors, and words that have no meaning beside the option.
expect 4 "$g" --install-sort numbers
says '--install-sort: '
expect 4 "$g" --install-sort other >/dev/full
for words in '--install-sort other numbers' '-n --install-sort other' '--install-sort other --explain'; do
  expect 2 "$g" $words
  says 'takes no files and no other options'
done
expect 2 "$g" --install-sort
# A folder in which this user may not write, and one that this user may not make.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
  user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  chmod 755 "$work"
else
  user=()
fi
mkdir closed
chmod 555 closed
for folder in closed closed/new; do
  expect 2 "${user[@]}" "$g" --install-sort $folder
  says "--install-sort: '$work/closed/[a-z]*' cannot be made: Permission denied: give a folder in which you may write, such as ~/bin, or run"
done
chmod 755 closed
nothing_left
