"""A wrapper for Snakemake: sorts the inputs of a rule into its output by gpusort.

rule sort_orders:
    input: "january.csv", "february.csv"
    output: "sorted.csv"
    params: key=["created_at:timestamp:desc"], extra="--unique"
    log: "sorted.log"
    threads: 8
    resources: mem_mb=4000, tmpdir="/scratch", gpu=1
    wrapper: "file:/path/of/this/folder"

The memory of the job is mem_mb less an eighth, at most 1 GiB, for the program itself and the driver of GPUs. threads is
the number of cores, tmpdir the folder for temp files. If gpu is not 0, gpusort may use the GPUs that the task sees,
otherwise it uses the CPU. `extra` has further options.
"""
from typing import TYPE_CHECKING

from snakemake.shell import shell

if TYPE_CHECKING:  # Snakemake itself defines the name when it runs this file
    from snakemake.script import snakemake

memory = snakemake.resources.get("mem_mb")
program_mib = min(1024, int(memory) // 8) if memory else 0
words = [
    *(f"--key={key}" for key in snakemake.params.get("key", [])),
    f"--threads={snakemake.threads}",
    f"--device={'auto' if snakemake.resources.get('gpu', 0) else 'cpu'}",
    # mem_mb counts millions of bytes.
    *([f"--memory={(int(memory) * 10**6) - (program_mib << 20)}"] if memory else []),
    *([f"--temp-dir={snakemake.resources['tmpdir']}"] if snakemake.resources.get("tmpdir") else []),
    f"--output={snakemake.output[0]}",
]
extra = snakemake.params.get("extra", "")
log = snakemake.log_fmt_shell(stdout=False, stderr=True)
inputs = list(snakemake.input)
shell("gpusort {extra} {words:q} -- {inputs:q} {log}")
