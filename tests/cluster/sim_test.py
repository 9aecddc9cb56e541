"""What must hold of tools/cluster/gpusort-sim whatever the rates. Usage: sim_test.py ROOT"""
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
TOOL = os.path.join(ROOT, "tools/cluster/gpusort-sim")
loader = importlib.machinery.SourceFileLoader("gpusort_sim", TOOL)
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_loader("gpusort_sim", loader)
assert spec
sim = importlib.util.module_from_spec(spec)
loader.exec_module(sim)

GB = 10**9
DISK = {"disk_read": 2e9, "disk_write": 1e9}
CLUSTER = DISK | {"network": 4e9, "form": 5e9, "merge": 5e9, "part": 5e9, "start": 1, "finish": 0.5, "dispatch": 0.001, "cut_run": 0.01,
                  "prove_file": 0.001, "detect": 5, "repair": 50, "shared_read": 30e9, "shared_write": 20e9, "memory": 32e9}


def job(rates, total=64 * GB, nodes=4, *more, **named):
    return sim.Simulation(sim.complete(rates), total, nodes, *more, **named).run()


class Hand(unittest.TestCase):
    """Jobs that a person can calculate."""

    def near(self, seconds, expected):
        self.assertAlmostEqual(seconds / expected, 1, delta=0.001)

    def test_one_node_with_a_disk(self):
        rates = DISK | {"form": 4e9, "merge": 0.5e9, "start": 3, "finish": 2, "cut_run": 0.5, "cut_place": 0.25, "prove_file": 0.125}
        done = job(rates, 40 * GB, 1, "local", slices=4, parts=2)
        self.near(done["stages"]["runs"]["seconds"], 4 * (3 + 10 / 2 + 10 / 0.5 + 2))  # the disk reads, and then waits for the merge
        self.near(done["stages"]["cut"]["seconds"], 3 + 4 * (0.5 + 0.25) + 2)
        self.near(done["stages"]["part"]["seconds"], 2 * (3 + 20 * (1 / 2 + 1 / 1) + 2))  # one disk reads and writes
        self.near(done["stages"]["prove"]["seconds"], 3 + 6 * 0.125 + 2)
        self.near(done["seconds"], sum(stage["seconds"] for stage in done["stages"].values()))
        self.assertEqual(max(done["stages"]["part"]["limits"].items(), key=lambda share: share[1])[0], "disk")

    def test_a_disk_that_does_both_at_once(self):
        done = job(DISK | {"disk_both": 2}, 40 * GB, 1, "local", slices=1, parts=1)
        self.near(done["stages"]["part"]["seconds"], 40)  # the write alone

    def test_temp_files(self):
        rates = {"disk_read": 0.5e9, "disk_write": 1e9, "disk_both": 2, "memory": 10e9, "in_memory": 1}
        done = job(rates, 40 * GB, 1, "local", slices=2, parts=1)
        self.near(done["stages"]["runs"]["seconds"], 2 * (20 / 0.5 + 20 / 0.5))
        self.assertEqual(done["moved"]["temp written"], 40 * GB)
        self.assertEqual(done["moved"]["temp read"], 40 * GB)

    def test_runs_in_a_part(self):
        done = job({"part": 1e9, "part_level": 1e-9, "part_run": 0.5}, 8 * GB, 1, "local", slices=8, parts=1)
        self.near(done["stages"]["part"]["seconds"], 8 * 0.5 + 8 * (1 + 3))
        done = job(DISK | {"request_bytes": 2**20}, 64 * 2**20, 1, "local", slices=64, parts=1)
        self.near(done["stages"]["part"]["seconds"], 64 * 2**20 * (2 / 2e9 + 1 / 1e9))

    def test_cores_are_shared(self):
        # Alone, each task takes a second of 2 of 4 cores. Five tasks at the same time need 2.5 times the cores that
        # there are.
        rates = {"cores": 4, "form": 1e9, "form_cores": 2e-9}
        self.near(job(rates | {"slots": 2}, 2 * GB, 1, slices=2, parts=1)["seconds"], 1)
        self.near(job(rates | {"slots": 5}, 5 * GB, 1, slices=5, parts=1)["seconds"], 2.5)

    def test_the_network_takes_what_is_not_here(self):
        done = job({"network": 1e9, "form": 1e9}, 40 * GB, 4, "local", slices=12, parts=4)
        self.near(done["seconds"], 40 / 4 + 40 / 4 * 3 / 4)
        self.assertAlmostEqual(done["moved"]["network"] / GB, 30)
        done = job({"network": 1e9}, 40 * GB, 4, "cloud", slices=12, parts=4)
        self.near(done["stages"]["part"]["seconds"], 40 / 4 * (3 / 4 + 1))  # the bytes sent to others, and the output

    def test_the_shared_file_system_is_shared(self):
        done = job({"shared_read": 2e9, "shared_write": 1e9}, 12 * GB, 3, "shared", slices=3, parts=3)
        self.near(done["stages"]["runs"]["seconds"], 12 / 2 + 12 / 1)
        self.near(done["stages"]["part"]["seconds"], 12)  # reads and writes at the same time
        # A slow node leaves its share of the rate to the others: it does 1 GB/s, and the other two share 9.
        rates = {"shared_read": 10e9, "form": 10e9, "slow_share": 0.34, "slow_speed": 0.1}
        runs = job(rates, 30 * GB, 3, "cloud", slices=3, parts=1)["stages"]["runs"]
        self.near(runs["seconds"], 10)
        self.near(runs["limits"]["shared read"], 2 * (10 / 4.5) / 30)

    def test_the_driver_starts_one_task_after_the_other(self):
        done = job({"dispatch": 1, "shared_read": 1e9}, 20 * GB, 2, "cloud", slices=2, parts=1)
        self.near(done["stages"]["runs"]["seconds"], 1 + 20)  # the file system is busy from the first task on
        self.near(job({"dispatch": 1, "form": 1e9}, 30 * GB, 3, "cloud", slices=3, parts=1)["stages"]["runs"]["seconds"], 3 + 10)

    def test_a_node_lost_among_runs(self):
        rates = {"form": 1e9, "detect": 3}
        done = job(rates, 40 * GB, 4, "shared", slices=4, parts=4, failures=[(5, 1)])
        self.near(done["seconds"], 10 + 10)  # another node does the part after its own
        self.near(done["lost"]["input read"], 5 * GB)
        done = job(rates | {"detect": 13}, 40 * GB, 4, "shared", slices=4, parts=4, failures=[(5, 1)])
        self.near(done["seconds"], 5 + 13 + 10)
        done = job(rates | {"repair": 4}, 80 * GB, 2, "shared", slices=8, parts=4, failures=[(5, 1)])
        self.near(done["seconds"], 9 + 40)  # after its return the lost node does as many parts as the other
        self.assertLess(done["seconds"], job(rates, 80 * GB, 2, "shared", slices=8, parts=4, failures=[(5, 1)])["seconds"] - 20)

    def test_a_node_lost_among_parts(self):
        rates = {"form": 1e9, "part": 1e9}
        done = job(rates, 40 * GB, 4, "local", slices=4, parts=4, failures=[(15, 1)])
        self.near(done["seconds"], 15 + 10 + 20)  # the lost run again, then four parts on three nodes
        self.near(done["lost"]["runs read"], 4 * 5 * GB)
        done = job(rates, 40 * GB, 4, "shared", slices=4, parts=4, failures=[(15, 1)])
        self.near(done["seconds"], 20 + 10)
        self.near(done["lost"]["runs read"], 5 * GB)

    def test_a_node_lost_while_the_job_is_proved(self):
        rates = {"form": 1e9, "part": 1e9, "start": 2}
        whole = job(rates, 40 * GB, 4, "local", slices=4, parts=4)["seconds"]
        self.near(whole, 2 + 10 + 2 + 2 + 10 + 2)
        done = job(rates, 40 * GB, 4, "local", slices=4, parts=4, failures=[(whole - 1, 1)])
        self.near(done["seconds"], whole - 1 + 12 + 12 + 2)  # the lost run, the lost part, the proof

    def test_slices_that_others_have_come_over_the_network(self):
        done = job({"form": 1e9, "network": 8e9, "slow_share": 0.5, "slow_speed": 0.25}, 12 * GB, 2, "local", slices=12, parts=1)
        self.near(done["moved"]["network"], (6 + 3) * GB)     # half of one part, and three slices of the slow node
        self.near(done["stages"]["runs"]["seconds"], 12)      # it would be 24 s if the slow node did all its slices


