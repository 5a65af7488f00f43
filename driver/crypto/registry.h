// The algorithm registry: implementations by algorithm name ("cbc(aes)"), by driver name
// ("cbc-aes-talitos") and by priority, as /proc/crypto shows them. The registry is an ordinary object
// wired in main; several can exist at once.
//
// An implementation registers an Algorithm with a factory. Before it is offered it must pass the
// self-test (driver/crypto/selftest.h); one that fails stays listed as "failed" and is never allocated.
// Lookup by algorithm name picks the highest priority that passed; lookup by driver name exactly that one.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "driver/crypto/request.h"

namespace sec::crypto {

enum class AlgorithmType : uint8_t { Skcipher, Hash, Aead };
enum class SelfTest : uint8_t { Unknown, Passed, Failed };

/// What /proc/crypto tells about one implementation. Sizes in bytes.
struct AlgorithmInfo {
  std::string name;    // "cbc(aes)"
  std::string driver;  // "cbc-aes-talitos"
  std::string module;  // "talitos", "openssl", "ipsecmb"
  int priority = 0;
  AlgorithmType type = AlgorithmType::Skcipher;
  bool async = false;
  bool allocates_memory = false;  // per request; disk users avoid such implementations
  bool internal = false;
  unsigned block_bytes = 1;
  unsigned min_key_bytes = 0, max_key_bytes = 0;
  unsigned iv_bytes = 0;
  unsigned chunk_bytes = 0;     // 0: same as block_bytes
  unsigned walk_bytes = 0;      // 0: same as chunk_bytes
  unsigned digest_bytes = 0;    // hashes
  unsigned state_bytes = 0;     // hashes: of export_state(); 0: one-shot only
  unsigned max_auth_bytes = 0;  // AEAD: the longest tag
  std::string
      composed;  // not one engine operation: what does which part, for people ("CTR on the engine, GHASH on the CPU")
  unsigned align_mask = 0;
  SelfTest selftest = SelfTest::Unknown;
};

enum KeyFlags : uint32_t { kForbidWeakKeys = 1 };

/// A keyed cipher transform. encrypt/decrypt do not modify it; many requests may be in flight.
class Skcipher {
 public:
  virtual ~Skcipher() = default;
  virtual const AlgorithmInfo& info() const = 0;
  /// Invalid for a bad length or (with kForbidWeakKeys) a weak key. A length outside min..max leaves the
  /// old key working; a key refused inside that range makes later requests fail with NoKey.
  virtual Status set_key(std::span<const uint8_t> key, uint32_t key_flags = 0) = 0;
  virtual Status encrypt(SkcipherRequest& r) = 0;
  virtual Status decrypt(SkcipherRequest& r) = 0;
  /// Pushes out work that waits for more (partly filled multi-buffer lanes). Never needed for correctness
  /// of the device driver; batching implementations complete everything submitted before they return.
  virtual void flush() {}
};

/// A keyed AEAD transform. For authenc(...) the key is the blob of driver/crypto/authenc_key.h.
class Aead {
 public:
  virtual ~Aead() = default;
  virtual const AlgorithmInfo& info() const = 0;
  /// Invalid for a bad key. AEADs have no key range of their own in the kernel: any refused key makes later requests
  /// fail with NoKey.
  virtual Status set_key(std::span<const uint8_t> key, uint32_t key_flags = 0) = 0;
  /// Length of the tag; max_auth_bytes until called. Invalid, and the old one stays, for a length the algorithm lacks.
  virtual Status set_auth_bytes(unsigned bytes) = 0;
  virtual unsigned auth_bytes() const = 0;
  virtual Status encrypt(AeadRequest& r) = 0;
  /// BadMessage when the tag is wrong: the output is undefined and must not be used.
  virtual Status decrypt(AeadRequest& r) = 0;
  virtual void flush() {}
};

/// A hash transform; set_key makes it an HMAC where the algorithm is "hmac(...)".
/// In steps: make_state(), init(), then update() any number of times, then final() or finup(). One operation on a state
/// at a time. export_state() and import_state() move an unfinished hash to another state of a transform of the same
/// algorithm (and key).
class Hash {
 public:
  virtual ~Hash() = default;
  virtual const AlgorithmInfo& info() const = 0;
  virtual Status set_key(std::span<const uint8_t> key) = 0;
  virtual Status digest(HashRequest& r) = 0;

  /// Null: one-shot only, and the rest is Invalid.
  virtual std::unique_ptr<HashState> make_state() { return nullptr; }
  virtual Status init(HashState&) { return Status::Invalid; }
  virtual Status update(HashRequest&) { return Status::Invalid; }
  virtual Status final(HashRequest&) { return Status::Invalid; }
  virtual Status finup(HashRequest&) { return Status::Invalid; }
  /// `out` and `in` have info().state_bytes.
  virtual Status export_state(const HashState&, uint8_t* /*out*/) { return Status::Invalid; }
  virtual Status import_state(HashState&, const uint8_t* /*in*/) { return Status::Invalid; }
  virtual void flush() {}
};

/// One registered implementation.
struct Algorithm {
  AlgorithmInfo info;
  std::function<std::unique_ptr<Skcipher>()> make_skcipher;  // set according to info.type
  std::function<std::unique_ptr<Hash>()> make_hash;
  std::function<std::unique_ptr<Aead>()> make_aead;
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Runs the self-test and adds the implementation. Invalid when the driver name is taken or the
  /// metadata are inconsistent, BadMessage when the self-test fails (it then stays listed as failed).
  Status add(Algorithm a);
  /// Takes an implementation out by driver name; transforms that exist keep working.
  Status remove(std::string_view driver);

  /// Null and NoEntry in `status` when nothing suitable is registered.
  std::unique_ptr<Skcipher> alloc_skcipher(std::string_view name, Status* status = nullptr) const;
  std::unique_ptr<Hash> alloc_hash(std::string_view name, Status* status = nullptr) const;
  std::unique_ptr<Aead> alloc_aead(std::string_view name, Status* status = nullptr) const;

  /// All implementations, newest last.
  std::vector<AlgorithmInfo> list() const;
  /// Text of the failed self-test of a driver, empty if none.
  std::string selftest_failure(std::string_view driver) const;
  /// The self-test can be left out, for tests that need a broken implementation, and for benchmarks of start-up.
  void set_selftest_enabled(bool on) { selftest_ = on; }
  /// How the self-test lets time pass while it waits for an asynchronous implementation: each call moves
  /// the world on (run the simulation a little, poll the device) and returns false when nothing can happen
  /// any more. Not needed when completions come before submit returns.
  void set_pump(std::function<bool()> pump) { pump_ = std::move(pump); }

 private:
  const Algorithm* find(std::string_view name, AlgorithmType type) const;
  struct Entry;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::function<bool()> pump_;
  std::vector<std::shared_ptr<void>> abandoned_;  // memory of self-test requests that have not completed yet
  bool selftest_ = true;
};

/// One entry as /proc/crypto prints it ("name         : cbc(aes)\n..."), with an empty line at the end.
std::string format_proc(const AlgorithmInfo& info);
/// All entries, the newest first as the kernel lists them.
std::string format_proc(const Registry& registry);

}  // namespace sec::crypto
