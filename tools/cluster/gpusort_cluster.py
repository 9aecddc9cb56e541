"""The common part of gpusort-ray and gpusort-slurm: the command line, the tasks of a job, the lock on its folder."""
import collections
import errno
import fcntl
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import IO, Any, NoReturn

# The options of gpusort that change no bytes. Every task gets them on its command line. The task `runs` stores all
# other options in the folder of the job, where the other tasks find them.
ALL_TASKS = {"batch-bytes", "batch-size", "block-size", "buffer-size", "S", "compress-temp", "device", "fan-in",
             "force-format", "gpu-memory", "gpu-timeout", "j", "log-file", "log-format", "log-level", "max-record",
             "memory", "no-clobber", "no-fsync", "no-space-check", "parallel", "q", "quiet", "temp-dir",
             "temporary-directory", "T", "threads", "v", "verbose", "verify-output"}
REPORTS = {"stats", "trace", "report"}  # all tasks would write to one file
PROGRAM = os.path.basename(sys.argv[0])
NODE_FOLDER = "\0"  # in a command line: the folder of the node that the task runs on
Options = list[tuple[str, list[str]]]  # the name of each of gpusort's options, and its words on the command line


class Failed(Exception):  # noqa: N818
    """Ends the driver with one of gpusort's exit codes."""

    def __init__(self, code: int, message: object) -> None:
        super().__init__(message)
        self.code = code


def usage(message: str) -> NoReturn:
    raise Failed(2, f"{message}; see {PROGRAM} --help")


def ended(do: Callable[[], int]) -> int:
    """Returns the exit code of `do`. Prints the message of an error."""
    try:
        return do()
    except Failed as failed:
        code, message = failed.code, str(failed)
    except OSError as error:
        code, message = (5 if error.errno in (errno.ENOSPC, errno.EDQUOT) else 4), str(error)
        if error.filename is not None:
            message = f"{os.fsdecode(error.filename)}: {error.strerror}"
    print(f"{PROGRAM}: error: {message}", file=sys.stderr)
    return code


