"""tools/cluster/gpusort-ray on a Ray cluster of three nodes on this machine: nodes and tasks that die, hang and fill
disks, drivers that are stopped. ray_test.py BUILD ROOT WORK [CASE...]; GPUSORT_FEW: fewer cases."""
import contextlib
import functools
import gzip
import os
import pathlib
import signal
import subprocess
import sys
import time

from ray.cluster_utils import Cluster

build, root, work = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
few = "GPUSORT_FEW" in os.environ
kills = 2 if few else 20
NUMBERS = ["--type", "u64"]

# The program on the nodes: it runs the file `hook` of a case with the words of the task, and then gpusort_task.
(work / "task").write_text(f"#!/bin/bash\ncd {work}\n. ./hook\nexec {build}/gpusort_task \"$@\"\n")
(work / "task").chmod(0o755)
(work / "gpusort").symlink_to(build / "gpusort")  # next to the task program, as in a build
# The first task of a stage reports its node, and hangs.
HANG = """if [ "$1" = {stage} ] && mkdir hung 2>/dev/null; then
  echo $RAY_RAYLET_PID >hung/raylet
  exec sleep 1234
fi
"""


def hook(text):
    (work / "hook").write_text(text)


def driver(*words, address=None, memory="32M"):
    command = [sys.executable, root / "tools/cluster/gpusort-ray", "--task", work / "task", "--memory", memory, *words]
    return subprocess.Popen([*command, *(["--address", address] if address else [])], cwd=work, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ended(process, code, *says):
    said = process.communicate(timeout=2400)[0]
    assert process.returncode == code, f"exit {process.returncode} instead of {code}: {said}"
    for text in says:
        assert text in said, f"no '{text}' in: {said}"
    return said


def wait_for(what):
    for _ in range(60000):
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("nothing happened")


def raylet_of(node):
    return [info.process.pid for info in node.all_processes["raylet"]]


def hung_raylet():
    path = work / "hung/raylet"
    return path.exists() and path.read_text().endswith("\n") and int(path.read_text())


class Nodes:
    """A head that does no work, and three nodes of one core each."""

    def __init__(self):
        small = {"object_store_memory": 80 << 20}
        quick = {"health_check_period_ms": 300, "health_check_timeout_ms": 3000, "health_check_failure_threshold": 2}
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False,
                                                                     "_system_config": quick, **small})
        self.add = lambda **has: self.cluster.add_node(**{"num_cpus": 1, **has, **small})
        self.nodes = [self.add() for _ in range(3)]

    def sort(self, *words, **more):
        return driver(*words, address=self.cluster.address, **more)

    def kill_hung(self):
        pid = wait_for(hung_raylet)
        node = next(node for node in self.nodes if pid in raylet_of(node))
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)


def check(output, reference):
    assert (work / output).read_bytes() == (work / reference).read_bytes(), f"{output} differs"
    (work / output).unlink()
    left = [path.name for path in work.iterdir() if path.name.startswith(".")]
    assert not left, f"left behind: {left}"
    with contextlib.suppress(FileNotFoundError):
        (work / "hung/raylet").unlink()
        (work / "hung").rmdir()


def alone(_):
    """With no address: on a cluster of its own, whose tasks are as nice as the driver."""
    hook("nice >niceness\n")
    ended(driver("in.u64", "out", *NUMBERS, "--slices=3", "--parts=4", "--progress=always"), 0,
          "sort slices: 50 %, 3 of 3", "merge parts: 99 %, 4 of 4")
    check("out", "want.u64")
    assert int((work / "niceness").read_text()) == os.nice(0)


def own_cluster_dies(_):
    """With no address: the cluster's one raylet does not come back."""
    hook(HANG.format(stage="part"))
    words = ["in.u64", "out", *NUMBERS, "--slices=3", "--parts=4"]
    process = driver(*words)
    pid = wait_for(hung_raylet)
    killed = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    ended(process, 4, "the Ray cluster that was started here has ended", "the same command continues")
    assert time.monotonic() - killed < 200
    hook("")
    ended(driver(*words), 0)
    check("out", "want.u64")


