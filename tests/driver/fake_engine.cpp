#include "tests/driver/fake_engine.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>

#include "hw/regs/link_table.h"

namespace sec::test {
namespace {

// The register map, typed again by hand from sec-hardware 2.1 to 2.4 so that a slip in hw/regs shows here.
constexpr uint32_t kImr = 0x1008, kIsr = 0x1010, kIcr = 0x1018, kMcr = 0x1030;

bool cipher(const regs::HeaderWord& h, const std::vector<uint8_t>& key, uint8_t* iv, std::vector<uint8_t>& data) {
  const bool encrypt = h.mode0 & 1;
  const EVP_CIPHER* c = nullptr;
  std::vector<uint8_t> k = key;
  bool ctr = false;
  if (h.sel0 == 6) {
    const unsigned i = key.size() == 16 ? 0 : key.size() == 24 ? 1 : 2;
    const EVP_CIPHER* table[3][3] = {{EVP_aes_128_ecb(), EVP_aes_192_ecb(), EVP_aes_256_ecb()},
                                     {EVP_aes_128_cbc(), EVP_aes_192_cbc(), EVP_aes_256_cbc()},
                                     {EVP_aes_128_ctr(), EVP_aes_192_ctr(), EVP_aes_256_ctr()}};
    const unsigned mode = h.mode0 & 6;
    ctr = mode == 6;
    c = table[mode == 0 ? 0 : mode == 2 ? 1 : 2][i];
  } else {
    // Single DES is triple DES with one key three times.
    while (k.size() < 24) k.insert(k.end(), key.begin(), key.end());
    c = h.mode0 & 4 ? EVP_des_ede3_cbc() : EVP_des_ede3_ecb();
  }
  const size_t block = h.sel0 == 6 ? 16 : 8;
  std::vector<uint8_t> out(data.size() + 32);
  EVP_CIPHER_CTX* x = EVP_CIPHER_CTX_new();
  int n = 0;
  const bool ok = EVP_CipherInit_ex(x, c, nullptr, k.data(), iv, ctr || encrypt) == 1 &&
                  EVP_CIPHER_CTX_set_padding(x, 0) == 1 &&
                  EVP_CipherUpdate(x, out.data(), &n, data.data(), static_cast<int>(data.size())) == 1;
  EVP_CIPHER_CTX_free(x);
  if (!ok) return false;
  out.resize(data.size());
  if (ctr) {
    for (size_t blocks = data.size() / 16; blocks--;)
      for (int b = 15; b >= 0 && ++iv[b] == 0; --b) {
      }
  } else if (iv) {
    std::memcpy(iv, (encrypt ? out : data).data() + data.size() - block, block);
  }
  data = out;
  return true;
}

}  // namespace

driver::DeviceProperties properties_of(const regs::Part& part) {
  driver::DeviceProperties p;
  for (std::string_view s : part.compatible)
    if (!s.empty()) p.compatible.push_back(s);
  p.num_channels = part.channels;
  p.channel_fifo_len = part.fetch_fifo_entries;
  p.exec_units_mask = part.exec_units_mask;
  p.descriptor_types_mask = part.descriptor_types_mask;
  p.interrupts = part.interrupts;
  return p;
}

FakeEngine::FakeEngine(const Options& o)
    : automatic(o.automatic),
      space_(o.dma_bytes, o.dma_base, o.bounce_slots, o.bounce_slot_bytes),
      part_(o.part ? *o.part : regs::default_part()),
      fifo_entries_(o.fifo_entries ? o.fifo_entries : part_.fetch_fifo_entries),
      channels_(part_.channels) {
  dma_ = &space_;
}

driver::DeviceProperties FakeEngine::properties() const {
  driver::DeviceProperties p = properties_of(part_);
  p.channel_fifo_len = fifo_entries_;
  return p;
}

int FakeEngine::channel_at(uint32_t offset) const {
  for (unsigned i = 0; i < channels_.size(); ++i) {
    const uint32_t base = channels_[i].remapped ? 0x100 * (i + 1) : 0x1000 + 0x100 * (i + 1);
    if (offset >= base && offset < base + 0x100) return static_cast<int>(i);
  }
  return -1;
}

void FakeEngine::reset_all() {
  for (Channel& c : channels_) {
    const uint64_t e = c.enqueued, s = c.started;
    c = Channel{};
    c.enqueued = e;
    c.started = s;
  }
  imr_hi_ = isr_hi_extra_ = isr_lo_ = mcr_ = 0;
  unit_isr_ = {};
}

uint32_t FakeEngine::isr_hi() const {
  uint32_t v = isr_hi_extra_;
  for (unsigned i = 0; i < channels_.size(); ++i) {
    if (channels_[i].dones) v |= 1u << (2 * i);
    if (channels_[i].error_pending) v |= 2u << (2 * i);
    if (channels_[i].overflow_pending) v |= 0x100u << i;
  }
  return v;
}

bool FakeEngine::line_up(unsigned line) const {
  uint32_t mine = 0;
  for (unsigned i = 0; i < channels_.size(); ++i)
    if (channels_[i].remapped == (line == 1)) mine |= 3u << (2 * i) | 0x100u << i;
  if (line == 0) mine |= 0x10000;
  // Unit interrupts of the low word are not maskable here: nobody enables them.
  return (isr_hi() & imr_hi_ & mine) || (line == 0 && isr_lo_);
}

void FakeEngine::raise_device_error(uint32_t hi, uint32_t lo) {
  isr_hi_extra_ |= hi;
  isr_lo_ |= lo;
}

void FakeEngine::schedule_task(Handler t, void* c) {
  for (const auto& [task, context] : tasks_)
    if (task == t && context == c) return;
  tasks_.emplace_back(t, c);
}

bool FakeEngine::deliver() {
  if (in_driver_) return false;
  in_driver_ = true;
  bool called = false;
  for (unsigned guard = 0; guard < 1'000'000; ++guard) {
    bool any = false;
    for (unsigned l = 0; l < 2; ++l)
      if (handlers_[l].first && line_up(l)) {
        ++handler_calls;
        handlers_[l].first(handlers_[l].second);
        any = true;
      }
    if (!any && !tasks_.empty()) {
      const auto [task, context] = tasks_.front();
      tasks_.pop_front();
      task(context);
      any = true;
    }
    if (!any) break;
    called = true;
  }
  in_driver_ = false;
  return called;
}

bool FakeEngine::run() {
  bool any = false;
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned i = 0; i < channels_.size(); ++i) moved |= step(i);
    moved |= deliver();
    any |= moved;
  }
  return any;
}

