#!/usr/bin/python3
"""Known answers for compositions that no standard has vectors of: driver/crypto/vectors_generated.cpp.

Each value is computed twice, by python-cryptography (OpenSSL) and by libgcrypt, and the two must agree.
Neither is code of this project.  The inputs are fixed patterns, so the output never changes:

    /usr/bin/python3 tests/support/make_vectors.py > driver/crypto/vectors_generated.cpp

Needs python3-cryptography and libgcrypt.so.20.
"""
import ctypes
import hashlib
import hmac
import sys
import warnings

warnings.simplefilter("ignore")  # single DES through the triple DES class
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM

G = ctypes.CDLL("libgcrypt.so.20")
G.gcry_check_version.restype = ctypes.c_char_p
GCRYPT = G.gcry_check_version(None).decode()
G.gcry_md_read.restype = ctypes.POINTER(ctypes.c_uint8)
MODES = {"ecb": 1, "cfb": 2, "cbc": 3, "ofb": 5, "ctr": 6, "ccm": 8, "gcm": 9}
HASHES = {"md5": (1, 64), "sha1": (2, 64), "sha224": (11, 64), "sha256": (8, 64), "sha384": (9, 128), "sha512": (10, 128)}


def pattern(n, start, step=7):
    return bytes((start + step * i) & 0xFF for i in range(n))


def checked(error):
    if error & 0xFFFF:
        sys.exit(f"libgcrypt: error {error & 0xFFFF}")


class GCipher:
    def __init__(self, family, mode, key):
        code = {"aes": {16: 7, 24: 8, 32: 9}.get(len(key)), "des": 302, "des3_ede": 2}[family]
        self.h = ctypes.c_void_p()
        checked(G.gcry_cipher_open(ctypes.byref(self.h), code, MODES[mode], 0))
        checked(G.gcry_cipher_setkey(self.h, key, ctypes.c_size_t(len(key))))

    def call(self, name, data):
        checked(getattr(G, "gcry_cipher_" + name)(self.h, data, ctypes.c_size_t(len(data))))

    def encrypt(self, data):
        out = ctypes.create_string_buffer(max(1, len(data)))
        checked(G.gcry_cipher_encrypt(self.h, out, ctypes.c_size_t(len(data)), data, ctypes.c_size_t(len(data))))
        return out.raw[: len(data)]

    def tag(self, n):
        out = ctypes.create_string_buffer(n)
        checked(G.gcry_cipher_gettag(self.h, out, ctypes.c_size_t(n)))
        return out.raw


def same(what, a, b):
    if a != b:
        sys.exit(f"{what}: OpenSSL says {a.hex()}, libgcrypt {b.hex()}")
    return a


def cipher(family, mode, key, iv, data):
    algorithm = algorithms.AES(key) if family == "aes" else algorithms.TripleDES(key)
    m = {"ecb": modes.ECB, "cbc": modes.CBC, "ctr": modes.CTR, "ofb": modes.OFB, "cfb": modes.CFB}[mode]
    e = Cipher(algorithm, m(iv) if mode != "ecb" else m()).encryptor()
    one = e.update(data) + e.finalize()
    g = GCipher(family, mode, key)
    if mode == "ctr":
        g.call("setctr", iv)
    elif mode != "ecb":
        g.call("setiv", iv)
    return same(f"{mode}({family})", one, g.encrypt(data))


def digest(name, data, key=None):
    one = hashlib.new(name, data).digest() if key is None else hmac.new(key, data, name).digest()
    h = ctypes.c_void_p()
    checked(G.gcry_md_open(ctypes.byref(h), HASHES[name][0], 2 if key is not None else 0))
    if key is not None:
        checked(G.gcry_md_setkey(h, key, ctypes.c_size_t(len(key))))
    G.gcry_md_write(h, data, ctypes.c_size_t(len(data)))
    two = bytes(G.gcry_md_read(h, 0)[: len(one)])
    G.gcry_md_close(h)
    return same(name, one, two)


def gcm(key, nonce, aad, text):
    out = AESGCM(key).encrypt(nonce, text, aad)
    g = GCipher("aes", "gcm", key)
    g.call("setiv", nonce)
    g.call("authenticate", aad)
    two = g.encrypt(text)
    return same("gcm", out, two + g.tag(16))


