# labels: any_build
# Tests what tools/packaging has for clusters, each with its own tool where that is installed: the module file of the
# bundle with Lmod, and the wrapper for Snakemake in a rule (build/snakemake/bin/snakemake, or on the PATH).
. "$2/tests/cli/common.sh.inc"
ran=()
skipped=()

# The module file in a folder that looks like a bundle.
lmod=$(ls /usr/share/lmod/lmod/libexec/lmod 2>/dev/null || true)
if [ -n "$lmod" ]; then
  mkdir -p 'a bundle/bin' 'a bundle/share/modulefiles/gpusort' elsewhere/gpusort
  ln -s "$bin/gpusort" 'a bundle/bin/'
  cp "$src/tools/packaging/modulefile.lua" 'a bundle/share/modulefiles/gpusort/1.2.3.lua'
  cp "$src/tools/packaging/modulefile.lua" elsewhere/gpusort/1.2.3.lua
  export LMOD_SYSTEM_DEFAULT_MODULES='' MODULEPATH="$work/a bundle/share/modulefiles"
  inside() { bash -c 'eval "$('"$lmod"' bash load gpusort)"; '"$1"; }
  [ "$(inside 'command -v gpusort')" = "$work/a bundle/bin/gpusort" ] || fail "the module: $("$lmod" bash load gpusort)"
  [[ $(inside 'echo "$MANPATH"') == "$work/a bundle/share/man"* ]] || fail "MANPATH: $(inside 'echo "$MANPATH"')"
  [ "$(inside 'eval "$('"$lmod"' bash unload gpusort)"; command -v gpusort' || true)" != "$work/a bundle/bin/gpusort" ] || fail 'module unload'
  MODULEPATH=$work/elsewhere "$lmod" bash load gpusort >said 2>err || true
  says 'share/modulefiles/gpusort of a bundle'
  ran+=(Lmod)
else
  skipped+=(Lmod)
fi

snakemake=$src/build/snakemake/bin/snakemake
[ -x "$snakemake" ] || snakemake=$(command -v snakemake || true)
if [ -n "$snakemake" ]; then
  mkdir flow noted
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" >%s/words\nexec %s "$@"\n' "$work" "$bin/gpusort" >noted/gpusort
  chmod +x noted/gpusort
  cd flow
  printf 'id,name\n3,c\n1,a\n1,z\n' >'first part.csv'
  printf 'id,name\n2,b\n1,a\n' >second.csv
  cat >Snakefile <<RULES
rule sort:
    input: "first part.csv", "second.csv"
    output: "sorted.csv"
    params: key=["id:int:desc", "name"], extra="--unique"
    log: "sorted.log"
    threads: 2
    resources: mem_mb=800, tmpdir="$work"
    wrapper: "file:$src/tools/packaging/snakemake"

rule wrong:
    input: "second.csv"
    output: "wrong.csv"
    params: key=["nothing"]
    log: "wrong.log"
    wrapper: "file:$src/tools/packaging/snakemake"
RULES
  PATH=$work/noted:$PATH HOME=$work "$snakemake" --cores 2 sort >said 2>&1 || fail "snakemake: $(cat said sorted.log)"
  same sorted.csv <(printf 'id,name\n3,c\n2,b\n1,a\n1,z\n')
  # 800 million bytes less 100 MiB for the program.
  for word in --threads=2 --device=cpu --memory=695142400 "--temp-dir=$work"; do
    grep -qx -- "$word" ../words || fail "the wrapper does not give $word: $(cat ../words)"
  done
  if PATH=$work/noted:$PATH HOME=$work "$snakemake" --cores 2 wrong >said 2>&1; then fail 'a wrong key is no error'; fi
  grep -q "there is no column 'nothing'" wrong.log || fail "$(cat wrong.log said)"
  [ ! -e wrong.csv ] || fail 'a failed job left its output'
  cd ..
  ran+=(Snakemake)
else
  skipped+=(Snakemake)
fi
nothing_left
for tool in "${skipped[@]}"; do echo "SKIPPED (no $tool): what tools/packaging has for it"; done
[ ${#ran[@]} -gt 0 ] || exit 77
echo "recipes: ${ran[*]}"
