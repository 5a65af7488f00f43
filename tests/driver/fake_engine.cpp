#include "tests/driver/fake_engine.h"

#include <algorithm>
#include <cstring>

#include "hw/regs/link_table.h"
#include "tests/driver/fake_units.h"

namespace sec::test {
namespace {

// The register map, typed again by hand from sec-hardware 2.1 to 2.4 so that a slip in hw/regs shows here.
constexpr uint32_t kImr = 0x1008, kIsr = 0x1010, kIcr = 0x1018, kMcr = 0x1030;

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
    const uint32_t base = channels_[i].remapped ? 0x100 * (i + 1) : channel_base(i);
    if (offset >= base && offset < base + 0x100) return static_cast<int>(i);
  }
  return -1;
}

uint32_t FakeEngine::channel_base(unsigned n) const { return 0x1000 + (sec1() ? 0x1000 : 0x100) * (n + 1); }

uint32_t FakeEngine::unit_base(unsigned code) const {
  if (code == 11) code = 3;
  if (!sec1()) return code == 2 ? 0x2000 : code == 6 ? 0x4000 : code == 3 ? 0x6000 : code == 1 ? 0x8000 : code == 4 ? 0xa000 : 0;
  if (part_.sec_version == "1.2") return code == 2 ? 0x5000 : code == 6 ? 0x4000 : code == 3 ? 0x6000 : 0;
  return code == 2 ? 0xa000 : code == 6 ? 0x12000 : code == 3 ? 0xc000 : code == 4 ? 0xe000 : 0;
}

void FakeEngine::reset_all() {
  for (Channel& c : channels_) {
    const uint64_t e = c.enqueued, s = c.started;
    c = Channel{};
    c.enqueued = e;
    c.started = s;
  }
  imr_hi_ = isr_hi_extra_ = isr_lo_ = mcr_ = 0;
  if (sec1()) imr_hi_ = imr_lo_ = ~0u;  // there a 1 masks
  unit_isr_ = {};
  unit_mask_ = {};
}

uint32_t FakeEngine::isr_hi() const {
  uint32_t v = isr_hi_extra_;
  for (unsigned i = 0; i < channels_.size(); ++i) {
    if (channels_[i].dones) v |= done_bit(i);
    if (channels_[i].error_pending) v |= done_bit(i) << 1;
    if (channels_[i].overflow_pending) v |= 0x100u << i;
  }
  return v;
}

