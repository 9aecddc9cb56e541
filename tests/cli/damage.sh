# labels: hours
# Damages the files that a job with --resume-dir has left before the job continues. The result must be the right bytes,
# or exit 8 with the name of the file. GPUSORT_SLOW=1: 2000 random damages, and every damage to every line of manifests.
# GPUSORT_SEED chooses the damages.
. "$2/tests/cli/common.sh.inc"
g=$bin/gpusort
seed=${GPUSORT_SEED:-$$}
echo "damage: GPUSORT_SEED=$seed"
count=40
[ "${GPUSORT_SLOW-}" != 1 ] || count=2000
if sanitized; then count=20; fi
damage() { python3 "$src/tests/cli/damage_random.py" "$g" "$bin/gpusort_gen" "$@" || fail "seed $seed: $(pwd)"; }
damage "$count" "$seed"
[ "${GPUSORT_SLOW-}" != 1 ] || damage 0 "$seed"
echo "damage: ok"
