#!/usr/bin/python3
"""ESP against two independent implementations: tshark and scapy.

usage: esp_interop.py ESP_TOOL [--quick]
       esp_interop.py SECSIM --secsim [--quick]

With --secsim the program itself is driven, so the ciphers run through driver and engine: every combination on the
functional path, then some of them again in simulated time.

Outbound: clear packets (scapy) -> esp_tool -> tshark, which must find every ICV good, every inner UDP checksum good,
and scapy, which must decrypt to the very bytes we put in. Padding is checked by hand, since scapy does not look at it.
Inbound: scapy encrypts -> esp_tool --decap -> the original bytes. Tampered packets must be dropped and counted.

Exit 77: tshark or scapy is not installed.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import logging
    logging.getLogger("scapy").setLevel(logging.ERROR)
    from scapy.config import conf
    conf.ipv6_enabled = True
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.ipsec import ESP, SecurityAssociation
    from scapy.packet import Raw
    from scapy.utils import PcapReader, PcapWriter
except ImportError as e:
    print("skipped: scapy is not installed (%s)" % e)
    sys.exit(77)
if not shutil.which("tshark"):
    print("skipped: tshark is not installed")
    sys.exit(77)

TOOL = sys.argv[1]
QUICK = "--quick" in sys.argv
SECSIM = "--secsim" in sys.argv
fidelity = "functional"  # of secsim runs

CIPHERS = {  # name: (key bytes with nonce, wire IV bytes, alignment, scapy name)
    "aes128-cbc": (16, 16, 16, "AES-CBC"), "aes192-cbc": (24, 16, 16, "AES-CBC"), "aes256-cbc": (32, 16, 16, "AES-CBC"),
    "aes128-ctr": (20, 8, 4, "AES-CTR"), "aes192-ctr": (28, 8, 4, "AES-CTR"), "aes256-ctr": (36, 8, 4, "AES-CTR"),
    "3des-cbc": (24, 8, 8, "3DES"), "null": (0, 0, 4, "NULL"),
}
AUTHS = {  # name: (key bytes, ICV bytes, scapy name); scapy has no 96-bit SHA-256: tshark alone judges it
    "sha1": (20, 12, "HMAC-SHA1-96"), "sha256": (32, 16, "SHA2-256-128"), "sha256-96": (32, 12, None), "null": (0, 0, "NULL"),
    "md5": (16, 12, "HMAC-MD5-96"), "sha384": (48, 24, "SHA2-384-192"), "sha512": (64, 32, "SHA2-512-256"),
}
COMBINED = {  # name: (key bytes with salt, ICV bytes, scapy name); scapy's GCM has a 16-byte ICV only, tshark has no CCM
    "aes128-gcm16": (20, 16, "AES-GCM"), "aes192-gcm16": (28, 16, "AES-GCM"), "aes256-gcm16": (36, 16, "AES-GCM"),
    "aes128-gcm8": (20, 8, None), "aes256-gcm12": (36, 12, None),
    "aes128-ccm16": (19, 16, "AES-CCM"), "aes256-ccm8": (35, 8, "AES-CCM"), "aes192-ccm12": (27, 12, "AES-CCM"),
}
CIPHERS.update({name: (k, 8, 4, scapy) for name, (k, _, scapy) in COMBINED.items()})
OUTER = {4: ("192.0.2.1", "192.0.2.2"), 6: ("2001:db8:ffff::1", "2001:db8:ffff::2")}
INNER = {4: ("198.51.100.1", "203.0.113.1"), 6: ("2001:db8:1::1", "2001:db8:2::1")}
# Every residue modulo 16, and the sizes people measure with. Payload bytes of UDP.
SIZES = list(range(0, 34)) + [36, 512, 1452, 1472, 8000]

failures = []
checks = 0


def check(ok, text):
    global checks
    checks += 1
    if not ok:
        failures.append(text)
        print("FAILED:", text)
    return ok


def clear_packets(version):
    packets = []
    for i, size in enumerate(SIZES):
        src, dst = INNER[version]
        payload = bytes((i * 37 + k * 11) & 255 for k in range(size))
        ip = IP(src=src, dst=dst, id=i, ttl=33) if version == 4 else IPv6(src=src, dst=dst, hlim=33)
        packets.append(bytes(ip / UDP(sport=1024 + i, dport=9) / Raw(payload)))
    return packets


def write_raw(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 101))
        for i, p in enumerate(packets):
            f.write(struct.pack("<IIII", i, 0, len(p), len(p)) + p)


def read_raw(path):
    """Reader of our own: bytes exactly as the file has them (raw IP, either precision)."""
    data = open(path, "rb").read()
    magic, link = struct.unpack("<I", data[:4])[0], struct.unpack("<I", data[20:24])[0]
    assert magic in (0xa1b2c3d4, 0xa1b23c4d) and link in (12, 101), "unexpected capture format"
    packets, at = [], 24
    while at < len(data):
        n = struct.unpack("<I", data[at + 8:at + 12])[0]
        packets.append(data[at + 16:at + 16 + n])
        at += 16 + n
    return packets


def key(n, salt):
    k = bytes((i * 29 + salt * 53 + 7) & 255 for i in range(n))
    return bytes((b & 0xfe) | (1 - bin(b >> 1).count("1") % 2) for b in k) if salt == 3 else k


class Combination:
    def __init__(self, number, cipher, auth, mode, outer, inner, segments=1, tfc=0):
        self.cipher, self.auth, self.mode, self.outer, self.inner = cipher, auth, mode, outer, inner
        self.segments, self.tfc, self.spi = segments, tfc, 0x1000 + number
        self.ckey = key(CIPHERS[cipher][0], 3 if cipher == "3des-cbc" else 1)
        self.akey = key(AUTHS[auth][0], 2) if auth else b""
        self.suite = "%s-%s" % (cipher, auth) if auth else cipher
        self.icv = AUTHS[auth][1] if auth else COMBINED[cipher][1]
        self.name = "%s-%s %s outer IPv%d inner IPv%d segments %d tfc %d" % (cipher, auth, mode, outer, inner, segments, tfc)

    def arguments(self, source, target, decap=False):
        a = "--suite %s --mode %s --in %s --out %s --spi %d --src %s --dst %s --segments %d --tfc %d" % (
            self.suite, self.mode, source, target, self.spi, *OUTER[self.outer], self.segments, self.tfc)
        if self.ckey:
            a += " --key " + self.ckey.hex()
        if self.akey:
            a += " --auth-key " + self.akey.hex()
        return a + (" --decap" if decap else "")

    def scapy(self):
        if (AUTHS[self.auth][2] if self.auth else CIPHERS[self.cipher][3]) is None:
            return None
        header = None
        if self.mode == "tunnel":
            src, dst = OUTER[self.outer]
            header = IP(src=src, dst=dst) if self.outer == 4 else IPv6(src=src, dst=dst)
        if not self.auth:
            return SecurityAssociation(ESP, spi=self.spi, crypt_algo=CIPHERS[self.cipher][3], crypt_key=self.ckey,
                                       crypt_icv_size=self.icv, auth_algo="NULL", tunnel_header=header, seq_num=1)
        return SecurityAssociation(ESP, spi=self.spi, crypt_algo=CIPHERS[self.cipher][3], crypt_key=self.ckey or None,
                                   auth_algo=AUTHS[self.auth][2], auth_key=self.akey or None, tunnel_header=header,
                                   seq_num=1)


def layer3(version, data):
    return IP(data) if version == 4 else IPv6(data)


def esp_offset(version):
    return 20 if version == 4 else 40


def run_secsim(line):
    """One run of the program, its report in the shape of esp_tool's."""
    arguments = line.replace("--src", "--outer-src").replace("--dst", "--outer-dst").split()
    p = subprocess.run([TOOL, "esp", "--benchmark", "--json", "--fidelity", fidelity] + arguments, capture_output=True, text=True,
                       timeout=120)
    if p.returncode:
        print(p.stdout, p.stderr)
        sys.exit("secsim ended with %d: %s" % (p.returncode, line))
    j = json.loads(p.stdout)
    encrypts = j["cipher_driver"] is not None
    check(not encrypts or j["cipher_driver"].endswith("-talitos"), "%s ran on %s" % (line, j["cipher_driver"]))
    # A descriptor or more per packet that got as far as the cipher; every one of them ended well.
    reached = sum(c["descriptors"] for c in j["machine"]["channels"])
    check(j["machine"]["descriptors"] == reached and j["machine"]["descriptor_errors"] == 0, "%s: descriptors %s" % (line, j["machine"]))
    check(not encrypts or reached >= j["packets"]["out"], "%s: %d descriptors for %d packets" % (line, reached, j["packets"]["out"]))
    check(fidelity == "approx" or (j["throughput_mbit_s"] is None and j["machine"]["sim_time_ns"] is None), "%s: time without a clock" % line)
    if fidelity == "approx" and encrypts and j["packets"]["out"]:
        check(j["machine"]["sim_time_ns"] > 0 and j["latency"]["p50_ns"] > 0 and j["throughput_mbit_s"] > 0, "%s: no simulated time" % line)
    return dict(j["drops"], out=j["packets"]["out"], tshark="\n".join(j["tshark_sa"]))


