#!/usr/bin/python3
"""Bad input to secsim: exit code 2, one sentence on stderr, no output file, nothing on stdout, no debris.

usage: bad_input.py SECSIM
"""
import os
import struct
import subprocess
import sys
import tempfile

SECSIM = os.path.abspath(sys.argv[1])
KEY = "000102030405060708090a0b0c0d0e0f"
IV = "00" * 16
PASS = ["--passphrase", "correct horse"]


def run(args, stdin=b""):
    return subprocess.run([SECSIM] + args, input=stdin, capture_output=True, timeout=120)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def pcap(link, packets, cut=0):
    data = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, link)
    for p in packets:
        data += struct.pack("<IIII", 1, 0, len(p), len(p)) + p
    return data[:len(data) - cut]


def make_files():
    ip = bytes.fromhex("450000240000000040110000c6336401cb007101") + bytes(16)
    write("good.pcap", pcap(101, [ip] * 3))
    write("cut.pcap", pcap(101, [ip] * 3, cut=7))
    write("foreign.pcap", pcap(105, [ip] * 3))  # 802.11
    write("text.pcap", b"not a capture at all, whatever its name says\n")
    write("empty.pcap", b"")
    write("data", bytes(4096))
    write("odd", bytes(1000))
    write("blocks", bytes(17))
    p = run(["disk", "--write", "data", "--out", "good.luks", "--iterations", "1000", "--key-bytes", "16"] + PASS)
    assert p.returncode == 0, p.stderr
    luks = open("good.luks", "rb").read()
    write("magic.luks", b"X" + luks[1:])
    write("version.luks", luks[:7] + b"\x02" + luks[8:])
    write("offset.luks", luks[:104] + b"\xff\xff\xff\xff" + luks[108:])
    write("cipher.luks", luks[:8] + b"rot13\0" + luks[14:])
    write("cut.luks", luks[:300])
    write("payload.luks", luks[:3000])
    os.makedirs("folder")
    write("good.poke", b"expect ID 0x0030_0301_0000_0000\n")
    write("bad.poke", b"run 1us\nwrite32 CH0.CCCR\n")
    write("sec1.poke", b"requires sec1\n")
    write("late.poke", b"dump 0 16\n")


