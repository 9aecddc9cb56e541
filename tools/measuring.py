"""Finds the built programs, empties the page cache, times commands: shared by the scripts that measure."""
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

TOOLS = Path(__file__).resolve().parent
PROGRAM = os.path.basename(sys.argv[0])
TEMPORARY = os.environ.get("TMPDIR", "/tmp")


def warn(message: object) -> None:
    print(f"{PROGRAM}: {message}", file=sys.stderr, flush=True)


def fail(message: object, code: int = 1) -> NoReturn:
    """Ends the script with a message on standard error."""
    warn(message)
    sys.exit(code)


def find_programs(given: str, names: Sequence[str]) -> Path:
    """Returns the folder of the programs: `given`, the folder of this script in a bundle, or build/release."""
    beside = TOOLS if os.access(TOOLS / "gpusort", os.X_OK) else TOOLS.parent / "build/release"
    folder = Path(given).resolve() if given else beside.resolve()
    for name in names:
        if not os.access(folder / name, os.X_OK):
            fail(f"{folder}/{name} is missing: build first (tools/build)")
    return folder


def commit_of_sources() -> str:
    """Returns the content of the bundle's COMMIT file, or else the commit that is checked out."""
    if (stored := TOOLS.parent / "COMMIT").exists():
        return stored.read_text().strip()
    git = ["git", "-C", str(TOOLS)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode != 0:
        return "unknown"
    changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, check=False)
    return head.stdout.strip() + ("-modified" if changed.stdout else "")


def utc_now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_gpus() -> tuple[str, int]:
    """Returns the name and the driver of the first NVIDIA GPU, or "", and the number of the GPUs."""
    if not shutil.which("nvidia-smi"):
        return "", 0
    asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                           capture_output=True, text=True, check=False)
    found = asked.stdout.splitlines() if asked.returncode == 0 else []
    return (found[0] if found else ""), len(found)


def describe_machine(gpu: str, folder: str) -> dict[str, Any]:
    """Returns what a table of results says of this machine and of the file system of `folder`."""
    cpu = re.search(r"^model name[^:]*: *(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    file_system = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True).stdout
    return {"cpu": cpu[1] if cpu else "unknown", "cores": os.cpu_count(), "memory_mib": memory >> 20,
            "gpu": gpu or "none", "kernel": platform.release(), "file_system": file_system.strip()}


def drop_caches() -> bool:
    """Writes dirty pages to the disk and empties the page cache. Returns false if that is not allowed."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        return False
    return True


class Spread(NamedTuple):
    """The median and the extremes of several measurements."""
    median: float
    least: float
    most: float

    def json(self) -> dict[str, float]:
        return {"median": self.median, "min": self.least, "max": self.most}


def spread(values: Iterable[float]) -> Spread:
    """Returns the spread of at least one value."""
    found = sorted(values)
    return Spread(statistics.median(found), found[0], found[-1])


class Timed(NamedTuple):
    """The time and the peak resident set of a process, which gpusort_bench measures."""
    seconds: float
    rss_kib: float | None


def run_bench(programs: Path, *words: str) -> Timed:
    """Runs gpusort_bench, whose standard output is a line of JSON. Raises CalledProcessError with all messages."""
    command = [str(programs / "gpusort_bench"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return Timed(answer["seconds"], answer.get("max_rss_kib"))


def time_command(programs: Path, *command: str) -> Timed:
    """Runs a command to its end. Raises CalledProcessError if it fails."""
    return run_bench(programs, "exec", "--", *command)
