#!/usr/bin/python3
"""Disk work of 512-byte sectors that fills the driver's queues: a full queue must never become an I/O error, and all data
must be right. The founding fault was "Buffer I/O error on dev dm-0" during a large dd.

usage: backpressure.py SECSIM
"""
import json
import subprocess
import sys


def main():
    failures = []
    for part, mib, more, must_backlog in (("mpc8548", 64, ["--crypto-requests", "4096", "--queue-depth", "4"], True),
                                          ("mpc8548", 16, ["--submission", "bio", "--queue-depth", "8"], True),
                                          ("p2020", 16, ["--crypto-requests", "1024", "--queue-depth", "2", "--cpu", "p2020"], False),
                                          ("p2020", 64, ["--crypto-requests", "4096", "--fidelity", "functional"], False)):
        args = ["disk", "--json", "--dd", str(mib), "--sector", "512", "--engine", part] + more
        p = subprocess.run([sys.argv[1]] + args, capture_output=True, text=True, timeout=300)
        name = " ".join(args)
        if p.returncode:
            failures.append(name)
            print("FAILED %s: exit code %d: %s" % (name, p.returncode, p.stderr))
            continue
        j = json.loads(p.stdout)
        for phase in j["phases"]:
            good = (phase["failed_requests"] == phase["failed_bios"] == phase["wrong_bytes"] == 0 and phase["bytes"] == mib << 20 and
                    phase["sectors"] == mib * 2048)
            if not good or (must_backlog and phase["backlogged"] == 0) or j["cipher_driver"] != "cbc-aes-talitos":
                failures.append(name)
                print("FAILED %s: %s" % (name, phase))
        print("%s: %s sectors backlogged" % (name, [phase["backlogged"] for phase in j["phases"]]))
    return 1 if failures else 0


sys.exit(main())
