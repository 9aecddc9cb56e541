# labels: any_build
# Tests what tools/packaging has for clusters, each with its own tool where that is installed: the module file of the
# bundle with Lmod, the wrapper for Snakemake in a rule, the recipes of EasyBuild, conda and Spack, the module for
# Nextflow, and the definition for Apptainer. tools/install-deps --nightly installs those tools that can be had from
# Debian and PyPI. Without its tool, a recipe is only read: options, versions and syntax. With GPUSORT_FEW, EasyBuild
# builds nothing.
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
# Versions are those of the sources, and each option of CMake exists.
packaging=$src/tools/packaging
version=$(sed -n 's/^ *set(GPUSORT_RELEASE \([0-9.]*\))/\1/p' "$src/CMakeLists.txt")
grep -q "^    version(\"$version\")" "$packaging/spack/package.py" || fail "Spack has another version than $version"
grep -q "^  version: \"$version\"" "$packaging/conda/recipe.yaml" || fail "conda has another version than $version"
grep -q "^This is version $version," "$src/README.md" || fail "README has another version than $version"
for file in "$packaging"/easybuild/*.eb; do
  [[ ${file##*/} == gpusort-$version-* ]] && grep -q "^version = '$version'" "$file" || fail "$file has another version than $version"
done
grep -ohE 'GPUSORT_[A-Z_]+' "$packaging"/{spack/package.py,conda/recipe.yaml} "$packaging"/easybuild/*.eb | sort -u | while read -r option; do
  grep -rqE "(option|set)\($option " "$src/tools/cmake" || fail "CMake has no option $option"
done

if [ -n "$lmod" ] && [ -x "$src/build/easybuild/bin/eb" ]; then
  # EasyBuild finds every dependency in its own collection, and goes through the steps of both recipes.
  printf 'not unpacked' >gpusort-$version.tar.gz
  echo '{}' >checksums.json  # without this file, the dry run looks for no source
  eb() {
    HOME=$work LMOD_CMD=$lmod EB_PYTHON=$src/build/easybuild/bin/python PYTHONPATH='' \
      EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES=1 "$src/build/easybuild/bin/eb" --modules-tool=Lmod \
      --prefix="$work/easybuild" --sourcepath="$work" --tmpdir="$work/easybuild" "$@"
  }
  for file in "$packaging"/easybuild/*.eb; do
    eb --dry-run --robot="$src/build/easybuild/easybuild/easyconfigs" "$file" >said 2>&1 || fail "EasyBuild: $(tail -n 5 said)"
    name=${file##*/gpusort-}
    grep -q "(module: gpusort/${name%.eb})" said || fail "EasyBuild: $(tail -n 5 said)"
    for library in Boost fmt spdlog RE2 Highway $(grep -qF CUDA <<<"$name" && echo CUDA); do
      grep -q "(module: $library/" said || fail "EasyBuild does not want $library: $(tail -n 40 said)"
    done
    eb --extended-dry-run "$file" >said 2>&1 || fail "EasyBuild: $(tail -n 20 said)"
    grep -q 'running shell command "cmake .*-DGPUSORT_CUDA=' said || fail "EasyBuild: $(grep -A3 WARNING said | head -n 20)"
  done
  if ! few; then
    # Builds, installs and tries gpusort by the recipe, with the compiler and the libraries of this system: those of
    # EasyBuild take a day to build.
    file=$packaging/easybuild/gpusort-$version-GCC-13.3.0.eb
    sed "s/^toolchain = .*/toolchain = SYSTEM/; s/-DGPUSORT_CUDA=OFF/& -DCMAKE_UNITY_BUILD=ON/" "$file" >gpusort-$version.eb
    dependencies=$(sed -n "s/^    ('\([^']*\)', '[0-9.-]*'),.*/\1/p" "$file" | paste -sd,)
    (cd "$src" && tar c --exclude=./build --exclude=__pycache__ --exclude=./bundle --exclude=./.git \
      --transform="s,^[.],gpusort-$version," .) | gzip -1 >"gpusort-$version.tar.gz"
    rm checksums.json
    eb --filter-deps="$dependencies" "gpusort-$version.eb" >said 2>&1 || fail "EasyBuild: $(tail -n 20 said)"
    export MODULEPATH=$work/easybuild/modules/all
    [ "$(bash -c 'eval "$('"$lmod"' bash load gpusort)"; printf "b\na\n" | gpusort - -' | tr -d '\n')" = ab ] ||
      fail "the module of EasyBuild: $("$lmod" bash load gpusort)"
    ran+=('a build by EasyBuild')
  fi
  rm -rf easybuild checksums.json .config .local gpusort-$version.{eb,tar.gz}
  ran+=(EasyBuild)
