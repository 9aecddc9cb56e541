# labels: any_build
# Tests the Python wheel in a clean environment without network: the programs in bin, the module, and that nothing is
# left after pip uninstall.
. "$2/tests/cli/common.sh.inc"
sanitized && { echo "SKIPPED (a sanitizer's libraries are not for a wheel): the wheel"; exit 77; }
if ! command -v patchelf >/dev/null || ! /usr/bin/python3 -c 'import wheel, venv, ensurepip' 2>/dev/null; then
  few && fail 'there is no patchelf, python3-wheel or python3-venv: tools/install-deps --tests'
  echo "SKIPPED (no patchelf, python3-wheel or python3-venv): the wheel"
  exit 77
fi
# Two wheels of one build are the same, whatever time and umask are.
export SOURCE_DATE_EPOCH=1790000000
"$src/tools/packaging/wheel" "$bin" one >wheel.log 2>&1 || fail "$(cat wheel.log)"
(umask 077 && TZ=Asia/Tokyo "$src/tools/packaging/wheel" "$bin" two >/dev/null)
same one/*.whl two/*.whl
expect 2 "$src/tools/packaging/wheel" "$bin"
says 'Usage: tools/packaging/wheel'

unset PYTHONPATH PYTHONHOME
/usr/bin/python3 -m venv clean
pip() { clean/bin/pip --disable-pip-version-check --quiet "$@"; }
(cd clean && find . ! -path '*__pycache__*' | sort) >before
pip install --no-index one/*.whl
for program in gpusort gpusort_task gpusort_gen gpusort_check; do
  env -i clean/bin/$program --version | grep -q '^gpusort' || fail "$program does not start"
done
for codec in gz bz2 xz zst lz4; do
  printf 'b\na\n' | env -i clean/bin/gpusort --compress $codec - - | env -i clean/bin/gpusort --decompress $codec - - | cmp - <(printf 'a\nb\n')
done
env -i clean/bin/python -m gpusort --version | grep -q '^gpusort ' || fail 'python -m gpusort'
# The drivers for many machines find the programs of the environment, which is not activated.
for driver in ray slurm sim; do
  [[ $(env -i clean/bin/gpusort-$driver --help) == *"gpusort-$driver "* ]] || fail "gpusort-$driver does not start"
done
env -i clean/bin/gpusort-sim --rates clean/share/gpusort/cluster-rates-h200.json --bytes 1T --nodes 10 >said
grep -q '^| 1 TB | 10 |' said || fail 'gpusort-sim'
expect 2 env -i clean/bin/gpusort-ray wheel.log out
says 'has no Ray'
expect 2 env -i PATH=/nowhere clean/bin/gpusort-slurm wheel.log out
says 'sinfo: No such file'
# The licences of all libraries inside are there, once as Debian states them and once as the files that Debian names.
licences=$(echo clean/lib/python*/site-packages/gpusort-*.dist-info/licenses)
for word in 'Boost Software License' 'Apache License' 'bzip2' 'Yann Collet' 'GCC RUNTIME LIBRARY EXCEPTION' 'none-stated'; do
  grep -qi "$word" "$licences"/{copyright,libraries.copyright} || fail "the licences do not say: $word"
