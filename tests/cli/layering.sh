#!/usr/bin/env bash
# labels: any_build
# The house rules on which file may include which: tools, tests -> src -> io -> kernels; inside src
# cli, task -> job -> runs -> plan -> data -> formats -> flow -> watch -> spec -> base; and one user for each outside library.
# Usage: layering.sh BUILD_DIR SOURCE_ROOT. First plants one violation of every rule in a copy of the tree and expects
# it to be found, then expects none in the tree itself.
. "$2/tests/cli/common.sh.inc"

root=$2

# Prints "FILE:LINE: rule: text" for each violation under the folder $1, or in its file $2.
violations() (
  cd "$1"
  shopt -s nullglob globstar
  files=({kernels,io,src,tools,tests}/**/*.{hpp,cpp,cuh,cu})
  ours="${files[*]}" awk '
    # resolve(name, from): the path of our file that an #include of `from` names, or "" if the file is not ours.
    function resolve(name, from,    path, i) {
      path = from
      sub(/[^\/]*$/, "", path)
      path = path name
      while (sub(/[^\/]+\/\.\.\//, "", path)) continue
      if (path in ours) return path
      for (i = 1; i <= roots; ++i) {
        if ((root_of[i] name) in ours) return root_of[i] name
      }
      return ""
    }
    # part(path): the folder of a path inside src; "" for the files of src itself, which start everything.
    function part(path) {
      if (path !~ /^src\/[^\/]+\//) return ""
      sub(/^src\//, "", path)
      sub(/\/.*/, "", path)
      return path
    }
    function bad(rule) { print FILENAME ":" FNR ": " rule ": " line }
    BEGIN {
      roots = split("src/,tests/,tests/support/,tools/,kernels/,", root_of, ",")
      level["base"] = 1
      level["spec"] = 2
      level["watch"] = 3
      level["flow"] = 4
      level["formats"] = 5
      level["data"] = 6
      level["plan"] = 7
      level["runs"] = 8
      level["job"] = 9
      level["cli"] = level["task"] = 10  # neither knows the other
      level[""] = 11
      files = split(ENVIRON["ours"], file, " ")
      for (i = 1; i <= files; ++i) ours[file[i]] = 1
    }
    FNR == 1 {
      layer = FILENAME
      sub(/\/.*/, "", layer)
    }
    {
      line = $0
      code = $0
      gsub(/\/\*.*\*\//, "", code)
      sub(/\/\/.*/, "", code)
    }
    code ~ /__CUDACC__/ && FILENAME != "kernels/gpusort/host_device.hpp" { bad("only host_device.hpp asks for nvcc") }
    # device_memory.cuh injects faults and turns CUDA errors into exceptions.
    FILENAME ~ /^kernels\/cuda\// && FILENAME != "kernels/cuda/device_memory.cuh" &&
        (code ~ /<<</ || (code ~ /(^|[^"A-Za-z_])cuda[A-Z][A-Za-z0-9]*\(/ && code !~ /return cuda[A-Z]/)) {
      bad("CUDA is called through device_memory.cuh")
    }
    code ~ /std::(j?thread[^_a-z]|async)|pthread_create/ && layer ~ /^(kernels|io|src)$/ &&
        FILENAME !~ /^kernels\/(thread\.hpp|gpusort\/|classic\/)/ { bad("only kernels/thread.hpp starts threads") }
    # Scans, selections and iterators are not sorts.
    { gsub(/thrust::[a-z_]*iterator|cub::Device(Scan|Select)/, "", code) }
    code ~ /thrust::|cub::Device/ && layer ~ /^(kernels|io|src)$/ { bad("no device-wide library sort or merge") }
    code ~ /spdlog::/ && FILENAME !~ /^src\/base\/log\./ { bad("only src/base/log.* uses spdlog") }
    code ~ /^[ \t]*#[ \t]*include/ {
      name = code
      sub(/^[^"<]*["<]/, "", name)
      sub(/[">].*$/, "", name)
      if (name ~ /^thrust\/|^cub\/device\// && name !~ /^thrust\/iterator\/|\/device_(scan|select)[.]cuh$/ &&
          layer ~ /^(kernels|io|src)$/) bad("no device-wide library sort or merge")
      if (name ~ /^boost\/program_options/ && FILENAME !~ /^(src\/cli\/parse_options\.|tools\/)/) {
        bad("only src/cli/parse_options.* and tools use Boost.Program_options")
      }
      if (name ~ /^boost\/iostreams/ && FILENAME !~ /^io\/codec\//) bad("only io/codec uses Boost.Iostreams")
      if (name ~ /^(arrow|parquet)\// && FILENAME !~ /^io\/codec\/modules\/(arrow|parquet)/) {
        bad("only the module for Parquet uses Arrow")
      }
      if (name ~ /^spdlog\// && FILENAME !~ /^src\/base\/log\./) bad("only src/base/log.* uses spdlog")
      if (name ~ /^cuda/ && layer != "kernels" && !(layer ~ /^(tests|tools)$/ && FILENAME ~ /\.cuh?$/)) {
        bad("nothing above kernels knows CUDA")
      }
      path = resolve(name, FILENAME)
      if (path != "") {
        # The words for shells are not part of a check.
        if (FILENAME ~ /^tools\/((gpusort_check|tool_help)\.|check\/)/ &&
            path !~ /^(tools\/(tool_help\.hpp|check\/.*)|src\/cli\/shell_words\.hpp)$/) {
          bad("the checker shares nothing with the program")
        }
        if (FILENAME ~ /^src\/cli\/shell_words\./ && path != "src/cli/shell_words.hpp") bad("the tools have it, too")
        if (FILENAME ~ /^kernels\/gpusort\// && path !~ /^kernels\/gpusort\//) bad("public headers stand alone")
        if (layer == "kernels" && path !~ /^kernels\//) bad("kernels includes no other folder")
        if (layer == "io" && path !~ /^io\/|^kernels\/(records\/(record|key)|error|module|thread)\.hpp$/) {
          bad("io takes only record, key, error, module and thread from kernels")
        }
        if (layer == "src" && path !~ /^(src|io|kernels)\//) bad("src includes neither tools nor tests")
        if (layer == "src" && path ~ /^src\//) {
          from = part(FILENAME)
          to = part(path)
          if (!(from in level) || !(to in level) || (from != to && level[to] >= level[from])) {
            bad("inside src: cli, task -> job -> runs -> plan -> data -> formats -> flow -> watch -> spec -> base")
          }
        }
        if ((FILENAME ~ /^kernels\/cpu\// && path ~ /^kernels\/cuda\//) ||
            (FILENAME ~ /^kernels\/cuda\// && path ~ /^kernels\/cpu\//)) bad("no backend knows the other")
        if (layer == "tools" && path ~ /^tests\//) bad("tools include no tests")
      }
    }
  ' "${2:-${files[@]}}"
)

scratch=$work

failed=0
fail() {
  printf 'layering: %s\n' "$1"
  failed=1
}

# Plants the line $2 in a new file $1 of a copy of the tree, and expects a report of exactly the rule $3 for that file.
expect_found() {
  local tree=$scratch/tree found
  if [[ ! -d $tree ]]; then
    mkdir "$tree"
    for layer in kernels io src tools tests; do cp -R "$root/$layer" "$tree/"; done
    mkdir -p "$tree/tests/support"
    : >"$tree/tests/support/planted.hpp"
  fi
  if [[ -e $tree/$1 ]]; then mv "$tree/$1" "$scratch/kept"; fi
  mkdir -p "$(dirname "$tree/$1")"
  printf '%s\n' "$2" >"$tree/$1"
  found=$(violations "$tree" "$1" | grep -F "$1:" || true)
  rm "$tree/$1"
  if [[ -e $scratch/kept ]]; then mv "$scratch/kept" "$tree/$1"; fi
  if [[ $found != "$1:1: $3: "* ]]; then fail "'$2' in $1 should break the rule '$3'; found: '$found'"; fi
}

expect_found kernels/planted.cpp '#include "io/file.hpp"' 'kernels includes no other folder'
expect_found kernels/planted.cpp '#include "../src/plan/plan.hpp"' 'kernels includes no other folder'
expect_found kernels/gpusort/planted.hpp '#include "kernels/backend.hpp"' 'public headers stand alone'
expect_found io/planted.cpp '#include "kernels/backend.hpp"' 'io takes only record, key, error, module and thread from kernels'
expect_found io/planted.cpp '#include <gpusort/host_device.hpp>' 'io takes only record, key, error, module and thread from kernels'
expect_found io/planted.cpp '#include "plan/plan.hpp"' 'io takes only record, key, error, module and thread from kernels'
expect_found kernels/cpu/planted.hpp '#include "kernels/cuda/device_memory.cuh"' 'no backend knows the other'
expect_found kernels/cuda/planted.cuh '#include "../cpu/thread_team.hpp"' 'no backend knows the other'
while read -r from to; do
  expect_found "src/$from" "#include \"$to\"" 'inside src: cli, task -> job -> runs -> plan -> data -> formats -> flow -> watch -> spec -> base'
done <<'END'
base/planted.hpp spec/job_spec.hpp
spec/planted.hpp watch/progress.hpp
watch/planted.hpp flow/pipeline.hpp
flow/planted.hpp data/proof.hpp
flow/planted.hpp formats/locale_keys.hpp
data/planted.cpp ../plan/plan.hpp
formats/planted.cpp runs/run.hpp
formats/planted.hpp data/inputs.hpp
plan/planted.cpp runs/run.hpp
runs/planted.cpp job/find_facts.hpp
job/planted.hpp cli/help.hpp
odd/planted.cpp base/log.hpp
END
expect_found src/planted.cpp '#include "tests/support/planted.hpp"' 'src includes neither tools nor tests'
expect_found tools/planted.cpp '#include "planted.hpp"' 'tools include no tests'
expect_found src/planted.cpp '#include <cuda_runtime.h>' 'nothing above kernels knows CUDA'
expect_found tests/planted.cpp '#include <cuda_runtime_api.h>' 'nothing above kernels knows CUDA'
expect_found kernels/cuda/planted.cu '  cudaFree(data);' 'CUDA is called through device_memory.cuh'
expect_found kernels/cuda/planted.cuh 'Kernel<<<1, 1>>>();' 'CUDA is called through device_memory.cuh'
expect_found io/codec/planted.cpp '#include <parquet/types.h>' 'only the module for Parquet uses Arrow'
expect_found src/planted.cpp '  #  include <boost/program_options.hpp>' \
  'only src/cli/parse_options.* and tools use Boost.Program_options'
expect_found src/planted.cpp '#include <boost/iostreams/filter/gzip.hpp>' 'only io/codec uses Boost.Iostreams'
expect_found src/planted.cpp '#include <spdlog/spdlog.h>' 'only src/base/log.* uses spdlog'
expect_found io/planted.cpp 'std::thread thread([] {});' 'only kernels/thread.hpp starts threads'
expect_found src/planted.cpp 'auto done = std::async([] {});' 'only kernels/thread.hpp starts threads'
expect_found io/planted.cpp 'void Log() { spdlog::info("x"); }' 'only src/base/log.* uses spdlog'
expect_found kernels/planted.hpp '#if defined(__CUDACC__)' 'only host_device.hpp asks for nvcc'
expect_found kernels/planted.cu '#include <cub/device/device_merge.cuh>' 'no device-wide library sort or merge'
expect_found kernels/planted.cu 'void Sort() { cub::DeviceMergeSort::SortKeys(); }' \
  'no device-wide library sort or merge'
expect_found src/planted.cpp 'auto sort = thrust::stable_sort;' 'no device-wide library sort or merge'
expect_found tools/gpusort_check.cpp '#include "kernels/records/key.hpp"' 'the checker shares nothing with the program'
expect_found tools/tool_help.hpp '#include "kernels/error.hpp"' 'the checker shares nothing with the program'
expect_found tools/check/value.cpp '#include "formats/time_text.hpp"' 'the checker shares nothing with the program'
expect_found src/cli/shell_words.cpp '#include "kernels/error.hpp"' 'the tools have it, too'

found=$(violations "$root")
if [[ -n $found ]]; then fail "$(printf 'the tree breaks its rules\n%s' "$found")"; fi

# Prints what tests/FAULTS.md of the folder $1 names and does not exist: `FILE: Suite.Name` of a test, or `FILE:
# "words"` in a file.
missing_tests() (
  cd "$1"
  sed 's/[|;]/\n/g' tests/FAULTS.md | sed -nE 's/^ *((tests|tools)\/[^ :]+): ("[^"]+"|[A-Za-z0-9_]+[.][A-Za-z0-9_]+).*/\1 \3/p' |
    while read -r file name; do
      if [[ $name == '"'* ]]; then
        words=${name#?}
        grep -qF -- "${words%?}" "$file" 2>/dev/null || echo "$file: $name"
      else
        grep -qE "^(TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(${name%.*}, *${name#*.}[,)]" "$file" 2>/dev/null || echo "$file: $name"
      fi
    done
)
found=$(missing_tests "$root")
if [[ -n $found ]]; then fail "$(printf 'tests/FAULTS.md names tests that are not there\n%s' "$found")"; fi
mkdir -p "$scratch/named/tests"
cat >"$scratch/named/tests/FAULTS.md" <<'END'
| 1 | a | b | tests/some_test.cpp: Suite.Name; tests/some_test.cpp: Suite.Other |
| 2 | a | b | tests/none.sh: "words"; tests/some_test.cpp: "Suite"; tests/FAULTS.md: "| 2 |" |
END
echo 'TEST(Suite, Name) {' >"$scratch/named/tests/some_test.cpp"
found=$(missing_tests "$scratch/named" | tr '\n' ' ')
if [[ $found != 'tests/some_test.cpp: Suite.Other tests/none.sh: "words" ' ]]; then fail "missing tests should be found: '$found'"; fi
if ((failed == 0)); then echo 'layering: every rule bites, and the tree keeps them all'; fi
exit "$failed"
