"""What gpusort-ray and gpusort-slurm have in common: the command line, the lock on a job's folder, how they end."""
import collections
import errno
import fcntl
import glob
import os
import re
import shutil
import socket
import subprocess
import sys

# Of gpusort's options, what changes no bytes: all tasks get it. The rest belongs to the job, and `runs` writes it down.
ALL_TASKS = {"batch-bytes", "batch-size", "block-size", "buffer-size", "S", "compress-temp", "device", "fan-in",
             "force-format", "gpu-memory", "gpu-timeout", "log-file", "log-format", "log-level", "max-record", "memory",
             "no-clobber", "no-fsync", "no-space-check", "parallel", "temp-dir", "temporary-directory", "T", "threads",
             "verify-output"}
REPORTS = {"stats", "trace", "report"}  # of one process: all tasks would write to one file
PROGRAM = os.path.basename(sys.argv[0])


class Failed(Exception):
    """Ends the driver. The code is one of gpusort's."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def usage(message):
    raise Failed(2, f"{message}; see {PROGRAM} --help")


def ended(do):
    """The exit code of `do`, which says what went wrong."""
    try:
        return do()
    except Failed as failed:
        code, message = failed.code, failed
    except OSError as error:
        code, message = (5 if error.errno in (errno.ENOSPC, errno.EDQUOT) else 4), error
        if error.filename is not None:
            message = f"{os.fsdecode(error.filename)}: {error.strerror}"
    print(f"{PROGRAM}: error: {message}", file=sys.stderr)
    return code


def find_task(given):
    """gpusort_task: as given, of the build that these scripts belong to, or wherever a node has it."""
    built = glob.glob(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../build/*/gpusort_task"))
    if not given and not built and shutil.which("gpusort_task"):
        return "gpusort_task"
    path = given or max(built, key=os.path.getmtime, default="gpusort_task")
    if not os.access(path, os.X_OK):
        raise Failed(2, f"{path}: there is no such program: build it, or say --task PATH")
    return os.path.abspath(path)


def find_gpusort(task):
    beside = os.path.join(os.path.dirname(shutil.which(task) or task), "gpusort")
    return beside if os.access(beside, os.X_OK) else "gpusort"


def options_with_values(task):
    """Names of gpusort's options that take a word, out of its help."""
    program = find_gpusort(task)
    try:
        text = subprocess.run([program, "--help=all"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failed(2, f"{program}, which tells of its options: {error}") from None
    found = re.findall(r"^ +(?:-(\w), )?--([\w-]+) [A-Z]+(?: |$)", text, re.M)
    return {name for names in found for name in names if name}


def parse(argv, flags, values):
    """The command line: the driver's own options as (name, value), gpusort's as (name, words), names of files."""
    own, options, names = [], [], []
    end = argv.index("--") if "--" in argv else len(argv)
    words, rest = collections.deque(argv[:end]), collections.deque()

    def value_of(word, behind):
        return behind.popleft() if behind else usage(f"{word} needs a value")

    while words:
        word = words.popleft()
        name, equals, value = word[2:].partition("=") if word.startswith("--") else ("", "", "")
        if name in flags and not equals:
            own.append((name, ""))
        elif name in values:
            own.append((name, value if equals else value_of(word, words)))
        else:
            rest.append(word)
    valued = set()
    if any(word.startswith("-") for word in rest):
        valued = options_with_values(find_task(dict(own).get("task")))
    while rest:
        word = rest.popleft()
        name, equals, _ = word[2:].partition("=")
        if word == "-" or not word.startswith("-"):
            names.append(word)
        elif word.startswith("--"):
            options.append((name, [word] + ([value_of(word, rest)] if name in valued and not equals else [])))
        else:
            for at, letter in enumerate(word[1:], 2):  # -uS2G is -u and -S 2G
                if letter == "o":
                    own.append(("output", word[at:] or value_of(word, rest)))
                else:
                    takes = [word[at:] or value_of(word, rest)] if letter in valued else []
                    options.append((letter, ["-" + letter] + takes))
                if letter == "o" or letter in valued:
                    break
    return own, options, names + argv[end + 1:]


def number(own, name, default):
    text = own.get(name)
    if text is None:
        return default
    if not re.fullmatch("[1-9][0-9]{0,5}", text):
        usage(f"--{name}: '{text}' is not a number from 1 to 999999")
    return int(text)


def files_of(own, options, names, suffix):
    """Whole names: inputs, the output, and the job's folder. Inputs may stand in a file."""
    for name, _ in options:
        if name in REPORTS:
            usage(f"--{name} tells of one process, and many tasks would write one file: give it to gpusort_task")
    output = own.get("output") or (names.pop() if names else usage("OUTPUT is missing"))
    for name, words in options:
        if name == "files0-from":
            source = words[-1].removeprefix("--files0-from=")
            with open(0 if source == "-" else source, "rb") as file:
                names += [os.fsdecode(name) for name in file.read().split(b"\0") if name]
    if "-" in names + [output]:
        usage("many tasks cannot read or write a stream: write it to a file first")
    whole = os.path.abspath(output)
    folder = os.path.abspath(own.get("dir") or "{}/.gpusort-{}.{}".format(*os.path.split(whole), suffix))
    return [os.path.abspath(name) for name in names], whole + "/" * output.endswith("/"), folder


def scanned(inputs, options):
    """Whether what is in front tells where records end: slices of these are scanned first."""
    formats = [words[-1] for name, words in options if name == "format"]
    return any(re.search(r"(^|[.=])(csv|tsv|pgcopy(-csv|-binary)?|pgdump|mysql)$", name) for name in inputs + formats)


def lock(folder):
    """Makes the folder, for one driver at a time: until the file that it returns is closed. Where the file system knows
    no locks there are two: tasks stand that, but one driver may clean up under the other."""
    path = os.path.join(folder, "driver.lock")
    while True:
        os.makedirs(folder, 0o700, exist_ok=True)
        try:
            file = open(path, "a+")
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
        file.close()  # one that ended meanwhile has removed it