def run_batch(lines, directory):
    if SECSIM:
        return [run_secsim(line) for line in lines]
    path = os.path.join(directory, "batch.txt")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")
    p = subprocess.run([TOOL, "--batch", path], capture_output=True, text=True, timeout=120)
    if p.returncode:
        print(p.stdout, p.stderr)
        sys.exit("esp_tool ended with %d" % p.returncode)
    return [json.loads(line) for line in p.stdout.splitlines()]


def combinations():
    out, n = [], 0
    for cipher in CIPHERS:
        for auth in [None] if cipher in COMBINED else AUTHS:
            if cipher == "null" and auth == "null":
                continue
            for mode in ("tunnel", "transport"):
                for outer in (4, 6):
                    for inner in ((4, 6) if mode == "tunnel" else (outer,)):
                        n += 1
                        out.append(Combination(n, cipher, auth, mode, outer, inner, segments=(1, 3, 7)[n % 3]))
    for cipher in ("aes128-cbc", "aes256-ctr", "3des-cbc", "null"):  # TFC for each class of cipher
        n += 1
        out.append(Combination(n, cipher, "sha256", "tunnel", 4, 4, tfc=1280))
    return out[::7] if QUICK else out


def outbound(combos, directory, clear):
    files = [os.path.join(directory, "out%d.pcap" % i) for i in range(len(combos))]
    results = run_batch([c.arguments(os.path.join(directory, "clear%d.pcap" % c.inner), f) for c, f in zip(combos, files)],
                        directory)
    all_packets, lines = [], []
    for c, f, r in zip(combos, files, results):
        check(r["out"] == len(SIZES), "%s: %d of %d packets came out" % (c.name, r["out"], len(SIZES)))
        c.packets = read_raw(f)
        all_packets += c.packets
        lines += [line for line in r["tshark"].split("\n") if line]

    # tshark: one run over everything, with our own esp_sa lines.
    profile = os.path.join(directory, "profile")
    os.makedirs(profile, exist_ok=True)
    with open(os.path.join(profile, "preferences"), "w") as f:
        f.write("esp.enable_encryption_decode: TRUE\nesp.enable_authentication_check: TRUE\nudp.check_checksum: TRUE\n")
    with open(os.path.join(profile, "esp_sa"), "w") as f:
        f.write("\n".join(lines) + "\n")
    merged = os.path.join(directory, "all.pcap")
    write_raw(merged, all_packets)
    fields = ["esp.spi", "esp.sequence", "esp.icv_good", "esp.icv_bad", "udp.checksum.status", "udp.payload", "ip.src",
              "ipv6.src", "ip.checksum.status", "esp.protocol"]
    command = ["tshark", "-r", merged, "-o", "ip.check_checksum:TRUE", "-Y", "esp", "-T", "fields", "-E", "separator=|",
               "-E", "occurrence=a"]
    for name in fields:
        command += ["-e", name]
    p = subprocess.run(command, capture_output=True, text=True, timeout=200,
                       env=dict(os.environ, WIRESHARK_CONFIG_DIR=profile))
    if p.returncode or "Error" in p.stderr:
        print(p.stderr)
    rows = {}
    for line in p.stdout.splitlines():
        row = dict(zip(fields, line.split("|")))
        rows.setdefault(int(row["esp.spi"], 0), []).append(row)
    for c in combos:
        if "ccm" in c.cipher:
            continue
        got = rows.get(c.spi, [])
        authenticated = c.auth != "null"
        good = sum(r["esp.icv_good"] in ("1", "True") for r in got)
        bad = sum(r["esp.icv_bad"] in ("1", "True") for r in got)
        check(len(got) == len(SIZES), "%s: tshark sees %d ESP packets" % (c.name, len(got)))
        check(good == (len(SIZES) if authenticated else 0) and bad == 0, "%s: icv_good %d icv_bad %d" % (c.name, good, bad))
        check(sum(r["udp.checksum.status"] == "1" for r in got) == len(SIZES), "%s: inner UDP checksums" % c.name)
        check([int(r["esp.sequence"]) for r in got] == list(range(1, len(SIZES) + 1)), "%s: sequence numbers" % c.name)
        udp_at = esp_offset(c.inner) + 8
        check([r["udp.payload"].replace(":", "") for r in got] == [p[udp_at:].hex() for p in clear[c.inner]],
              "%s: inner bytes seen by tshark" % c.name)
        if c.outer == 4:
            check(all("0" not in r["ip.checksum.status"].split(",") for r in got), "%s: IP header checksums" % c.name)

    # scapy: decrypt to the originals; sizes; padding.
    for c in combos:
        keyed, iv, align, _ = CIPHERS[c.cipher]
        icv = c.icv
        at = esp_offset(c.outer)
        ivs = set()
        for original, packet in zip(clear[c.inner], c.packets):
            payload = len(original) - (esp_offset(c.inner) if c.mode == "transport" else 0)
            payload = max(payload, c.tfc)
            encrypted = (payload + 2 + align - 1) // align * align
            expected = at + 8 + iv + encrypted + icv
            if not check(len(packet) == expected, "%s: size %d, not %d" % (c.name, len(packet), expected)):
                break
            ivs.add(packet[at + 8:at + 8 + iv])
        check(iv == 0 or len(ivs) == len(SIZES), "%s: IVs repeat" % c.name)
        sa = c.scapy()
        if sa is None:
            continue
        wrong = 0
        for original, packet in zip(clear[c.inner], c.packets):
            try:
                clear_again = bytes(sa.decrypt(layer3(c.outer, packet)))
                # In transport mode scapy rebuilds the header; everything must come back, header included.
                wrong += clear_again[:len(original)] != original or (not c.tfc and len(clear_again) != len(original))
            except Exception as e:  # integrity errors among them
                wrong += 1
                print("  scapy:", type(e).__name__, e)
        check(wrong == 0, "%s: scapy decrypts %d packets differently" % (c.name, wrong))
        if c.cipher == "null":  # the trailer is in the clear: look at the padding itself
            for original, packet in zip(clear[c.inner], c.packets):
                end = len(packet) - icv
                pad = packet[end - 2]
                check(packet[end - 2 - pad:end - 2] == bytes(range(1, pad + 1)), "%s: pad bytes" % c.name)