def plain(nodes):
    """Defaults, a format with keys, part files; no node does two tasks at once."""
    hook('mkdir "busy-$RAY_RAYLET_PID" || touch two-at-once\n'
         f'{build}/gpusort_task "$@"; code=$?; rmdir "busy-$RAY_RAYLET_PID"; exit $code\n')
    ended(nodes.sort("in.csv", "-kamount:decimal", "--slices", "7", "out.csv"), 0)
    check("out.csv", "want.csv")
    ended(nodes.sort(*NUMBERS, "--parts=5", "in.u64", "out/"), 0)
    parts = sorted((work / "out").iterdir())
    assert len(parts) == 5, parts
    (work / "joined").write_bytes(b"".join(part.read_bytes() for part in parts))
    for part in parts:
        part.unlink()
    (work / "out").rmdir()
    check("joined", "want.u64")
    assert not (work / "two-at-once").exists()


def compressed(nodes):
    """COPY, whose slices are looked at before; one file, of parts whose places -u leaves nobody to know."""
    hook("")
    (work / "in.copy").write_bytes(b"".join(b"%d\tx\\\n\n" % (at * 7919 % 30011) for at in range(60000)) + b"\\.\n")
    options = ["--format=pgcopy", "-k#1:int", "-u"]
    subprocess.run([build / "gpusort", *options, work / "in.copy", work / "want.copy"], check=True)
    for more in [], ["--no-shared"]:
        ended(nodes.sort(*options, *more, "--slices=4", "--parts=3", "--progress=always", "in.copy", "out.gz"), 0,
              "look at slices: 10 %, 4 of 4")
        (work / "out").write_bytes(gzip.decompress((work / "out.gz").read_bytes()))
        (work / "out.gz").unlink()
        check("out", "want.copy")


def dump(nodes):
    """Statements with several rows, whose places between the rows every part must know."""
    hook("")
    rows = [f"({at * 7919 % 300007},'it\\'s;\n{at}')" for at in range(90000)]
    statements = [f"INSERT INTO `t` VALUES {','.join(rows[at:at + 1000])};\n" for at in range(0, len(rows), 1000)]
    (work / "in.sql").write_text("-- MySQL dump 10.13\nCREATE TABLE `t` (`id` int PRIMARY KEY, `s` text);\n" +
                                 "".join(statements) + "-- Dump completed on 2026-11-27  6:00:00\n")
    options = ["--strip-volatile", "--format=mysqldump"]
    subprocess.run([build / "gpusort", *options, work / "in.sql", work / "want.sql"], check=True)
    for more in [], ["--no-shared"]:
        ended(nodes.sort(*options, *more, "--slices=4", "--parts=3", "in.sql", "out.sql"), 0)
        check("out.sql", "want.sql")


def node_dies(nodes, stage):
    hook(HANG.format(stage=stage))
    process = nodes.sort("in.u64", "out", *NUMBERS, "--slices=5", "--parts=5")
    nodes.kill_hung()
    said = ended(process, 0, "it is tried again")
    assert len(said) < 1000, said  # Ray's own message about a dead node fills a page
    check("out", "want.u64")
    nodes.nodes.append(nodes.add())


def no_node_left(nodes):
    """All nodes that do work die, and none comes."""
    hook(HANG.format(stage="part"))
    words = ["in.u64", "out", *NUMBERS, "--slices=5", "--parts=5"]
    process = nodes.sort(*words, "--wait-for-nodes=2", "--tries=100")
    wait_for(hung_raylet)
    for node in nodes.nodes:
        nodes.cluster.remove_node(node, allow_graceful=False)
    ended(process, 4, "no node is left, for 2 s by now; the same command continues")
    hook("")
    nodes.nodes = [nodes.add() for _ in range(3)]
    ended(nodes.sort(*words), 0)
    check("out", "want.u64")


def tasks_die(nodes):
    """At random: the program, or Ray's worker around it."""
    hook("for number in $(seq %d); do\n"
         "  if mkdir kill-$number 2>/dev/null; then\n"
         "    ((number %% 2)) || kill -9 $PPID\n"
         "    timeout -s KILL 0.00$((RANDOM %% 10 + 1)) %s/gpusort_task \"$@\"; code=$?\n"
         "    ((code == 137)) || rmdir kill-$number\n"
         "    exit $code\n"
         "  fi\n"
         "done\n" % (kills, build))
    ended(nodes.sort("in.u64", "out", *NUMBERS, "--slices=8", "--parts=16", "--tries=30"), 0)
    died = list(work.glob("kill-*"))
    for path in died:
        path.rmdir()
    assert died, "nothing was killed"
    check("out", "want.u64")
    print(f"{len(died)} kills survived")