def ccm(key, nonce, aad, text, tag):
    out = AESCCM(key, tag_length=tag).encrypt(nonce, text, aad)
    g = GCipher("aes", "ccm", key)
    g.call("setiv", nonce)
    lengths = (ctypes.c_uint64 * 3)(len(text), len(aad), tag)
    checked(G.gcry_cipher_ctl(g.h, 69, lengths, ctypes.c_size_t(24)))  # GCRYCTL_SET_CCM_LENGTHS
    g.call("authenticate", aad)
    two = g.encrypt(text)
    return same("ccm", out, two + g.tag(tag))


def cmac(key, data):
    from cryptography.hazmat.primitives.cmac import CMAC
    c = CMAC(algorithms.AES(key))
    c.update(data)
    h = ctypes.c_void_p()
    checked(G.gcry_mac_open(ctypes.byref(h), 201, 0, None))  # GCRY_MAC_CMAC_AES
    checked(G.gcry_mac_setkey(h, key, ctypes.c_size_t(len(key))))
    checked(G.gcry_mac_write(h, data, ctypes.c_size_t(len(data))))
    out, n = ctypes.create_string_buffer(16), ctypes.c_size_t(16)
    checked(G.gcry_mac_read(h, out, ctypes.byref(n)))
    return same("cmac", c.finalize(), out.raw)


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def xcbc(key, data):  # RFC 3566 4, over checked AES-ECB
    k1, k2, k3 = (cipher("aes", "ecb", key, b"", bytes([i]) * 16) for i in (1, 2, 3))
    blocks = [data[i : i + 16] for i in range(0, len(data), 16)] or [b""]
    last = xor(blocks[-1], k2) if len(blocks[-1]) == 16 else xor((blocks[-1] + b"\x80").ljust(16, b"\0"), k3)
    e = bytes(16)
    for b in blocks[:-1] + [last]:
        e = cipher("aes", "ecb", k1, b"", xor(e, b))
    return e


def literal(b):
    text = b.hex() if isinstance(b, bytes) else b
    if len(text) <= 96:
        return f'"{text}"'
    return "\n     ".join(f'"{text[i : i + 96]}"' for i in range(0, len(text), 96))


def row(*fields):
    print("    {" + ",\n     ".join(literal(f) for f in fields) + "},")


