#!/usr/bin/python3
"""Runs the poke scripts of a folder on parts, functional and approx: every script that does not refuse the part (`requires`) must pass.

usage: run.py SECSIM FOLDER [--all] PART...
A refusal is one sentence with exit code 2. --all: every script must run on at least one of the parts.
"""
import glob
import os
import subprocess
import sys

failed = runs = 0
ran = set()
secsim, folder = map(os.path.abspath, sys.argv[1:3])
parts = [a for a in sys.argv[3:] if a != "--all"]
scripts = sorted(glob.glob(os.path.join(folder, "*.poke")))
assert scripts and parts, folder
for part in parts:
    for script in scripts:
        for fidelity in ("functional", "approx"):
            p = subprocess.run([secsim, "poke", script, "--engine", part, "--fidelity", fidelity, "--quiet"], capture_output=True, text=True, timeout=60)
            if p.returncode == 2 and "requires" in p.stderr and p.stderr.count("\n") == 1:
                continue
            ran.add(script)
            runs += 1
            if p.returncode or p.stdout or p.stderr:
                failed += 1
                print("FAILED %s %s: exit code %d: %s%s" % (part, fidelity, p.returncode, p.stdout, p.stderr.strip()))
if "--all" in sys.argv:
    for script in scripts:
        if script not in ran:
            failed += 1
            print("FAILED %s: runs on none of %s" % (script, " ".join(parts)))
print("%d scripts, %d runs, %d failed" % (len(scripts), runs, failed))
sys.exit(1 if failed or not runs else 0)
