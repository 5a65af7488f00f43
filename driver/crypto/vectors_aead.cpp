// NIST and RFC vectors of GCM and CCM. Those of the compositions are in vectors_generated.cpp.
//
// The IV of ccm(aes) is the first counter block: byte 0 holds L - 1, then the nonce of 15 - L bytes, then zeros.
#include "driver/crypto/vectors_tables.h"

namespace sec::crypto {
namespace {

constexpr AeadVector kAeads[] = {
    {"gcm(aes)", "McGrew and Viega, GCM, test case 1", "", "00000000000000000000000000000000",
     "000000000000000000000000", "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"},
    {"gcm(aes)", "McGrew and Viega, GCM, test case 2", "", "00000000000000000000000000000000",
     "000000000000000000000000", "", "00000000000000000000000000000000", "0388dace60b6a392f328c2b971b2fe78",
     "ab6e47d42cec13bdf53a67b21257bddf"},
    {"gcm(aes)", "McGrew and Viega, GCM, test case 4", "", "feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
     "b16aedf5aa0de657ba637b39",
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05"
     "1ba30b396a0aac973d58e091",
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {"gcm(aes)", "McGrew and Viega, GCM, test case 10", "", "feffe9928665731c6d6a8f9467308308feffe9928665731c",
     "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
     "b16aedf5aa0de657ba637b39",
     "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f47"
     "18e2448b2fe324d9ccda2710",
     "2519498e80f1478f37ba55bd6d27618c"},
    {"gcm(aes)", "McGrew and Viega, GCM, test case 16", "",
     "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
     "b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
     "c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {"gcm(aes)", "NIST CAVP gcmEncryptExtIV128, AAD only", "", "2fb45e5b8f993a2bfebc4b15b533e0b4",
     "5b05755f984d2b90f94b8027", "e85491b2202caf1d7dce03b97e09331c32473941", "", "",
     "c75b7832b2a2d9bd827412b6ef5769db"},
    {"gcm(aes)", "NIST CAVP gcmEncryptExtIV256, tag of 4 bytes", "",
     "a8c874426a769c2395e55e2d1e790efc068ef2bd41fd546f9e98a8988ded45f1", "3e7bcc7f4eab8959854d3751",
     "ccf12a252e0a0559c6f36597c8691c7ae33bb93a",
     "f6b7fb015edacc6ed4eb7fe41023ce2d8d4daccdef60a77ddc989ec001ab9a641bf077ba1c35efbc7fd1302231d332fa"
     "a700ff",
     "a74d253d41c412aba30b4434650719efa602d99f6a99b53ac1945d4f663d51e7994dc252fc35bd75437fd408ba8738ab"
     "dc30ff",
     "d4fc371e"},
    {"ccm(aes)", "NIST SP 800-38C example 1", "", "404142434445464748494a4b4c4d4e4f",
     "07101112131415160000000000000000", "0001020304050607", "20212223", "7162015b", "4dac255d"},
    {"ccm(aes)", "NIST SP 800-38C example 2", "", "404142434445464748494a4b4c4d4e4f",
     "06101112131415161700000000000000", "000102030405060708090a0b0c0d0e0f", "202122232425262728292a2b2c2d2e2f",
     "d2a1f0e051ea5f62081a7792073d593d", "1fc64fbfaccd"},
    {"ccm(aes)", "NIST SP 800-38C example 3", "", "404142434445464748494a4b4c4d4e4f",
     "02101112131415161718191a1b000000", "000102030405060708090a0b0c0d0e0f10111213",
     "202122232425262728292a2b2c2d2e2f3031323334353637", "e3b201a9f5b71a7a9b1ceaeccd97e70b6176aad9a4428aa5",
     "484392fbc1b09951"},
    {"ccm(aes)", "RFC 3610 packet vector 1", "", "c0c1c2c3c4c5c6c7c8c9cacbcccdcecf", "0100000003020100a0a1a2a3a4a50000",
     "0001020304050607", "08090a0b0c0d0e0f101112131415161718191a1b1c1d1e",
     "588c979a61c663d2f066d0c2c0f989806d5f6b61dac384", "17e8d12cfdf926e0"},
    {"ccm(aes)", "NIST CAVP VADT192 count 0, no AAD", "", "26511fb51fcfa75cb4b44da75a6e5a0eb8d9c8f3b906f886",
     "0115b369889699b6de1fa3ee73e50000", "", "39f08a2af1d8da6212550639b91fb2573e39a8eb5d801de8",
     "6342b8700edec97a960eb16e7cb1eb4412fb4e263ddd2206", "b090155d34a76c8324e5550c3ef426ed"},
    {"ccm(aes)", "NIST CAVP VPT256 count 0, no text", "",
     "c6c14c655e52c8a4c7e8d54e974d698e1f21ee3ba717a0adfa6136d02668c476", "01291e91b19de518cd7806de44f60000",
     "b4f8326944a45d95f91887c2a6ac36b60eea5edef84c1c358146a666b6878335", "", "", "ca482c674b599046cc7d7ee0d00eec1e"},
    {"ccm(aes)", "NIST CAVP VTT128 count 60, tag of 16 bytes", "", "4189351b5caea375a0299e81c621bf43",
     "0148c0906930561e0ab0ef4cd9720000", "40a27c1d1e23ea3dbe8056b2774861a4a201cce49f19997d19206d8c8a343951",
     "4535d12b4377928a7c0a61c9f825a48671ea05910748c8ef", "26c56961c035a7e452cce61bc6ee220d77b3f94d18fd10b6",
     "d80e8bf80f4a46cab06d4313f0db9be9"},
};

}  // namespace

std::span<const AeadVector> published_aeads() { return kAeads; }

}  // namespace sec::crypto
