#include "hw/eu/units.h"

#include "hw/eu/aesu.h"
#include "hw/eu/deu.h"

namespace sec::hw {

std::unique_ptr<ExecutionUnit> make_unit(regs::Eu code, const regs::Part&, const Timing& timing) {
  switch (code) {
    case regs::Eu::Aesu:
      return std::make_unique<Aesu>(timing);
    case regs::Eu::Deu:
      return std::make_unique<Deu>(timing);
    default:
      return nullptr;
  }
}

}  // namespace sec::hw