class Always(unittest.TestCase):
    def test_more_nodes_are_never_slower(self):
        for layout in sim.LAYOUTS:
            last = math.inf
            for nodes in (1, 2, 3, 5, 8, 16, 31, 64):
                seconds = job(CLUSTER, 640 * GB, nodes, layout, slices=192, parts=192)["seconds"]
                self.assertLessEqual(seconds, last * 1.001, (layout, nodes))
                last = seconds

    def test_bytes_are_conserved(self):
        for layout in sim.LAYOUTS:
            for failures in ([], [(10, 0)], [(8, 1), (20, 3), (21, 2), (60, 1)]):
                done = job(CLUSTER, 64 * GB + 7, 4, layout, slices=13, parts=11, failures=failures)
                for name in ("input read", "runs written", "runs read", "output written"):
                    self.assertAlmostEqual(done["moved"][name] - done["lost"].get(name, 0), 64 * GB + 7, delta=1, msg=(layout, failures, name))

    def test_failures_only_add(self):
        for layout in sim.LAYOUTS:
            without = job(CLUSTER, 64 * GB, 4, layout, slices=16, parts=16)
            self.assertFalse(any(without["lost"].values()))
            for at in range(1, int(without["seconds"]), 3):
                done = job(CLUSTER, 64 * GB, 4, layout, slices=16, parts=16, failures=[(at, 1)])
                self.assertEqual(done["failures"], 1)
                self.assertGreaterEqual(done["seconds"], without["seconds"] * 0.999, (layout, at))

    def test_a_lost_disk_costs_its_runs(self):
        lost = {}
        for layout in sim.LAYOUTS:
            whole = job(CLUSTER, 64 * GB, 4, layout, slices=16, parts=16)["stages"]
            at = whole["runs"]["seconds"] + whole["cut"]["seconds"] + 0.5  # no part has begun to merge
            lost[layout] = job(CLUSTER, 64 * GB, 4, layout, slices=16, parts=16, failures=[(at, 1)])["lost"]
        self.assertAlmostEqual(lost["local"]["runs written"] / GB, 16)
        self.assertAlmostEqual(lost["cloud"]["runs written"] / GB, 16)
        self.assertEqual(lost["shared"].get("runs written", 0), 0)

    def test_a_failure_without_repair(self):
        rates = CLUSTER | {"repair": None}
        self.assertGreater(job(rates, 64 * GB, 2, failures=[(5, 1)])["seconds"], job(rates, 64 * GB, 2)["seconds"])
        with self.assertRaisesRegex(RuntimeError, "no node"):
            job(rates, 64 * GB, 2, failures=[(5, 1), (6, 0)])

    def test_slow_nodes_only_add_and_many_parts_help(self):
        slow = CLUSTER | {"slow_share": 0.25, "slow_speed": 0.5, "network": 1e12}
        for layout in sim.LAYOUTS:
            few, many = (job(slow, 640 * GB, 8, layout, slices=n, parts=n)["seconds"] for n in (8, 64))
            self.assertGreaterEqual(few, job(CLUSTER, 640 * GB, 8, layout, slices=8, parts=8)["seconds"])
            self.assertLess(many, few)

    def test_no_resource_gives_more_than_it_has(self):
        rng = random.Random(1)
        for _ in range(100):
            rates = CLUSTER | {"cores": rng.uniform(0.5, 16), "disk_both": rng.choice((1, 2))} | {name: rng.uniform(1e-10, 4e-9) for name in ("form_cores", "merge_cores", "part_cores")}
            one = sim.Simulation(sim.complete(rates), GB, 4, "local", slices=4, parts=4)
            for what in (("run", 0, 0), ("run", 0, 1), ("part", 0, 0)):
                one.phases(*what)
            mix = tuple((key, rng.randint(1, 5)) for key in one.shapes if rng.random() < 0.7)
            filled, used = one.fill(1, mix, {}), dict[str, float]()
            for key, count in mix:
                self.assertGreater(filled[key][0], 0)
                for name, cost in one.shapes[key].local.items():
                    used[name] = used.get(name, 0) + count * cost * filled[key][0]
            self.assertLessEqual(max(used.values(), default=0), 1 + 1e-9)
            for key, _ in mix:  # every task waits for a resource that is fully used
                self.assertTrue(filled[key][1] == "task" or used[filled[key][1]] > 1 - 1e-9)

    def test_the_same_seed_gives_the_same_numbers(self):
        rates = sim.complete(CLUSTER | {"mtbf": 200, "slow_share": 0.2, "slow_speed": 0.7})
        first, again, other = (sim.study(rates, 64 * GB, 5, "local", trials=5, seed=seed) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertGreater(first["with_failures"]["failures"], 0)
        self.assertGreater(first["one_failure"]["worst"], 0)

    def test_defaults(self):
        rates = sim.complete(CLUSTER | {"slots": 3})
        for total in (GB, 10**12, 10**14, 10**15):
            for nodes in (1, 10, 1000):
                slices = sim.default_slices(rates, total, nodes)
                parts = sim.default_parts(rates, total, nodes, slices)
                self.assertLessEqual(total / slices, rates["memory"] * rates["in_memory"])
                self.assertTrue(parts <= nodes or total / parts / slices >= sim.LEAST_PIECE, (total, nodes, slices, parts))
                self.assertTrue(parts <= nodes or parts % (nodes * rates["slots"]) == 0, (total, nodes, slices, parts))


class Command(unittest.TestCase):
    def call(self, *words):
        return subprocess.run([sys.executable, "-B", TOOL, *words], capture_output=True, text=True, check=False)

    def test_a_table(self):
        with tempfile.TemporaryDirectory() as folder:
            rates, out = os.path.join(folder, "rates.json"), os.path.join(folder, "out.json")
            with open(rates, "w", encoding="utf-8") as file:
                json.dump({"rates": {name: [value, "test"] for name, value in (CLUSTER | {"mtbf": 1e6}).items()}}, file)
            done = self.call("--rates", rates, "--bytes", "10G,100G", "--nodes", "2,4", "--trials", "2", "--json", out, "--set", "network=5e9")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            lines = done.stdout.splitlines()
            self.assertEqual(len(lines), 6)
            self.assertEqual(len({line.count("|") for line in lines}), 1)
            with open(out, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
            self.assertEqual([(row["bytes"], row["nodes"]) for row in rows], [(10 * GB, 2), (10 * GB, 4), (100 * GB, 2), (100 * GB, 4)])
            for words in (["--set", "netwrok=1"], ["--layout", "cluod"], ["--bytes", "many"], ["--rates", rates + ".not"]):
                done = self.call("--rates", rates, *words)
                self.assertEqual(done.returncode, 2, words)

    def test_the_table_of_the_readme(self):
        """It is what the model says now, as far as that takes no time."""
        with open(os.path.join(ROOT, "data/bench/cluster-sim.json"), encoding="utf-8") as file:
            table = json.load(file)
        with open(os.path.join(ROOT, "tools/cluster/README.md"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        rates = sim.load_rates(os.path.join(ROOT, table["rates"]))
        for row in table["rows"]:
            self.assertIn("| " + " | ".join(sim.row(row)) + " |", lines)
            if row["bytes"] <= 10**12 and row["nodes"] <= 100:
                done = job(rates, row["bytes"], row["nodes"], row["layout"], seed=table["seed"])
                self.assertAlmostEqual(done["seconds"], row["seconds"], delta=1e-6)


unittest.main()