uint32_t FakeEngine::read32(uint32_t offset) {
  cpu_.charge(driver::Cost::MmioRead);
  now_ns_ += 10;
  switch (offset) {
    case kIsr:
      return isr_hi();
    case kIsr + 4:
      return isr_lo_;
    case kMcr:
      return ignore_reset ? 1 : mcr_;
    case kImr:
      return imr_hi_;
    default:
      break;
  }
  if (const int c = channel_at(offset); c >= 0) return channel_read(channels_[c], offset & 0xff);
  if (offset >= 0x2000 && (offset & 0xfff) == 0x34) {
    if (offset >> 12 == 4) return unit_isr_[6];
    if (offset >> 12 == 2) return unit_isr_[2];
  }
  return 0;
}

void FakeEngine::write32(uint32_t offset, uint32_t value) {
  cpu_.charge(driver::Cost::MmioWrite);
  now_ns_ += 10;
  switch (offset) {
    case kImr:
      imr_hi_ = value;
      break;
    case kIcr:
      for (unsigned i = 0; i < channels_.size(); ++i) {
        if (value & 1u << (2 * i) && channels_[i].dones) --channels_[i].dones;
        if (value & 2u << (2 * i)) channels_[i].error_pending = false;
        if (value & 0x100u << i) channels_[i].overflow_pending = false;
      }
      isr_hi_extra_ &= ~value;
      break;
    case kIcr + 4:
      isr_lo_ &= ~value;
      break;
    case kMcr:
      if (value & 1)
        reset_all();
      else
        mcr_ = value;
      for (unsigned i = 0; i < channels_.size(); ++i) channels_[i].remapped = mcr_ & 0x8000u >> i;
      break;
    default:
      if (const int c = channel_at(offset); c >= 0)
        channel_write(channels_[c], static_cast<unsigned>(c), offset & 0xff, value);
      break;
  }
  if (automatic && !in_driver_) {
    for (bool moved = true; moved;) {
      moved = false;
      for (unsigned i = 0; i < channels_.size(); ++i) moved |= step(i);
    }
  }
  if (automatic || deliver_on_write) deliver();
}

