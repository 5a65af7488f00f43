#!/usr/bin/python3
"""Simulated results of small comparisons against a committed file, and the shape they must have whatever the constants:
host-bound when small, engine-bound when large, larger is not slower.

compare.py SECSIM GOLDEN [--update]. A change of the file is a change of people's results: it belongs into CHANGELOG.md, "Timing".
"""
import json
import subprocess
import sys

secsim, golden = sys.argv[1:3]
lines, problems = [], []


def run(*args):
    out = subprocess.run([secsim, "compare", *args, "--no-measure", "--work", "300", "--json"], capture_output=True, text=True, timeout=250)
    if out.returncode:
        sys.exit("secsim compare failed: " + out.stderr)
    return json.loads(out.stdout)["sections"][0]


for engine in ("p2020", "mpc8548"):
    section = run("speed", "--sizes", "64,1024,16384", "--engine", engine)
    for row in section["rows"]:
        e = row["engine"]
        lines.append("%s speed %s %d: %.3f Mbit/s, host %.3f, %s, %d descriptors, %.0f of the profile's CPU" % (
            engine, row["suite"], row["size"], e["sim_mbit_s"], e["host_load"], e["bottleneck"], e["descriptors"], 100 * e["sim_mbit_s"] / row["cpu_profile"]["sim_mbit_s"]))
    for suite in {r["suite"] for r in section["rows"]}:
        rows = sorted((r["size"], r["engine"]) for r in section["rows"] if r["suite"] == suite)
        if [e["sim_mbit_s"] for _, e in rows] != sorted(e["sim_mbit_s"] for _, e in rows):
            problems.append("%s %s: larger is slower" % (engine, suite))
        if rows[0][1]["bottleneck"] != "host CPU" and "des" not in suite:
            problems.append("%s %s: small requests are limited by %s" % (engine, suite, rows[0][1]["bottleneck"]))
        if rows[-1][1]["bottleneck"] not in ("AESU", "DEU") or rows[-1][1]["host_load"] > 0.3:
            problems.append("%s %s: large requests are limited by %s" % (engine, suite, rows[-1][1]["bottleneck"]))
    if any(r["engine"]["engine_errors"] for r in section["rows"]):
        problems.append(engine + ": the engine reported errors")
    if run("speed", "--sizes", "64,1024,16384", "--engine", engine)["rows"][0]["engine"]["sim_s"] != section["rows"][0]["engine"]["sim_s"]:
        problems.append(engine + ": two runs differ in simulated time")

text = "\n".join(lines) + "\n"
if "--update" in sys.argv:
    open(golden, "w").write(text)
expected = open(golden).read()
if text != expected:
    for a, b in zip(expected.splitlines(), text.splitlines()):
        if a != b:
            problems.append("expected: %s\n     got: %s" % (a, b))
    problems.append("refresh with: compare.py SECSIM %s --update" % golden)
print("\n".join(problems) if problems else "%d results as expected" % len(lines))
sys.exit(bool(problems))
