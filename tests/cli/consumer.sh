#!/usr/bin/env bash
# labels: any_build nightly
# A separate CMake project finds the installed header library, builds with it, and runs: for the host and, if this build
# has CUDA, for the GPU. It uses only what tests/consumer/CMakeLists.txt names. The project is also built by
# FetchContent from a copy of the sources, and by pkg-config. Two of the programs are those of README.md and
# kernels/README.md.
. "$2/tests/cli/common.sh.inc"

cached() { sed -n "s/^$1:[A-Z]*=//p" "$bin/CMakeCache.txt"; }

cmake --install "$bin" --prefix "$work/prefix" --component dev >install.log || fail "cmake --install: $(cat install.log)"
[ -e prefix/include/gpusort/gpusort.hpp ] || fail "no headers under prefix/include"
for header in prefix/include/gpusort/*; do
  name=${header##*/}
  [ "$name" = gpusort.hpp ] || grep -rqF "include \"gpusort/$name\"" prefix/include || fail "the library needs no $name"
done
# Installed files contain no path of the sources or of the build folder.
if grep -rlF -e "$src" -e "$bin" prefix; then fail "these files name a folder of the build"; fi

cuda=$(cached GPUSORT_CUDA)
arguments=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$work/prefix" "-DWITH_CUDA=$cuda")
if [ "$cuda" = ON ]; then
  # One architecture is enough, and half the time.
  arguments+=("-DCMAKE_CUDA_COMPILER=$(cached CMAKE_CUDA_COMPILER)" -DCMAKE_CUDA_ARCHITECTURES=90-real)
fi
cp -R "$src/tests/consumer" consumer
example() { awk -v begin="\`\`\`$1" '/^```/ { take = $0 == begin; next } take' "$src/README.md" "$src/kernels/README.md"; }
example cpp >consumer/readme_host.cpp
example cuda >consumer/readme_gpu.cu
for file in consumer/readme_*; do [ "$(wc -l <$file)" -gt 10 ] || fail "README.md has no program for $file"; done
cmake -S consumer -B build "${arguments[@]}" >configure.log 2>&1 || fail "configuring: $(cat configure.log)"
cmake --build build >build.log 2>&1 || fail "building: $(tail -n 40 build.log)"
./build/consumer_host || fail "consumer_host failed"
expected='2 4 6 8 1 3 5 7 '
[ "$(./build/readme_host)" = "$expected" ] || fail "the program in README.md"
if [ "$cuda" = ON ]; then
  ./build/consumer_gpu || fail "consumer_gpu failed"
  if [ -e /dev/nvidiactl ]; then [ "$(./build/readme_gpu)" = '1 2 3 4 ' ] || fail "the CUDA program in README.md"; fi
fi

# Without CMake. After a move the library is still found, relative to its pkg-config file.
mv prefix moved
flags=$(PKG_CONFIG_PATH=$work/moved/share/pkgconfig pkg-config --cflags --libs 'gpusort >= 0.1') || fail "pkg-config"
g++ -std=c++20 -O2 consumer/readme_host.cpp $flags -o by_pkg_config || fail "building with: $flags"
[ "$(./by_pkg_config)" = "$expected" ] || fail "the program built by pkg-config"
mv moved prefix

# A copy of the sources, of which only the library takes part: nothing else of gpusort is looked for or built.
mkdir sources
(cd "$src" && tar -cf - --exclude=./build --exclude=./bundle --exclude=./.git --exclude=./data .) | tar -xf - -C sources
tar -czf gpusort.tar.gz sources
cmake -S consumer -B fetched -DCMAKE_BUILD_TYPE=Release "-DSOURCES=file://$work/gpusort.tar.gz" >fetch.log 2>&1 || fail "FetchContent: $(cat fetch.log)"
if grep -qi boost fetch.log; then fail "FetchContent looks for what the library does not need"; fi
cmake --build fetched --target readme_host >fetch.log 2>&1 || fail "building by FetchContent: $(tail -n 40 fetch.log)"
[ "$(./fetched/readme_host)" = "$expected" ] || fail "the program built by FetchContent"

# A different version is refused with a message.
sed -i 's/find_package(gpusort 0.1/find_package(gpusort 7.0/' consumer/CMakeLists.txt
if cmake -S consumer -B build-7 "${arguments[@]}" >configure-7.log 2>&1; then fail "version 7.0 was found"; fi
grep -q 'gpusort' configure-7.log || fail "the refusal does not name gpusort"
