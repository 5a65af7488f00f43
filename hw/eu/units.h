// Which class models which execution unit: the one place that makes them.
#pragma once
#include <memory>

#include "hw/eu/execution_unit.h"

namespace sec::hw {

/// The unit with that select code as the part has it; null for a unit that is not modelled. MDEU-A stands for both MDEU
/// codes.
std::unique_ptr<ExecutionUnit> make_unit(regs::Eu code, const regs::Part& part, const Timing& timing);

}  // namespace sec::hw
