# labels: any_build brief
# Sorts the samples of data/ with the commands of its README: in one batch, and in many runs and several levels.
. "$2/tests/cli/common.sh.inc"
data=$src/data
sample() {  # EXPECTED INPUT OPTIONS...
  local want=$data/$1 input=$data/$2 plan
  shift 2
  for plan in '' '--batch-size 1000' '--batch-size 500 --fan-in 2 --memory 4M --threads 1'; do
    # shellcheck disable=SC2086  # the words of a plan
    expect 0 "$bin/gpusort" $plan "$@" "$input" "out.${input##*.}"
    same "$want" "out.${input##*.}"
  done
}
sample random.sorted.bin random.bin
sample special.sorted.f64 special.f64
sample gensort.sorted.dat gensort.dat --record-size 100 --key 0:bytes10
sample composite.sorted.dat composite.dat --record-size 32 --key 8:i64:desc --key 0:u32be
sample composite.unique.dat composite.dat --record-size 32 --key 8:i64:desc --key 0:u32be --unique
nothing_left
echo "samples: ok"
