#!/usr/bin/env bash
# A CMake project outside this one finds the installed header library, builds with it, and runs: for the host, and, if
# this build has CUDA, for the GPU, too. Only what tests/consumer/CMakeLists.txt names is used.
. "$2/tests/cli/common.sh.inc"

cached() { sed -n "s/^$1:[A-Z]*=//p" "$bin/CMakeCache.txt"; }

cmake --install "$bin" --prefix "$work/prefix" --component library >install.log || fail "cmake --install: $(cat install.log)"
[ -e prefix/include/gpusort/gpusort.hpp ] || fail "no headers under prefix/include"
for header in prefix/include/gpusort/*; do
  name=${header##*/}
  [ "$name" = gpusort.hpp ] || grep -rqF "include \"gpusort/$name\"" prefix/include || fail "the library needs no $name"
done
# What is installed knows neither the sources nor the build folder.
if grep -rlF -e "$src" -e "$bin" prefix; then fail "these files name a folder of the build"; fi

cuda=$(cached GPUSORT_CUDA)
arguments=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$work/prefix" "-DWITH_CUDA=$cuda")
if [ "$cuda" = ON ]; then
  # One architecture is enough, and half the time.
  arguments+=("-DCMAKE_CUDA_COMPILER=$(cached CMAKE_CUDA_COMPILER)" -DCMAKE_CUDA_ARCHITECTURES=90-real)
fi
cp -R "$src/tests/consumer" consumer
cmake -S consumer -B build "${arguments[@]}" >configure.log 2>&1 || fail "configuring: $(cat configure.log)"
cmake --build build >build.log 2>&1 || fail "building: $(tail -n 40 build.log)"
./build/consumer_host || fail "consumer_host failed"
if [ "$cuda" = ON ]; then ./build/consumer_gpu || fail "consumer_gpu failed"; fi

# A version that is not this one is refused, with a message.
sed -i 's/find_package(gpusort 0.1/find_package(gpusort 7.0/' consumer/CMakeLists.txt
if cmake -S consumer -B build-7 "${arguments[@]}" >configure-7.log 2>&1; then fail "version 7.0 was found"; fi
grep -q 'gpusort' configure-7.log || fail "the refusal does not name gpusort"