OWN_RUNS = ["--no-shared", "in.csv", "-kamount:decimal", "--slices=7", "--parts=5", "out"]


def runs_of_nodes():
    assert not list(work.glob(".gpusort-out.ray/run-?????"))
    return {path: path.stat().st_ino for path in work.glob(".gpusort-out.ray/node-*/run-?????")}


def no_shared_node_dies(nodes):
    """A node that dies costs its runs."""
    hook(HANG.format(stage="part"))
    process = nodes.sort(*OWN_RUNS)
    wait_for(hung_raylet)
    assert len(runs_of_nodes()) == 7
    nodes.kill_hung()
    ended(process, 0, "runs is gone: they are made again")
    left = list(work.glob(".gpusort-out.ray/node-*"))
    assert len(left) == 1, left  # the folder of the lost node
    subprocess.run(["rm", "-r", work / ".gpusort-out.ray"], check=True)
    check("out", "want.csv")
    nodes.nodes.append(nodes.add())


def no_shared_stopped(nodes):
    """A driver that is killed costs no runs."""
    hook(HANG.format(stage="part"))
    process = nodes.sort(*OWN_RUNS)
    wait_for(hung_raylet)
    process.kill()
    ended(process, -9)
    runs = runs_of_nodes()
    assert len(runs) == 7, runs
    hook(HANG.format(stage="prove").replace("hung", "proving"))
    process = nodes.sort(*OWN_RUNS)
    wait_for((work / "proving/raylet").exists)
    assert runs_of_nodes() == runs
    process.terminate()
    ended(process, 75)
    hook("")
    ended(nodes.sort(*OWN_RUNS), 0)
    check("out", "want.csv")


def no_shared_large(nodes):
    """Pieces of runs that are larger than what travels at once; a file for each part."""
    hook("")
    subprocess.run([build / "gpusort_gen", "--type", "u64", "--bytes", "200M", work / "in.large"], check=True)
    subprocess.run([build / "gpusort", *NUMBERS, work / "in.large", work / "want.large"], check=True)
    ended(nodes.sort("--no-shared", "in.large", *NUMBERS, "--slices=2", "--parts=1", "out/"), 0)
    (work / "out/part-00000-of-00001").rename(work / "joined")
    (work / "out").rmdir()
    check("joined", "want.large")


def gpus(nodes):
    """Where a node has GPUs (Ray believes what it is told), tasks run there, each with one of its own."""
    hook('echo "$1 $RAY_RAYLET_PID $CUDA_VISIBLE_DEVICES" >>log\n')
    node = nodes.add(num_cpus=4, num_gpus=2)
    ended(nodes.sort("in.u64", "out", *NUMBERS, "--slices=6", "--parts=6"), 0)
    check("out", "want.u64")
    ran = set((work / "log").read_text().splitlines())
    want = {f"{stage} {raylet_of(node)[0]} {gpu}" for stage in ("runs", "part") for gpu in (0, 1)}
    assert want == {line for line in ran if line.startswith(("runs", "part"))}, ran
    nodes.cluster.remove_node(node)


def hangs(nodes):
    """A part that hangs is done by another node."""
    hook(HANG.format(stage="part"))
    ended(nodes.sort("in.u64", "out", *NUMBERS, "--slices=2", "--parts=5", "--patience=1"), 0,
          "a second node does it too")
    check("out", "want.u64")


@contextlib.contextmanager
def small_disk():
    path = work / "small"
    path.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "small", path], capture_output=True).returncode != 0:
        print("SKIPPED: mounts are not allowed here: full disks")
        yield None
        return
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def full_disk(nodes):
    """One node's temp space is too small for a slice: others do what it cannot. DIR is: exit 5, and the job goes on."""
    with small_disk() as small:
        if not small:
            return
        hook(f'if [ "$1 $RAY_RAYLET_PID" = "runs {raylet_of(nodes.nodes[0])[0]}" ]; then\n'
             f'  set -- runs --temp-dir {small} "${{@:2}}"; fi\n')
        ended(nodes.sort("in.u64", "out", *NUMBERS, "--slices=6", "--parts=2", memory="2M"), 0, "it is tried again")
        check("out", "want.u64")
        hook("")
        words = ["in.u64", "out", *NUMBERS, "--slices=4", "--parts=2", "--dir", small / "job", "--tries=2"]
        ended(nodes.sort(*words), 5, "gpusort-ray: error: slice ")
        subprocess.run(["mount", "-o", "remount,size=64M", small], check=True)
        ended(nodes.sort(*words), 0)
        assert not (small / "job").exists()
        check("out", "want.u64")


