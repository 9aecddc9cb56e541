# labels: any_build
# Tests the manual pages of the drivers for many machines: every option, exit code, folder and version is there.
# The help of a driver may be read in part.
. "$2/tests/cli/common.sh.inc"
command -v groff >/dev/null || { few && fail 'there is no groff: tools/install-deps --tests'; echo 'SKIPPED (no groff): the pages'; exit 77; }
for driver in ray slurm; do
  groff -man -Tascii -ww "$bin/gpusort-$driver.1" 2>warnings | sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' >page
  [ ! -s warnings ] || fail "gpusort-$driver.1: $(cat warnings)"
  for section in 'EXIT STATUS' FILES 'FILE SYSTEMS' VERSIONS 'SEE ALSO'; do
    grep -qx "$section" page || fail "gpusort-$driver.1 has no section $section"
  done
  for code in 0 2 3 4 '5, 6, 7, 8, 9' 75; do
    grep -Eq "^ +$code( |\$)" page || fail "gpusort-$driver.1 has no exit code $code"
  done
  grep -q "[.]gpusort-OUTPUT[.]$driver" page || fail "gpusort-$driver.1 does not name its folder"
  "$src/tools/cluster/gpusort-$driver" --help | grep -o -- '--[a-z-]*' | while read -r option; do
    grep -q -- "$option" page || fail "gpusort-$driver.1 has no $option"
  done
  # A reader of the help that has ended, as head does, is no error.
  exec 7> >(:)
  wait $!
  "$src/tools/cluster/gpusort-$driver" --help >&7 2>err || fail "gpusort-$driver --help: exit code $?, $(cat err)"
  [ ! -s err ] || fail "gpusort-$driver --help: $(cat err)"
  exec 7>&-
done
version=$(sed -n 's/^RAY = "\(.*\)"/\1/p' "$src/tools/cluster/gpusort-ray")
grep -q "Ray $version," "$bin/gpusort-ray.1" || fail "gpusort-ray.1 does not name Ray $version"
if grep -n '@' "$bin"/gpusort-{ray,slurm}.1; then fail 'a name was not replaced'; fi
echo 'cluster pages: ok'
