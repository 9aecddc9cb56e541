"""Tests the installed Python module gpusort. Run by an environment's Python, with the root of the sources."""
import multiprocessing
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings

import gpusort

ROOT = sys.argv.pop(1)


def limited_sort(source, output):
    """In a process of its own: a sort whose files may not grow."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    gpusort.sort(source, output)


def write(name, text):
    with open(name, "w") as file:
        file.write(text)
    return name


def read(name):
    with open(name) as file:
        return file.read()


class Module(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        old = os.getcwd()
        os.chdir(folder.name)
        self.addCleanup(os.chdir, old)

    def fails(self, kind, code, *args, **named):
        with self.assertRaises(kind) as caught:
            gpusort.sort(*args, **named)
        self.assertIs(type(caught.exception), kind)
        self.assertEqual(caught.exception.exit_code, code)
        return caught.exception

    def test_program_is_that_of_the_environment(self):
        self.assertEqual(gpusort.program(), os.path.join(os.path.realpath(sys.prefix), "bin/gpusort"))

    def test_sorts_as_python_does(self):
        seed = int(os.environ.get("GPUSORT_SEED", "1"))
        rng = random.Random(seed)
        for case in range(10):
            rows = [(rng.randrange(50), rng.randrange(10**rng.randrange(1, 12)), row) for row in range(rng.randrange(400))]
            cut = rng.randrange(len(rows) + 1)
            for name, part in (("a.csv", rows[:cut]), ("b.csv", rows[cut:])):
                write(name, "group,size,row\n" + "".join("%d,%d,%d\n" % row for row in part))
            up = rng.random() < 0.5
            seen: list[gpusort.Progress] = []
            done = gpusort.sort(["a.csv", "b.csv"], "out.csv", keys=["group:int", "size:int" + ("" if up else ":desc")],
                                memory=64 << 20, threads=2, on_progress=seen.append)
            rows.sort(key=lambda row: (row[0], row[1] if up else -row[1]))
            self.assertEqual(read("out.csv"), "group,size,row\n" + "".join("%d,%d,%d\n" % row for row in rows), (seed, case))
            self.assertEqual((done.records, done.warnings), (len(rows), ()))
            self.assertEqual(seen[-1].percent, 100)
            self.assertTrue(all(isinstance(now.message, str) and now.bytes >= 0 for now in seen))
            self.assertTrue(gpusort.check("out.csv", keys=["group:int"]))

    def test_check_names_the_record(self):
        order = gpusort.check(write("a.csv", "id\n2\n1\n"), keys=["id:int"])
        self.assertFalse(order)
        self.assertFalse(order.in_order)
        self.assertIn("record 2, line 3", order.message)
        self.assertTrue(gpusort.check("a.csv", keys=["id:int:desc"]))

    def test_options_and_paths(self):
        for name in ("-", "-x", "two words", b"\xff.csv".decode(errors="surrogateescape")):
            write(name, "b\na\nb\n")
            done = gpusort.sort(name, name, format="lines", options=["--unique"])
            self.assertEqual((read(name), done.records), ("a\nb\n", 2), name)

        class Name(os.PathLike):
            def __fspath__(self):
                return "-x"
        self.assertEqual(gpusort.sort(Name(), "out").records, 2)
        with self.assertRaises(TypeError):
            gpusort.sort("-x", "out", keys="id:int")
        with self.assertRaises(ValueError):
            gpusort.sort([], "out")

    def test_errors_by_exit_code(self):
        write("a.csv", "id\n1\n")
        write("out", "old\n")
        error = self.fails(gpusort.UsageError, 2, "missing", "out")
        self.assertEqual((error.path, error.errno, error.signal), ("missing", "ENOENT", None))
        said = subprocess.run([gpusort.program(), "missing", "-o", "out"], capture_output=True, text=True, check=False).stderr
        self.assertEqual(said, f"gpusort: error: {error}\n")
        error = self.fails(gpusort.UsageError, 2, "a.csv", "out", keys=["name"])
        self.assertIn("there is no column 'name'", str(error))
        self.fails(gpusort.UsageError, 2, "a.csv", "out", options=["--nonsense"])
        self.fails(gpusort.InputError, 3, write("b.csv", 'id\n"1\n'), "out", keys=["id:int"])
        self.fails(gpusort.GpuError, 7, "a.csv", "out", keys=["id:int"], device="gpu") \
            if "no GPU" in subprocess.run([gpusort.program(), "--version"], capture_output=True, text=True, check=True).stdout else None
        self.assertEqual(read("out"), "old\n")
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(copy), str(copy), copy.exit_code, copy.path), (type(error), str(error), 2, error.path))

    def test_a_file_that_may_not_grow(self):
        write("big", "x" * 99 + "\n" + ("y" * 99 + "\n") * 1000)
        with multiprocessing.get_context("fork").Pool(1) as pool, self.assertRaises(gpusort.NoSpaceError) as caught:
            pool.apply(limited_sort, ("big", "out"))
        self.assertEqual((caught.exception.exit_code, caught.exception.errno), (5, "EFBIG"))

    def test_every_other_code(self):
        kinds = {4: gpusort.IoError, 6: gpusort.TooLittleMemoryError, 8: gpusort.ProofError, 9: gpusort.InternalError,
                 75: gpusort.StoppedError, 42: gpusort.Error}
        for code, kind in kinds.items():
            write("stand-in", '#!/bin/sh\nprintf \'{"level":"error","event":"failed","exit_code":%d,"message":"words"}\\n\' >&2\nexit %d\n' % (code, code))
            os.chmod("stand-in", 0o755)
            with unittest.mock.patch("gpusort.program", return_value=os.path.abspath("stand-in")):
                self.assertEqual(str(self.fails(kind, code, "a", "b")), "words")
        # A program that cannot start says why in its own words.
        write("stand-in", "#!/bin/sh\necho no such library >&2\nexit 127\n")
        with unittest.mock.patch("gpusort.program", return_value=os.path.abspath("stand-in")):
            self.assertEqual(str(self.fails(gpusort.Error, 127, "a", "b")), "no such library")
        write("stand-in", "#!/bin/sh\nkill -KILL $$\n")
        with unittest.mock.patch("gpusort.program", return_value=os.path.abspath("stand-in")):
            self.assertIn("exit code 137", str(self.fails(gpusort.StoppedError, 137, "a", "b")))

    def test_warnings(self):
        write("a.csv", "id,name\n2,b\n1\n")
        with self.assertWarns(gpusort.Warned) as caught:
            done = gpusort.sort("a.csv", "out", keys=["id:int"])
        self.assertEqual(done.warnings, (str(caught.warning),))
        self.assertEqual(os.path.basename(caught.filename), "wheel_test.py")
        with warnings.catch_warnings():
            warnings.simplefilter("error", gpusort.Warned)
            with self.assertRaises(gpusort.Warned):
                gpusort.sort("a.csv", "out", keys=["id:int"])

    def endless(self, on_progress, **named):
        """Sorts a pipe that does not end before the sort has."""
        os.mkfifo("pipe")
        ended = threading.Event()

        def feed():
            with open("pipe", "w") as pipe:
                pipe.write("b\na\n")
                pipe.flush()
                ended.wait()
        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            return gpusort.sort("pipe", "out", on_progress=on_progress, **named)
        finally:
            ended.set()
            feeder.join()
            self.assertEqual([name for name in os.listdir() if name not in ("pipe", "job")], [])
            with self.assertRaises(ChildProcessError):  # the program has ended
                os.waitpid(-1, os.WNOHANG)

    def test_an_exception_in_on_progress_stops_the_program(self):
        def stop(now):
            raise KeyError(now.phase)
        with self.assertRaises(KeyError):
            self.endless(stop)

    def test_a_signal_is_an_error(self):
        started = []

        class Started(subprocess.Popen):
            def __init__(self, *args, **named):
                super().__init__(*args, **named)
                started.append(self.pid)

        def kill(_):
            os.kill(started[0], signal.SIGTERM)
        with unittest.mock.patch("subprocess.Popen", Started), self.assertRaises(gpusort.StoppedError) as caught:
            self.endless(kill)
        self.assertEqual((caught.exception.exit_code, caught.exception.signal), (128 + signal.SIGTERM, "SIGTERM"))

    def test_the_example_of_the_manual(self):
        page = read(os.path.join(sys.prefix, "share/man/man7/gpusort-python.7"))
        example = re.findall(r"^\.EX\n(.*?)^\.EE$", page, re.MULTILINE | re.DOTALL)[0].replace("\\-", "-").replace("\\(aq", "'")
        for month in ("january", "february"):
            write(f"{month}.csv", f"created_at,name\n2026-01-02,{month}\n")
        ran = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
        self.assertIn("2 records in", ran.stdout)
        self.assertIn("exit code 2 - input orders.csv", ran.stdout)
        # The page names every function, class and member.
        for name in gpusort.__all__:
            self.assertRegex(page, rf"\b{name}\b")
        for kind in (gpusort.Sorted, gpusort.Checked, gpusort.Progress):
            for member in kind.__dataclass_fields__:
                self.assertRegex(page, rf"\b{member}\b")


if __name__ == "__main__":
    unittest.main()
