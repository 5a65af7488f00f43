#!/usr/bin/python3
"""The log of the worked scripts, word for word, without times: what people read must not change unnoticed. And the JSON says the same.

usage: log.py SECSIM FOLDER [--update]
"""
import json
import os
import subprocess
import sys

secsim, folder = map(os.path.abspath, sys.argv[1:3])
bad = 0
for script, part in (("first_descriptor", "mpc8548"), ("first_descriptor_sec1", "mpc885"), ("icv_mismatch", "p2020"), ("continue", "mpc8548")):
    args = [secsim, "poke", script + ".poke", "--engine", part, "--fidelity", "functional"]
    p = subprocess.run(args, cwd=folder, capture_output=True, text=True, timeout=60)
    golden = os.path.join(folder, script + ".log")
    if "--update" in sys.argv:
        open(golden, "w").write(p.stdout)
    if p.returncode or p.stderr or p.stdout != open(golden).read():
        bad += 1
        print("FAILED %s: the log differs from %s; look at it, then update with tests/poke/log.py SECSIM FOLDER --update\n%s%s" % (script, golden, p.stdout, p.stderr))
    j = json.loads(subprocess.run(args + ["--json"], cwd=folder, capture_output=True, text=True, timeout=60).stdout)
    if j["status"] != "passed" or [e["text"] for e in j["log"]] != p.stdout.splitlines()[:len(j["log"])]:
        bad += 1
        print("FAILED %s: the JSON log differs from the text" % script)
sys.exit(1 if bad else 0)