def inbound(combos, directory, clear):
    jobs = []
    for i, c in enumerate(c for c in combos if c.scapy() is not None and not c.tfc):
        sa = c.scapy()
        packets = [bytes(sa.encrypt(layer3(c.inner, p))) for p in clear[c.inner]]
        source = os.path.join(directory, "scapy%d.pcap" % i)
        target = os.path.join(directory, "plain%d.pcap" % i)
        write_raw(source, packets)
        jobs.append((c, packets, source, target))
    results = run_batch([c.arguments(s, t, decap=True) for c, _, s, t in jobs], directory)
    for (c, _, _, target), r in zip(jobs, results):
        got = read_raw(target)
        check(r["out"] == len(SIZES), "%s: %s of scapy's packets accepted (%s)" % (c.name, r["out"], r))
        check(got == clear[c.inner], "%s: scapy's packets come out different" % c.name)

    # Tampering: one flipped bit per packet, walking through SPI-to-ICV. All must go, none may be a crypto error.
    tampered = []
    for c, packets, source, target in jobs:
        if c.auth == "null":
            continue
        bad = []
        for k, p in enumerate(packets):
            p = bytearray(p)
            at = esp_offset(c.outer)
            where = at + 4 + (k * 131) % (len(p) - at - 4)  # not the SPI: that is another association
            p[where] ^= 1 << k % 8
            bad.append(bytes(p))
        write_raw(source, bad)
        tampered.append((c, source, target + ".bad"))
    results = run_batch([c.arguments(s, t, decap=True) for c, s, t in tampered], directory)
    for (c, _, _), r in zip(tampered, results):
        # A flipped sequence number moves within the window or out of it; what is not refused there has a bad ICV.
        dropped = r["bad_icv"] + r["window"] + r["replay"]
        check(r["out"] == 0 and dropped == len(SIZES) and r["bad_icv"] > 0, "%s: tampered packets: %s" % (c.name, r))
    return len(jobs), len(tampered)