def print_help(text: str | None) -> int:
    """Prints the help of a driver, and returns the exit code. It is no error if the reader ends early, as head does."""
    try:
        print((text or "").strip(), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the end of the program flushes again
    return 0


def find_task(given: str | None) -> str:
    """Returns the path of gpusort_task: `given`, the program in the build of these scripts or in the folder of the
    driver, or only its name."""
    built = glob.glob(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build/*/gpusort_task"))
    if not given and not built and shutil.which("gpusort_task"):
        return "gpusort_task"
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "gpusort_task")
    if not given and not built and os.access(beside, os.X_OK):
        return beside  # in a Python environment that is not activated
    path = given or max(built, key=os.path.getmtime, default="gpusort_task")
    if not os.access(path, os.X_OK):
        raise Failed(2, f"{path}: there is no such program: build it, or say --task PATH")
    return os.path.abspath(path)


def find_gpusort(task: str) -> str:
    """Returns the path of gpusort in the folder of gpusort_task, or only its name."""
    beside = os.path.join(os.path.dirname(shutil.which(task) or task), "gpusort")
    return beside if os.access(beside, os.X_OK) else "gpusort"


def option_rows(task: str) -> list[dict[str, Any]]:
    """Returns what gpusort tells of its options."""
    program = find_gpusort(task)
    try:
        rows: list[dict[str, Any]] = json.loads(
            subprocess.run([program, "--help=json"], capture_output=True, check=True).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise Failed(2, f"{program}, which tells of its options: {error}") from None
    return rows


def options_with_values(task: str) -> set[str]:
    """Returns the names and letters of gpusort's options that take a word."""
    return {name for row in option_rows(task) if row["argument"] for name in (row["name"], row["letter"]) if name}


def word_after(word: str, rest: collections.deque[str]) -> str:
    return rest.popleft() if rest else usage(f"{word} needs a value")


@dataclass
class CommandLine:
    """`own`: the driver's options in their order. `options`: gpusort's. `names`: the names of files."""
    own: list[tuple[str, str]]
    options: Options
    names: list[str]

    def value(self, name: str) -> str | None:
        return dict(self.own).get(name)

    def has(self, *names: str) -> bool:
        return bool(dict(self.own).keys() & names)

    def number(self, name: str) -> int | None:
        """Returns the value of an option that takes a number, or None if the option is not given."""
        text = self.value(name)
        if text is not None and not re.fullmatch("[1-9][0-9]{0,5}", text):
            usage(f"--{name}: '{text}' is not a number from 1 to 999999")
        return None if text is None else int(text)

    def number_or(self, name: str, default: int) -> int:
        given = self.number(name)
        return default if given is None else given


def parse(argv: list[str], flags: Collection[str], values: Collection[str]) -> CommandLine:
    """Parses the command line of a driver whose own options are `flags` without a value and `values` with one."""
    found = CommandLine([], [], [])
    end = argv.index("--") if "--" in argv else len(argv)
    words, rest = collections.deque(argv[:end]), collections.deque[str]()
    while words:
        word = words.popleft()
        name, equals, value = word[2:].partition("=") if word.startswith("--") else ("", "", "")
        if name in flags and not equals:
            found.own.append((name, ""))
        elif name in values:
            found.own.append((name, value if equals else word_after(word, words)))
        else:
            rest.append(word)
    valued = set()
    if any(word.startswith("-") for word in rest):
        valued = options_with_values(find_task(found.value("task")))
    while rest:
        word = rest.popleft()
        name, equals, _ = word[2:].partition("=")
        if word == "-" or not word.startswith("-"):
            found.names.append(word)
        elif word.startswith("--"):
            found.options.append((name, [word, *([word_after(word, rest)] if name in valued and not equals else [])]))
        else:
            for at, letter in enumerate(word[1:], 2):  # -uS2G is -u and -S 2G
                if letter == "o":
                    found.own.append(("output", word[at:] or word_after(word, rest)))
                else:
                    takes = [word[at:] or word_after(word, rest)] if letter in valued else []
                    found.options.append((letter, ["-" + letter, *takes]))
                if letter == "o" or letter in valued:
                    break
    found.names += argv[end + 1:]
    return found


def complete(argv: list[str], flags: set[str], values: set[str]) -> bool:
    """Answers a shell that completes the command line of a driver. Returns False if no shell asks.

    gpusort answers for its own options, keys and files. `flags` and `values` are the driver's options as in `parse`."""
    kind = argv[0].removeprefix("--completion=") if argv else ""
    if kind not in ("line", "words"):
        return False
    typed = argv[1].split(" ") if kind == "line" else argv[2:3 + int(argv[1])]
    current = typed[-1]
    name, equals, _ = current.removeprefix("--").partition("=")
    before = typed[-2].removeprefix("--") if typed[-2:-1] and typed[-2].startswith("--") else ""
    asked = name if equals and current.startswith("--") else before
    if asked in values and asked not in ("progress", "output"):
        print({"dir": "folders", "task": "files"}.get(asked, "words"))
        return True
    # gpusort must not take the driver's options for its own, or their values for names of files.
    own = rf"(?<= )--(?:(?:{'|'.join(sorted(values - {'progress', 'output'}))})(?:=| +)[^ ]+|(?:{'|'.join(flags)})) +"
    if kind == "line":
        words = ["--completion=line", re.sub(own, "", re.sub("^ *[^ ]+", "gpusort", argv[1])), *argv[2:]]
    else:
        kept = ["gpusort"]
        left = collections.deque(typed[1:-1])
        while left:
            word = left.popleft()
            name, equals, _ = word.removeprefix("--").partition("=")
            if word.startswith("--") and name in values - {"progress", "output"}:
                if not equals and left:
                    left.popleft()
            elif not (word.startswith("--") and name in flags):
                kept.append(word)
        words = ["--completion=words", str(len(kept)), *kept, current, *argv[3 + int(argv[1]):]]
    program = find_gpusort(find_task(None))
    answer = subprocess.run([program, *words], capture_output=True, text=True, check=False).stdout.splitlines()
    if current.startswith("-") and not equals:
        mine = [f"--{option}" for option in flags] + [f"--{option}=" for option in values - {"output"}]
        about = f"\tan option of {PROGRAM}" if kind == "words" else ""
        theirs = [line for line in answer[1:] if line.split("\t")[0].strip() not in mine]
        answer = ["words", *theirs, *(word + about for word in sorted(mine) if word.startswith(current))]
    print(*(answer or ["files"]), sep="\n")
    return True


class Tasks:
    """The tasks of a job as command lines of gpusort_task. All names of files are absolute.

    The driver sets `program`, and `slices` and `parts` when it has planned the job. The number of a slice or a part may
    be a variable of the shell, which Slurm sets."""

    def __init__(self, line: CommandLine, suffix: str) -> None:
        """Inputs may be named in a file. The job's folder is hidden, in the folder of the output, by default."""
        for name, _ in line.options:
            if name in REPORTS:
                usage(f"--{name} tells of one process, and many tasks would write one file: give it to gpusort_task")
        names = list(line.names)
        output = line.value("output") or (names.pop() if names else usage("OUTPUT is missing"))
        for name, words in line.options:
            if name == "files0-from":
                source = words[-1].removeprefix("--files0-from=")
                with open(0 if source == "-" else source, "rb") as file:
                    names += [os.fsdecode(name) for name in file.read().split(b"\0") if name]
        if "-" in [*names, output]:
            usage("many tasks cannot read or write a stream: write it to a file first")
        whole = os.path.abspath(output)
        hidden = "{}/.gpusort-{}.{}".format(*os.path.split(whole), suffix)
        self.inputs = [os.path.abspath(name) for name in names]
        self.output = whole + "/" * output.endswith("/")
        self.folder = os.path.abspath(line.value("dir") or hidden)
        self.program = "gpusort_task"
        self.options: Options = [row for row in line.options if row[0] != "files0-from"]
        self.trust = ["--trust"] * line.has("trust")
        self.slices = self.parts = 1

    def words(self, only: Collection[str] | None = None) -> list[str]:
        """Returns the words of gpusort's options."""
        return [word for name, words in self.options if only is None or name in only for word in words]

    def job_options(self) -> list[list[str]]:
        """Returns the options that change the output."""
        return [words for name, words in self.options if name not in ALL_TASKS]

    def scanned(self) -> bool:
        """Returns true if the bytes before a slice decide where its records begin. Slices are then scanned first."""
        if self.slices == 1:
            return False
        rows = [row for option in option_rows(self.program) for row in option.get("formats", []) if row["scanned"]]
        for name, words in self.options:
            if name == "format":
                return words[-1].removeprefix("--format=") in [row["name"] for row in rows]
        endings = tuple(ending for row in rows for ending in row["extensions"])
        return any(name.lower().endswith(endings) for name in self.inputs)

    def slice(self, command: str, k: int | str, place: str) -> list[str]:
        """`command`: "scan" or "runs"."""
        return [self.program, command, "--slice", f"{k}/{self.slices}", "--into", place, *self.words(), "--",
                *self.inputs]

    def cut(self, *more: str) -> list[str]:
        return [self.program, "cut", "--parts", str(self.parts), *more, *self.words(ALL_TASKS), self.folder]

    def borders(self, k: int) -> list[str]:
        return [self.program, "borders", "--parts", str(self.parts), NODE_FOLDER, "--run", str(k)]

    def part(self, j: int | str, place: str, *more: str) -> list[str]:
        return [self.program, "part", "--part", f"{j}/{self.parts}", *more, *self.words(ALL_TASKS), place, self.output]

    def prove(self) -> list[str]:
        return [self.program, "prove", "--parts", str(self.parts), *self.trust, *self.words(ALL_TASKS), self.folder,
                self.output]


def lock(folder: str) -> IO[str]:
    """Makes the folder and locks it until the returned file is closed, so that one driver at a time works in it.

    On a file system without locks, two drivers may run. This does no harm to tasks, but one driver may remove files
    that the other one needs."""
    path = os.path.join(folder, "driver.lock")
    while True:
        os.makedirs(folder, 0o700, exist_ok=True)
        try:
            file = open(path, "a+")  # noqa: SIM115
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Failed(2, f"{folder}: another driver is at work there: {file.readline().strip()}") from None
        except OSError:
            return file
        try:
            there = os.stat(path)
        except FileNotFoundError:
            there = None
        if there and os.path.samestat(os.fstat(file.fileno()), there):
            file.truncate(0)
            print(f"{PROGRAM}, process {os.getpid()} on {socket.gethostname()}", file=file, flush=True)
            return file
        file.close()  # a driver that has ended meanwhile has removed this file
