// What KEU and STEU have in common: f8 encrypts, f9 makes a 32-bit MAC; both start from COUNT, bearer, direction and
// FRESH, and both can leave off after a piece of a message and go on with the next.
//
// Context window [T23][USP], as the channel loads it and hands it out:
//   +0x00  IV 1     COUNT, then bearer (5 bits), direction (1 bit), zeros
//   +0x08  ICV in   zero, then the received MAC
//   +0x10  IV 2     zero, then FRESH
//   +0x18  state of the unit, between pieces
// f8 takes 8 bytes of it, f9 24. What is not loaded is zero (ASSUMED). The KEU has the layout of the STEU (ASSUMED: the
// register map is the same and only the STEU's use is public).
//
// INIT starts from the IVs; without it the unit goes on from the loaded state. EOM ends an f9 message: only then there
// is a MAC. An f9 piece that is not the last must be a multiple of 8 bytes, else DSE; f8 pieces may have any length,
// the rest of the last 8 (STEU: 4) bytes of keystream is dropped. The state's layout is our own (ASSUMED). MAC out:
// eight bytes, zeros and then the MAC [USP], and the low word of register 0x48. CICV compares it with the MAC in the
// context or with one that came by set_received_icv (4 bytes, or 8 of which the last four count); only with EOM.
#pragma once
#include "hw/eu/execution_unit.h"

namespace sec::hw {

class F8F9Unit : public ExecutionUnit {
 public:
  void process(const uint8_t* in, uint8_t* out, size_t n) final;
  uint32_t context(uint8_t* out, uint32_t limit) const final;
  uint32_t icv(uint8_t* out, uint32_t limit) const final;
  bool writes_output() const final { return !f9_; }
  uint32_t block_bytes() const final { return 8; }
  uint32_t block_clocks() const final { return block_clocks_; }
  uint32_t startup_clocks() const final { return startup_clocks_; }
  uint32_t finish_clocks() const final { return finish_clocks_; }
  uint32_t read32(uint32_t offset, bool peek = false) final;

 protected:
  static constexpr uint32_t kIv1 = 0, kIcvIn = 8, kIv2 = 0x10, kState = 0x18;
  static constexpr uint8_t kCheckIcv = 0x40, kEndOfMessage = 0x10, kInit = 0x08;  // the same bits in both units' modes

  F8F9Unit(regs::Eu code, std::string_view name, uint32_t base, const Timing& timing, UnitWindows windows)
      : ExecutionUnit(code, name, base, timing, windows), window_bytes_(windows.context_bytes) {}

  uint32_t prepare() final;
  uint32_t complete() final;
  void clear() override;

  // ---- the cipher ----
  /// Checks the mode byte's cipher bits (true: legal), says whether it is f9.
  virtual bool legal(bool& f9) const = 0;
  virtual bool legal_key() const = 0;
  /// Starts from the IVs (init) or from the state in context_; sets the three clocks.
  virtual void begin_cipher(bool init) = 0;
  virtual void f8(const uint8_t* in, uint8_t* out, size_t n) = 0;
  /// Whole blocks of 8 bytes.
  virtual void f9_blocks(const uint8_t* in, size_t n) = 0;
  /// The last 0 to 7 bytes.
  virtual uint32_t f9_end(const uint8_t* tail, uint32_t n) = 0;
  /// The state, into the context window behind the IVs.
  virtual void save_state(uint8_t* state) const = 0;

  bool direction() const { return context_[kIv1 + 4] & 0x04; }

  bool f9_ = false;
  uint32_t block_clocks_ = 1, startup_clocks_ = 0, finish_clocks_ = 0;

 private:
  uint32_t window_bytes_;
  uint32_t mac_ = 0;
  bool ended_ = false;  // the MAC is there
  uint32_t tail_bytes_ = 0;
  uint8_t tail_[8] = {};
};

}  // namespace sec::hw
