// Who is under test: driver and engine at either fidelity, or a CPU back end; and one request with everything around it
// that must not change.
//
// An approximate session elaborates SystemC, once per process: under ctest every case has its own process, and a second
// one in the same process is skipped.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/crypto/registry.h"
#include "host/cpu/ipsecmb.h"
#include "host/session/session.h"
#include "tests/support/rsp_vectors.h"

namespace sec::test {

enum class Subject : uint8_t {
  Functional,
  Approx,
  Openssl,
  IpsecMb,
  // The multi-buffer library's code paths, as far as this processor has them. (Debian builds it without the one for
  // processors that have no AES-NI.)
  IpsecMbSse,
  IpsecMbAvx,
  IpsecMbAvx2,
  IpsecMbAvx512NoVaes,
  IpsecMbAvx512,
};
const char* subject_name(Subject s);
inline bool is_engine(Subject s) { return s == Subject::Functional || s == Subject::Approx; }

class World {
 public:
  /// Null when the implementation does not offer the algorithm.
  std::unique_ptr<crypto::Skcipher> alloc(const std::string& algorithm) const;
  /// Memory that is shared with the engine (ordinary memory for a CPU back end); lives as long as the world.
  uint8_t* memory(size_t bytes);
  /// Until `done`, flushing `tfms`. False when nothing can happen any more.
  bool wait(const std::vector<std::unique_ptr<crypto::Skcipher>>& tfms, const std::function<bool()>& done);
  /// On the functional engine: interrupts come late and together, as on a busy machine.
  void hold_interrupts(bool on);
  Subject subject() const { return subject_; }

 private:
  friend void with_world(Subject, const std::function<void(World&)>&);
  Subject subject_ = Subject::Openssl;
  host::Session* session_ = nullptr;
  const crypto::Registry* registry_ = nullptr;
  std::string module_;
  std::vector<std::unique_ptr<uint8_t[]>> heap_;
};

/// Runs `body` in such a world. Skips the test where this machine or process cannot.
void with_world(Subject s, const std::function<void(World&)>& body);

/// Bytes laid out as segments in a piece of memory, with poison before, between and behind them.
class Placement {
 public:
  static constexpr size_t kMargin = 64;
  static size_t room(size_t bytes, size_t pieces, size_t gap) { return bytes + pieces * gap + 3 * kMargin; }

  /// Segment sizes are taken from `pieces` in turn (none: one segment); `offset` (at most kMargin) shifts the first.
  void lay(uint8_t* memory, size_t bytes, const std::vector<size_t>& pieces, size_t gap, size_t offset, uint8_t poison);
  /// The same bytes as another list: cut after `pieces`, and where the memory has gaps.
  void second_list(const std::vector<size_t>& pieces, std::vector<crypto::Segment>& out) const;

  const std::vector<crypto::Segment>& segments() const { return segments_; }
  void fill(const Bytes& data);
  Bytes read() const;
  bool holds(const Bytes& data) const;
  /// Offset of the first byte of poison that changed, relative to the first segment; false if none did.
  bool damaged(ptrdiff_t* where) const;

 private:
  uint8_t *begin_ = nullptr, *end_ = nullptr;
  std::vector<crypto::Segment> segments_;
  uint8_t poison_ = 0;
};

enum class Place : uint8_t { OneList, TwoLists, Apart };

struct Shape {
  Place place = Place::OneList;
  std::vector<size_t> pieces, dst_pieces;
  size_t gap = 0, offset = 0, dst_offset = 0;
};

/// One request in flight. Memory is given from outside and used again for the next.
class Trial {
 public:
  /// `room` bytes each at `src` and `dst`.
  Trial(uint8_t* src, uint8_t* dst) : src_memory_(src), dst_memory_(dst) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void prepare(const Shape& shape, Bytes in, Bytes iv, Bytes want, Bytes want_iv, std::string what);
  /// The returned status is checked as well; after NoSpace or NoMemory the same trial may be submitted again.
  Status submit(crypto::Skcipher& tfm, bool encrypt, uint32_t flags);
  bool active() const { return active_; }
  bool finished() const { return active_ && finished_ > 0; }
  /// What is wrong, empty when all is right. Ends the trial.
  std::string verify();

 private:
  uint8_t *src_memory_, *dst_memory_;
  Shape shape_;
  Placement src_, dst_;
  std::vector<crypto::Segment> second_;
  crypto::ScatterList src_list_, dst_list_;
  Bytes in_, want_, want_iv_, iv_memory_;
  size_t iv_bytes_ = 0;
  std::string what_;
  crypto::SkcipherRequest request_;
  bool active_ = false, backlogged_ = false;
  int started_ = 0, finished_ = 0;
  Status status_ = Status::Ok;
};

/// Plain OpenSSL EVP: what every implementation is compared with. Single DES is run as triple DES with one key three
/// times, so that no legacy provider is needed.
class Reference {
 public:
  Reference(const std::string& algorithm, const Bytes& key);
  ~Reference();
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  /// `iv` becomes the output IV.
  Bytes crypt(bool encrypt, Bytes& iv, const Bytes& in) const;

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
  bool cbc_ = false, ctr_ = false;
};

}  // namespace sec::test
