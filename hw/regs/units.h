// The execution units' register blocks by unit: for decoders, generated pages and the engine's check of reserved space.
#pragma once
#include "hw/regs/aesu.h"
#include "hw/regs/afeu.h"
#include "hw/regs/crcu.h"
#include "hw/regs/deu.h"
#include "hw/regs/keu.h"
#include "hw/regs/mdeu.h"
#include "hw/regs/pkeu.h"
#include "hw/regs/rngu.h"
#include "hw/regs/steu.h"

namespace sec::regs {

/// Every unit once; MDEU-A stands for both MDEU codes.
inline constexpr Eu kUnits[] = {Eu::Deu, Eu::Aesu, Eu::MdeuA, Eu::Afeu, Eu::Rngu, Eu::Pkeu, Eu::Steu, Eu::Keu, Eu::Crcu};

/// Null for Eu::None.
constexpr const Block* eu_block(Eu eu) {
  switch (eu) {
    case Eu::Aesu:
      return &kAesuBlock;
    case Eu::Deu:
      return &kDeuBlock;
    case Eu::MdeuA:
    case Eu::MdeuB:
      return &kMdeuBlock;
    case Eu::Afeu:
      return &kAfeuBlock;
    case Eu::Rngu:
      return &kRnguBlock;
    case Eu::Pkeu:
      return &kPkeuBlock;
    case Eu::Steu:
      return &kSteuBlock;
    case Eu::Keu:
      return &kKeuBlock;
    case Eu::Crcu:
      return &kCrcuBlock;
    case Eu::None:
      break;
  }
  return nullptr;
}

/// Whether a unit has a register at an offset inside its block.
constexpr bool eu_has_register(Eu eu, uint32_t offset) {
  const Block* const b = eu_block(eu);
  if (!b) return false;
  for (const Register& r : b->registers)
    if (offset >= r.offset_bytes && offset < r.offset_bytes + r.size_bytes) return true;
  return false;
}

}  // namespace sec::regs