bool FakeEngine::line_up(unsigned line) const {
  if (sec1()) return line == 0 && ((isr_hi() & ~imr_hi_) || (isr_lo_ & ~imr_lo_));
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
      return ignore_reset ? (sec1() ? 0x01000000 : 1) : mcr_;
    case kImr:
      return imr_hi_;
    default:
      break;
  }
  if (const int c = channel_at(offset); c >= 0) return channel_read(channels_[c], offset & 0xff);
  if (const uint32_t rng = unit_base(4); rng && offset == rng + (sec1() ? 0x28 : 0x2c)) return sec1() ? 0x01000000 : 0x00010001;
  const auto swap = [](uint32_t v) { return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24; };
  for (const unsigned code : {1u, 2u, 3u, 6u}) {
    const uint32_t base = unit_base(code);
    if (!base) continue;
    const uint32_t isr = unit_isr_[code] | (code == 3 ? unit_isr_[11] : 0);
    if (offset == base + (sec1() ? 0x30 : 0x34)) return sec1() ? swap(isr) : isr;
    if (offset == base + (sec1() ? 0x38 : 0x3c)) return sec1() ? swap(unit_mask_[code]) : unit_mask_[code];
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
    case kImr + 4:
      imr_lo_ = value;
      break;
    case kIcr:
      for (unsigned i = 0; i < channels_.size(); ++i) {
        if (value & done_bit(i) && channels_[i].dones) --channels_[i].dones;
        if (value & done_bit(i) << 1) channels_[i].error_pending = false;
        if (!sec1() && value & 0x100u << i) channels_[i].overflow_pending = false;
      }
      isr_hi_extra_ &= ~value;
      break;
    case kIcr + 4:
      isr_lo_ &= ~value;
      break;
    case kMcr:
      if (value & (sec1() ? 0x01000000 : 1))
        reset_all();
      else
        mcr_ = value;
      for (unsigned i = 0; i < channels_.size(); ++i) channels_[i].remapped = !sec1() && mcr_ & 0x8000u >> i;
      break;
    default:
      if (const int c = channel_at(offset); c >= 0) {
        channel_write(channels_[c], static_cast<unsigned>(c), offset & 0xff, value);
        break;
      }
      for (const unsigned code : {1u, 2u, 3u, 6u})
        if (unit_base(code) && offset == unit_base(code) + (sec1() ? 0x38 : 0x3c))
          unit_mask_[code] =
              sec1() ? value >> 24 | (value >> 8 & 0xff00) | (value << 8 & 0xff0000) | value << 24 : value;
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
    reset:
      if (sec1() && offset == 0x08) break;
      if (value & 1) {
        const bool remapped = c.remapped;
        const uint64_t e = c.enqueued, s = c.started;
        c = Channel{};
        c.remapped = remapped;
        c.enqueued = e;
        c.started = s;
      } else if (!sec1() && value & 2 && !ignore_continue) {
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
      if (sec1() && value & 1) goto reset;
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
      if (sec1()) {
        if (c.fifo.empty())
          c.fifo.push_back(value);
        else
          ++lost_fetches;
        break;
      }
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
  if (sec1() && bits & 0x2000) isr_lo_ |= 0x40;  // TEA
}

bool FakeEngine::step(unsigned index) {
  Channel& c = channels_[index];
  if (c.halted || c.hung || c.fifo.empty()) return false;
  c.cdpr = c.fifo.front();
  c.fifo.pop_front();
  for (;;) {  // once, but for the chains of SEC 1
    executed.emplace_back(index, c.cdpr);
    const uint64_t number = c.started++;
    const Fate f = fate ? fate(index, number) : Fate::Run;
    uint32_t errors = 0;
    c.has_feedback = false;
    c.feedback = 0;
    regs::Descriptor d;
    if (!legal(c.cdpr, 64)) {
      errors = 0x2000;
    } else {
      std::memcpy(c.buffer.data(), space_.host_ptr(c.cdpr), 64);
      if (keep_descriptors) descriptors.push_back(c.buffer);
      if (sec1()) {
        d.header = load_be32(c.buffer.data());
        for (unsigned i = 0; i < 7; ++i)
          d.ptr[i] = regs::PointerDword::decode_sec1(load_be64(c.buffer.data() + 4 + 8 * i));
      } else {
        d = regs::Descriptor::load(c.buffer.data());
      }
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
          errors = unit_error(c.buffer[0] >> 4, 0x100);
          break;
        case Fate::SecondUnitError:
          errors = unit_error(c.buffer[1] & 0xf, 0x200);
          break;
        case Fate::Run:
          errors = execute(c, d);
          break;
      }
    }
    if (errors == kHangs) {
      c.hung = true;
      return true;
    }
    if (errors) {
      c.halted = true;
      fail(c, errors);
      return true;
    }
    const uint32_t next = sec1() && c.config & 0x08 ? load_be32(c.buffer.data() + 60) : 0;
    if (!next) break;
    c.cdpr = next;
  }
  if (c.config & 0x10) {
    space_.host_ptr(c.cdpr)[0] = 0xff;
    if (!sec1() && c.config & 0x80 && c.has_feedback) store_be32(space_.host_ptr(c.cdpr) + 4, c.feedback);
  }
  if (c.config & 0x02) {
    if (sec1())
      c.dones = 1;
    else if (c.dones == 15)
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

/// Data, then (with `extent`) what the pointer's extent covers.
uint32_t FakeEngine::gather(const regs::PointerDword& p, Octets& out, Octets* extent) {
  const size_t behind = extent ? p.extent : 0;
  if (!extent && p.extent) return 0x400;
  if (p.length == 0 && behind == 0) return 0;
  if (!p.jump) {
    if (!legal(p.bus_addr(), p.length + behind)) return 0x2000;
    const uint8_t* s = space_.host_ptr(p.bus_addr());
    out.assign(s, s + p.length);
    if (behind) extent->assign(s + p.length, s + p.length + behind);
    return 0;
  }
  if (sec1()) return 0x400;
  // Before 3.0 the table ends with the data, and there is no telling where the rest is.
  if (behind && part_.generation != regs::Generation::Sec3) return 0x40;
  for (BusAddr table = p.bus_addr();; table += 8) {
    if (!legal(table, 8)) return 0x2000;
    const regs::LinkEntry e = regs::LinkEntry::load(space_.host_ptr(table));
    if (e.length == 0) return 0x1000;
    if (!legal(e.bus_addr(), e.length)) return 0x2000;
    const uint8_t* s = space_.host_ptr(e.bus_addr());
    Octets& to = out.size() < p.length ? out : *(extent ? extent : &out);
    to.insert(to.end(), s, s + e.length);
    if (out.size() > p.length) return 0x80;  // straddles the border
    if (e.is_last()) break;
  }
  return out.size() == p.length && (!extent || extent->size() == behind) ? 0 : 0x40;
}

uint32_t FakeEngine::scatter(const regs::PointerDword& p, const Octets& in, const Octets& extent) {
  if (in.size() < p.length || extent.size() < p.extent) return 0x40;
  Octets all(in.begin(), in.begin() + p.length);
  all.insert(all.end(), extent.begin(), extent.begin() + p.extent);
  if (all.empty()) return 0;
  const auto store = [&](BusAddr a, size_t from, size_t n) {
    if (!legal(a, n)) return false;
    if (sec1() && a & 3) ++misaligned_writes;
    std::memcpy(space_.host_ptr(a), all.data() + from, n);
    return true;
  };
  if (!p.jump) return store(p.bus_addr(), 0, all.size()) ? 0 : 0x2000;
  if (sec1()) return 0x400;
  size_t done = 0;
  for (BusAddr table = p.bus_addr();; table += 8) {
    if (!legal(table, 8)) return 0x2000;
    const regs::LinkEntry e = regs::LinkEntry::load(space_.host_ptr(table));
    if (e.length == 0) return 0x1000;
    if (done + e.length > all.size()) return 0x40;
    if (done < p.length && done + e.length > p.length) return 0x20;  // straddles the border
    if (!store(e.bus_addr(), done, e.length)) return 0x2000;
    done += e.length;
    if (e.is_last()) break;
  }
  return done == all.size() ? 0 : 0x40;
}

uint32_t FakeEngine::check_cipher_key(unsigned unit, const Octets& key) {
  const size_t n = key.size();
  if (unit == 6) return n == 16 || n == 24 || n == 32 ? 0 : unit_error(6, 0x200);
  if (n != 8 && n != 24) return unit_error(2, 0x200);
  for (const uint8_t b : key)
    if (sec1() && !(unit_mask_[2] & 0x2000) && __builtin_popcount(b) % 2 == 0) {
      ++parity_errors;
      return unit_error(2, 0x2000);
    }
  return 0;
}

uint32_t FakeEngine::execute(Channel& c, const regs::Descriptor& d) {
  const regs::HeaderWord h = regs::HeaderWord::decode(d.header);
  if (!part_.has_type(h.type) || !part_.has(static_cast<regs::Eu>(h.sel0))) return 0x400;
  if (h.sel1 && !part_.has(static_cast<regs::Eu>(h.sel1))) return 0x400;
  if (!h.notify && !sec1()) return 0x400;
  const bool hash_first = h.sel0 == 3 || h.sel0 == 11;
  switch (h.type) {
    case 0:
    case 2:
      if (h.sel1) return 0x400;
      return hash_first ? run_hash(h, d) : run_cipher(h, d);
    case 10:
      if (h.sel0 != 1 || h.sel1) return 0x400;
      return run_rc4(h, d);
    case 1:
    case 4:
    case 24:
      if ((h.sel0 != 6 && h.sel0 != 2) || (h.sel1 != 3 && h.sel1 != 11)) return 0x400;
      return run_pair(c, h, d);
    case 3:
    case 23:
      if (h.sel0 != 6 || h.sel1) return 0x400;
      return run_aes_aead(c, h, d);
    default:
      return 0x400;
  }
}

uint32_t FakeEngine::run_cipher(const regs::HeaderWord& h, const regs::Descriptor& d) {
  const bool aes = h.sel0 == 6;
  const bool ctr = aes && (h.mode0 & 0xc6) == 6;
  if (!sec1() && h.type != (ctr ? 0 : 2)) return 0x400;
  if (sec1() && h.type != 2) return 0x400;  // type 0 does not work there
  for (const unsigned unused : {0u, 6u})
    if (d.ptr[unused].encode()) return 0x400;
  Octets key, iv, data;
  if (const uint32_t e = gather(d.ptr[2], key)) return e;
  if (const uint32_t e = gather(d.ptr[1], iv)) return e;
  if (const uint32_t e = gather(d.ptr[3], data)) return e;
  if (const uint32_t e = check_cipher_key(h.sel0, key)) return e;
  if (data.empty()) return kHangs;
  if (data.size() % (aes ? 16 : 8)) return unit_error(h.sel0, 0x100);
  std::array<uint8_t, 16> context{};
  std::copy(iv.begin(), iv.end(), context.begin());
  iv_addresses.push_back(d.ptr[1].bus_addr());
  ivs_seen.push_back(context);
  max_read_past_source = std::max<uint32_t>(max_read_past_source, d.ptr[3].length - d.ptr[4].length);
  if (!fake_cipher(h.sel0, h.mode0, key, context.data(), data)) return unit_error(h.sel0, 0x80);
  if (const uint32_t e = scatter(d.ptr[4], data)) return e;
  if (d.ptr[5].length) return scatter(d.ptr[5], Octets(context.begin(), context.begin() + d.ptr[5].length));
  return 0;
}

uint32_t FakeEngine::run_rc4(const regs::HeaderWord& h, const regs::Descriptor& d) {
  Octets key, state, data;
  if (const uint32_t e = gather(d.ptr[1], state)) return e;
  if (const uint32_t e = gather(d.ptr[2], key)) return e;
  if (const uint32_t e = gather(d.ptr[3], data)) return e;
  if (h.mode0 != 0 && h.mode0 != 2 && h.mode0 != 7) return unit_error(1, 0x80);
  if (key.size() < 5 || key.size() > 16) return unit_error(1, 0x200);
  if (state.size() != (h.mode0 == 7 ? 259u : 0u)) return unit_error(1, 0x400);
  state = fake_rc4(key, state, data);
  if (const uint32_t e = scatter(d.ptr[4], data)) return e;
  return scatter(d.ptr[5], state);
}

uint32_t FakeEngine::run_hash(const regs::HeaderWord& h, const regs::Descriptor& d) {
  for (const unsigned unused : {0u, 6u})
    if (d.ptr[unused].encode()) return 0x400;
  Octets key, context, data;
  if (const uint32_t e = gather(d.ptr[1], context)) return e;
  if (const uint32_t e = gather(d.ptr[2], key)) return e;
  if (const uint32_t e = gather(d.ptr[3], data)) return e;
  const bool hmac = h.mode0 & 0x08, init = h.mode0 & 0x10, open = h.mode0 & 0x80, pad = h.mode0 & 0x04;
  if (hmac && (!part_.hmac_in_mdeu || key.empty())) return unit_error(h.sel0, 0x80);
  if (init && (h.mode0 & 3) == 3 && !part_.sha224_init) return unit_error(h.sel0, 0x80);
  if (open && pad) return unit_error(h.sel0, 0x80);
  if (init != context.empty()) return unit_error(h.sel0, 0x400);
  FakeHash hash(h.sel0, h.mode0, key, context);
  if (!hash.good()) return unit_error(h.sel0, 0x200);
  if (!pad && data.size() % hash.block_bytes()) return unit_error(h.sel0, 0x100);
  if (data.empty() && sec1()) return scatter(d.ptr[5], Octets(128));  // wrong there
  hash.update(data);
  return scatter(d.ptr[5], hash.finish());
}

uint32_t FakeEngine::check_icv(Channel& c, unsigned unit, const Octets& computed, const Octets& received,
                               unsigned shift) {
  if (!part_.icv_writeback) return unit_error(unit, 0x80);
  ++icv_checks;
  c.has_feedback = !silent_verdict;
  const bool same = std::equal(received.begin(), received.end(), computed.begin());
  c.feedback = (same ? 1u : 2u) << shift;
  return !same && !(unit_mask_[unit == 11 ? 3 : unit] & 0x4000) ? unit_error(unit, 0x4000) : 0;
}

/// ipsec_esp, hmac_snoop_no_afeu, hmac_snoop_aesu_ctr.
uint32_t FakeEngine::run_pair(Channel& c, const regs::HeaderWord& h, const regs::Descriptor& d) {
  const bool esp = h.type == 1, aes = h.sel0 == 6, ctr = aes && (h.mode0 & 0xc6) == 6;
  if (ctr != (h.type == 24)) return 0x400;
  if (h.inbound == ((h.mode0 & 1) != 0)) return 0x400;
  const bool check = h.mode1 & 0x40;
  if (check && (!esp || !h.inbound)) return 0x400;
  Octets auth_key, aad, key, iv, data, received;
  if (const uint32_t e = gather(d.ptr[0], auth_key)) return e;
  if (const uint32_t e = gather(d.ptr[1], aad)) return e;
  if (const uint32_t e = gather(d.ptr[esp ? 3 : 2], key)) return e;
  if (const uint32_t e = gather(d.ptr[esp ? 2 : 3], iv)) return e;
  if (const uint32_t e = gather(d.ptr[4], data, check ? &received : nullptr)) return e;
  if (check == received.empty()) return 0x400;
  if (const uint32_t e = check_cipher_key(h.sel0, key)) return e;
  if (iv.size() != (aes ? 16u : 8u)) return unit_error(h.sel0, 0x400);
  if (auth_key.empty()) return unit_error(h.sel1, 0x200);
  if ((h.mode1 & 3) == 3 && !part_.sha224_init) return unit_error(h.sel1, 0x80);
  if (data.empty()) return kHangs;
  if (data.size() % (aes ? 16 : 8)) return unit_error(h.sel0, 0x100);
  std::array<uint8_t, 16> context{};
  std::copy(iv.begin(), iv.end(), context.begin());
  iv_addresses.push_back(d.ptr[esp ? 2 : 3].bus_addr());
  ivs_seen.push_back(context);
  FakeHash hash(h.sel1, h.mode1, auth_key, {});
  if (!hash.good()) return unit_error(h.sel1, 0x200);
  hash.update(aad);
  if (h.inbound) hash.update(data);
  if (!fake_cipher(h.sel0, h.mode0, key, context.data(), data)) return unit_error(h.sel0, 0x80);
  if (!h.inbound) hash.update(data);
  const Octets icv = hash.finish();
  uint32_t e = 0;
  if (check) e = check_icv(c, h.sel1, icv, received, 19);
  if (e) return e;
  if (esp) {
    if (const uint32_t bad = scatter(d.ptr[5], data, icv)) return bad;
    return scatter(d.ptr[6], Octets(context.begin(), context.begin() + (aes ? 16 : 8)));
  }
  if (d.ptr[5].extent) return 0x400;
  if (const uint32_t bad = scatter(d.ptr[5], data)) return bad;
  return scatter(d.ptr[6], icv);
}

/// GCM (type 23) and CCM (type 3), in one descriptor or several.
uint32_t FakeEngine::run_aes_aead(Channel& c, const regs::HeaderWord& h, const regs::Descriptor& d) {
  const bool gcm = h.type == 23, encrypt = h.mode0 & 1, first = h.mode0 & 0x10, last = h.mode0 & 0x20;
  const bool check = h.mode0 & 0x40;
  if ((h.mode0 & 0x8e) != (gcm ? 0x82u : 0x80u) || (check && (encrypt || !last)) || (gcm && !part_.gcm))
    return unit_error(6, 0x80);
  Octets context, aad, nonce, key, salt, data, received;
  if (const uint32_t e = gather(d.ptr[gcm ? 0 : 1], context)) return e;
  if (const uint32_t e = gather(d.ptr[gcm ? 1 : 3], aad)) return e;
  if (gcm)
    if (const uint32_t e = gather(d.ptr[2], nonce)) return e;
  if (const uint32_t e = gather(d.ptr[gcm ? 3 : 2], key, gcm ? &salt : nullptr)) return e;
  if (const uint32_t e = gather(d.ptr[4], data, &received)) return e;
  if (const uint32_t e = check_cipher_key(6, key)) return e;
  if (!gcm && d.ptr[0].encode()) return 0x400;
  if (!last && (data.size() % 16 || d.ptr[5].extent)) return unit_error(6, 0x100);
  if (!first && !aad.empty()) return unit_error(6, 0x400);
  Octets tag;
  if (gcm) {
    if (context.size() != (first ? 0u : 64u)) return unit_error(6, 0x400);
    salt.insert(salt.end(), nonce.begin(), nonce.end());
    if (salt.size() != (first ? 12u : 0u)) return unit_error(6, 0x400);
    fake_gcm(key, salt, aad, encrypt, last, context, data, &tag);
  } else {
    if (context.size() != 56 || load_be64(context.data() + 48) != 128) return unit_error(6, 0x400);
    const uint8_t flags = context[0];
    if (check && received.empty() && first)
      received.assign(context.begin() + 16, context.begin() + 16 + (flags >> 3 & 7) * 2 + 2);
    if (check && received.empty()) return unit_error(6, 0x400);
    fake_ccm(key, aad, encrypt, first, last, context, data, &tag);
  }
  if (check)
    if (const uint32_t e = check_icv(c, 6, tag, received, 27)) return e;
  if (const uint32_t e = scatter(d.ptr[5], data, tag)) return e;
  return d.ptr[6].length ? scatter(d.ptr[6], context) : 0;
}

}  // namespace sec::test