else
  skipped+=(EasyBuild)
fi

python=$src/build/rattler/bin/python
if [ -x "$python" ]; then
  "$python" - "$packaging/conda/recipe.yaml" "$version" <<'END' || fail 'the recipe of conda'
import sys
import rattler_build as rattler
variants = {"cxx_compiler": ["gxx"], "cxx_compiler_version": ["13"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"],
            "cuda_compiler": ["cuda-nvcc"], "cuda_compiler_version": ["12.9"]}
recipe = rattler.Stage0Recipe.from_file(sys.argv[1])
made = recipe.render(rattler.VariantConfig(variants), rattler.RenderConfig(platform=rattler.PlatformConfig(target_platform="linux-64")))
made = {one.recipe.package.name: one.recipe.to_dict() for one in made}
assert set(made) == {"gpusort", "gpusort-cuda"}, made
for name, one in made.items():
    cuda = name == "gpusort-cuda"
    assert one["package"]["version"] == sys.argv[2], one
    assert ("-DGPUSORT_CUDA=ON" in one["build"]["script"][0]) == cuda, one
    assert ("cuda-nvcc_linux-64 12.9.*" in one["requirements"]["build"]) == cuda, one
    assert ("__cuda >=12" in one["requirements"]["run"]) == cuda, one
END
  ran+=(conda)
else
  skipped+=(conda)
fi
echo 'SKIPPED (no channel of conda can be reached): a build of the recipe'

if command -v spack >/dev/null; then
  mkdir -p repo/packages/gpusort
  printf 'repo:\n  namespace: gpusort\n  api: v2.0\n' >repo/repo.yaml
  cp "$packaging/spack/package.py" repo/packages/gpusort/
  for spec in 'gpusort' 'gpusort +cuda cuda_arch=90'; do
    spack -C "$work" --config "repos:[$work/repo]" spec $spec >said 2>&1 || fail "spack spec $spec: $(cat said)"
  done
  ran+=(Spack)
elif command -v python3 >/dev/null; then
  # The recipe with stand-ins for Spack's directives, which checks its syntax and the arguments of CMake.
  python3 - "$packaging/spack/package.py" <<'END' || fail 'the recipe of Spack'
import contextlib, sys, types
said = []
class CMakePackage:
    run_tests = False
    def define(self, name, value): return f"-D{name}={'ON' if value else 'OFF'}"
    def define_from_variant(self, name, variant): return self.define(name, self.variants[variant])
class CMakeBuilder:
    @staticmethod
    def define_cuda_architectures(package): return "-DCMAKE_CUDA_ARCHITECTURES=90"
class CudaPackage:
    cuda_arch_values = ("10", "70", "75", "90", "90a", "121f")
spack = types.ModuleType("spack.package")
for name in ("version", "depends_on", "conflicts", "generator"):
    setattr(spack, name, lambda *words, name=name, **more: said.append((name, words, more)))
spack.default_args = lambda **more: contextlib.nullcontext()
modules = {"spack": types.ModuleType("spack"), "spack.package": spack, "spack_repo.builtin.build_systems.cmake": types.SimpleNamespace(CMakePackage=CMakePackage, CMakeBuilder=CMakeBuilder),
           "spack_repo.builtin.build_systems.cuda": types.SimpleNamespace(CudaPackage=CudaPackage)}
for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"): modules[name] = types.ModuleType(name)
sys.modules.update(modules)
scope = {}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), scope)
package = scope["Gpusort"]()
package.spec = types.SimpleNamespace(satisfies=lambda text: text in true)
for cuda, chosen in ((False, False), (True, False), (True, True)):
    package.variants = {"cuda": cuda}
    true = (["+cuda"] if cuda else []) + ([] if chosen else ["cuda_arch=none"])
    args = package.cmake_args()
    assert f"-DGPUSORT_CUDA={'ON' if cuda else 'OFF'}" in args and "-DGPUSORT_TESTS=OFF" in args, args
    assert ("-DCMAKE_CUDA_ARCHITECTURES=90" in args) == (cuda and chosen), args
