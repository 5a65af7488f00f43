#!/usr/bin/python3
"""Two runs with one seed: the same report, byte for byte, and the same output, whatever this machine is busy with. Fields
named wall_* hold time on this machine and are left out. Another seed must show.

usage: determinism.py SECSIM
"""
import json
import os
import subprocess
import sys
import tempfile

SECSIM = os.path.abspath(sys.argv[1])
KEY = "000102030405060708090a0b0c0d0e0f"


def without_wall(value):
    if isinstance(value, dict):
        return {k: without_wall(v) for k, v in value.items() if not k.startswith("wall_")}
    return [without_wall(v) for v in value] if isinstance(value, list) else value


def run(args, output):
    p = subprocess.run([SECSIM] + args + (["--out", output] if output else []), capture_output=True, text=True, timeout=240)
    assert p.returncode == 0, "%s: %s" % (args, p.stderr)
    report = p.stdout
    if args[0] == "crypt":  # its report is the output
        report = open(output).read()
        os.unlink(output)
    j = json.loads(report)
    assert any("wall_" in k for k in j) or any("wall_" in k for k in j["machine"]), "no wall time named in " + report
    return json.dumps(without_wall(j), sort_keys=True), open(output, "rb").read() if output and os.path.exists(output) else b""


def main():
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="determinism.") as folder:
        os.chdir(folder)
        with open("data", "wb") as f:
            f.write(bytes(range(256)) * 64)
        commands = []
        for fidelity in ("functional", "approx"):
            for cpu in ("free", "p2020"):
                common = ["--json", "--fidelity", fidelity, "--cpu", cpu]
                commands += [(["crypt", "--alg", "cbc(aes)", "--key", KEY, "--iv", "00" * 16, "--in", "data", "--segments", "48,100,7"] + common, False),
                             (["esp", "--suite", "aes128-cbc-sha1", "--generate", "imix", "--count", "500", "--segments", "3"] + common, True),
                             (["esp", "--suite", "aes256-ctr-sha256", "--mode", "transport", "--generate", "1400", "--count", "200", "--ipv6"] + common, True),
                             (["disk", "--dd", "4", "--queue-depth", "2"] + common, True),
                             (["disk", "--dd", "2", "--cipher", "aes-xts-plain64", "--submission", "bio", "--sector", "4096"] + common, True),
                             (["disk", "--in", "data", "--cipher", "aes-cbc-benbi", "--key", KEY] + common, False)]
        commands.append((["disk", "--dd", "4", "--disk-mb-s", "145", "--json"], True))
        for args, seeded in commands:
            count += 1
            name = " ".join(args)
            first, first_bytes = run(args + ["--seed", "7"], "o")
            again, again_bytes = run(args + ["--seed", "7"], "o")
            if first != again or first_bytes != again_bytes:
                failures.append(name)
                print("FAILED two runs differ: %s\n  %s\n  %s" % (name, first, again))
            if seeded:
                _, other_bytes = run(args + ["--seed", "8"], "o")
                if other_bytes == first_bytes:
                    failures.append(name)
                    print("FAILED the seed changes nothing: " + name)
        os.chdir("/")
    print("%d commands, %d failed" % (count, len(failures)))
    return 1 if failures else 0


sys.exit(main())
