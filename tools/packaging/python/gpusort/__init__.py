"""Sorts files that are larger than memory, by the program gpusort.

    import gpusort

    done = gpusort.sort("orders.csv", "sorted.csv", keys=["created_at:timestamp:desc"], memory="2G")
    print(done.records)

The functions start the program and wait for it. Parquet files need pyarrow, which the extra "parquet" of the package
installs. gpusort-python(7) explains them; gpusort(1) explains keys and options.
"""
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings as python_warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Checked", "Error", "GpuError", "InputError", "InternalError", "IoError", "NoSpaceError", "Progress",
           "ProofError", "Sorted", "StoppedError", "TooLittleMemoryError", "UsageError", "Warned", "check", "program",
           "sort"]

Path = str | os.PathLike[str]


class Warned(UserWarning):
    """The category of gpusort's warnings: a guess that may be wrong, or something that was skipped."""


class Error(Exception):
    """A job has failed. The text is the program's message.

    `exit_code` is the program's. `path`, `errno` (a name such as "ENOSPC") and `signal` (a name such as "SIGTERM") are
    None if the program does not tell them.
    """

    def __init__(self, message: str, exit_code: int, event: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        facts = event or {}
        self.exit_code = exit_code
        self.path: str | None = facts.get("path")
        self.errno: str | None = facts.get("errno")
        self.signal: str | None = facts.get("signal")

    def __reduce__(self) -> tuple[type["Error"], tuple[str, int, dict[str, str | None]]]:
        """Lets errors pass between processes."""
        return type(self), (str(self), self.exit_code, {"path": self.path, "errno": self.errno, "signal": self.signal})


class UsageError(Error):
    """Exit 2: the usage is wrong, or a file is missing or unreadable."""


class InputError(Error):
    """Exit 3: the input breaks its format or a limit, or it changed while gpusort read it."""


class IoError(Error):
    """Exit 4: a file cannot be read or written."""


class NoSpaceError(Error):
    """Exit 5: no space, a quota, or a limit on the size of files."""


class TooLittleMemoryError(Error):
    """Exit 6: host or GPU memory is too small."""


class GpuError(Error):
    """Exit 7: the GPU is absent or has failed, and `device` allows no CPU."""


class ProofError(Error):
    """Exit 8: a checksum, a count or the order does not agree."""


class InternalError(Error):
    """Exit 9: an error of gpusort."""


class StoppedError(Error):
    """A signal has stopped the job: exit 128+n, or 75 if the same call continues the job."""


_ERRORS = {2: UsageError, 3: InputError, 4: IoError, 5: NoSpaceError, 6: TooLittleMemoryError, 7: GpuError,
           8: ProofError, 9: InternalError, 75: StoppedError}


@dataclass(frozen=True)
class Progress:
    """How far a job is. A value that is not known is None."""

    phase: str
    bytes: int
    bytes_total: int | None
    bytes_per_second: float
    percent: int | None
    seconds_left: float | None
    waits_for: str | None
    message: str


@dataclass(frozen=True)
class Sorted:
    """What a job did. `bytes` is the size of the sorted data, and of compressed data the size when it is expanded."""

    records: int
    bytes: int
    runs: int
    temp_bytes_written: int
    seconds: float
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """Whether an input is in order. It is true if so. Otherwise `message` names the first record out of order."""

    in_order: bool
    message: str
    seconds: float
    warnings: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.in_order


def sort(inputs: Path | Sequence[Path], output: Path, *, keys: Sequence[str] = (), format: str | None = None,  # noqa: A002
         memory: str | int | None = None, threads: int | None = None, device: str | None = None,
         options: Sequence[str] = (), on_progress: Callable[[Progress], object] | None = None) -> Sorted:
    """Sorts the inputs into the output, which is replaced if it exists.

    `options` are further options of the command line, such as "--unique". `on_progress` is called each second and at
    the end of each phase; an exception in it stops the job. Raises a subclass of Error if the job fails.
    """
    names = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    if not names:
        raise ValueError("sort needs an input")
    words = [*_words(keys, format, memory, threads, device, options), f"--output={_name(output)}"]
    done, warned = _run(words, [_name(name) for name in names], on_progress)
    return Sorted(done["records"], done["bytes"], done["runs"], done["temp_bytes_written"], done["seconds"], warned)


def check(input: Path, *, keys: Sequence[str] = (), format: str | None = None, memory: str | int | None = None,  # noqa: A002
          threads: int | None = None, options: Sequence[str] = (),
          on_progress: Callable[[Progress], object] | None = None) -> Checked:
    """Returns whether the input is in order. The arguments are those of `sort`."""
    words = [*_words(keys, format, memory, threads, None, options), "--check"]
    done, warned = _run(words, [_name(input)], on_progress)
    return Checked(done["exit_code"] == 0, done.get("message", ""), done["seconds"], warned)


def program() -> str:
    """Returns the path of the program gpusort: that of this package, otherwise the one on the PATH."""
    try:
        files = importlib.metadata.files("gpusort") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    places = [str(file.locate()) for file in files if file.name == "gpusort" and file.parent.name == "bin"]
    # `pip install --target FOLDER` moves the programs to FOLDER/bin and does not note it.
    places.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin", "gpusort"))
    places.append(os.path.join(sysconfig.get_path("scripts"), "gpusort"))
    for place in places:
        if os.access(place, os.X_OK) and os.path.isfile(place):
            return os.path.realpath(place)
    found = shutil.which("gpusort")
    if found is None:
        raise FileNotFoundError(f"there is no program gpusort: neither on the PATH nor as {', '.join(places)}")
    return found


def _name(path: Path) -> str:
    """Returns the name of a file for the command line, on which - means standard input or output."""
    name = os.fspath(path)
    return "./-" if name == "-" else name


def _words(keys: Sequence[str], format: str | None, memory: str | int | None, threads: int | None,  # noqa: A002
           device: str | None, options: Sequence[str]) -> list[str]:
    for name, value in (("keys", keys), ("options", options)):
        if isinstance(value, str):
            raise TypeError(f"{name} must be a list of strings, not one string")
    named = {"format": format, "memory": memory, "threads": threads, "device": device}
    return [*options, *(f"--key={key}" for key in keys),
            *(f"--{name}={value}" for name, value in named.items() if value is not None)]


def _run(words: list[str], names: list[str],
         on_progress: Callable[[Progress], object] | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Runs the program. Returns its last event and its warnings."""
    command = [program(), *words, "--log-format=json", "--log-level=info",
               f"--progress={'always' if on_progress else 'never'}", "--", *names]
    last: dict[str, Any] = {}
    warned: list[str] = []
    other: list[str] = []  # lines of the system, such as those about a library that is missing
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            for raw in process.stderr:
                line = raw.decode(errors="backslashreplace").rstrip("\n")
                event = _event(line)
                if event is None:
                    other.append(line)
                elif event["event"] == "progress" and on_progress:
                    facts: dict[str, Any] = {name: event.get(name) for name in Progress.__dataclass_fields__}
                    on_progress(Progress(**facts))
                elif event["event"] in ("done", "failed"):
                    last = event
                elif event["event"] == "note" and event["level"] == "warning":
                    warned.append(event["message"])
                    python_warnings.warn(event["message"], Warned, stacklevel=3)
            process.wait()
        except BaseException:
            process.terminate()
            process.communicate()
            raise
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if last.get("event") == "done":
        if other:
            print(*other, sep="\n", file=sys.stderr)
        return last, tuple(warned)
    kind = _ERRORS.get(code, StoppedError if code > 128 else Error)
    message = last.get("message") or "\n".join(other) or f"gpusort ended with exit code {code} and without a message"
    raise kind(message, code, last)


def _event(line: str) -> dict[str, Any] | None:
    """Returns the event of a line of the log, and None if the line is no such event."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None
