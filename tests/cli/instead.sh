# Runs the pairs of commands of the page gpusort-instead, and compares their results.
. "$2/tests/cli/common.sh.inc"
export LC_ALL=C
for program in sort uniq comm grep awk join shuf; do
  command -v $program >/dev/null || { echo "NOT TESTED: there is no $program"; exit 77; }
done
mkdir bin
ln -s "$bin/gpusort" bin/gpusort
PATH=$PWD/bin:$PATH
seq 1 3000 | awk '{ print "w" $1 * $1 % 397 % 151 }' >words.txt
seq 1 700 | awk '$1 % 3 { print "w" $1 }' | sort >one.txt
seq 1 700 | awk '$1 % 4 { print "w" $1 }' | sort >two.txt
{ echo name,amount; seq 1 500 | awk '{ print "n" $1 "," $1 * 7919 % 101 }'; } >table.csv
seq 1 2000 | awk '{ print "k" $1 * 7919 % 101 ":" $1 % 37 - 9 }' >list.txt
tr : '\t' <list.txt >rows.tsv
{ echo client,n; tr : , <list.txt; } >sales.csv
page=$src/src/cli/gpusort-instead.7.in
if command -v groff >/dev/null; then
  groff -man -Tutf8 -P-c -ww "$page" >read 2>err || fail "groff: $(cat err)"
  [ ! -s err ] || fail "groff warns: $(cat err)"
else
  echo "SKIPPED (no groff): the page as it is read"
fi
# Each pair is a line .I and a line .B.
sed -n '/^\.SH POSITIONS/q; s/^\.[IB] //p' "$page" | sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\e/\\\\/g" >commands
pairs=0
while read -r old && read -r new; do
  pairs=$((pairs + 1))
  case $new in gpusort\ *) ;; *) fail "no command of gpusort: $new" ;; esac
  bash -e -o pipefail -c "$new" >got 2>err || fail "$new: $(cat err)"
  case $old in
    terashuf*) sort words.txt | cmp - <(sort got) || fail "$new" ;;
    # The other commands may be missing. Their results are those of the pair with awk.
    datamash*) tr : '\t' <sums >want ;;
    sqlite3*) { echo client,n; tr : , <sums; } >want ;;
    shuf\ -n*) [ "$(wc -l <got)" = 100 ] && [ -z "$(sort got | comm -23 - <(sort words.txt))" ] || fail "$new" ;;
    *) bash -e -c "$old" >want 2>err || fail "$old: $(cat err)" ;;
  esac
  case $old in
    shuf\ -n* | terashuf*) ;;
    shuf*) cmp <(sort want) <(sort got) || fail "$new" ;;
    *) cmp want got || fail "$old differs from $new" ;;
  esac
  case $old in *'n[$1] +='*) cp want sums ;; esac
  for program in datamash sqlite3; do
    case $old in
      $program*)
        command -v $program >/dev/null || continue
        bash -e -o pipefail -c "$old" | tr -d '\r' | cmp - got || fail "$old differs from $new"
        ;;
    esac
  done
done <commands
[ "$pairs" = 20 ] || fail "$pairs pairs of commands"
echo "instead: ok"
