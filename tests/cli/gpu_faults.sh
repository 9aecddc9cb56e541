# labels: nightly gpu serial
# Faults of real GPUs: kernels that never end or write to invalid addresses, wrong bits, other programs that take the
# memory or the time, clients of MPS that are killed. Each time the job ends within seconds, with the right bytes from
# the CPU and a warning, or with exit 7 or 8 if only the GPU was allowed. The old output stays, and the next job can use
# the GPU again. GPU_FAULTS_PART=N...: only these parts, of 0 to 7.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
trouble=$bin/tests/gpu_trouble
[ -x "$trouble" ] || trouble=$bin/gpu_trouble
version=$("$g" --version)
if [[ $version != *'backend: GPU '* ]]; then
  echo "SKIPPED: gpu_faults: ${version##*$'\n'}"
  exit 77
fi
[ -x "$trouble" ] || { echo "SKIPPED: gpu_faults: no gpu_trouble beside $g"; exit 77; }

part() { [ -z "${GPU_FAULTS_PART-}" ] || [[ " $GPU_FAULTS_PART " == *" $1 "* ]]; }
seconds() { awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $1 }"; }
# within SECONDS COMMAND...: runs the command; a process that does not end in time is a failure.
within() {
  local most=$1 code=0 begin=$EPOCHREALTIME
  shift
  timeout -k 5 "$most" "$@" || code=$?
  [ $code != 124 ] && [ $code != 137 ] || fail "not done after $most s: $*"
  took=$(seconds "$begin")
  return $code
}
sizes=(--gpu-memory 512M --memory 512M --batch-bytes 8M --threads 4)
plan=("${sizes[@]}" --gpu-timeout 5)
"$bin/gpusort_gen" --type u64 --bytes 96M --seed 3 in.u64
"$bin/gpusort_gen" --type web-log --bytes 48M --seed 4 in.log
"$bin/gpusort_gen" --type orders-csv --bytes 48M --seed 5 in.csv
columns=(-k created_at:timestamp:desc -k amount:decimal)
expect 0 "$g" --device cpu --type u64 in.u64 want.u64
expect 0 "$g" --device cpu in.log want.log
expect 0 "$g" --device cpu "${columns[@]}" in.csv want.csv
kinds=(u64 log csv)
args_of() {
  case $1 in
    u64) args=(--type u64) ;;
    log) args=() ;;
    csv) args=("${columns[@]}") ;;
  esac
  args+=("${plan[@]}" in."$1" out."$1")
}
# Checks that the GPU works, and that the faults before have left nothing.
well() {
  local begin=$EPOCHREALTIME
  rm -f out.u64
  expect 0 within 60 "$g" --device gpu --type u64 "${plan[@]}" in.u64 out.u64
  same want.u64 out.u64
  nothing_left
  echo "  the next job has the GPU: $(seconds "$begin") s"
}
echo "0: without faults"
for kind in "${kinds[@]}"; do
  args_of "$kind"
  expect 0 within 60 "$g" --device gpu "${args[@]}"
  same "want.$kind" "out.$kind"
done
well

# fault KIND N CODE TEXT [INPUT...]: with --device auto the CPU gives the same bytes, with --device gpu the job exits
# with CODE.
fault() {
  local what=$1 n=$2 code=$3 text=$4 kind got
  shift 4
  for kind in "$@"; do
    args_of "$kind"
    rm -f "out.$kind"
    got=0
    GPUSORT_FAULT_CUDA=$n:$what within 60 "$g" --stats stats "${args[@]}" 2>err || got=$?
    if [ $got = 7 ] && grep -q 'has not come back' err; then
      # Another call waits for the kernel inside the driver, and nothing can end that call.
      nothing_left
      echo "  NOTE: $n:$what $kind, auto: exit 7, $took s: $(tail -n 1 err)"
      continue
    fi
    [ $got = 0 ] || fail "exit $got: $n:$what, $kind: $(cat err)"
    same "want.$kind" "out.$kind"
    nothing_left
    if [ -s err ]; then
      says "$text"
      grep -q '"gpu": false' stats || fail "$n:$what, $kind: --stats does not say that the CPU did it"
      grep -q "$text" stats || fail "$n:$what, $kind: no note in --stats"
    fi
    echo "  $n:$what $kind, auto: exit 0, $took s: $(tail -n 1 err | cut -c 1-180)"
    echo old >"out.$kind"
    got=0
    GPUSORT_FAULT_CUDA=$n:$what within 60 "$g" --device gpu "${args[@]}" 2>err || got=$?
    if [ $got = 0 ]; then
      # The fault came too late, or the bit changed nothing.
      same "want.$kind" "out.$kind"
    else
      [[ $got == $code ]] || fail "exit $got instead of $code: $n:$what --device gpu, $kind: $(cat err)"
      [ "$(cat "out.$kind")" = old ] || fail "$n:$what changed the old output"
      grep -q 'has not come back' err || says "$text"
    fi
    nothing_left
    echo "  $n:$what $kind, gpu: exit $got, $took s"
  done
}

