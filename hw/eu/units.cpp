#include "hw/eu/units.h"

#include "hw/eu/aesu.h"
#include "hw/eu/deu.h"
#include "hw/eu/mdeu.h"

namespace sec::hw {

std::unique_ptr<ExecutionUnit> make_unit(regs::Eu code, const regs::Part& part, const Timing& timing) {
  switch (code) {
    case regs::Eu::Aesu:
      return std::make_unique<Aesu>(timing);
    case regs::Eu::Deu:
      return std::make_unique<Deu>(timing);
    case regs::Eu::MdeuA:
    case regs::Eu::MdeuB:
      return std::make_unique<Mdeu>(part, timing);
    default:
      return nullptr;
  }
}

}  // namespace sec::hw
