#include "driver/crypto/vectors_tables.h"

namespace sec::crypto {
namespace {

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
    {"md5", "empty message", "", "", "d41d8cd98f00b204e9800998ecf8427e"},
    {"md5", "RFC 1321 A.5", "", "616263", "900150983cd24fb0d6963f7d28e17f72"},
    {"sha224", "empty message", "", "", "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"},
    {"sha224", "FIPS 180, \"abc\"", "", "616263", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
    {"sha224", "FIPS 180, two blocks", "",
     "6162636462636465636465666465666765666768666768696768696a68696a6b696a6b6c6a6b6c6d6b6c6d6e6c6d6e6f"
     "6d6e6f706e6f7071",
     "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525"},
    {"sha384", "empty message", "", "",
     "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"},
    {"sha384", "FIPS 180, \"abc\"", "", "616263",
     "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"},
    {"sha384", "FIPS 180, two blocks", "",
     "61626364656667686263646566676869636465666768696a6465666768696a6b65666768696a6b6c666768696a6b6c6d"
     "6768696a6b6c6d6e68696a6b6c6d6e6f696a6b6c6d6e6f706a6b6c6d6e6f70716b6c6d6e6f7071726c6d6e6f70717273"
     "6d6e6f70717273746e6f707172737475",
     "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712fcc7c71a557e2db966c3e9fa91746039"},
    {"sha512", "empty message", "", "",
     "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f"
     "63b931bd47417a81a538327af927da3e"},
    {"sha512", "FIPS 180, \"abc\"", "", "616263",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
     "454d4423643ce80e2a9ac94fa54ca49f"},
    {"sha512", "FIPS 180, two blocks", "",
     "61626364656667686263646566676869636465666768696a6465666768696a6b65666768696a6b6c666768696a6b6c6d"
     "6768696a6b6c6d6e68696a6b6c6d6e6f696a6b6c6d6e6f706a6b6c6d6e6f70716b6c6d6e6f7071726c6d6e6f70717273"
     "6d6e6f70717273746e6f707172737475",
     "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433a"
     "c7d329eeb6dd26545e96e55b874be909"},
    {"hmac(md5)", "RFC 2202 case 1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
     "9294727a3638bb1c13f48ef8158bfc9d"},
    {"hmac(md5)", "RFC 2202 case 2", "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     "750c783e6ab0b503eaa86e310a5db738"},
    {"hmac(md5)", "RFC 2202 case 6, key longer than a block",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579"
     "204669727374",
     "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"},
    {"hmac(sha224)", "RFC 4231 case 1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
     "896fb1128abbdf196832107cd49df33f47b4b1169912ba4f53684b22"},
    {"hmac(sha224)", "RFC 4231 case 2", "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"},
    {"hmac(sha224)", "RFC 4231 case 6, key longer than a block",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b65"
     "7920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
     "647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c"
     "676f726974686d2e",
     "3a854166ac5d9f023f54d517d0b39dbd946770db9c2b95c9f6f565d1"},
    {"hmac(sha384)", "RFC 4231 case 1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
     "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6"},
    {"hmac(sha384)", "RFC 4231 case 2", "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649"},
    {"hmac(sha384)", "RFC 4231 case 6, key longer than a block",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b65"
     "7920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
     "647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c"
     "676f726974686d2e",
     "6617178e941f020d351e2f254e8fd32c602420feb0b8fb9adccebb82461e99c5a678cc31e799176d3860e6110c46523e"},
    {"hmac(sha512)", "RFC 4231 case 1", "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
     "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
     "be9d914eeb61f1702e696c203a126854"},
    {"hmac(sha512)", "RFC 4231 case 2", "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
     "caeab1a34d4a6b4b636e070a38bce737"},
    {"hmac(sha512)", "RFC 4231 case 6, key longer than a block",
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b65"
     "7920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565"
     "647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c"
     "676f726974686d2e",
     "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55c3e4de15"
     "134676fb6de0446065c97440fa8c6a58"},
    {"cmac(aes)", "NIST SP 800-38B D.1, AES-128, 0 bytes", "2b7e151628aed2a6abf7158809cf4f3c", "",
     "bb1d6929e95937287fa37d129b756746"},
    {"cmac(aes)", "NIST SP 800-38B D.1, AES-128, 16 bytes", "2b7e151628aed2a6abf7158809cf4f3c",
     "6bc1bee22e409f96e93d7e117393172a", "070a16b46b4d4144f79bdd9dd04a287c"},
    {"cmac(aes)", "NIST SP 800-38B D.1, AES-128, 40 bytes", "2b7e151628aed2a6abf7158809cf4f3c",
     "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411",
     "dfa66747de9ae63030ca32611497c827"},
    {"cmac(aes)", "NIST SP 800-38B D.1, AES-128, 64 bytes", "2b7e151628aed2a6abf7158809cf4f3c",
     "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52ef"
     "f69f2445df4f9b17ad2b417be66c3710",
     "51f0bebf7e3b9d92fc49741779363cfe"},
    {"cmac(aes)", "NIST SP 800-38B D.2, AES-192, 0 bytes", "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "",
     "d17ddf46adaacde531cac483de7a9367"},
    {"cmac(aes)", "NIST SP 800-38B D.3, AES-256, 40 bytes",
     "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411",
     "aaf3d8f1de5640c232f5b169b9c911e6"},
    {"cmac(aes)", "NIST SP 800-38B D.3, AES-256, 64 bytes",
     "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52ef"
     "f69f2445df4f9b17ad2b417be66c3710",
     "e1992190549f6ed5696a2c056c315410"},
    {"xcbc(aes)", "RFC 3566 test case 1", "000102030405060708090a0b0c0d0e0f", "", "75f0251d528ac01c4573dfd584d79f29"},
    {"xcbc(aes)", "RFC 3566 test case 2", "000102030405060708090a0b0c0d0e0f", "000102",
     "5b376580ae2f19afe7219ceef172756f"},
    {"xcbc(aes)", "RFC 3566 test case 3", "000102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e0f",
     "d2a246fa349b68a79998a4394ff7a263"},
    {"xcbc(aes)", "RFC 3566 test case 4", "000102030405060708090a0b0c0d0e0f",
     "000102030405060708090a0b0c0d0e0f10111213", "47f51b4564966215b8985c63055ed308"},
    {"xcbc(aes)", "RFC 3566 test case 5", "000102030405060708090a0b0c0d0e0f",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "f54f0ec8d2b9f3d36807734bd5283fd4"},
    {"xcbc(aes)", "RFC 3566 test case 6", "000102030405060708090a0b0c0d0e0f",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021", "becbb3bccdb518a30677d5481fb6b4d8"},
    {"crc32c", "RFC 3720 B.4, 32 bytes of zeros", "",
     "0000000000000000000000000000000000000000000000000000000000000000", "aa36918a"},
    {"crc32c", "RFC 3720 B.4, 32 bytes of ones", "", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     "43aba862"},
    {"crc32c", "RFC 3720 B.4, 32 bytes up", "", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "4e79dd46"},
    {"crc32c", "RFC 3720 B.4, 32 bytes down", "", "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100",
     "5cdb3f11"},
    {"crc32c", "empty message", "", "", "00000000"},
    {"crc32c", "catalogued check value of CRC-32C (iSCSI), \"123456789\"", "", "313233343536373839", "839206e3"},
    {"crc32c", "the tail of RFC 3720 B.4, 32 bytes up, begun with what 16 bytes leave behind", "14f73626",
     "101112131415161718191a1b1c1d1e1f", "4e79dd46"},
    {"crc32c", "bitwise CRC of RFC 3720, 393 bytes", "",
     "000b16212c37424d58636e79848f9aa5b0bbc6d1dce7f2fd08131e29343f4a55606b76818c97a2adb8c3ced9e4effa05"
     "101b26313c47525d68737e89949faab5c0cbd6e1ecf7020d18232e39444f5a65707b86919ca7b2bdc8d3dee9f4ff0a15"
     "202b36414c57626d78838e99a4afbac5d0dbe6f1fc07121d28333e49545f6a75808b96a1acb7c2cdd8e3eef9040f1a25"
     "303b46515c67727d88939ea9b4bfcad5e0ebf6010c17222d38434e59646f7a85909ba6b1bcc7d2dde8f3fe09141f2a35"
     "404b56616c77828d98a3aeb9c4cfdae5f0fb06111c27323d48535e69747f8a95a0abb6c1ccd7e2edf8030e19242f3a45"
     "505b66717c87929da8b3bec9d4dfeaf5000b16212c37424d58636e79848f9aa5b0bbc6d1dce7f2fd08131e29343f4a55"
     "606b76818c97a2adb8c3ced9e4effa05101b26313c47525d68737e89949faab5c0cbd6e1ecf7020d18232e39444f5a65"
     "707b86919ca7b2bdc8d3dee9f4ff0a15202b36414c57626d78838e99a4afbac5d0dbe6f1fc07121d28333e49545f6a75"
     "808b96a1acb7c2cdd8",
     "a8d2681c"},
    {"hmac(sha256)", "empty message, key \"key\"", "6b6579", "", "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"},
};

}  // namespace

std::span<const HashVector> published_hashes() { return kHashes; }

}  // namespace sec::crypto
