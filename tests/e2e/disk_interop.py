#!/usr/bin/python3
"""Disk encryption against independent implementations.

usage: disk_interop.py DISK_TOOL [--quick]
       disk_interop.py SECSIM --secsim [--quick]

With --secsim the program itself is driven, always with the engine: the functional path, and now and then simulated time.
Runs go to the software back ends and to driver and engine (the functional platform) in turn.

LUKS1, qemu-img: containers that qemu-img made and filled with an ext4 file system are decrypted by disk_tool; the bytes
must be those of qemu-img's own decryption and of the original, and e2fsck must find nothing. Containers that disk_tool
made are decrypted by qemu-img, and containers made by disk_tool and filled by qemu-img are decrypted by disk_tool.
Raw volumes: ciphertext is compared with the formulas of dm-crypt's tables, written here with python3-cryptography, and
where `cryptsetup` is installed with what `cryptsetup reencrypt` writes.
Bad input must end with exit code 2, one sentence and no output file.

Exit 77: qemu-img, mkfs.ext4, e2fsck or python3-cryptography is not installed. cryptsetup is optional, and loud when absent.
"""
import hashlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

os.environ["PATH"] += ":/usr/sbin:/sbin"
try:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
except ImportError as e:
    print("skipped: python3-cryptography is not installed (%s)" % e)
    sys.exit(77)
for program in ("qemu-img", "mkfs.ext4", "e2fsck"):
    if not shutil.which(program):
        print("skipped: %s is not installed" % program)
        sys.exit(77)

TOOL = sys.argv[1]
ENGINE = [[], ["--engine"]]
QUICK = "--quick" in sys.argv
SECSIM = "--secsim" in sys.argv
CRYPTSETUP = os.environ.get("CRYPTSETUP") or shutil.which("cryptsetup")
PASSWORD = "correct horse"
QEMU_TRIES = 12  # "Unable to get accurate CPU usage" is about every second answer

failures = []
counts = {}


def check(ok, group, text):
    counts[group] = counts.get(group, 0) + 1
    if not ok:
        failures.append("%s: %s" % (group, text))
        print("FAILED", failures[-1], flush=True)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


secsim_runs = 0


def secsim(args, expect=0):
    """One run of the program with disk_tool's arguments, its report in the shape of disk_tool's."""
    global secsim_runs
    secsim_runs += 1
    action, args = args[0], list(args[1:])
    if "--luks" in args:
        args.remove("--luks")
        names = {"--in": "--luks" if action == "decrypt" else "--write", "--luks-container": "--luks"}
        args = [names.get(a, a) for a in args]
    elif action == "decrypt":
        args.append("--decrypt")
    fidelity = "approx" if secsim_runs % 8 == 0 else "functional"
    p = subprocess.run([TOOL, "disk", "--json", "--fidelity", fidelity] + args, capture_output=True, text=True, timeout=120)
    if p.returncode != expect:
        failures.append("%s: exit code %d, expected %d: %s" % (" ".join(args), p.returncode, expect, p.stderr))
        print("FAILED", failures[-1], flush=True)
        return None
    if expect:
        return p.stderr
    j = json.loads(p.stdout)
    phase = j["phases"][0]
    check(j["machine"]["descriptor_errors"] == 0 and phase["failed_requests"] == 0, "secsim", "%s: errors in %s" % (" ".join(args), j))
    timed = fidelity == "approx" and "talitos" in j["cipher_driver"]
    check((phase["throughput_mb_s"] is None) != timed, "secsim", "simulated time in the wrong place: " + " ".join(args))
    return {"status": j["status"], "driver": j["cipher_driver"], "key_bits": j["key_bits"]}


def tool(*args, expect=0, engine=False):
    if SECSIM:
        return secsim([str(a) for a in args], expect)
    p = subprocess.run([TOOL] + ENGINE[engine] + [str(a) for a in args], capture_output=True, text=True, timeout=120)
    if p.returncode != expect:
        failures.append("%s: exit code %d, expected %d: %s" % (" ".join(map(str, args)), p.returncode, expect, p.stderr))
        print("FAILED", failures[-1], flush=True)
        return None
    return json.loads(p.stdout) if expect == 0 else p.stderr


def batch(lines, engine):
    if SECSIM:
        return [r for r in (secsim(line.split()) for line in lines) if r]
    write("batch", ("\n".join(lines) + "\n").encode())
    p = subprocess.run([TOOL] + ENGINE[engine] + ["--batch", "batch"], capture_output=True, text=True, timeout=300)
    if p.returncode != 0:
        failures.append("batch: " + p.stderr)
        return []
    return [json.loads(line) for line in p.stdout.splitlines()]