def main():
    print("// Generated by: /usr/bin/python3 tests/support/make_vectors.py > driver/crypto/vectors_generated.cpp\n"
          "// Do not edit. Every value was computed by OpenSSL and by libgcrypt, which agreed.\n"
          '#include "driver/crypto/vectors_tables.h"\n\n'
          "namespace sec::crypto {\nnamespace {\n")
    source = "OpenSSL and libgcrypt"

    print("constexpr CipherVector kCiphers[] = {")
    for family, mode, key, n in (
        ("aes", "ofb", pattern(24, 9), 33), ("aes", "cfb", pattern(24, 9), 33), ("aes", "ofb", pattern(16, 1), 48),
        ("aes", "cfb", pattern(16, 1), 48),
        ("des", "ofb", pattern(8, 0x11), 40), ("des", "cfb", pattern(8, 0x11), 40), ("des", "ofb", pattern(8, 0x13), 21),
        ("des", "cfb", pattern(8, 0x13), 21), ("des3_ede", "ofb", pattern(24, 0x21), 40),
        ("des3_ede", "cfb", pattern(24, 0x21), 40), ("des3_ede", "ofb", pattern(24, 0x23), 21),
        ("des3_ede", "cfb", pattern(24, 0x23), 21)):
        block = 16 if family == "aes" else 8
        iv, text = pattern(block, 0x80), pattern(n, 0x30, 5)
        out = cipher(family, mode, key, iv, text)
        iv_out = b""  # for whole blocks only
        if n % block == 0:
            iv_out = out[-block:] if mode == "cfb" else xor(out[-block:], text[-block:])
        row(f"{mode}({family})", source, key, iv, text, out, iv_out)
    for key_bytes in (16, 24, 32):
        key, iv, text = pattern(key_bytes, 2), pattern(8, 0x90), pattern(45, 1, 3)
        nonce = pattern(4, 0xA0)
        row("rfc3686(ctr(aes))", source, key + nonce, iv,
            text, cipher("aes", "ctr", key, nonce + iv + b"\0\0\0\1", text), "")
        iv, text = pattern(16, 0x90), pattern(48, 1, 3)
        hidden = cipher("aes", "ecb", digest("sha256", key), b"", iv)
        row("essiv(cbc(aes),sha256)", source, key, iv, text, cipher("aes", "cbc", key, hidden, text), "")
    print("};\n")

    print("constexpr HashVector kHashes[] = {")
    text = pattern(393, 0, 11)  # more than three blocks of SHA-512, not a whole number of any block
    for name, (_, block) in HASHES.items():
        row(name, source + ", 393 bytes", "", text, digest(name, text))
        row(f"hmac({name})", source + ", 393 bytes", pattern(block // 2, 0x40), text, digest(name, text, pattern(block // 2, 0x40)))
        row(f"hmac({name})", source + ", key one byte longer than a block", pattern(block + 1, 0x41), text[:block],
            digest(name, text[:block], pattern(block + 1, 0x41)))
    row("cmac(aes)", source + ", 393 bytes", pattern(24, 0x42), text, cmac(pattern(24, 0x42), text))
    row("xcbc(aes)", "AES-ECB of " + source + ", 393 bytes", pattern(16, 0x43), text, xcbc(pattern(16, 0x43), text))
    print("};\n")

    print("constexpr AeadVector kAeads[] = {")
    keys = {"cbc(aes)": (16, 32, 24), "ctr(aes)": (16, 32, 24), "cbc(des3_ede)": (24, 24, 24), "cbc(des)": (8, 8, 8)}
    for hash_name, (_, block) in HASHES.items():
        for mode_family, sizes in keys.items():
            mode, family = mode_family[:-1].split("(")
            iv_bytes = 16 if family == "aes" else 8
            size = hashlib.new(hash_name).digest_size
            # As ESP: SPI, sequence number and IV are the AAD. Then: no AAD, a key longer than a block. Then: no text.
            for what, auth, key_bytes, aad, n in (
                ("ESP-like", size, sizes[0], 8 + iv_bytes, 64 if mode == "cbc" else 61),
                ("no AAD, long authentication key", block + 1, sizes[1], 0, 16 if mode == "cbc" else 5),
                ("no text", 20, sizes[2], 20, 0)):
                auth_key, key = pattern(auth, 0x51), pattern(key_bytes, 0x61 + auth)
                iv, aad_bytes, text = pattern(iv_bytes, 0x71), pattern(aad, 0x81), pattern(n, 0x91, 13)
                out = cipher(family, mode, key, iv, text) if n else b""
                row(f"authenc(hmac({hash_name}),{mode_family})", f"{source}, {what}", auth_key, key, iv, aad_bytes, text,
                    out, digest(hash_name, aad_bytes + out, auth_key))
    for key_bytes in (16, 24, 32):
        key = pattern(key_bytes, 0x15)
        for name, salt_bytes in (("rfc4106(gcm(aes))", 4), ("rfc4309(ccm(aes))", 3)):
            salt, iv = pattern(salt_bytes, 0xC0), pattern(8, 0xD0)
            for aad, n, tag in ((16, 60, 16), (20, 0, 16), (16, 32, 8), (20, 41, 12)):
                if key_bytes != 16 and tag != 16:
                    continue
                # The last 8 bytes of the AAD are the IV, which is not authenticated as such (RFC 4106 5, RFC 4309 5).
                head = pattern(aad - 8, 0xE0)
                text = pattern(n, 0xF0, 3)
                if name.startswith("rfc4106"):
                    out = gcm(key, salt + iv, head, text)
                    out = out[: n + tag]
                else:
                    out = ccm(key, salt + iv, head, text, tag)
                row(name, f"{source}, {aad - 8} bytes of AAD and the IV, tag of {tag}", "", key + salt, iv, head + iv, text,
                    out[:n], out[n:])
    print("};\n")
    print("}  // namespace\n\n"
          "std::span<const CipherVector> generated_ciphers() { return kCiphers; }\n"
          "std::span<const HashVector> generated_hashes() { return kHashes; }\n"
          "std::span<const AeadVector> generated_aeads() { return kAeads; }\n\n"
          "}  // namespace sec::crypto")


main()