if part 1; then
  echo "1: kernels that never end"
  for n in 20 90 300; do fault hang $n 7 'gave no sign for 5 seconds (--gpu-timeout)' "${kinds[@]:0:n / 80 + 1}"; done
  fault hang 60 7 'gave no sign for 5 seconds (--gpu-timeout)' csv
  well
fi

if part 2; then
  echo "2: writes where nothing is"
  for n in 20 90 300; do fault illegal $n 7 'cudaErrorIllegalAddress' "${kinds[@]}"; done
  for n in 1 100; do fault sticky $n 7 'cudaErrorIllegalAddress' "${kinds[@]}"; done
  well
fi

if part 3; then
  echo "3: wrong bits"
  # A wrong number may also make a kernel run for ever, or use an invalid address.
  for n in 1 3 8 13 21 40; do fault flip $n '[78]' 'is suspect\|gave no sign\|cudaError' "${kinds[@]}"; done
  # Suspect runs are not kept, and the same command ends well.
  found=0
  for n in 5 9 13 17; do
    rm -rf d out.u64
    code=0
    GPUSORT_FAULT_CUDA=$n:flip within 60 "$g" --device gpu --type u64 "${plan[@]}" --resume-dir d in.u64 out.u64 2>err || code=$?
    if [ $code = 8 ]; then
      found=$((found + 1))
      says 'The same command begins again'
      expect 0 within 60 "$g" --device gpu --type u64 "${plan[@]}" --resume-dir d in.u64 out.u64
    else
      [ $code = 0 ] || fail "exit $code: $n:flip with --resume-dir: $(cat err)"
    fi
    same want.u64 out.u64
    [ ! -e d ] || fail "the folder of a job that is done stays"
  done
  echo "  with --resume-dir: $found of 4 were found out"
  # If a stream has accepted wrong bytes, the message says so.
  code=0
  GPUSORT_FAULT_CUDA=40:flip within 60 "$g" --type u64 "${plan[@]}" in.u64 - 2>err >sent || code=$?
  if [ $code = 8 ]; then says 'is suspect'; else same want.u64 sent; fi
  echo "  to standard output: exit $code"
  rm -f sent
  well
fi

# neighbour COMMAND...: starts another program on the GPU and waits until it is ready.
neighbour() {
  : >said
  "$@" >said 2>&1 &
  other=$!
  for _ in {1..600}; do
    if grep -q ready said; then return; fi
    kill -0 $other 2>/dev/null || fail "$*: $(cat said)"
    sleep 0.1
  done
  fail "$* does not begin"
}
gone() {
  kill -"$1" $other 2>/dev/null || true
  wait $other 2>/dev/null || true
}

if part 4; then
  echo "4: a neighbour that has the memory"
  for left in 64 600 1500; do
    neighbour "$trouble" hog $left 300
    rm -f out.u64
    expect 0 within 120 "$g" --gpu-memory 90% --memory 1G --gpu-timeout 30 --type u64 in.u64 out.u64
    same want.u64 out.u64
    echo "  $(grep free said): auto, $took s: $(tail -n 1 err | cut -c 1-180)"
    echo old >out.u64
    code=0
    within 120 "$g" --device gpu --memory 1G --gpu-timeout 30 --type u64 in.u64 out.u64 2>err || code=$?
    case $code in
      0) same want.u64 out.u64 ;;
      2 | 6 | 7) [ "$(cat out.u64)" = old ] || fail "exit $code changed the old output" ;;
      *) fail "exit $code with $left MiB: $(cat err)" ;;
    esac
    echo "  the same, gpu: exit $code, $took s: $(tail -n 1 err | cut -c 1-180)"
    gone KILL
  done
  well