def qemu_secret():
    return ["--object", "secret,id=s,data=" + PASSWORD]


def qemu_create(path, size, cipher, mode, ivgen):
    options = "key-secret=s,cipher-alg=%s,cipher-mode=%s,ivgen-alg=%s,hash-alg=sha256,iter-time=10" % (cipher, mode, ivgen)
    if ivgen == "essiv":
        options += ",ivgen-hash-alg=sha256"
    error = ""
    for _ in range(QEMU_TRIES):
        p = subprocess.run(["qemu-img", "create", "-q", "-f", "luks"] + qemu_secret() + ["-o", options, path, str(size)],
                           capture_output=True, text=True, timeout=120)
        if p.returncode == 0:
            return True
        error = p.stderr.strip()
    print("NOT RUN: qemu-img cannot make %s %s %s: %s" % (cipher, mode, ivgen, error), flush=True)
    return False


def qemu_fill(plain, container):
    subprocess.run(["qemu-img", "convert", "-n"] + qemu_secret() +
                   ["--image-opts", "driver=raw,file.filename=" + plain,
                    "--target-image-opts", "driver=luks,key-secret=s,file.filename=" + container],
                   check=True, capture_output=True, timeout=120)


def qemu_read(container, out):
    p = subprocess.run(["qemu-img", "convert"] + qemu_secret() +
                       ["--image-opts", "driver=luks,key-secret=s,file.filename=" + container, "-O", "raw", out],
                       capture_output=True, text=True, timeout=120)
    return p.returncode == 0, p.stderr


def make_file_system(path, size):
    rng = random.Random(7)
    os.makedirs("tree/deep/er")
    for i, n in enumerate([0, 1, 511, 512, 513, 4096, 70000, 300001]):
        write("tree/%s/f%d" % (["", "deep", "deep/er"][i % 3], i), rng.randbytes(n))
    os.symlink("f0", "tree/link")
    write(path, b"")
    os.truncate(path, size)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", "tree", path], check=True, capture_output=True, timeout=120)


def is_clean(path):
    return subprocess.run(["e2fsck", "-fn", path], capture_output=True, timeout=120).returncode == 0


# ---------------------------------------------------------------- LUKS1

