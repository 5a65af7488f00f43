#!/usr/bin/python3
"""Runs the commands of the how-to pages: every ```sh block, page by page in an empty folder, must end well.

usage: howto.py SECSIM PAGE...
Exit 77: a program that a page uses is not installed.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

for program in ("jq", "tshark"):
    if not shutil.which(program):
        print("skipped: %s is not installed" % program)
        sys.exit(77)
failed = blocks = 0
path = os.path.dirname(os.path.abspath(sys.argv[1])) + ":" + os.environ["PATH"]
for page in map(os.path.abspath, sys.argv[2:]):
    found = re.findall(r"^```sh\n(.*?)^```", open(page).read(), re.S | re.M)
    assert found, page + " has no commands"
    with tempfile.TemporaryDirectory(prefix="howto.") as folder:
        for block in found:
            blocks += 1
            p = subprocess.run(["bash", "-e", "-c", block], cwd=folder, env=dict(os.environ, PATH=path), capture_output=True, text=True, timeout=120)
            if p.returncode or (p.stderr and "Running as user" not in p.stderr) or ("tshark -r" in block and p.stdout.count("\n") != 3):
                failed += 1
                print("FAILED %s: exit code %d\n%s%s%s" % (os.path.basename(page), p.returncode, block, p.stdout, p.stderr))
print("%d blocks, %d failed" % (blocks, failed))
sys.exit(1 if failed else 0)