def wrong_keys(directory, clear):
    """The checks above can fail: a wrong key must show in tshark's fields and in our counters."""
    c = Combination(9000, "aes128-cbc", "sha256", "tunnel", 4, 4)
    out = os.path.join(directory, "k.pcap")
    run_batch([c.arguments(os.path.join(directory, "clear4.pcap"), out)], directory)
    c.akey = bytes(32)
    r = run_batch([c.arguments(out, out + ".plain", decap=True)], directory)[0]
    check(r["bad_icv"] == len(SIZES) and r["out"] == 0, "wrong authentication key: %s" % r)
    c = Combination(9001, "aes128-cbc", "sha256", "tunnel", 4, 4)
    run_batch([c.arguments(os.path.join(directory, "clear4.pcap"), out)], directory)
    c.ckey = bytes(16)
    r = run_batch([c.arguments(out, out + ".plain", decap=True)], directory)[0]
    check(r["out"] == 0 and r["bad_icv"] == 0 and r["bad_padding"] + r["bad_trailer"] + r["malformed"] + r["dummy"] == len(SIZES),
          "wrong cipher key: %s" % r)


def main():
    with tempfile.TemporaryDirectory(prefix="esp_interop.") as directory:
        clear = {v: clear_packets(v) for v in (4, 6)}
        for v in (4, 6):
            write_raw(os.path.join(directory, "clear%d.pcap" % v), clear[v])
        combos = combinations()
        outbound(combos, directory, clear)
        accepted, tampered = inbound(combos, directory, clear)
        wrong_keys(directory, clear)
        if SECSIM:
            global fidelity
            fidelity = "approx"
            some = combos[::7] if not QUICK else combos[::4]
            outbound(some, directory, clear)
            inbound(some, directory, clear)
        print("%d combinations out (tshark, scapy), %d in (scapy), %d tampered; %d packets each; %d checks, %d failed" % (
            len(combos), accepted, tampered, len(SIZES), checks, len(failures)))
    sys.exit(1 if failures else 0)


main()