def cases():
    crypt = ["crypt", "--in", "data", "--out", "none", "--iv", IV]
    esp = ["esp", "--out", "none", "--generate", "100", "--count", "3"]
    esp_in = ["esp", "--suite", "aes128-cbc-sha1", "--out", "none", "--in"]
    disk = ["disk", "--in", "data", "--out", "none"]
    luks = ["disk", "--out", "none", "--luks"]
    # name, arguments, what the sentence must name
    yield "no command", [], "subcommand"
    yield "unknown command", ["encode"], "encode"
    yield "unknown option", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--frobnicate"], "--frobnicate"
    # algorithms, keys
    yield "unknown algorithm", crypt + ["--alg", "cbc(rot13)", "--key", KEY], "cbc(rot13)"
    yield "unknown driver", crypt + ["--alg", "cbc(aes)", "--driver", "cbc-aes-nobody", "--key", KEY], "cbc-aes-nobody"
    yield "wrong key length", crypt + ["--alg", "cbc(aes)", "--key", KEY + "00"], "--key"
    yield "wrong IV length", ["crypt", "--in", "data", "--out", "none", "--alg", "cbc(aes)", "--key", KEY, "--iv", "00"], "--iv"
    yield "bad hex digits", crypt + ["--alg", "cbc(aes)", "--key", "xy" * 16], "--key"
    yield "half a byte of hex", crypt + ["--alg", "cbc(aes)", "--key", KEY[1:]], "--key"
    yield "unreadable input", ["crypt", "--alg", "cbc(aes)", "--key", KEY, "--iv", IV, "--in", "absent", "--out", "none"], "absent"
    yield "crypt, unwritable output", ["crypt", "--alg", "cbc(aes)", "--key", KEY, "--iv", IV, "--in", "data", "--out", "no/such/none"], "no/such/none"
    yield "bad segment sizes", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--segments", "16,x"], "--segments"
    # what every command has
    for name, extra, says in (("unknown part", ["--engine", "mpc9999"], "mpc9999"), ("unknown fidelity", ["--fidelity", "exact"], "exact"),
                              ("unknown knob", ["--set", "engine.warp_factor=9"], "warp_factor"),
                              ("knob without a value", ["--set", "engine.fifo_bytes"], "engine.fifo_bytes"),
                              ("knob out of range", ["--set", "engine.fifo_bytes=-5"], "fifo_bytes"),
                              ("unknown profile", ["--cpu", "absent.toml"], "absent.toml"), ("seed that is no number", ["--seed", "lucky"], "--seed"),
                              ("trace without time", ["--fidelity", "functional", "--trace", "none"], "--trace")):
        yield "crypt, " + name, crypt + ["--alg", "cbc(aes)", "--key", KEY] + extra, says
        yield "esp, " + name, esp + ["--suite", "aes128-cbc-sha1"] + extra, says
        yield "disk, " + name, disk + ["--cipher", "aes-cbc-plain64", "--key", KEY] + extra, says
    # AEADs
    gcm = ["crypt", "--in", "data", "--out", "none", "--alg", "gcm(aes)", "--key", KEY, "--iv", "00" * 12]
    authenc = ["crypt", "--in", "data", "--out", "none", "--alg", "authenc(hmac(sha1),cbc(aes))", "--iv", IV]
    yield "aad that is no hex", gcm + ["--aad", "0x1"], "--aad"
    yield "aad from an absent file", gcm + ["--aad", "@absent"], "absent"
    yield "tag that gcm has not", gcm + ["--tag-bytes", "3"], "--tag-bytes"
    yield "tag longer than any", gcm + ["--tag-bytes", "65"], "--tag-bytes"
    yield "tag for a cipher", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--tag-bytes", "16"], "--tag-bytes"
    yield "aad for a cipher", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--aad", "00"], "--aad"
    yield "second key for a cipher", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--auth-key", KEY], "--auth-key"
    yield "second key for gcm", gcm + ["--auth-key", KEY], "--auth-key"
    yield "authenc without its second key", authenc + ["--key", KEY], "--auth-key"
    yield "authenc, wrong cipher key", authenc + ["--key", KEY + "00", "--auth-key", KEY], "--key"
    yield "aead, IV length", gcm[:-1] + [IV], "--iv"
    yield "input shorter than the tag", ["crypt", "--in", "empty.pcap"] + gcm[3:] + ["--decrypt"], "--in"
    # many
    many = ["crypt", "--alg", "cbc(aes)", "--key", KEY, "--many", "10"]
    yield "many, and an IV", many + ["--iv", IV], "--iv"
    yield "many, and a file", many + ["--in", "data"], "--in"
    yield "many, and an output", many + ["--out", "none"], "--out"
    yield "none of many", many[:-1] + ["0"], "--many"
    yield "depth zero", many + ["--depth", "0"], "--depth"
    yield "many, half a block", many + ["--sizes", "16,17"], "--sizes"
    yield "many, too large", many + ["--sizes", "1048577"], "--sizes"
    yield "sizes without many", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--sizes", "16"], "--sizes"
    yield "depth without many", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--depth", "4"], "--depth"
    yield "two lists in place", crypt + ["--alg", "cbc(aes)", "--key", KEY, "--in-place", "--dst-segments", "16"], "--dst-segments"
    # hashes
    sha = ["hash", "--in", "data", "--alg"]
    yield "unknown hash", sha + ["sha3"], "sha3"
    yield "no hash", sha[:-1], "--alg"
    yield "key for a hash", sha + ["sha256", "--key", KEY], "--key"
    yield "hmac without a key", sha + ["hmac(sha256)"], "--key"
    yield "cmac, wrong key length", sha + ["cmac(aes)", "--key", KEY + "00"], "--key"
    yield "hash, bad hex", sha + ["hmac(sha256)", "--key", "0g"], "--key"
    yield "hash, absent input", ["hash", "--alg", "sha256", "--in", "absent"], "absent"
    yield "hash, driver for something else", sha + ["sha256", "--driver", "md5-openssl"], "md5-openssl"
    yield "hash, updates that are none", sha + ["sha256", "--updates", "a"], "--updates"
    yield "hash, updates of nothing", sha + ["sha256", "--updates", "0"], "--updates"
    yield "steps of what hashes at once only", sha + ["sha256", "--driver", "sha256-ipsecmb", "--updates", "16"], "--updates"
    yield "hash many in steps", ["hash", "--alg", "sha256", "--many", "10", "--updates", "16"], "--updates"
    yield "hash many of a file", sha + ["sha256", "--many", "10"], "--in"
    # random numbers
    yield "rng, how many", ["rng"], "--bytes"
    yield "rng, none", ["rng", "--bytes", "0"], "--bytes"
    yield "rng on a part without", ["rng", "--bytes", "8", "--engine", "mpc885"], "mpc885"
    yield "rng, entropy with a seed", ["rng", "--bytes", "8", "--entropy", "--seed", "1"], "--entropy"
    yield "rng, unwritable output", ["rng", "--bytes", "8", "--out", "no/such/none"], "no/such/none"
    # poke
    poke = ["poke", "good.poke"]
    yield "no script", ["poke"], "script"
    yield "absent script", ["poke", "absent.poke"], "absent.poke"
    yield "a folder as a script", ["poke", "folder"], "folder"
    yield "script with a mistake", ["poke", "bad.poke"], "bad.poke:2: "
    yield "script for another part", ["poke", "sec1.poke"], "sec1"
    yield "value that is found out on the way", ["poke", "late.poke", "--quiet"], "late.poke:1: "
    yield "the same with a trace", ["poke", "late.poke", "--quiet", "--trace", "none.fst"], "late.poke:1: "
    yield "poke, unknown part", poke + ["--engine", "p4080"], "p4080"
    yield "poke, unknown fidelity", poke + ["--fidelity", "exact"], "exact"
    yield "poke, unknown knob", poke + ["--set", "engine.nothing=1"], "engine.nothing"
    yield "poke, trace without time", poke + ["--fidelity", "functional", "--trace", "none.fst"], "--trace"
    yield "poke, window without a trace", poke + ["--trace-window", "1us:2us"], "--trace-window"
    yield "poke, unknown kind of trace", poke + ["--trace", "none.pdf"], "none.pdf"
    # reports
    for option in ("--html", "--csv", "--json-file"):
        yield "compare, unwritable " + option, ["compare", "speed", "--no-measure", option, "no/such/none"], option
        yield "compare, a folder as " + option, ["compare", "speed", "--no-measure", option, "folder"], option
        yield "compare fails after " + option, ["compare", "esp", "--no-measure", option, "none", "--suites", "aes128-cbc-crc32"], "aes128-cbc-crc32"
    # ESP
    yield "unknown suite", esp + ["--suite", "aes128-cbc-crc32"], "aes128-cbc-crc32"
    yield "no suite", esp, "--suite"
    yield "suite for measurements only", esp + ["--suite", "null-null"], "null-null"
    yield "esp, bad hex", esp + ["--suite", "aes128-cbc-sha1", "--key", "0g"], "--key"
    yield "esp, wrong key length", esp + ["--suite", "aes128-cbc-sha1", "--key", KEY + "00"], "key"
    yield "esp, wrong integrity key length", esp + ["--suite", "aes128-cbc-sha1", "--auth-key", KEY], "key"
    yield "CTR key without its nonce", esp + ["--suite", "aes128-ctr-sha1", "--key", KEY], "key"
    yield "reserved SPI", esp + ["--suite", "aes128-cbc-sha1", "--spi", "7"], "SPI"
    yield "SPI that is no number", esp + ["--suite", "aes128-cbc-sha1", "--spi", "seven"], "--spi"
    yield "SPI of more than 32 bits", esp + ["--suite", "aes128-cbc-sha1", "--spi", "0x100000000"], "--spi"
    yield "mixed outer addresses", esp + ["--suite", "aes128-cbc-sha1", "--outer-src", "192.0.2.1", "--outer-dst", "2001:db8::1"], "address"
    yield "outer address that is none", esp + ["--suite", "aes128-cbc-sha1", "--outer-src", "300.1.2.3"], "300.1.2.3"
    yield "unknown mode", esp + ["--suite", "aes128-cbc-sha1", "--mode", "beet"], "beet"
    yield "unknown packet sizes", ["esp", "--suite", "aes128-cbc-sha1", "--out", "none", "--generate", "huge"], "--generate"
    yield "packets smaller than their headers", ["esp", "--suite", "aes128-cbc-sha1", "--out", "none", "--generate", "10"], "10"
    yield "two inputs", esp_in + ["good.pcap", "--generate", "100"], "--generate"
    yield "no input", ["esp", "--suite", "aes128-cbc-sha1", "--out", "none"], "--in"
    yield "nothing in flight", esp + ["--suite", "aes128-cbc-sha1", "--in-flight", "0"], "--in-flight"
    yield "no segments", esp + ["--suite", "aes128-cbc-sha1", "--segments", "0"], "--segments"
    yield "esp, driver for something else", esp + ["--suite", "aes128-cbc-sha1", "--cipher-driver", "ctr-aes-talitos"], "ctr-aes-talitos"
    yield "esp, unknown driver", esp + ["--suite", "aes128-cbc-sha1", "--hash-driver", "hmac-nobody"], "hmac-nobody"
    yield "truncated capture", esp_in + ["cut.pcap"], "cut.pcap"
    yield "foreign link type", esp_in + ["foreign.pcap"], "foreign.pcap"
    yield "not a capture", esp_in + ["text.pcap"], "text.pcap"
    yield "empty capture", esp_in + ["empty.pcap"], "empty.pcap"
    yield "absent capture", esp_in + ["absent.pcap"], "absent.pcap"
    yield "a folder as a capture", esp_in + ["folder"], "folder"
    yield "esp, unwritable output", ["esp", "--suite", "aes128-cbc-sha1", "--generate", "100", "--out", "no/such/none"], "no/such/none"
    # disks
    yield "unknown disk cipher", disk + ["--cipher", "rot13-cbc-plain", "--key", KEY], "rot13"
    yield "unknown IV mode", disk + ["--cipher", "aes-cbc-plain65", "--key", KEY], "plain65"
    yield "disk, wrong key length", disk + ["--cipher", "aes-xts-plain64", "--key", KEY], "128 bits"
    yield "disk, bad hex", disk + ["--cipher", "aes-cbc-plain64", "--key", "zz"], "--key"
    yield "disk, no key", disk + ["--cipher", "aes-cbc-plain64"], "--key"
    yield "sector size", disk + ["--cipher", "aes-cbc-plain64", "--key", KEY, "--sector", "100"], "sector size"
    yield "half a sector", ["disk", "--in", "odd", "--out", "none", "--cipher", "aes-cbc-plain64", "--key", KEY], "odd"
    yield "place inside a sector", disk + ["--cipher", "aes-cbc-plain64", "--key", KEY, "--sector", "4096", "--skip", "3"], "--skip"
    yield "disk, absent input", ["disk", "--in", "absent", "--out", "none", "--key", KEY], "absent"
    yield "disk, no output", ["disk", "--in", "data", "--key", KEY], "--out"
    yield "disk, nothing to do", ["disk", "--out", "none"], "--in"
    yield "disk, two things to do", disk + ["--dd", "1", "--key", KEY], "--dd"
    yield "disk, unwritable output", ["disk", "--in", "data", "--out", "no/such/none", "--key", KEY], "no/such/none"
    yield "dd, bio size", ["disk", "--dd", "1", "--sector", "4096", "--bio-bytes", "6144"], "--bio"
    yield "dd, queue depth", ["disk", "--dd", "1", "--queue-depth", "0"], "--queue-depth"
    yield "disk model without time", ["disk", "--dd", "1", "--disk-mb-s", "145", "--fidelity", "functional"], "--disk-mb-s"
    yield "disk, unknown driver", disk + ["--key", KEY, "--cipher-driver", "cbc-aes-nobody"], "cbc-aes-nobody"
    for name in ("magic", "version", "offset", "cipher", "cut", "payload"):
        yield "LUKS header, " + name, luks + [name + ".luks"] + PASS, name + ".luks"
    yield "wrong passphrase", luks + ["good.luks", "--passphrase", "wrong"], "passphrase"
    yield "no passphrase", luks + ["good.luks"], "--passphrase"
    yield "two passphrases", luks + ["good.luks", "--passphrase-file", "data"] + PASS, "--passphrase"
    yield "absent passphrase file", luks + ["good.luks", "--passphrase-file", "absent"], "absent"
    yield "key for a container", luks + ["good.luks", "--key", KEY] + PASS, "--key"
    yield "absent container", luks + ["absent.luks"] + PASS, "absent.luks"
    yield "unknown key derivation hash", ["disk", "--write", "data", "--out", "none", "--hash", "crc32"] + PASS, "crc32"


