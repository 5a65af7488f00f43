#include "hw/eu/units.h"

#include "hw/eu/aesu.h"
#include "hw/eu/afeu.h"
#include "hw/eu/crcu.h"
#include "hw/eu/deu.h"
#include "hw/eu/keu.h"
#include "hw/eu/mdeu.h"
#include "hw/eu/pkeu.h"
#include "hw/eu/rngu.h"
#include "hw/eu/steu.h"

namespace sec::hw {

std::unique_ptr<ExecutionUnit> make_unit(regs::Eu code, const regs::Part& part, const Timing& timing) {
  switch (code) {
    case regs::Eu::Aesu:
      return std::make_unique<Aesu>(part, timing);
    case regs::Eu::Deu:
      return std::make_unique<Deu>(part, timing);
    case regs::Eu::MdeuA:
    case regs::Eu::MdeuB:
      return std::make_unique<Mdeu>(part, timing);
    case regs::Eu::Afeu:
      return std::make_unique<Afeu>(timing);
    case regs::Eu::Rngu:
      return std::make_unique<Rngu>(timing);
    case regs::Eu::Pkeu:
      return std::make_unique<Pkeu>(timing);
    case regs::Eu::Keu:
      return std::make_unique<Keu>(timing);
    case regs::Eu::Crcu:
      return std::make_unique<Crcu>(timing);
    case regs::Eu::Steu:
      return std::make_unique<Steu>(timing);
    case regs::Eu::None:
      break;
  }
  return nullptr;
}

}  // namespace sec::hw
