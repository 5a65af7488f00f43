#!/usr/bin/python3
"""secsim crypt, hash and algs from outside, against Python's cryptography and hashlib.

usage: crypt.py SECSIM
"""
import hashlib
import hmac
import json
import os
import random
import subprocess
import sys
import tempfile

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM

SECSIM = os.path.abspath(sys.argv[1])
rng = random.Random(1)
failures = count = 0


def run(*args, stdin=b""):
    return subprocess.run([SECSIM, *args], input=stdin, capture_output=True, timeout=120)


def check(name, ok, *what):
    global failures, count
    count += 1
    if not ok:
        failures += 1
        print("FAILED", name, *what)


def aead(name, args, iv, aad, plain, sealed, tag):
    """Seal and open; any flipped bit of tag, text or AAD is EBADMSG and leaves no output."""
    options = args + ["--iv", iv.hex(), "--aad", aad.hex(), "--tag-bytes", str(tag)]
    for place in ([], ["--in-place"], ["--segments", "5,17,1", "--dst-segments", "16,3"]):
        p = run("crypt", *options, *place, stdin=plain)
        check(name + " seal", p.returncode == 0 and p.stdout == sealed, place, p)
        p = run("crypt", *options, *place, "--decrypt", stdin=sealed)
        check(name + " open", p.returncode == 0 and p.stdout == plain, place, p)
    for at in {len(sealed) - 1, len(sealed) - tag} | ({0} if plain else set()):
        bad = bytearray(sealed)
        bad[at] ^= 1
        p = run("crypt", *options, "--decrypt", "--out", "forged", stdin=bytes(bad))
        check(name + " forged", p.returncode == 1 and b"EBADMSG" in p.stderr and not os.path.exists("forged"), at, p)
    if aad:
        p = run("crypt", *args, "--iv", iv.hex(), "--aad", bytes([aad[0] ^ 1]).hex() + aad[1:].hex(), "--tag-bytes", str(tag), "--decrypt", stdin=sealed)
        check(name + " other AAD", p.returncode == 1 and not p.stdout, p)


def main():
    for part in ("p2020", "mpc8548", "mpc885"):
        e = ["--engine", part, "--fidelity", "functional"]
        key, iv, text, aad = rng.randbytes(16), rng.randbytes(12), rng.randbytes(100), rng.randbytes(20)
        for n in (0, 1, 64, 100):
            aead("%s gcm %d" % (part, n), e + ["--alg", "gcm(aes)", "--key", key.hex()], iv, aad, text[:n], AESGCM(key).encrypt(iv, text[:n], aad), 16)
        aead(part + " gcm, 12", e + ["--alg", "gcm(aes)", "--key", key.hex()], iv, b"", text, AESGCM(key).encrypt(iv, text, b"")[:-4], 12)
        aead(part + " rfc4106", e + ["--alg", "rfc4106(gcm(aes))", "--key", (key + iv[:4]).hex()], iv[4:], aad[:8] + iv[4:], text, AESGCM(key).encrypt(iv, text, aad[:8]), 16)
        aead(part + " ccm", e + ["--alg", "ccm(aes)", "--key", key.hex()], b"\x03" + iv[:11] + bytes(4), aad, text, AESCCM(key, 8).encrypt(iv[:11], text, aad), 8)
        auth, civ, blocks = rng.randbytes(20), rng.randbytes(16), text[:96]
        c = Cipher(algorithms.AES(key), modes.CBC(civ)).encryptor()
        cipher = c.update(blocks)
        tag = hmac.new(auth, aad[:8] + civ + cipher, hashlib.sha1).digest()[:12]
        aead(part + " authenc", e + ["--alg", "authenc(hmac(sha1),cbc(aes))", "--key", key.hex(), "--auth-key", auth.hex()], civ, aad[:8] + civ, blocks, cipher + tag, 12)

        for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
            for n in (0, 3, 64, 100):
                for steps in ([], ["--updates", "1,0,63"], ["--updates", "64", "--segments", "7,30"]):
                    p = run("hash", *e, "--alg", name, *steps, stdin=text[:n])
                    check("%s %s %d" % (part, name, n), p.stdout.decode().strip() == hashlib.new(name, text[:n]).hexdigest(), steps, p)
            p = run("hash", *e, "--alg", "hmac(%s)" % name, "--key", auth.hex(), "--updates", "33,11", stdin=text)
            check("%s hmac(%s)" % (part, name), p.stdout.decode().strip() == hmac.new(auth, text, name).hexdigest(), p)

        for alg, extra in (("cbc(aes)", []), ("ctr(aes)", ["--decrypt"]), ("gcm(aes)", ["--aad", aad.hex()]), ("ccm(aes)", ["--decrypt", "--in-place"])):
            p = run("crypt", "--engine", part, "--alg", alg, "--key", key.hex(), "--many", "200", "--depth", "40", "--sizes", "16,64,4096", "--segments", "100,16", "--json", *extra)
            j = json.loads(p.stdout)
            check("%s many %s" % (part, alg), p.returncode == 0 and j["requests"] == 200 and j["mismatches"] == 0 and j["failed"] == 0 and j["sim_time_ns"] > 0 and j["descriptors"] >= 200, p)
        p = run("hash", "--engine", part, "--alg", "hmac(sha256)", "--key", "00", "--many", "100", "--depth", "9", "--sizes", "0,1,64,1000", "--json")
        check(part + " many hashes", p.returncode == 0 and json.loads(p.stdout)["mismatches"] == 0, p)

        # The same fields as text and as JSON.
        for parity in ([], ["--parity"]):
            proc = run("algs", *e, "--format", "proc", *parity).stdout.decode().strip("\n").split("\n\n")
            listed = json.loads(run("algs", *e, "--format", "json", *parity).stdout)
            texts = [{k.strip(): v for k, v in (line.split(" : ", 1) for line in entry.splitlines())} for entry in proc]
            for j in listed:
                j.pop("composed", None)
            check(part + " algs", texts[::-1] == [{k: str(v) for k, v in j.items()} for j in listed] and len(listed) > 5, parity)
            if parity:
                check(part + " parity", all(j["module"] == "talitos" and j["priority"] >= 2900 for j in listed) and not any("gcm" in j["name"] for j in listed), listed)
    p = run("algs", "--engine", "mpc8548")
    check("what is composed says so", b"composed: " in p.stdout)
    p = run("crypt", "--engine", "mpc8548", "--alg", "gcm(aes)", "--key", "00" * 16, "--iv", "00" * 12, "--json", stdin=b"x")
    check("a composed result says so", "GHASH" in json.loads(p.stdout).get("composed", ""), p)


with tempfile.TemporaryDirectory(prefix="crypt.") as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
print("%d checks, %d failed" % (count, failures))
sys.exit(1 if failures else 0)
