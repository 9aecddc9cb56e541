# labels: any_build
# The Python of tools/ and tests/ must pass ruff and mypy.
. "$2/tests/cli/common.sh.inc"
lint=$src/build/lint/bin
if [ ! -x "$lint/ruff" ] || [ ! -x "$lint/mypy" ]; then
  few && fail 'there is no ruff or mypy: tools/install-deps --tests'
  echo 'SKIPPED: there is no ruff or mypy (tools/install-deps --tests): python'
  exit 77
fi
cd "$src"
types=("$lint/mypy" --config-file .mypy.ini --cache-dir "$work" --no-error-summary)
# Programs have no suffix, but a first line that names python3.
# Spack's recipe has names that only Spack knows. recipes.sh tests it.
mapfile -t tools < <(grep -lIrE -m 1 '^#!.*python3' tools; find tools -name '*.py' ! -path '*/spack/*')
mapfile -t tests < <(find tests data -name '*.py')
[ ${#tools[@]} -gt 9 ] && [ ${#tests[@]} -gt 8 ] || fail "too few scripts: ${tools[*]} ${tests[*]}"
"$lint/ruff" check --no-cache --quiet "${tools[@]}" "${tests[@]}" || fail 'ruff'
"${types[@]}" --strict "${tools[@]}" || fail 'mypy'
# Tests have no annotations of their own.
for test in "${tests[@]}"; do "${types[@]}" "$test" || fail "mypy: $test"; done

# Mistakes are found.
mkdir "$work/planted"
printf 'def twice(x: int) -> str:\n    return 2 * x\n' >"$work/planted/planted.py"
"${types[@]}" --strict "$work/planted/planted.py" >"$work/said" && fail 'mypy finds no error'
printf 'import os\n' >"$work/planted/planted.py"
"$lint/ruff" check --no-cache --quiet --config .ruff.toml "$work/planted/planted.py" >"$work/said" && fail 'ruff finds no error'
echo "python: ${#tools[@]} scripts of tools/ and ${#tests[@]} of tests/ and data/ pass ruff and mypy"