assert [words[0] for name, words, _ in said if name == "conflicts"] == ["%gcc@:11", "cuda_arch=10", "cuda_arch=70"], said
assert package.url_for_version("1.2").endswith("/gpusort-1.2.tar.gz")
END
  skipped+=(Spack)
else
  skipped+=(Spack)
fi

# The script of the module for Nextflow, for a task with and without memory and GPU. Groovy makes the command line.
if command -v groovy >/dev/null && command -v java >/dev/null; then
  java=$(readlink -f "$(command -v java)")
  export JAVA_HOME=${JAVA_HOME-${java%/bin/java}}
  sed -n '/^    script:/,/^    stub:/p' "$packaging/nextflow/main.nf" | sed '1d;$d' >body.groovy
  cat >task.groovy <<'END'
def task = [cpus: 2, ext: [args: '--unique'], accelerator: args[0] == 'full' ? 1 : null,
            memory: args[0] == 'full' ? new Expando(toBytes: { 800L << 20 }) : null]
def names = ['first part.csv', "it's.csv"].collect { new File(it) }
def binding = new Binding(task: task, inputs: args[0] == 'full' ? names : names[0], output: 'sorted csv.csv', keys: ["id:int:desc"])
println new GroovyShell(binding).evaluate(new File(args[1]))
END
  printf 'id,name\n3,c\n1,a\n1,z\n' >'first part.csv'
  printf 'id,name\n2,b\n1,a\n' >"it's.csv"
  for kind in full bare; do
    groovy task.groovy $kind body.groovy >command.sh 2>err || fail "groovy: $(cat err)"
    [ "$(grep -c -e '--memory 734003200 --device auto' command.sh)" = "$([ $kind = full ] && echo 1 || echo 0)" ] || fail "$(cat command.sh)"
    PATH=$bin:$PATH bash -e command.sh || fail "$(cat command.sh)"
    [ "$(tr '\n' ' ' <'sorted csv.csv')" = "$([ $kind = full ] && echo 'id,name 3,c 2,b 1,a ' || echo 'id,name 3,c 1,a ')" ] || fail "$(cat 'sorted csv.csv')"
    [ -s gpusort.json ] || fail 'no statistics'
    rm 'sorted csv.csv' gpusort.json
  done
  ran+=('the script for Nextflow')
fi
command -v nextflow >/dev/null || skipped+=(Nextflow)

# The scripts of the definition for Apptainer. tests/cli/package.sh runs them in a clean Debian.
for section in post test runscript environment; do
  awk -v section="%$section" '/^%/ { take = $0 == section; next } take' "$packaging/apptainer.def" >script
  [ -s script ] && sh -n script || fail "apptainer.def: %$section"
done
command -v apptainer >/dev/null || skipped+=(Apptainer)
nothing_left
for tool in "${skipped[@]}"; do echo "SKIPPED (no $tool): what tools/packaging has for it"; done
[ ${#ran[@]} -gt 0 ] || exit 77
echo "recipes: ${ran[*]}"
