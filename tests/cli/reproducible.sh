# labels: any_build nightly hours
# Tests that two builds in two folders, at different times, give the same bytes: Debian packages, wheel and bundle. nvcc
# puts the name of the folder into GPU code, so that this test builds without CUDA. GPUSORT_REPRODUCIBLE has words for
# CMake, such as -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS_RELEASE=-O1, for a faster test. (-O0 does not link: functions
# of the static libm, which are otherwise instructions, need the dynamic loader.)
. "$2/tests/cli/common.sh.inc"
for program in patchelf dpkg-shlibdeps; do
  command -v $program >/dev/null || { echo "SKIPPED (no $program): two builds"; exit 77; }
done
/usr/bin/python3 -c 'import wheel' || { echo 'SKIPPED (no python3-wheel): two builds'; exit 77; }
read -ra more <<<"${GPUSORT_REPRODUCIBLE-}"

export SOURCE_DATE_EPOCH=1790000000
build() {
  mkdir -p "$1"
  (cd "$src" && tar c --exclude=./build --exclude=__pycache__ --exclude=./bundle --exclude=./.git .) | tar x -C "$1"
  (
    # errexit does not end a list before ||.
    cd "$1" &&
      tools/package --no-cuda "${more[@]}" &&
      tools/package --no-build --wheel &&
      cmake --preset release -DGPUSORT_CUDA=OFF -DCMAKE_UNITY_BUILD=ON "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG" "${more[@]}" &&
      cmake --build build/release --parallel "$(nproc)" --target gpusort gpusort_task gpusort_gen gpusort_check \
        gpusort_bench kernels_tests io_tests src_tests &&
      tools/bundle --no-build
  ) >build.log 2>&1 || fail "$1: $(tail -n 30 build.log)"
}
(umask 077 && build one)
TZ=Asia/Tokyo LC_ALL=C.UTF-8 build another/folder/two
mkdir sums
for folder in one another/folder/two; do
  name=sums/$(basename "$folder")
  (cd "$folder/build/package" && sha256sum *.deb *.whl) >"$name"
  (cd "$folder" && tar c --sort=name --owner=0 --group=0 bundle | sha256sum && find bundle -type f -exec sha256sum {} + | sort -k2) >>"$name"
done
[ "$(grep -c '[.]deb$' sums/one)" = 3 ] && grep -q '[.]whl$' sums/one || fail "$(cat sums/one)"
diff sums/one sums/two || fail 'two builds differ'
# No name of this machine's folders is in the programs.
for program in one/bundle/bin/gpusort* one/bundle/lib/gpusort/*; do
  if strings -a "$program" | grep -F "$work"; then fail "$program names the folder of its build"; fi
done
# Every package says what is inside.
for package in one/build/package/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar t | grep "/[a-z-]*[.]spdx[.]json\$" >/dev/null || fail "$package has no SPDX file"
done
# The list of the bundle names each library in the bundle, and each library inside of its programs.
/usr/bin/python3 - one/build/release/generated/libraries.tsv one/bundle <<'END' || fail 'the SPDX file of the bundle'
import json, os, sys
libraries, bundle = sys.argv[1:]
spdx = json.load(open(bundle + "/gpusort.spdx.json"))
names = {one["name"] for one in spdx["packages"]}
for line in open(libraries):
    assert line.split("\t")[1] in names, line
inside = [one["relatedSpdxElement"] for one in spdx["relationships"] if one["relationshipType"] == "CONTAINS"]
assert len(inside) == len([name for name in os.listdir(bundle + "/lib") if name.startswith("lib")]), inside
END
echo "reproducible: $(wc -l <sums/one) files"
