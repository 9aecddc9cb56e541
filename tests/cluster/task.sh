#!/usr/bin/env bash
# gpusort_task: any number of slices and parts gives one gpusort's bytes, in one file and in a folder of parts.
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

# Of a format: options for keys that mostly differ, for keys that are equal, for about five keys; lines of the header.
u64=(--type=u64 '' '' 0)
gensort=('--record-size=100 --key=0:bytes10' '--record-size=100 --key=10:bytes2' '--record-size=100 --key=39:bytes1' 0)
log=(-s '-s -k2,2' '-s -k9,9' 0)
csv=('--format=csv -k created_at:timestamp:desc -k id:int' '--format=csv -k note' '--format=csv -k state' 1)
# One record, and so few that slices have none.
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

# job SLICES PARTS INPUT LINES OPTION...: into one file, and a folder if there are three parts.
job() {
  local slices=$1 parts=$2 input=$3 lines=$4 k
  shift 4
  if [ ! -e "dir/run-$(printf %05d $((slices - 1))).json" ]; then
    rm -rf dir
    for k in $(seq $((slices - 1)) -1 0); do
      "$t" runs --slice "$k/$slices" --into dir "${quick[@]}" "$@" "$input" || fail "slice $k/$slices of $input: $*"
    done
  fi
  "$t" cut --parts "$parts" dir || fail "cut into $parts: $input $*"
  for k in $(seq 0 $((parts - 1))); do
    "$t" part --part "$k/$parts" "${quick[@]}" dir got || fail "part $k/$parts of $input: $*"
  done
  "$t" prove --parts "$parts" dir got || fail "prove $parts: $input $*"
  cmp got want || fail "$slices slices, $parts parts of $input: $*"
  [ "$parts" = 3 ] || return 0
  rm -f dir/part-*
  mkdir -p folder
  for k in 2 0 1; do
    "$t" part --part "$k/3" "${quick[@]}" dir folder/ || fail "part file $k of $input: $*"
  done
  "$t" prove --parts 3 dir folder/ || fail "prove a folder: $input $*"
  { head -n "$lines" folder/part-00000-of-00003; for k in folder/part-*; do tail -n "+$((lines + 1))" "$k"; done; } >got
  cmp got want || fail "$slices slices, part files of $input: $*"
  rm -r folder
}

number=0 jobs=0
for format in u64 gensort log csv; do
  declare -n of=$format
  for shape in uniform equal sorted five empty one; do
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
    esac
    # shellcheck disable=SC2086
    "$bin/gpusort" $options "$input" want
    rm -rf dir
    number=$((number + 1)) pair=0
    for slices in 1 2 7 16; do
      for parts in 1 3 64; do
        pair=$((pair + 1))
        if few && ((number * 5 % 12 + 1 != pair)); then continue; fi
        # shellcheck disable=SC2086
        job $slices $parts "$input" "${of[3]}" $options
        jobs=$((jobs + 1))
      done
    done
  done
done
rm -rf got want dir
nothing_left
echo "task: $jobs jobs are one gpusort's bytes"
