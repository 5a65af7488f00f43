#include "driver/crypto/vectors.h"

namespace sec::crypto {
namespace {

constexpr std::string_view kNistPlain =
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

constexpr CipherVector kCiphers[] = {
    {"ecb(aes)", "NIST SP 800-38A F.1.1, AES-128", "2b7e151628aed2a6abf7158809cf4f3c", "", kNistPlain,
     "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
     "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
     ""},
    {"ecb(aes)", "NIST SP 800-38A F.1.3, AES-192", "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "", kNistPlain,
     "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
     "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
     ""},
    {"ecb(aes)", "NIST SP 800-38A F.1.5, AES-256", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "", kNistPlain,
     "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
     "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
     ""},
    {"cbc(aes)", "NIST SP 800-38A F.2.1, AES-128", "2b7e151628aed2a6abf7158809cf4f3c",
     "000102030405060708090a0b0c0d0e0f", kNistPlain,
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
     "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
     "3ff1caa1681fac09120eca307586e1a7"},
    {"cbc(aes)", "NIST SP 800-38A F.2.3, AES-192", "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
     "000102030405060708090a0b0c0d0e0f", kNistPlain,
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
     "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
     "08b0e27988598881d920a9e64f5615cd"},
    {"cbc(aes)", "NIST SP 800-38A F.2.5, AES-256", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "000102030405060708090a0b0c0d0e0f", kNistPlain,
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
     "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
     "b2eb05e2c39be9fcda6c19078c6a9d1b"},
    {"ctr(aes)", "NIST SP 800-38A F.5.1, AES-128", "2b7e151628aed2a6abf7158809cf4f3c",
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", kNistPlain,
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdff03"},
    {"ctr(aes)", "NIST SP 800-38A F.5.3, AES-192", "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", kNistPlain,
     "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
     "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdff03"},
    {"ctr(aes)", "NIST SP 800-38A F.5.5, AES-256", "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", kNistPlain,
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdff03"},
    {"ctr(aes)", "counter wraps over all 128 bits, partial last block; OpenSSL 3.0", "2b7e151628aed2a6abf7158809cf4f3c",
     "ffffffffffffffffffffffffffffffff",
     "0000000000000000000000000000000000000000000000000000000000000000"
     "0000000000",
     "8af2860142f786f409307c1a3f7eaaac7df76b0c1ab899b33e42f047b91b546f"
     "57127d4034",
     "00000000000000000000000000000002"},
    {"ctr(aes)", "counter carries out of the low 64 bits; OpenSSL 3.0", "2b7e151628aed2a6abf7158809cf4f3c",
     "0000000000000000ffffffffffffffff", "0000000000000000000000000000000000000000000000000000000000000000",
     "ef8737b783c4fa88e687ee9467073f6edc0a3bc38609c26f6f2a63a39cf7ee93", "00000000000000010000000000000001"},
    {"ecb(des)", "FIPS 81 table B1", "0123456789abcdef", "", "4e6f77206973207468652074696d6520666f7220616c6c20",
     "3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53", ""},
    {"cbc(des)", "FIPS 81 table C1", "0123456789abcdef", "1234567890abcdef",
     "4e6f77206973207468652074696d6520666f7220616c6c20", "e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6",
     "683788499a7c05f6"},
    {"ecb(des3_ede)", "NIST SP 800-67 example", "0123456789abcdef23456789abcdef01456789abcdef0123", "",
     "54686520717566636b2062726f776e20666f78206a756d70", "a826fd8ce53b855fcce21c8112256fe668d5c05dd9b6b900", ""},
    {"cbc(des3_ede)", "OpenSSL 3.0", "0123456789abcdef23456789abcdef01456789abcdef0123", "1234567890abcdef",
     "54686520717566636b2062726f776e20666f78206a756d70", "38413d4ba2325cf1141f707471ac2ced57db530f0123b5ac",
     "57db530f0123b5ac"},
    {"xts(aes)", "IEEE 1619-2007 vector 2", "1111111111111111111111111111111122222222222222222222222222222222",
     "33333333330000000000000000000000", "4444444444444444444444444444444444444444444444444444444444444444",
     "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0", ""},
};

constexpr std::string_view kAbc = "616263";
constexpr std::string_view kTwoBlocks =
    "6162636462636465636465666465666765666768666768696768696a68696a6b"
    "696a6b6c6a6b6c6d6b6c6d6e6c6d6e6f6d6e6f706e6f7071";
constexpr std::string_view kHiThere = "4869205468657265";
constexpr std::string_view kWhatDoYaWant = "7768617420646f2079612077616e7420666f72206e6f7468696e673f";
constexpr std::string_view kLongKeyText =
    "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374";

constexpr HashVector kHashes[] = {
    {"sha1", "empty message", "", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"sha1", "FIPS 180 appendix A.1", "", kAbc, "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {"sha1", "FIPS 180 appendix A.2", "", kTwoBlocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    {"sha256", "empty message", "", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"sha256", "FIPS 180 appendix B.1", "", kAbc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"sha256", "FIPS 180 appendix B.2", "", kTwoBlocks,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"hmac(sha1)", "RFC 2202 case 1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", kHiThere,
     "b617318655057264e28bc0b6fb378c8ef146be00"},
    {"hmac(sha1)", "RFC 2202 case 2", "4a656665", kWhatDoYaWant, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
    {"hmac(sha1)", "RFC 2202 case 6, key longer than a block",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     kLongKeyText, "aa4ae5e15272d00e95705637ce8a3b55ed402112"},
    {"hmac(sha256)", "RFC 4231 case 1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", kHiThere,
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"hmac(sha256)", "RFC 4231 case 2", "4a656665", kWhatDoYaWant,
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {"hmac(sha256)", "RFC 4231 case 6, key longer than a block",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaa",
     kLongKeyText, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
};

constexpr AlgorithmShape kShapes[] = {
    {"ecb(aes)", AlgorithmType::Skcipher, 16, 16, 32, 0, 0},
    {"cbc(aes)", AlgorithmType::Skcipher, 16, 16, 32, 16, 0},
    {"ctr(aes)", AlgorithmType::Skcipher, 1, 16, 32, 16, 0},
    {"xts(aes)", AlgorithmType::Skcipher, 16, 32, 64, 16, 0},
    {"ecb(des)", AlgorithmType::Skcipher, 8, 8, 8, 0, 0},
    {"cbc(des)", AlgorithmType::Skcipher, 8, 8, 8, 8, 0},
    {"ecb(des3_ede)", AlgorithmType::Skcipher, 8, 24, 24, 0, 0},
    {"cbc(des3_ede)", AlgorithmType::Skcipher, 8, 24, 24, 8, 0},
    {"sha1", AlgorithmType::Hash, 64, 0, 0, 0, 20},
    {"sha256", AlgorithmType::Hash, 64, 0, 0, 0, 32},
    {"hmac(sha1)", AlgorithmType::Hash, 64, 0, 0, 0, 20},
    {"hmac(sha256)", AlgorithmType::Hash, 64, 0, 0, 0, 32},
};

}  // namespace

std::span<const CipherVector> cipher_vectors() { return kCiphers; }
std::span<const AeadVector> aead_vectors() { return {}; }
std::span<const HashVector> hash_vectors() { return kHashes; }

const AlgorithmShape* find_shape(std::string_view name) {
  for (const AlgorithmShape& s : kShapes)
    if (s.name == name) return &s;
  return nullptr;
}

std::vector<uint8_t> from_hex(std::string_view hex) {
  const auto digit = [](char c) -> unsigned {
    return c <= '9' ? static_cast<unsigned>(c - '0') : (static_cast<unsigned>(c) | 0x20) - 'a' + 10;
  };
  std::vector<uint8_t> out(hex.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  return out;
}

}  // namespace sec::crypto
