// Lists as pointer dwords: direct pointers, link tables, bounce buffers and, on SEC 1, linear copies.
#include <algorithm>
#include <cstring>

#include "driver/talitos/talitos.h"

namespace sec::driver {
namespace {

constexpr uint64_t kJump = regs::kPointer.mask("J");
constexpr uint64_t kExtentShift = 40;

constexpr uint64_t pointer(BusAddr a, size_t n) { return uint64_t{n} << 48 | a; }

}  // namespace

Status Device::build_lists(Slot& s, const CipherProgram& p, crypto::ScatterWalk& src, crypto::ScatterWalk& dst,
                           bool in_place, size_t size_bytes, uint64_t* in, uint64_t* out) {
  Status e;
  if (in_place && !(size_bytes & p.pad_mask)) {
    const crypto::ScatterWalk start_of_piece = src;
    e = map_list(s, Side::Source, Direction::Bidirectional, src, {.data_bytes = size_bytes}, in);
    *out = *in;
    dst = start_of_piece;
    static_cast<void>(dst.skip(size_bytes));
  } else {
    e = map_list(s, Side::Source, Direction::ToDevice, src,
                 {.data_bytes = size_bytes, .pad_to = p.pad_mask ? p.pad_mask + size_t{1} : 0}, in);
    if (e == Status::Ok)
      e = map_list(s, Side::Destination, Direction::FromDevice, dst, {.data_bytes = size_bytes}, out);
  }
  if (e != Status::Ok && s.flags) release(s);
  return e;
}

Status Device::map_list(Slot& s, Side side, Direction direction, crypto::ScatterWalk& walk, const Parcels& parcels,
                        uint64_t* result) {
  *result = 0;
  if (sec1()) return map_linear(s, direction, walk, parcels, result);
  SlotExtras& x = channels_[s.channel].extras[&s - channels_[s.channel].slots];
  const size_t tail = parcels.pad_to ? parcels.data_bytes % parcels.pad_to : 0;
  const size_t body = parcels.data_bytes - tail;
  const size_t listed_icv = parcels.icv ? 0 : parcels.icv_bytes;
  // An entry must not straddle the border between data and ICV [MSC], so the two are walked one after the other.
  size_t entries = (parcels.prefix_bytes ? 1 : 0) + (tail ? 1 : 0) + (parcels.icv && parcels.icv_bytes ? 1 : 0);
  crypto::ScatterWalk ahead = walk;
  const auto count = [&](size_t left) {
    for (; left; ++entries) {
      const size_t n = ahead.take(left).size_bytes;
      if (!n) return false;
      left -= n;
    }
    return true;
  };
  if (!count(body) || !ahead.skip(tail) || !count(listed_icv)) return Status::Invalid;  // the list is too short
  *result = uint64_t{parcels.icv_bytes} << kExtentShift;
  if (!entries) return Status::Ok;

  const auto index = static_cast<size_t>(side);
  uint8_t* table = side == Side::Source        ? s.edesc->src_table
                   : side == Side::Destination ? s.edesc->dst_table
                                               : x.area->aad_table;
  if (entries > kInlineEntries) {
    table = static_cast<uint8_t*>(dma_.alloc(entries * regs::kLinkEntryBytes, 64));
    if (!table) return Status::NoMemory;
    x.tables[index] = table;
    s.flags |= Slot::kTables;
  }
  size_t emitted = 0;
  BusAddr first = 0, end = 0;
  bool adjacent = true;
  const auto emit = [&](BusAddr address, size_t n) {
    if (emitted == 0)
      first = address;
    else
      adjacent = adjacent && address == end;
    end = address + n;
    regs::LinkEntry::data(address, static_cast<uint16_t>(n), emitted + 1 == entries)
        .store(table + emitted * regs::kLinkEntryBytes);
    ++emitted;
  };
  const auto map = [&](size_t bytes) {
    for (size_t left = bytes; left;) {
      const crypto::Segment piece = walk.take(left);
      const Mapping m = dma_.map(piece.data, piece.size_bytes, direction);
      if (!m.ok) return false;
      cpu_.charge(Cost::MapSegment);
      if (m.bounce) {
        x.mappings.push_back(m);
        s.flags |= Slot::kMapped;
        ++stats_.bounced_segments;
        cpu_.charge(Cost::CopyByte, piece.size_bytes);
      }
      emit(m.addr, piece.size_bytes);
      left -= piece.size_bytes;
    }
    return true;
  };
  if (parcels.prefix_bytes) emit(parcels.prefix, parcels.prefix_bytes);
  if (!map(body)) return Status::NoMemory;
  size_t padded = parcels.data_bytes + parcels.prefix_bytes;
  if (tail) {
    uint8_t* block = s.edesc->tail;
    std::memset(block, 0, sizeof s.edesc->tail);
    for (size_t done = 0; done < tail;) {
      const crypto::Segment piece = walk.take(tail - done);
      std::memcpy(block + done, piece.data, piece.size_bytes);
      done += piece.size_bytes;
    }
    cpu_.charge(Cost::CopyByte, tail);
    ++stats_.tail_bounces;
    emit(s.bus + offsetof(Edesc, tail), parcels.pad_to);
    padded += parcels.pad_to - tail;
  }
  if (!map(listed_icv)) return Status::NoMemory;
  if (parcels.icv && parcels.icv_bytes) emit(parcels.icv, parcels.icv_bytes);

  *result |= pointer(0, padded);
  // One piece, or data and ICV side by side: no table. More pieces that happen to touch keep theirs.
  if (entries == 1 || (entries == 2 && adjacent && parcels.icv_bytes && padded)) {
    *result |= first;
    return Status::Ok;
  }
  cpu_.charge(Cost::LinkTableEntry, entries);
  ++stats_.link_tables;
  *result |= dma_.bus_addr(table) | kJump;
  return Status::Ok;
}

/// SEC 1 has no link tables and writes to 32-bit boundaries only [MOC]: anything but one piece in the right place goes
/// through a copy. Extents do not exist either.
Status Device::map_linear(Slot& s, Direction direction, crypto::ScatterWalk& walk, const Parcels& parcels,
                          uint64_t* result) {
  SlotExtras& x = channels_[s.channel].extras[&s - channels_[s.channel].slots];
  const size_t n = parcels.data_bytes;
  const size_t padded = parcels.pad_to ? (n + parcels.pad_to - 1) / parcels.pad_to * parcels.pad_to : n;
  *result = 0;
  if (parcels.icv_bytes || parcels.prefix_bytes) return Status::NotSupported;
  if (!n) return Status::Ok;
  const bool writes = direction != Direction::ToDevice;
  crypto::ScatterWalk ahead = walk;
  const crypto::Segment whole = ahead.take(n);
  if (whole.size_bytes == n && dma_.contains(whole.data, padded) &&
      !(writes && (reinterpret_cast<uintptr_t>(whole.data) & write_align_))) {
    walk = ahead;
    cpu_.charge(Cost::MapSegment);
    *result = pointer(dma_.bus_addr(whole.data), padded);
    return Status::Ok;
  }
  ahead = walk;
  if (!ahead.skip(n)) return Status::Invalid;
  auto* copy = static_cast<uint8_t*>(dma_.alloc(padded, 64));  // zeroed, so the padding is
  if (!copy) return Status::NoMemory;
  x.linear.push_back({.memory = copy, .list = walk, .size_bytes = n, .copy_back = writes});
  s.flags |= Slot::kLinear;
  ++stats_.linear_copies;
  for (size_t done = 0; done < n;) {  // for writes, too: what the engine leaves out must not become zero
    const crypto::Segment piece = walk.take(n - done);
    std::memcpy(copy + done, piece.data, piece.size_bytes);
    done += piece.size_bytes;
    cpu_.charge(Cost::MapSegment);
  }
  if (direction != Direction::FromDevice) cpu_.charge(Cost::CopyByte, n);
  *result = pointer(dma_.bus_addr(copy), padded);
  return Status::Ok;
}

/// Ends all mappings of a slot, and copies back what the device wrote into copies.
void Device::release(Slot& s) {
  if (!(s.flags & ~uint32_t{Slot::kJob})) return;
  SlotExtras& x = channels_[s.channel].extras[&s - channels_[s.channel].slots];
  for (const Mapping& m : x.mappings) {
    if (m.direction != Direction::ToDevice) cpu_.charge(Cost::CopyByte, m.size_bytes);
    dma_.unmap(m);
  }
  x.mappings.clear();
  for (Linear& l : x.linear) {
    for (size_t done = 0; l.copy_back && done < l.size_bytes;) {
      const crypto::Segment piece = l.list.take(l.size_bytes - done);
      std::memcpy(piece.data, l.memory + done, piece.size_bytes);
      done += piece.size_bytes;
    }
    if (l.copy_back) cpu_.charge(Cost::CopyByte, l.size_bytes);
    dma_.free(l.memory);
  }
  x.linear.clear();
  for (void*& t : x.tables) {
    dma_.free(t);
    t = nullptr;
  }
  x.chain.clear();
  s.done = s.edesc->descriptor;
  s.flags &= Slot::kJob;
}

void Device::chain(Slot& s, uint8_t* d) {
  SlotExtras& x = channels_[s.channel].extras[&s - channels_[s.channel].slots];
  uint8_t* last = x.chain.empty() ? s.edesc->descriptor : dma_.host_ptr(x.chain.back());
  store_be32(last + regs::kSec1NextOffset, static_cast<uint32_t>(dma_.bus_addr(d)));
  x.chain.push_back(dma_.bus_addr(d));
  s.done = d;
  s.flags |= Slot::kChain;
}

}  // namespace sec::driver