uint32_t FakeEngine::channel_read(const Channel& c, uint32_t offset) const {
  const bool sec3 = part_.generation == regs::Generation::Sec3;
  const auto level = static_cast<uint32_t>(c.fifo.size());
  const uint32_t state = c.halted ? 12 : c.hung ? 7 : 0;
  switch (offset) {
    case 0x08:
      return ignore_continue && c.halted ? 2 : 0;
    case 0x0c:
      return c.config;
    case 0x10:
      return sec3 ? state : level << 24 | state;
    case 0x14:
      return c.errors | (sec3 ? level << 24 : 0);
    case 0x40:
      return static_cast<uint32_t>(c.cdpr >> 32);
    case 0x44:
      return static_cast<uint32_t>(c.cdpr);
    default:
      break;
  }
  if (offset >= 0x80 && offset < 0xc0) return load_be32(c.buffer.data() + (offset - 0x80));
  return 0;
}

void FakeEngine::channel_write(Channel& c, unsigned index, uint32_t offset, uint32_t value) {
  switch (offset) {
    case 0x08:
      if (value & 1) {
        const bool remapped = c.remapped;
        const uint64_t e = c.enqueued, s = c.started;
        c = Channel{};
        c.remapped = remapped;
        c.enqueued = e;
        c.started = s;
      } else if (value & 2 && !ignore_continue) {
        if (error_survives_continue) {
          --error_survives_continue;
          break;
        }
        c.halted = c.hung = false;
        c.errors = 0;
        c.cdpr = 0;
        unit_isr_ = {};
      }
      break;
    case 0x0c:
      c.config = value;
      break;
    case 0x14:
      c.errors &= ~(value & 0xc000);
      break;
    case 0x48:
      c.ff_hi = value;
      break;
    case 0x4c: {
      const uint64_t number = c.enqueued++;
      if (c.fifo.size() >= fifo_entries_ || (drop && drop(index, number))) {
        if (c.errors & 0x4000) {
          ++double_overflows;
          c.halted = true;
          fail(c, 0x8000);
        } else {
          ++single_overflows;
          fail(c, 0x4000);
        }
        break;
      }
      c.fifo.push_back(BusAddr{c.ff_hi & 0xf} << 32 | value);
      break;
    }
    default:
      break;
  }
}

void FakeEngine::fail(Channel& c, uint32_t bits) {
  c.errors |= bits;
  c.error_pending = true;
}

bool FakeEngine::step(unsigned index) {
  Channel& c = channels_[index];
  if (c.halted || c.hung || c.fifo.empty()) return false;
  c.cdpr = c.fifo.front();
  c.fifo.pop_front();
  executed.emplace_back(index, c.cdpr);
  const uint64_t number = c.started++;
  const Fate f = fate ? fate(index, number) : Fate::Run;
  uint32_t errors = 0;
  if (!legal(c.cdpr, 64)) {
    errors = 0x2000;
  } else {
    std::memcpy(c.buffer.data(), space_.host_ptr(c.cdpr), 64);
    switch (f) {
      case Fate::Hang:
        c.hung = true;
        return true;
      case Fate::BusError:
        errors = 0x2000;
        break;
      case Fate::IllegalHeader:
        errors = 0x0400;
        break;
      case Fate::UnitError:
        errors = 0x0100;
        unit_isr_[c.buffer[0] >> 4] = 0x100;
        break;
      case Fate::Run:
        errors = execute(c, regs::Descriptor::load(c.buffer.data()));
        break;
    }
  }
  if (errors) {
    c.halted = true;
    fail(c, errors);
    return true;
  }
  if (c.config & 0x10) space_.host_ptr(c.cdpr)[0] = 0xff;
  if (c.config & 0x02) {
    if (c.dones == 15)
      c.overflow_pending = true;
    else
      ++c.dones;
  }
  return true;
}