def stopped(nodes):
    """A driver that is stopped or killed leaves a job that the same command ends; none of its programs goes on."""
    words = ["in.u64", "out", *NUMBERS, "--slices=3", "--parts=4"]
    for number, code in (signal.SIGTERM, 75), (signal.SIGINT, 75), (signal.SIGKILL, -9):
        hook(HANG.format(stage="part"))
        process = nodes.sort(*words)
        wait_for(hung_raylet)
        process.send_signal(number)
        ended(process, code)
        wait_for(lambda: subprocess.run(["pgrep", "-f", "^sleep 1234$"], capture_output=True).returncode == 1)
        runs = {path.name: path.stat().st_ino for path in work.glob(".gpusort-out.ray/run-*")}
        hook('[ "$1" != prove ] || stat -c "%n %i" .gpusort-out.ray/run-* >kept\n')
        ended(nodes.sort(*words), 0)
        kept = set((work / "kept").read_text().splitlines())
        assert len(runs) == 9 and kept == {f".gpusort-out.ray/{name} {inode}" for name, inode in runs.items()}, kept
        check("out", "want.u64")
        if few:
            break


def two_at_once(nodes):
    """A second driver leaves alone what the first one does."""
    hook("until [ -e go ]; do sleep 0.05; done\n")
    words = ["in.u64", "out", *NUMBERS, "--slices=2", "--parts=2"]
    process = nodes.sort(*words)
    wait_for((work / ".gpusort-out.ray/ray.log").exists)
    ended(nodes.sort(*words), 2, f"another driver is at work there: gpusort-ray, process {process.pid} on ")
    (work / "go").touch()
    ended(process, 0)
    (work / "go").unlink()
    check("out", "want.u64")


def refused(nodes):
    """What no other try would mend."""
    hook("")
    ended(nodes.sort("in.csv", "out", "-kno-such-column"), 2, "gpusort-ray: error: scan of slice ", "no-such-column")
    (work / "bad.csv").write_text("a\n1\nx\n")
    ended(nodes.sort("bad.csv", "out", "-ka:int", "--strict"), 3, "gpusort-ray: error: slice 0 of 1")
    ended(driver("in.u64", "out", *NUMBERS, address="127.0.0.1:1"), 4, "error: Ray at 127.0.0.1:1: Connection refused")
    ended(nodes.sort("nothing", "out"), 2, "nothing: No such file")
    ended(nodes.sort("in.u64", *NUMBERS, "-u", "out"), 2, "give a folder")


def main():
    for name, options in ("u64", NUMBERS), ("csv", ["-kamount:decimal"]):
        subprocess.run([build / "gpusort_gen", "--type", {"csv": "orders-csv"}.get(name, name), "--bytes", "12M",
                        work / f"in.{name}"], check=True)
        subprocess.run([build / "gpusort", *options, work / f"in.{name}", work / f"want.{name}"], check=True)
    cases = {case.__name__: case for case in (alone, own_cluster_dies, plain, compressed, dump, tasks_die, gpus, hangs,
                                              full_disk, no_shared_node_dies, no_shared_stopped, no_shared_large,
                                              stopped, two_at_once, no_node_left, refused)}
    cases |= {f"{stage}_node_dies": functools.partial(node_dies, stage=stage) for stage in ("runs", "cut", "part", "prove")}
    wanted = sys.argv[4:] or list(cases)
    nodes = None
    try:
        for name in wanted:
            began = time.monotonic()
            if name not in ("alone", "own_cluster_dies") and not nodes:
                nodes = Nodes()
                print(f"ray: four nodes: {time.monotonic() - began:.1f} s")
                began = time.monotonic()
            cases[name](nodes)
            print(f"ray: {name}: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        if nodes:
            nodes.cluster.shutdown()


main()