fi

if part 5; then
  echo "5: a neighbour that keeps the GPU busy is no hang"
  neighbour "$trouble" busy 120
  rm -f out.u64
  code=0
  within 120 "$g" --device gpu --gpu-timeout 30 --type u64 "${sizes[@]}" in.u64 out.u64 2>err || code=$?
  [ $code = 0 ] || fail "exit $code beside a busy neighbour: $(cat err)"
  same want.u64 out.u64
  echo "  $took s"
  gone KILL
  well
fi

if part 6; then
  echo "6: signals while the GPU hangs"
  for signal in TERM KILL; do
    echo old >out.u64
    begin=$EPOCHREALTIME
    GPUSORT_FAULT_CUDA=40:hang timeout -k 5 60 "$g" --device gpu --gpu-timeout 50 --type u64 "${sizes[@]}" in.u64 out.u64 2>err &
    job=$!
    sleep 3
    pkill -$signal -P $job || true
    wait $job || true
    [ "$(cat out.u64)" = old ] || fail "SIG$signal changed the old output"
    nothing_left
    echo "  SIG$signal: $(seconds "$begin") s in all"
  done
  well
fi

if part 7; then
  echo "7: MPS"
  export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps-log
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  # Ends the server of MPS, also if a client of it hangs.
  end_mps() {
    local servers pid
    servers=$(echo get_server_list | timeout 20 nvidia-cuda-mps-control 2>/dev/null || true)
    echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1 || true
    for pid in $servers $(cat "$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid" 2>/dev/null || true); do
      [[ ! $pid =~ ^[0-9]+$ ]] || kill -KILL "$pid" 2>/dev/null || true
    done
  }
  if ! command -v nvidia-cuda-mps-control >/dev/null; then
    echo "SKIPPED: there is no nvidia-cuda-mps-control: clients of MPS that are killed or fail"
  elif ! timeout 20 nvidia-cuda-mps-control -d >said 2>&1 || ! timeout 60 "$trouble" illegal 0 >said 2>&1; then
    echo "SKIPPED: MPS does not run here ($(tail -n 1 said)): clients that are killed or fail"
  else
    # Delivers the input slowly, so that the job is still running when the other program dies.
    slowly() { head -c 48M in.u64; sleep 6; tail -c +$((48 * 1024 * 1024 + 1)) in.u64; }
    for end in KILL illegal; do
      rm -f out.u64
      if [ $end = KILL ]; then neighbour "$trouble" busy 60; else neighbour "$trouble" illegal 3; fi
      code=0
      (slowly | within 90 "$g" --type u64 "${sizes[@]}" --gpu-timeout 30 - out.u64 2>err) &
      job=$!
      sleep 3
      [ $end != KILL ] || gone KILL
      wait $job || code=$?
      [ $code = 0 ] || fail "exit $code beside a client that ended by $end: $(cat err)"
      same want.u64 out.u64
      echo "  a neighbour that ends by $end: $(tail -n 1 err | cut -c 1-180)"
      gone KILL
    done
    # A client of MPS that is killed while it works.
    GPUSORT_FAULT_CUDA=40:hang "$g" --type u64 "${sizes[@]}" --gpu-timeout 60 in.u64 out.u64 2>/dev/null &
    job=$!
    sleep 3
    kill -KILL $job || true
    wait $job || true
    code=0
    rm -f out.u64
    within 120 "$g" --type u64 "${sizes[@]}" --gpu-timeout 20 in.u64 out.u64 2>err || code=$?
    [ $code = 0 ] || fail "exit $code behind a client that was killed: $(cat err)"
    same want.u64 out.u64
    echo "  behind a client that was killed: $took s: $(tail -n 1 err | cut -c 1-180)"
  fi
  end_mps
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  well
fi
echo "gpu_faults: ok"
