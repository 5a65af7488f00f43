#!/usr/bin/python3
"""A traced run of the engine, as a reader of its waveforms sees it: trace_of_a_run.py SECSIM

The trace has changes of everything that moves (not only declarations), FST and VCD say the same, the views find their
signals, a run is not changed by being traced, and GTKWave draws the views (where it and a virtual display are installed).
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECSIM = str(pathlib.Path(sys.argv.pop(1)).resolve())
# A processor with costs makes the CPU states move.
RUN = ["esp", "--suite", "aes128-cbc-sha1", "--generate", "64,1420", "--count", "8", "--cpu", "p2020"]


def run(*arguments, cwd=None):
    return subprocess.run(arguments, cwd=cwd, capture_output=True, text=True, timeout=120)


def changes(path):
    """{signal: [(time, value)]} without unknown values, and the end time."""
    text = run("fst2vcd", "-f", str(path)).stdout if path.suffix == ".fst" else path.read_text()
    names, scopes, found, now = {}, [], collections.defaultdict(list), 0
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["$scope"]:
            scopes.append(words[2])
        elif words[:1] == ["$upscope"]:
            scopes.pop()
        elif words[:1] == ["$var"]:
            names[words[3]] = ".".join(scopes + [words[4]])
        elif line[:1] == "#":
            now = int(line[1:])
        elif line[:1] in ("b", "0", "1") and words:
            value, code = words if line[0] == "b" else (line[0], line[1:])
            if "x" not in value:
                found[names[code]].append((now, int(value.lstrip("b"), 2)))
    return found, now


class TraceOfARun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        for name in ("run.fst", "run.vcd"):
            done = run(SECSIM, *RUN, "--trace", str(cls.at / name))
            if done.returncode:
                raise AssertionError(done.stdout + done.stderr)
        cls.fst, cls.fst_end = changes(cls.at / "run.fst")
        cls.vcd, cls.vcd_end = changes(cls.at / "run.vcd")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_everything_that_moves_has_changes(self):
        moving = ["sec.bus.owner", "sec.bus.write", "sec.bus.address", "sec.aesu.owner", "sec.aesu.busy",
                  "sec.aesu.in_fifo_bytes", "sec.aesu.out_fifo_bytes", "cpu.state"]
        for signal in moving:
            self.assertGreater(len(self.fst[signal]), 10, signal)
        for what in ("state", "CDPR", "descriptor_number"):
            self.assertGreater(max(len(self.fst[f"sec.channel{n}.{what}"]) for n in range(4)), 5, what)
        self.assertGreater(sum(len(self.fst[f"sec.irq.line{n}"]) for n in (0, 1)), 4)

    def test_both_formats_say_the_same(self):
        self.assertEqual(self.fst, self.vcd)
        self.assertEqual(self.fst_end, self.vcd_end)

    def test_time_and_values_go_forward(self):
        for signal, points in self.fst.items():
            times = [t for t, _ in points]
            self.assertEqual(times, sorted(set(times)), signal)
            self.assertTrue(all(a[1] != b[1] for a, b in zip(points, points[1:])), f"{signal}: repeated value")
        self.assertGreaterEqual(self.fst_end, max(points[-1][0] for points in self.fst.values()))

    def test_units_are_owned_while_they_are_busy(self):
        """Two reporters, one story: at every time at which the unit is busy some channel owns it."""
        for unit in ("aesu", "deu"):
            merged = sorted([(t, 0, v) for t, v in self.fst[f"sec.{unit}.owner"]] +
                            [(t, 1, v) for t, v in self.fst[f"sec.{unit}.busy"]])
            state = [0, 0]
            for i, (t, which, value) in enumerate(merged):
                state[which] = value
                if i + 1 == len(merged) or merged[i + 1][0] > t:
                    self.assertFalse(state[1] and not state[0], f"{unit} busy without owner at {t} ps")

    def test_every_started_descriptor_ends(self):
        for n in range(4):
            points = self.fst[f"sec.channel{n}.state"]
            self.assertEqual(points[-1][1], 0, f"channel{n} does not end idle")

    def test_tracing_changes_nothing(self):
        reports = []
        for extra in ([], ["--trace", str(self.at / "again.fst")]):
            report = json.loads(run(SECSIM, *RUN, "--json", *extra).stdout)
            reports.append(self.without_wall_time(report))
        self.assertEqual(reports[0], reports[1])

    def without_wall_time(self, value):
        if isinstance(value, dict):
            return {k: self.without_wall_time(v) for k, v in value.items() if "wall" not in k and "trace" not in k}
        return [self.without_wall_time(v) for v in value] if isinstance(value, list) else value

    def test_wrong_names_are_refused_before_the_run(self):
        for name, part in (("run.txt", ".fst or .vcd"), ("no/such/run.fst", "no/such")):
            done = run(SECSIM, *RUN, "--trace", name, "--out", "out.pcap", cwd=self.at)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--trace", done.stderr)
            self.assertIn(part, done.stderr)
            self.assertFalse((self.at / "out.pcap").exists())
        self.assertEqual([p.name for p in self.at.iterdir() if ".part-" in p.name], [])

    def test_views_find_their_signals(self):
        for name in ("run.fst", "run.vcd"):
            done = run("/usr/bin/python3", str(ROOT / "waveforms/make_views.py"), "--check", str(self.at / name))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_gtkwave_draws_the_views(self):
        if not (shutil.which("gtkwave") and shutil.which("xvfb-run") and shutil.which("xauth")):
            self.skipTest("gtkwave, xvfb or xauth is not installed")
        for view in sorted((ROOT / "waveforms").glob("*.gtkw")):
            lines = view.read_text().splitlines()
            png = self.at / (view.stem + ".png")
            done = run(str(ROOT / "waveforms/screenshot.sh"), str(self.at / "run.fst"), str(view), str(png))
            self.assertEqual(done.returncode, 0, done.stderr)
            # Every signal, group line and empty row of the view is on the screen; an unknown signal would be left out.
            rows = sum(line.startswith(("+{", "-")) for line in lines)
            self.assertIn(f"traces {rows} of", done.stdout)
            self.assertEqual(png.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
