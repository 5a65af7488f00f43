#!/usr/bin/python3
"""What secsim esp and secsim disk say about a run must fit together and fit the files.

usage: report.py SECSIM
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

SECSIM = os.path.abspath(sys.argv[1])
failures = []
checks = 0


def check(ok, text):
    global checks
    checks += 1
    if not ok:
        failures.append(text)
        print("FAILED", text, flush=True)


def run(*args, expect=0):
    p = subprocess.run([SECSIM] + [str(a) for a in args], capture_output=True, text=True, timeout=120)
    check(p.returncode == expect, "%s: exit code %d: %s" % (" ".join(map(str, args)), p.returncode, p.stderr))
    return p


def report(*args):
    return json.loads(run(*args, "--json").stdout)


def packets(path):
    data = open(path, "rb").read()
    out, at = [], 24
    while at < len(data):
        n = struct.unpack("<I", data[at + 8:at + 12])[0]
        out.append((at + 16, n))
        at += 16 + n
    return data, out


def esp():
    # Out and back with everything that changes the packets; the keys travel by --seed, or as the report prints them.
    suites = [s["name"] for s in json.loads(run("esp", "--suites", "--json").stdout)]
    check(len(suites) >= 20 and "3des-cbc-sha256" in suites, "list of suites: %s" % suites)
    for suite, more in (("aes128-cbc-sha1", ["--esn"]), ("aes256-ctr-sha256", ["--segments", "5", "--ipv6"]), ("3des-cbc-sha1", ["--tfc", "1000"]),
                        ("null-sha256", ["--mode", "transport"]), ("aes192-cbc-sha256-96", ["--outer-src", "2001:db8::1", "--outer-dst", "2001:db8::2"])):
        common = ["esp", "--suite", suite] + more
        out = report(*common, "--generate", "64,576,1400" if "--ipv6" not in more else "100,1400", "--count", 90, "--out", "o.pcap", "--seed", 5)
        _, sent = packets("o.pcap")
        check(out["packets"]["out"] == 90 == len(sent), suite + ": packets out")
        check(out["packets"]["bytes_out"] == sum(n for _, n in sent), suite + ": bytes out are those of the capture")
        back = report(*common, "--in", "o.pcap", "--decap", "--out", "c.pcap", "--spi", out["spi"], "--key", out["key"], "--auth-key", out["auth_key"])
        _, clear = packets("c.pcap")
        check(back["packets"]["out"] == 90 and back["packets"]["dropped"] == 0, "%s: %s" % (suite, back))
        check(back["packets"]["bytes_out"] == out["packets"]["bytes_in"] == sum(n for _, n in clear), suite + ": clear bytes")
        if out["cipher_driver"]:
            # ipsec_esp does both in one descriptor; ESN (its high half is authenticated, not sent) and CTR (partial blocks) take two.
            one = out["hash_driver"] == out["cipher_driver"] or out["hash_driver"] is None
            check(one == ("--esn" not in more and "ctr" not in suite), suite + ": one request or two")
            check(out["machine"]["descriptors"] == (90 if one else 180), suite + ": descriptors for each packet")
            # The first channel in use carries the cipher. The engine has no partial blocks: the driver fills the last one of CTR up.
            moved = [c["bytes"] for c in out["machine"]["channels"] if c["bytes"]]
            least = out["packets"]["cipher_bytes"]
            check(moved[0] == least if "ctr" not in suite else least < moved[0] < least + 90 * 16, "%s: channels moved %s of %d" % (suite, moved, least))
            # The hash hears the cipher's output (but the IV is no part of cbc's stream) and the ESP header before it.
            check(len(moved) == (1 if one else 2) and (one or moved[1] > least), "%s: channels moved %s of %d" % (suite, moved, least))
            rate = out["packets"]["bytes_in"] * 8e3 / out["machine"]["sim_time_ns"]
            check(abs(out["throughput_mbit_s"] / rate - 1) < 1e-3, suite + ": rate is bytes over simulated time")
            check(0 < out["latency"]["p50_ns"] <= out["latency"]["p99_ns"] <= out["machine"]["sim_time_ns"], suite + ": latency")
    # A bad ICV is a result, not a failure, and people are told.
    data, list_ = packets("o.pcap")
    broken = bytearray(data)
    for at, n in list_[::9]:
        broken[at + n - 1] ^= 1
    open("b.pcap", "wb").write(broken)
    j = report(*common, "--in", "b.pcap", "--decap", "--seed", 5)
    check(j["drops"]["bad_icv"] == 10 and j["packets"]["out"] == 80, "bad ICVs: %s" % j["drops"])
    check("10 packets failed the check of their ICV" in run(*common, "--in", "b.pcap", "--decap", "--seed", 5).stdout, "bad ICVs are not mentioned")
    # Replays.
    j = report(*common, "--in", "o.pcap", "--decap", "--seed", 5, "--sequence", 0)
    open("r.pcap", "wb").write(data + data[24:])
    j = report(*common, "--in", "r.pcap", "--decap", "--seed", 5)
    check(j["packets"]["out"] == 90 and j["drops"]["replay"] + j["drops"]["window"] == 90, "replays: %s" % j["drops"])
    j = report(*common, "--in", "r.pcap", "--decap", "--seed", 5, "--replay-window", 0)
    check(j["packets"]["out"] == 180, "without anti-replay: %s" % j["drops"])
    # The functional path has no time and says so.
    text = run("esp", "--suite", "aes128-cbc-sha1", "--generate", "imix", "--count", 12, "--fidelity", "functional").stdout
    check("no time" in text and "Mbit/s" not in text, "functional report: " + text)
    text = run("esp", "--suite", "aes128-cbc-sha1", "--generate", "imix", "--count", 12).stdout
    check("Mbit/s" in text and "wall time" in text and "uat:esp_sa" in text, "report: " + text)
    # Ethernet frames in and out.
    run("esp", "--suite", "aes128-cbc-sha1", "--generate", "100", "--count", 5, "--out", "e.pcap", "--link", "ethernet")
    check(struct.unpack("<I", open("e.pcap", "rb").read()[20:24])[0] == 1, "link type of an Ethernet capture")
    check(report("esp", "--suite", "aes128-cbc-sha1", "--in", "e.pcap", "--decap")["packets"]["out"] == 5, "Ethernet capture read back")
    # Software in simulated time: HMAC and cipher cost what the profile says, and the engine is faster on a P2020.
    args = ["esp", "--suite", "aes128-cbc-sha1", "--generate", "1400", "--count", 300, "--cpu", "p2020"]
    engine, software = report(*args), report(
        *args, "--cipher-driver", "cbc-aes-openssl", "--hash-driver", "hmac-sha1-openssl")
    check(engine["throughput_mbit_s"] > 1.5 * software["throughput_mbit_s"] > 100, "engine against software: %s %s" % (
        engine["throughput_mbit_s"], software["throughput_mbit_s"]))
    check(software["machine"]["descriptors"] == 0 and software["machine"]["host_busy_share"] > 0.99, "software runs on the processor")


def disk():
    args = ["disk", "--dd", 2, "--cpu", "p2020"]
    for more in (["--cipher-driver", "cbc-aes-openssl"], [], ["--submission", "bio"], ["--cipher", "aes-xts-plain64"]):
        j = report(*args, *more)
        phases = sum(p["sim_time_ns"] for p in j["phases"])
        check(0.98 * j["machine"]["sim_time_ns"] < phases <= j["machine"]["sim_time_ns"] + 2, "%s: phases take %d ns, the run %d" % (more, phases, j["machine"]["sim_time_ns"]))
        for p in j["phases"]:
            check(p["bytes"] == 2 << 20 and p["sectors"] == 4096 and abs(p["throughput_mb_s"] * p["sim_time_ns"] / 1e3 / p["bytes"] - 1) < 1e-3,
                  "%s: %s" % (more, p))
            if more[:1] == ["--cipher-driver"]:  # 28.6 MiB/s and fixed costs per sector, from the profile
                check(18 < p["throughput_mb_s"] < 30, "AES-256-CBC in software on a P2020: %s MB/s" % p["throughput_mb_s"])
            check(p["latency"]["count"] == 2, "latencies are per request")
    fast, slow = report("disk", "--dd", 8), report("disk", "--dd", 8, "--disk-mb-s", 20)
    check(all(p["throughput_mb_s"] <= 20 for p in slow["phases"]) and all(p["throughput_mb_s"] > 40 for p in fast["phases"]), "disk model: %s" % [
        p["throughput_mb_s"] for p in slow["phases"] + fast["phases"]])
    open("d", "wb").write(os.urandom(65536))
    open("pass", "w").write("correct horse\n")
    run("disk", "--write", "d", "--out", "d.luks", "--passphrase", "correct horse", "--iterations", 1000)
    run("disk", "--luks", "d.luks", "--out", "d2", "--passphrase-file", "pass")
    check(open("d", "rb").read() == open("d2", "rb").read(), "LUKS out and back with a passphrase file")
    run("disk", "--write", "d2", "--luks", "d.luks", "--out", "e.luks", "--passphrase-file", "pass")
    check(open("d.luks", "rb").read() == open("e.luks", "rb").read(), "the same data under the same head")
    for more in (["--iv-offset", 8], ["--skip", 8], ["--sector", 4096], ["--sector", 4096, "--skip", 8, "--large-sectors"]):
        key = ["--key", "00" * 32] + more
        run("disk", "--in", "d", "--out", "x", *key)
        run("disk", "--in", "x", "--out", "y", "--decrypt", *key)
        run("disk", "--in", "d", "--out", "z", "--key", "00" * 32)
        check(open("y", "rb").read() == open("d", "rb").read() and open("x", "rb").read() != open("z", "rb").read(), "raw volume with %s" % more)
    # A file may be its own output.
    run("disk", "--in", "y", "--out", "y", "--key", "00" * 32)
    check(open("y", "rb").read() == open("z", "rb").read(), "in place")


with tempfile.TemporaryDirectory(prefix="report.") as folder:
    os.chdir(folder)
    esp()
    disk()
    os.chdir("/")
print("%d checks, %d failed" % (checks, len(failures)))
sys.exit(1 if failures else 0)
