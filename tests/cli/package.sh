# labels: any_build nightly hours
# Tests the Debian packages in a clean Debian 12 and 13, and Ubuntu where its keys are installed: installed, used,
# upgraded, removed, with nothing left, and installed as in a container. Installs the wheel and the bundle there, and
# in Debian 13 also the sources. lintian finds no errors and no warnings. Builds all of gpusort, unless
# GPUSORT_PACKAGE=--no-build says that build/package has it. Other words in GPUSORT_PACKAGE are for every call of
# tools/package, such as --no-cuda -DCMAKE_UNITY_BUILD=ON for a faster test. GPUSORT_SUITES="bookworm noble" tries only
# these systems.
. "$2/tests/cli/common.sh.inc"

for program in mmdebstrap dpkg-shlibdeps; do
  command -v $program >/dev/null || { echo "SKIPPED (no $program): the packages"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "SKIPPED (chroot needs root): the packages"; exit 77; }

export TMPDIR=$work
words=${GPUSORT_PACKAGE-}
"$src/tools/package" $words >package.log 2>&1 || fail "tools/package: $(tail -n 40 package.log)"
mkdir old new
cp "$src"/build/package/*.deb old/
expect 2 "$src/tools/package" --no-build --version 99.1
says '--version and -D have no meaning'
"$src/tools/package" ${words//--no-build/} --version 99.1 >package.log 2>&1 || fail "tools/package: $(tail -n 40 package.log)"
mv "$src"/build/package/*.deb new/
cp old/*.deb "$src/build/package/"
if command -v patchelf >/dev/null && /usr/bin/python3 -c 'import wheel'; then
  "$src/tools/package" --no-build --wheel >package.log 2>&1 || fail "tools/package --wheel: $(tail -n 40 package.log)"
  mv "$src"/build/package/*.whl new/
else
  echo 'SKIPPED (no patchelf or python3-wheel): the wheel in clean systems'
fi
if [ -x "$src/build/release/tests/src_tests" ]; then
  "$src/tools/bundle" --no-build >bundle.log 2>&1 || fail "tools/bundle: $(tail -n 40 bundle.log)"
  cp -R "$src/bundle" new/
else
  echo 'SKIPPED (no build/release with tests): the bundle in clean systems'
fi
(cd "$src" && tar c --exclude=./build --exclude=__pycache__ --exclude=./bundle --exclude=./.git .) >sources.tar
version=$(dpkg-deb -f old/gpusort_*.deb Version)
for name in old/gpusort_${version}_amd64.deb old/libgpusort-dev_${version}_amd64.deb old/gpusort-cluster_${version}_all.deb new/gpusort_99.1_amd64.deb; do
  [ -e "$name" ] || fail "there is no $name: $(ls old new)"
done

# The package for Parquet is made if Apache Arrow is there. Clean systems get a file of pyarrow.
: >in.parquet
pyarrow=$src/build/parquet/bin/python3
if "$pyarrow" -c 'import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table({"k": [2, 1]}), "in.parquet")' 2>/dev/null; then
  [ -e old/gpusort-parquet_${version}_amd64.deb ] || fail "there is no gpusort-parquet: $(ls old)"
else
  echo 'SKIPPED (no Apache Arrow: tools/install-deps --parquet): gpusort-parquet'
fi

# A driver moved from gpusort to gpusort-cluster, so the new package replaces files of an older gpusort.
for field in Breaks Replaces; do
  [ "$(dpkg-deb -f new/gpusort-cluster_*.deb $field)" = 'gpusort (<< 99.1)' ] || fail "gpusort-cluster has no $field"
done

if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error,warning old/*.deb >lintian.log 2>&1 || fail "lintian: $(cat lintian.log)"
  cat lintian.log
else
  echo "SKIPPED (no lintian): what it says of the packages"
fi

cat >in-root.sh <<'END'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 TMPDIR=/tmp
cd /root
files() { find / -xdev \( -path /proc -o -path /root -o -path /tmp -o -path '/var/cache/*' -o -path '/var/log/*' \
  -o -path '/var/lib/apt/*' -o -path '/var/lib/dpkg/*' -o -path /etc/ld.so.cache -o -path /etc/hosts \) -prune -o -print | sort; }
files >before
apt-get update >apt.log 2>&1 || { cat apt.log; exit 1; }
apt-get install -y --no-install-recommends ./old/*.deb >apt.log 2>&1 || { cat apt.log; exit 1; }
use() {
  gpusort --version | grep -q '^gpusort '
  gpusort_gen --type u64 --count 100000 --seed 1 in.u64
  gpusort --device cpu in.u64 out.u64
  gpusort_check --type u64 --against in.u64 out.u64 >/dev/null
  printf 'b\na\n' | gpusort - - | cmp - <(printf 'a\nb\n')
  # The drivers name the programs that they need.
  for driver in gpusort-ray gpusort-slurm gpusort-sim; do $driver --help | grep -q "$driver "; done
  gpusort-sim --rates /usr/share/gpusort/cluster-rates-h200.json | grep -q '^| 1 TB | 10 |'
  (gpusort-ray in.u64 again.u64 2>&1 || echo $?) | tr '\n' ' ' | grep -q 'has no Ray, .*pip install ray==.* 2 $'
  (gpusort-slurm in.u64 again.u64 2>&1 || echo $?) | tr '\n' ' ' | grep -q 'error: sinfo: No such file or directory 2 $'
  for page in gpusort gpusort-keys gpusort-instead gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm gpusort-sim; do man $page | grep -Eq "$page +- "; done
  for program in gpusort gpusort_task gpusort_gen gpusort_check gpusort-ray gpusort-slurm; do
    bash --norc -c ". /usr/share/bash-completion/bash_completion; _completion_loader $program; complete -p $program" 2>/dev/null |
      grep -q _gpusort
    test -s /usr/share/fish/vendor_completions.d/$program.fish
  done
  for file in zsh/vendor-completions/_gpusort doc/gpusort/copyright doc/gpusort/changelog.gz doc/gpusort/gpusort.spdx.json \
    doc/gpusort/libraries.copyright.gz doc/gpusort-cluster/README.md.gz; do
    test -s /usr/share/$file
  done
  g++ -std=c++20 host.cpp $(pkg-config --cflags --libs gpusort) -o host
  ./host
}
use
[ "$(dpkg-query -W -f='${Version}' gpusort)" != 99.1 ]
apt-get install -y --no-install-recommends ./new/*.deb >apt.log 2>&1 || { cat apt.log; exit 1; }
[ "$(dpkg-query -W -f='${Version}' gpusort libgpusort-dev gpusort-cluster)" = 99.199.199.1 ]
for program in gpusort gpusort_task gpusort_gen gpusort_check; do $program --version | grep -q '^gpusort.* 99[.]1$'; done
use
if dpkg-query -W gpusort-cuda >/dev/null 2>&1; then
  gpusort --version | grep -q "$(dpkg -L gpusort-cuda | grep 'gpusort_cuda.so$')"
  # Without the module everything works on the CPU, and --version says how to install the module.
  apt-get remove -y gpusort-cuda >apt.log 2>&1
  use
  gpusort --version | grep -q gpusort-cuda
fi
if dpkg-query -W gpusort-parquet >/dev/null 2>&1; then
  gpusort -k k in.parquet out.parquet
  gpusort --check -k k out.parquet
  test -s /usr/share/doc/gpusort-parquet/libraries.copyright.gz
  apt-get remove -y gpusort-parquet >apt.log 2>&1
  use
  (gpusort -k k in.parquet out.parquet 2>&1 || echo $?) | tr '\n' ' ' | grep -q 'install the package gpusort-parquet, .* 2 $'
fi
apt-get remove -y gpusort libgpusort-dev gpusort-cluster >apt.log 2>&1
if [ -e /usr/bin/gpusort ]; then echo "removed, and still there"; exit 1; fi
dpkg --purge gpusort libgpusort-dev gpusort-cuda gpusort-parquet gpusort-cluster >apt.log 2>&1 || { cat apt.log; exit 1; }
apt-get autoremove -y --purge >apt.log 2>&1 || { cat apt.log; exit 1; }
files >after
diff before after
rm before after
sh post.sh >apt.log 2>&1 || { cat apt.log; exit 1; }
sh test.sh
[ ! -e /opt/gpusort ]
said="packages used, upgraded, and removed without a trace; installed as in a container"
# sorts FOLDER: the programs in FOLDER sort numbers, lines by time, and compressed lines. Nothing else is in the environment.
sorts() {
  env -i "$1/gpusort_gen" --type u64 --count 100000 --seed 1 in.u64
  env -i "$1/gpusort" --device cpu in.u64 out.u64
  env -i "$1/gpusort_check" --type u64 --against in.u64 out.u64 >/dev/null
  printf '2026-11-02 06:00:00 b\n2026-11-01 06:00:00 a\n' | env -i "$1/gpusort" --format log --timezone UTC --compress zst - - |
    env -i "$1/gpusort" --decompress zst --format lines - - | cmp - <(printf '2026-11-01 06:00:00 a\n2026-11-02 06:00:00 b\n')
}
if [ -n "$(ls new/*.whl 2>/dev/null)" ]; then
  apt-get update >apt.log 2>&1  # the script of the container has removed the lists
  apt-get install -y --no-install-recommends python3-venv >apt.log 2>&1 || { cat apt.log; exit 1; }
  python3 -m venv venv
  venv/bin/pip install --quiet --no-index new/*.whl
  sorts venv/bin
  venv/bin/python -c 'import gpusort; assert gpusort.sort("in.u64", "again.u64").records == 100000; assert gpusort.check("again.u64")'
  cmp out.u64 again.u64
  said="$said; wheel used"
fi
if [ -d new/bundle ]; then
  mv new/bundle /srv/moved
  sorts /srv/moved/bin
  env -i /srv/moved/bin/io_tests --gtest_brief=1 --gtest_filter='Spill*' >tests.log 2>&1 || { cat tests.log; exit 1; }
  said="$said; bundle used"
fi
if [ -e sources.tar ]; then
  mkdir sources
  tar x -C sources -f sources.tar
  (cd sources && tools/install-deps && tools/build cpu -DGPUSORT_TESTS=OFF -DGPUSORT_BENCH=OFF -DCMAKE_UNITY_BUILD=ON &&
    cmake --install build/cpu --prefix ~/.local) >build.log 2>&1 || { cat build.log; exit 1; }
  sorts ~/.local/bin
  said="$said; built from the sources"
fi
echo "$said"
END
# The README's program for host threads.
awk '/^```/ { take = $0 == "```cpp"; next } take' "$src/README.md" >host.cpp
# The scripts of the definition for Apptainer, which installs the packages in a container.
for section in post test; do
  awk -v section="%$section" '/^%/ { take = $0 == section; next } take' "$src/tools/packaging/apptainer.def" >$section.sh
done
# in_suite SUITE ARGUMENT...: tries the packages in a clean system that mmdebstrap makes.
in_suite() {
  [[ " ${GPUSORT_SUITES-$1} " = *" $1 "* ]] || return 0
  mmdebstrap --variant=minbase --include=apt,man-db,bash-completion,g++,pkg-config "$1" root "${@:2}" >mmdebstrap.log 2>&1 ||
    { echo "SKIPPED ($1 is not to be had): the packages there: $(tail -n 1 mmdebstrap.log)"; return; }
  tried+=("$1")
  mount -t proc proc root/proc
  cp /etc/resolv.conf root/etc/
  cp -R old new host.cpp in.parquet in-root.sh post.sh test.sh root/root/
  if [ "$1" = trixie ] && ! few; then cp sources.tar root/root/; fi
  mkdir -p root/opt/gpusort
  cp old/gpusort*.deb root/opt/gpusort/
  # A clean system lacks the launcher of compilers that this machine may have.
  env -u CMAKE_CXX_COMPILER_LAUNCHER -u CMAKE_CUDA_COMPILER_LAUNCHER chroot root /bin/bash /root/in-root.sh \
    >in-root.log 2>&1 || fail "in a clean $1: $(tail -n 30 in-root.log)"
  echo "$1: $(tail -n 1 in-root.log)"
  umount root/proc
  rm -rf --one-file-system root
}
trap 'umount root/proc 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
tried=()
in_suite bookworm
in_suite trixie
ubuntu=/usr/share/keyrings/ubuntu-archive-keyring.gpg
if [ -e $ubuntu ]; then
  for suite in noble resolute; do  # 24.04 and 26.04
    in_suite $suite "deb [signed-by=$ubuntu] http://archive.ubuntu.com/ubuntu $suite main universe"
  done
else
  echo 'SKIPPED (no keys of Ubuntu here): the packages there'
fi
[ ${#tried[@]} -gt 0 ] || exit 77