done
# Programs and modules need the system's libraries and those of the wheel only.
. "$src/tools/packaging/common.inc"
mapfile -t modules < <(ls -d clean/libexec/gpusort/* | grep -v '/gpusort_parquet.so$')
needs=$(outside "$work/clean" clean/bin/gpusort clean/bin/gpusort_* "${modules[@]}")
[ -z "$needs" ] || fail "the wheel needs: $needs"
# The SPDX file names what is inside: each library in the wheel, and each library inside of the programs.
/usr/bin/python3 - "$bin" clean/libexec/gpusort clean/lib/python*/site-packages/gpusort-*.dist-info/sboms/gpusort.spdx.json <<'END'
import json, os, sys
build, modules, name = sys.argv[1:]
spdx = json.load(open(name))
packages = {one["SPDXID"]: one for one in spdx["packages"]}
related = {kind: {one["relatedSpdxElement"] for one in spdx["relationships"] if one["relationshipType"] == kind}
           for kind in ("STATIC_LINK", "DYNAMIC_LINK", "CONTAINS")}
shared = [file for file in os.listdir(modules) if file.startswith("lib")]
assert len(related["CONTAINS"]) == len(shared), (related, shared)
assert related["CONTAINS"] == related["DYNAMIC_LINK"], related
assert related["STATIC_LINK"] | related["DYNAMIC_LINK"] | {"SPDXRef-gpusort"} == set(packages), related
assert spdx["creationInfo"]["created"] == "2026-09-21T14:13:20Z", spdx["creationInfo"]
for one in packages.values():
    assert one["versionInfo"] not in ("", "NOASSERTION") and one["licenseDeclared"] != "NOASSERTION", one
for line in open(build + "/generated/libraries.tsv"):
    part, library = line.split("\t")[:2]
    assert (part in ("tests", "parquet")) == (library not in [one["name"] for one in packages.values()]), line
END
for page in gpusort.1 gpusort-ray.1 gpusort-keys.7 gpusort-instead.7 gpusort-python.7; do [ -s clean/share/man/man${page##*.}/$page ] || fail "no $page"; done

# The module for Parquet is there with the libraries of pyarrow, and otherwise a message says what to install.
printf PAR1 >no.parquet
expect 2 env -i clean/bin/gpusort -k k no.parquet out.parquet
says "or pip install 'gpusort\[parquet\]'"
pyarrow=$(echo "$src"/build/parquet/lib/python3*/site-packages/pyarrow)
if [ -e clean/libexec/gpusort/gpusort_parquet.so ] && [ -d "$pyarrow" ]; then
  grep -q '^Requires-Dist: pyarrow==[0-9.]*; extra == "parquet"$' clean/lib/python*/site-packages/gpusort-*.dist-info/METADATA ||
    fail "the wheel has no extra parquet"
  "${pyarrow%/lib/*}/bin/python3" -c 'import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table({"k": [2, 1]}), "in.parquet")'
  packages=$(echo clean/lib/python3*/site-packages)
  ln -s "$pyarrow" "$packages/pyarrow"
  expect 0 env -i clean/bin/gpusort -k k in.parquet out.parquet
  expect 0 env -i clean/bin/gpusort --check -k k out.parquet
  rm "$packages/pyarrow"
else
  echo 'SKIPPED (no Apache Arrow: tools/install-deps --parquet): Parquet by the wheel'
fi

clean/bin/python "$src/tests/cli/wheel_test.py" "$src" 2>test.log || fail "$(cat test.log)"
tail -n 3 test.log | grep -o 'Ran [0-9]* tests'

# The module is found by a checker of types, and a wrong call is an error.
if [ -x "$src/build/lint/bin/mypy" ]; then
  types() { (cd /; "$src/build/lint/bin/mypy" --strict --cache-dir "$work/cache" --python-executable "$work/clean/bin/python" "$work/$1"); }
  printf 'import gpusort\nreveal_type(gpusort.sort("a", "b", keys=["id:int"]).records)\n' >good.py
  types good.py >said || fail "mypy: $(cat said)"
  grep -q 'Revealed type is "\(builtins.\)\?int"' said || fail "mypy does not see the types: $(cat said)"
  printf 'import gpusort\ngpusort.sort("a", "b", keys=[7])\n' >bad.py
  types bad.py >said && fail 'mypy finds no wrong type'
  grep -q 'list-item' said || fail "$(cat said)"
else
  echo 'SKIPPED (no mypy): the types of the wheel'
fi

pip install --no-index --target target one/*.whl
(cd / && PYTHONPATH=$work/target /usr/bin/python3 -c 'import gpusort; print(gpusort.program())') >said
same said <(echo "$work/target/bin/gpusort")
# The programs of such a folder find their modules.
printf 'b\na\n' | env -i target/bin/gpusort --compress zst - - | env -i target/bin/gpusort --decompress zst - - | cmp - <(printf 'a\nb\n')
if [ -e in.parquet ]; then
  ln -s "$pyarrow" target/pyarrow
  expect 0 env -i target/bin/gpusort -k k in.parquet out.parquet
fi
PATH=$work/target/bin:$PATH
(cd / && PYTHONPATH=$src/tools/packaging/python /usr/bin/python3 -B -c 'import gpusort; print(gpusort.program())') >said
same said <(echo "$work/target/bin/gpusort")
pip uninstall --yes gpusort
(cd clean && find . ! -path '*__pycache__*' | sort) >after
diff before after | grep -v '/\(share\|libexec\)\(/man\(/man[17]\)\?\|/gpusort\)\?$' | grep '^[<>]' && fail 'left behind'
nothing_left
cat wheel.log