def main():
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="bad_input.") as folder:
        os.chdir(folder)
        make_files()
        before = sorted(os.listdir("."))
        for name, args, says in cases():
            count += 1
            p = run(args)
            error = p.stderr.decode()
            wrong = []
            if p.returncode != 2:
                wrong.append("exit code %d" % p.returncode)
            if error.count("\n") != 1 or not error.endswith("\n") or not error.startswith("secsim: "):
                wrong.append("not one line: %r" % error)
            if says not in error:
                wrong.append("does not name %s: %r" % (says, error))
            if p.stdout:
                wrong.append("prints %r" % p.stdout[:80])
            if sorted(os.listdir(".")) != before:
                wrong.append("leaves %s" % sorted(set(os.listdir(".")) - set(before)))
                for f in set(os.listdir(".")) - set(before):
                    os.unlink(f)
            if wrong:
                failures.append(name)
                print("FAILED %s: %s" % (name, "; ".join(wrong)))
        # An older file at the place of the output survives, and the good twin of these runs works.
        write("none", b"older")
        run(["esp", "--suite", "aes128-cbc-sha1", "--in", "cut.pcap", "--out", "none"])
        run(["disk", "--luks", "good.luks", "--passphrase", "wrong", "--out", "none"])
        run(["crypt", "--alg", "cbc(aes)", "--key", KEY, "--iv", IV, "--in", "blocks", "--out", "none"])  # refused with EINVAL, exit 1
        run(["crypt", "--alg", "gcm(aes)", "--key", KEY, "--iv", "00" * 12, "--in", "data", "--out", "none", "--decrypt"])  # refused with EBADMSG, exit 1
        for option in ("--html", "--csv", "--json-file"):
            run(["compare", "esp", "--no-measure", option, "none", "--suites", "aes128-cbc-crc32"])
        if open("none", "rb").read() != b"older":
            failures.append("an older output file was touched")
            print("FAILED", failures[-1])
        for args in (["esp", "--suite", "aes128-cbc-sha1", "--in", "good.pcap", "--out", "none"], ["disk", "--luks", "good.luks", "--out", "none"] + PASS,
                     ["crypt", "--alg", "cbc(aes)", "--key", KEY, "--iv", IV, "--in", "data", "--out", "none"]):
            p = run(args)
            if p.returncode or open("none", "rb").read() == b"older":
                failures.append("good input")
                print("FAILED good input", args, p.stderr)
            write("none", b"older")
        os.chdir("/")
    print("%d cases, %d failed" % (count, len(failures)))
    return 1 if failures else 0


sys.exit(main())