bool FakeEngine::legal(BusAddr a, size_t n) {
  const bool ok = a >= space_.bus_base() && a + n <= space_.bus_base() + space_.size_bytes();
  if (!ok) ++illegal_accesses;
  return ok;
}

uint32_t FakeEngine::gather(const regs::PointerDword& p, std::vector<uint8_t>& out) {
  if (p.length == 0) return 0;
  if (!p.jump) {
    if (!legal(p.bus_addr(), p.length)) return 0x2000;
    const uint8_t* s = space_.host_ptr(p.bus_addr());
    out.assign(s, s + p.length);
    return 0;
  }
  for (BusAddr table = p.bus_addr();; table += 8) {
    if (!legal(table, 8)) return 0x2000;
    const regs::LinkEntry e = regs::LinkEntry::load(space_.host_ptr(table));
    if (e.length == 0) return 0x1000;
    if (!legal(e.bus_addr(), e.length)) return 0x2000;
    const uint8_t* s = space_.host_ptr(e.bus_addr());
    out.insert(out.end(), s, s + e.length);
    if (e.is_last()) break;
    if (out.size() > p.length) return 0x40;
  }
  return out.size() == p.length ? 0 : 0x40;
}

uint32_t FakeEngine::scatter(const regs::PointerDword& p, const std::vector<uint8_t>& in) {
  if (in.size() < p.length) return 0x40;
  if (!p.jump) {
    if (!legal(p.bus_addr(), p.length)) return 0x2000;
    std::memcpy(space_.host_ptr(p.bus_addr()), in.data(), p.length);
    return 0;
  }
  size_t done = 0;
  for (BusAddr table = p.bus_addr();; table += 8) {
    if (!legal(table, 8)) return 0x2000;
    const regs::LinkEntry e = regs::LinkEntry::load(space_.host_ptr(table));
    if (e.length == 0) return 0x1000;
    if (done + e.length > p.length) return 0x40;
    if (!legal(e.bus_addr(), e.length)) return 0x2000;
    std::memcpy(space_.host_ptr(e.bus_addr()), in.data() + done, e.length);
    done += e.length;
    if (e.is_last()) break;
  }
  return done == p.length ? 0 : 0x40;
}

uint32_t FakeEngine::execute(Channel&, const regs::Descriptor& d) {
  const regs::HeaderWord h = regs::HeaderWord::decode(d.header);
  const bool ctr = h.sel0 == 6 && (h.mode0 & 6) == 6;
  if (h.type != (ctr ? 0 : 2) || (h.sel0 != 6 && h.sel0 != 2) || h.sel1 || !h.notify) return 0x400;
  if (!part_.has_type(h.type)) return 0x400;
  const auto unit_error = [&](uint32_t bit) {
    unit_isr_[h.sel0] = bit;
    return 0x100u;
  };
  for (const unsigned unused : {0u, 6u})
    if (d.ptr[unused].encode()) return 0x400;
  std::vector<uint8_t> key, iv, data;
  if (const uint32_t e = gather(d.ptr[2], key)) return e;
  if (const uint32_t e = gather(d.ptr[1], iv)) return e;
  if (const uint32_t e = gather(d.ptr[3], data)) return e;
  const bool aes = h.sel0 == 6;
  if (aes ? key.size() != 16 && key.size() != 24 && key.size() != 32 : key.size() != 8 && key.size() != 24)
    return unit_error(0x200);
  if (data.empty() || data.size() % (aes ? 16 : 8)) return unit_error(0x100);
  std::array<uint8_t, 16> context{};
  std::copy(iv.begin(), iv.end(), context.begin());
  iv_addresses.push_back(d.ptr[1].bus_addr());
  ivs_seen.push_back(context);
  max_read_past_source = std::max<uint32_t>(max_read_past_source, d.ptr[3].length - d.ptr[4].length);
  const bool has_iv = aes ? h.mode0 & 6 : h.mode0 & 4;
  if (!cipher(h, key, has_iv ? context.data() : nullptr, data)) return unit_error(0x1000);
  if (const uint32_t e = scatter(d.ptr[4], data)) return e;
  if (d.ptr[5].length)
    if (const uint32_t e = scatter(d.ptr[5], std::vector<uint8_t>(context.begin(), context.begin() + d.ptr[5].length)))
      return e;
  return 0;
}

}  // namespace sec::test