def luks_tests(plain_path):
    plain = content(plain_path)
    print("LUKS1 made and filled by qemu-img", flush=True)
    made = 0
    for cipher in ("aes-128", "aes-256"):
        for mode, ivgen in (("cbc", "essiv"), ("cbc", "plain64"), ("xts", "plain64")):
            if QUICK and made >= 1:
                continue
            if not qemu_create("q.luks", len(plain), cipher, mode, ivgen):
                counts["not run"] = counts.get("not run", 0) + 1
                continue
            made += 1
            name = "%s %s-%s" % (cipher, mode, ivgen)
            qemu_fill(plain_path, "q.luks")
            ok, error = qemu_read("q.luks", "q.raw")
            assert ok, error
            for engine, submission in ((False, "sector"), (False, "bio"), (True, "sector"), (True, "bio")):
                r = tool("decrypt", "--luks", "--in", "q.luks", "--out", "o.raw", "--passphrase", PASSWORD, "--submission", submission,
                         engine=engine)
                if r is None:
                    continue
                # XTS is not among the engine's own modes.
                # In secsim, XTS may be a composition over the engine's ECB.
                if mode == "cbc" or not SECSIM:
                    check(r["driver"].endswith("-talitos") == ((engine or SECSIM) and mode == "cbc"), "qemu made",
                          name + ": ran on " + r["driver"])
                bits = int(cipher[4:]) * (2 if mode == "xts" else 1)
                check(r["key_bits"] == bits, "qemu made", "%s: key of %d bits" % (name, r["key_bits"]))
                data = content("o.raw")
                check(data == content("q.raw"), "qemu made", name + ": not the bytes that qemu-img reads")
                check(data == plain, "qemu made", name + ": not the bytes that went in")
                check(is_clean("o.raw"), "qemu made", name + ": e2fsck finds errors")
            # The comparison can fail: one flipped bit of ciphertext must show.
            broken = bytearray(content("q.luks"))
            broken[-len(plain) + 5000] ^= 1
            write("broken.luks", broken)
            tool("decrypt", "--luks", "--in", "broken.luks", "--out", "o.raw", "--passphrase", PASSWORD)
            check(content("o.raw") != plain, "qemu made", name + ": a flipped bit went unnoticed")
            # Rewriting qemu's container: its header stays, qemu reads the new payload.
            other = plain[::-1]
            write("other.bin", other)
            tool("encrypt", "--luks", "--luks-container", "q.luks", "--in", "other.bin", "--out", "q2.luks", "--passphrase", PASSWORD)
            ok, error = qemu_read("q2.luks", "q2.raw")
            check(ok and content("q2.raw") == other, "qemu made", name + ": rewritten container " + error)
            last = "q.luks"
            shutil.copy(last, "keep.luks")
    print("  %d containers" % made, flush=True)

    print("LUKS1 made by us, read and filled by qemu-img", flush=True)
    made_by_us = 0
    for key_bytes in (16, 32):
        for cipher in ("aes-cbc-essiv:sha256", "aes-cbc-plain64", "aes-cbc-plain", "aes-xts-plain64", "aes-xts-plain",
                       "aes-xts-essiv:sha256", "aes-ctr-plain64", "aes-ecb-plain64"):
            for digest in ("sha256",) if QUICK or cipher != "aes-cbc-essiv:sha256" else ("sha1", "sha256", "sha512"):
                name = "%s %d %s" % (cipher, key_bytes, digest)
                size = key_bytes * (2 if "xts" in cipher else 1)
                r = tool("encrypt", "--luks", "--in", plain_path, "--out", "our.luks", "--cipher", cipher, "--key-bytes", size,
                         "--hash", digest, "--iterations", 1000, "--passphrase", PASSWORD, engine=made_by_us % 2 == 1)
                if r is None:
                    continue
                made_by_us += 1
                ok, error = qemu_read("our.luks", "our.raw")
                check(ok and content("our.raw") == plain, "our own", "%s: qemu-img reads something else: %s" % (name, error))
                # Filled anew by qemu, read by us.
                other = hashlib.sha256(name.encode()).digest() * (len(plain) // 32)
                write("other.bin", other)
                qemu_fill("other.bin", "our.luks")
                if tool("decrypt", "--luks", "--in", "our.luks", "--out", "o.raw", "--passphrase", PASSWORD) is not None:
                    check(content("o.raw") == other, "our own", name + ": we read something else than qemu-img wrote")
    print("  %d containers" % made_by_us, flush=True)
    return "keep.luks" if made else "our.luks"


def bad_input_tests(container):
    print("bad input", flush=True)
    good = content(container)
    short = good[:-100]
    write("cut1", short)
    write("cut2", good[:3000])
    write("cut3", good[:300])
    write("cut4", b"")
    write("magic", b"X" + good[1:])
    write("version", good[:7] + b"\x02" + good[8:])
    write("offset", good[:104] + b"\xff\xff\xff\xff" + good[108:])
    write("cipher", good[:8] + b"rot13\0" + good[14:])
    write("mode", good[:40] + b"\xff" * 32 + good[72:])
    write("odd", b"x" * 1000)
    luks = ["decrypt", "--luks", "--out", "none"]
    cases = [(luks + ["--in", f, "--passphrase", PASSWORD], f)
             for f in ("cut1", "cut2", "cut3", "cut4", "magic", "version", "offset", "cipher", "mode", "absent")]
    cases += [(luks + ["--in", container, "--passphrase", p], "opens with this passphrase") for p in ("wrong", "")]
    raw = ["encrypt", "--out", "none", "--in"]
    cases += [(raw + ["odd", "--cipher", "aes-cbc-plain64", "--key", "00" * 16], "multiple of the sector size"),
              (raw + [container, "--cipher", "aes-cbc-plain65", "--key", "00" * 16], "aes-cbc-plain65"),
              (raw + [container, "--cipher", "aes-xts-plain64", "--key", "00" * 16], "128 bits"),
              (raw + [container, "--cipher", "aes-xts-plain64", "--key", "00" * 32, "--sector-size", "100"], "sector size"),
              (raw + [container, "--cipher", "aes-xts-plain64"], "--key")]
    for args, says in cases:
        error = tool(*args, expect=2)
        check(error is not None and says in error and error.count("\n") == 1, "bad input", "%s: %r" % (says, error))
        check(not os.path.exists("none"), "bad input", says + ": left an output file")
    left = [f for f in os.listdir(".") if ".part-" in f]
    check(not left, "bad input", "temporary files were left: %s" % left)


# ---------------------------------------------------------------- raw volumes

def formula_iv(iv, n, key, sector_size, block, counter):
    if iv == "plain":
        return struct.pack("<I", n & 0xffffffff) + bytes(block - 4)
    if iv == "plain64":
        return struct.pack("<Q", n) + bytes(block - 8)
    if iv == "plain64be":
        return bytes(block - 8) + struct.pack(">Q", n)
    if iv == "benbi":
        return bytes(block - 8) + struct.pack(">Q", n * (512 if counter else 512 // block) + 1)
    if iv == "null":
        return bytes(block)
    if iv == "eboiv":
        return bare_aes(key, struct.pack("<Q", n * sector_size) + bytes(8))
    if iv.startswith("essiv:"):
        return bare_aes(hashlib.new(iv[6:], key).digest(), struct.pack("<Q", n) + bytes(8))
    raise ValueError(iv)


def bare_aes(key, data):
    e = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return e.update(data) + e.finalize()


def formula(cipher, mode, iv, key, data, sector_size, first, large):
    out = []
    algorithm = algorithms.AES(key) if cipher == "aes" else algorithms.TripleDES(key)
    block = algorithm.block_size // 8
    for at in range(0, len(data), sector_size):
        n = first + at // 512
        if large:
            n //= sector_size // 512
        if mode == "ecb":
            m = modes.ECB()
        else:
            v = formula_iv(iv, n, key, sector_size, block, mode == "ctr")
            m = {"cbc": modes.CBC, "xts": modes.XTS, "ctr": modes.CTR}[mode](v)
        e = Cipher(algorithm, m).encryptor()
        out.append(e.update(data[at:at + sector_size]) + e.finalize())
    return b"".join(out)


def raw_tests():
    print("raw volumes against the formulas", flush=True)
    rng = random.Random(11)
    data = rng.randbytes(128 * 1024 + 4096 * 3)
    write("raw.bin", data)
    runs = []
    for cipher, mode, sizes in (("aes", "cbc", (16, 24, 32)), ("aes", "xts", (32, 64)), ("aes", "ctr", (16, 32)), ("aes", "ecb", (16, 32)),
                                ("des3_ede", "cbc", (24,))):
        for iv in ("plain", "plain64", "plain64be", "benbi", "null", "essiv:sha256", "essiv:md5", "eboiv"):
            if (mode == "ecb" and iv != "plain") or (cipher != "aes" and iv.startswith("e")) or (mode == "xts" and iv == "eboiv"):
                continue
            for size in sizes:
                for sector_size in (512, 1024, 2048, 4096):
                    for large in (False, True) if sector_size > 512 else (False,):
                        for skip, offset in ((0, 0), (2 ** 32 - 64, 32)):
                            if QUICK and (skip or size == 24 or sector_size in (1024, 2048)):
                                continue
                            key = rng.randbytes(size)
                            spec = "%s-%s" % (cipher, mode) + ("" if mode == "ecb" else "-" + iv)
                            runs.append((spec, cipher, mode, iv, key, sector_size, large, skip, offset))
    rng.shuffle(runs)  # so that both back ends meet every kind
    if SECSIM:
        del runs[::3], runs[::2]  # a process per run
    for start in range(0, len(runs), 100):
        part = runs[start:start + 100]
        lines = []
        for i, (spec, _, _, _, key, sector_size, large, skip, offset) in enumerate(part):
            common = "--cipher %s --key %s --sector-size %d --skip %d --iv-offset %d --submission %s%s" % (
                spec, key.hex(), sector_size, skip, offset, ("sector", "bio")[i % 2], " --large-sectors" if large else "")
            lines.append("encrypt --in raw.bin --out c%d %s" % (i, common))
            lines.append("decrypt --in c%d --out p%d %s" % (i, i, common))
        results = batch(lines, start // 100 % 2 == 1)
        check(len(results) == len(lines) and all(r["status"] == "OK" for r in results), "raw", "batch of runs")
        for i, (spec, cipher, mode, iv, key, sector_size, large, skip, offset) in enumerate(part):
            name = "%s %d bits, sectors of %d%s, skip %d" % (spec, len(key) * 8, sector_size, " (large)" if large else "", skip)
            expected = formula(cipher, mode, iv, key, data, sector_size, skip + offset, large)
            check(content("c%d" % i) == expected, "raw", name + ": ciphertext differs from the formula")
            check(content("p%d" % i) == data, "raw", name + ": not what went in")
            os.unlink("c%d" % i)
            os.unlink("p%d" % i)
    print("  %d volumes" % len(runs), flush=True)


def cryptsetup_tests():
    if not CRYPTSETUP:
        print("NOT RUN: cryptsetup is not installed, raw volumes are checked against the formulas only", flush=True)
        return
    print("raw volumes against cryptsetup reencrypt", flush=True)
    rng = random.Random(12)
    data = rng.randbytes(256 * 1024)
    write("raw.bin", data)
    write("password", PASSWORD.encode())
    volumes = 0
    for mode, ivs, sizes in (("cbc", ("plain", "plain64", "plain64be", "benbi", "null", "essiv:sha256", "essiv:md5", "eboiv"), (16, 32)),
                             ("xts", ("plain64",), (32, 64)), ("ctr", ("plain64",), (16, 32)), ("ecb", ("",), (16, 32))):
        for iv in ivs:
            for size in sizes:
                for sector_size in (512, 4096):
                    spec = "aes-" + mode + ("-" + iv if iv else "")
                    key = rng.randbytes(size)
                    write("key.bin", key)
                    shutil.copy("raw.bin", "peer.img")
                    if os.path.exists("hdr"):
                        os.unlink("hdr")
                    p = subprocess.run([CRYPTSETUP, "reencrypt", "--encrypt", "--type", "luks2", "--header", "hdr", "--cipher", spec, "--key-size",
                                        str(size * 8), "--volume-key-file", "key.bin", "--sector-size", str(sector_size), "--pbkdf", "pbkdf2",
                                        "--pbkdf-force-iterations", "1000", "--key-file", "password", "-q", "peer.img"],
                                       capture_output=True, text=True, timeout=120)
                    name = "%s %d bits, sectors of %d" % (spec, size * 8, sector_size)
                    if p.returncode != 0:
                        print("NOT RUN: %s: %s" % (name, p.stderr.strip()), flush=True)
                        counts["not run"] = counts.get("not run", 0) + 1
                        continue
                    tool("encrypt", "--in", "raw.bin", "--out", "our.img", "--cipher", spec, "--key", key.hex(), "--sector-size", sector_size, engine=volumes % 2 == 1)
                    check(content("our.img") == content("peer.img"), "cryptsetup", name)
                    volumes += 1
    print("  %d volumes" % volumes, flush=True)
    # LUKS1 made by cryptsetup, and ours tried by it.
    for cipher, size in (("aes-cbc-essiv:sha256", 16), ("aes-xts-plain64", 64), ("aes-cbc-benbi", 32)):
        tool("encrypt", "--luks", "--in", "raw.bin", "--out", "our.luks", "--cipher", cipher, "--key-bytes", size, "--iterations", 1000,
             "--passphrase", PASSWORD)
        p = subprocess.run([CRYPTSETUP, "open", "--test-passphrase", "--key-file", "password", "our.luks"], capture_output=True, text=True, timeout=120)
        check(p.returncode == 0, "cryptsetup", "our LUKS1 %s: %s" % (cipher, p.stderr))
        write("peer.luks", bytes(4 << 20))
        p = subprocess.run([CRYPTSETUP, "luksFormat", "--type", "luks1", "--cipher", cipher, "--key-size", str(size * 8),
                            "--pbkdf-force-iterations", "1000", "--key-file", "password", "-q", "peer.luks"], capture_output=True, text=True, timeout=120)
        check(p.returncode == 0, "cryptsetup", "luksFormat %s: %s" % (cipher, p.stderr))
        r = tool("decrypt", "--luks", "--in", "peer.luks", "--out", "o.raw", "--passphrase", PASSWORD)
        check(r is not None and r["key_bits"] == size * 8, "cryptsetup", "LUKS1 of cryptsetup, " + cipher)


def main():
    with tempfile.TemporaryDirectory(prefix="secsim-disk-") as folder:
        os.chdir(folder)
        make_file_system("plain.img", 4 << 20)
        assert is_clean("plain.img")
        raw_tests()
        container = luks_tests("plain.img")
        bad_input_tests(container)
        cryptsetup_tests()
        os.chdir("/")
    print("checks:", ", ".join("%s %d" % c for c in sorted(counts.items())))
    if counts.get("qemu made", 0) == 0:
        failures.append("qemu-img made no container at all")
    if failures:
        print("%d FAILED" % len(failures))
        for f in failures[:20]:
            print("  " + f)
        return 1
    print("all good")
    return 0


sys.exit(main())
