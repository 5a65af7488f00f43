// AESU, functional: every AES mode of the unit, on OpenSSL's block cipher, CBC, CTR, OFB, CFB and GCM.
//
// Layout of the context for each mode: hw/regs/aesu.h. A context shorter than its mode's is filled up with zeros, as
// SEC 3.1 does [USP]. Keys: 16, 24 or 32 bytes (XCBC-MAC: 16), else KSE; XOR takes none.
//
//   ECB, CBC, CTR, OFB, LRW  whole blocks of 16 bytes, else DSE; in CTR mode too (erratum "SEC6" [LX])
//   CTR         the low e bits of the counter count, e the modulus exponent (128: carry through all bytes)
//   RDK         the key register holds the last round key: no expansion before a decryption
//   CBC-RBP     CBC; the bytes behind the last whole block are added to E(last ciphertext block, or IV). ASSUMED:
//               "residual block" means this; DOCSIS and others do it so. Context out: the last whole block
//   CFB-128     any length; the last block may be short
//   SRTP        the same. ASSUMED: CTR, with the IV made by software
//   LRW         IEEE P1619 draft: C = E(P ^ T) ^ T, T = K2 * index in GF(2^128), big-endian; "no tweak": T = 0
//   CMAC        (SP 800-38B), XCBC-MAC (RFC 3566): any length; no output but the MAC; with the check bit it is compared
//   CCM         (SP 800-38C), GCM (SP 800-38D): any length; header() is the AAD; GCM's nonce of any length but 0
//   XOR         sources of equal size: all but the last through header(), one after the other, the last as data [T23]
//
// ICV checks: the check modes compare with the ICV that came in (CCM: or with the one in the context), at most the size
// of the MAC. ERRATUM: on SEC 3.1 a CMAC check with an ICV of less than 8 bytes fails, right or wrong [USP].
//
// Which part has what: ECB, CBC, CTR and RDK all; CCM and SRTP from SEC 2.0; XOR where there is descriptor type 21; the
// rest from SEC 3.0 [T23]. ASSUMED in part, since [T23]'s header serves 2.x and 3.x alike. What a part lacks raises ME.
//
// Costs: one AES operation per block, CCM two (cipher and MAC). GCM's multiplier keeps up with the cipher. Before the
// data: key expansion to decrypt (ECB, CBC, LRW without RDK); CMAC one block (subkeys), XCBC three; CCM B0, A0 and the
// AAD; GCM H, J0 and the AAD; behind them GCM's block of lengths. XOR: one block load for each block of each source.
// All ASSUMED.
//
// UNMODELLED: IM with CMAC and XCBC (mode error, counted); a MAC in pieces goes by the chaining value as context.
#pragma once
#include "hw/eu/cipher_cache.h"
#include "hw/eu/execution_unit.h"
#include "hw/eu/ghash.h"

namespace sec::hw {

class Aesu final : public ExecutionUnit {
 public:
  Aesu(const regs::Part& part, const Timing& timing);
  explicit Aesu(const Timing& timing) : Aesu(regs::default_part(), timing) {}  // all modes
  ~Aesu() override;
  void header(const uint8_t* in, size_t n) override;
  void process(const uint8_t* in, uint8_t* out, size_t n) override;
  uint32_t context(uint8_t* out, uint32_t limit) const override;
  uint32_t icv(uint8_t* out, uint32_t limit) const override;
  bool writes_output() const override { return kind_ != Kind::Cmac && kind_ != Kind::XcbcMac; }
  uint32_t block_bytes() const override { return 16; }
  uint32_t block_clocks() const override { return block_clocks_; }
  uint32_t startup_clocks() const override { return startup_clocks_; }
  uint32_t finish_clocks() const override { return finish_clocks_; }
  /// The last round key of the loaded key, as RDK takes it and descriptor type 8 returns it.
  uint32_t decrypt_key(uint8_t* out, uint32_t limit) const;

 protected:
  uint32_t prepare() override;
  uint32_t complete() override;
  void clear() override;

 private:
  /// The algorithm, whatever the variant. Values index nothing.
  enum class Kind : uint8_t { Ecb, Cbc, Ofb, Ctr, Lrw, Cmac, Srtp, Ccm, Gcm, XcbcMac, Cfb, Xor };
  enum Library : uint8_t { kLibEcb, kLibCbc, kLibCtr, kLibOfb, kLibCfb, kLibGcm, kLibraries };

  uint32_t decode();
  KeyedCipher* keyed(Library what, bool encrypt, const uint8_t* key);
  KeyedCipher* keyed(Library what, bool encrypt) { return keyed(what, encrypt, cipher_key_.data()); }
  void encrypt_block(const uint8_t* in, uint8_t* out);
  void ctr(uint8_t* counter, unsigned exponent, const uint8_t* in, uint8_t* out, size_t n);
  void ofb(const uint8_t* in, uint8_t* out, size_t n);
  void cfb(const uint8_t* in, uint8_t* out, size_t n);
  void cbc(const uint8_t* in, uint8_t* out, size_t n);
  void lrw(const uint8_t* in, uint8_t* out, size_t n);
  void start_lrw();
  void start_mac();
  uint32_t start_ccm();
  uint32_t start_gcm();
  /// CBC-MAC of `mac_` over whole blocks.
  void absorb(const uint8_t* p, size_t n);
  /// The same for any bytes; holds a last whole or partial block back.
  void mac_update(const uint8_t* p, size_t n);
  void mac_pad();
  void end_header();
  void finish_mac();
  uint32_t finish_ccm();
  uint32_t finish_gcm();

  const regs::Generation generation_;
  const bool has_gcm_, has_xor_, cmac_needs_8_;
  CipherCache cache_;
  const EVP_CIPHER* ciphers_[kLibraries][3];  // [.][128 192 256], fetched once
  AesCost costs_[3];
  uint32_t load_clocks_;

  Kind kind_ = Kind::Ecb;
  bool rbp_ = false, no_tweak_ = false, check_ = false, first_ = false, final_piece_ = false;
  bool header_open_ = false, closed_ = false;
  unsigned exponent_ = 128, mac_bytes_ = 16;
  KeyedCipher* keyed_ = nullptr;  // the mode's own
  KeyedCipher* ecb_ = nullptr;    // single blocks
  KeyedCipher* mac_cipher_ = nullptr;
  uint32_t block_clocks_ = 0, startup_clocks_ = 0, finish_clocks_ = 0;
  uint64_t header_seen_ = 0;
  std::array<uint8_t, 32> cipher_key_{};
  std::array<uint8_t, 16> mac_{}, tail_{}, icv_{}, text_icv_{}, last_block_mask_[2]{};
  uint32_t tail_bytes_ = 0;
  Ghash ghash_;
  uint64_t gcm_header_bits_ = 0, gcm_text_bits_ = 0;
  std::array<uint8_t, 16> lrw_tweak_{};
  std::array<std::array<uint8_t, 16>, 128> lrw_steps_{};
  std::vector<uint8_t> scratch_, sum_;
};

}  // namespace sec::hw
