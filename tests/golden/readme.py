#!/usr/bin/python3
"""The table in README.md is what its command prints now, apart from the two columns measured on somebody's machine.

readme.py SECSIM README
"""
import re
import subprocess
import sys

secsim, readme = sys.argv[1:3]
text = open(readme).read()
arguments = re.search(r"`secsim (compare esp [^`]*)`", text).group(1).split()
out = subprocess.run([secsim, *arguments, "--no-measure"], capture_output=True, text=True, timeout=250)
if out.returncode:
    sys.exit("secsim compare failed: " + out.stderr)


def rows(lines):
    """Suite, size and every simulated column of each table row."""
    found = re.findall(r"^(\S+)\s+(\d+|imix) \|\s+\S+\s+\S+\s+(.*)$", lines, re.M)
    return [" ".join(" ".join(row).split()) for row in found]


expected, got = rows(text), rows(out.stdout)
problems = ["README.md: %s\nprinted:   %s" % pair for pair in zip(expected, got) if pair[0] != pair[1]]
if len(expected) != len(got) or not got:
    problems.append("%d rows in README.md, %d printed" % (len(expected), len(got)))
print("\n".join(problems) if problems else "%d rows as printed" % len(got))
sys.exit(bool(problems))
