#include "model/attention/catalog/catalog.h"

#include <string>
#include <utility>

namespace interlacer::attention {

const std::vector<MechanismInfo>& Catalog() {
  static const std::vector<MechanismInfo> all = [] {
    std::vector<MechanismInfo> mechanisms;
    for (const auto part :
         {&UnmaskedMechanisms, &SequenceMechanisms, &LearnedMaskMechanisms, &GridMechanisms,
          &TreeMechanisms, &GraphKernelMechanisms, &WalkMechanisms, &GraphLayerMechanisms,
          &PositionMechanisms, &StochasticMechanisms}) {
      for (MechanismInfo& mechanism : part()) mechanisms.push_back(std::move(mechanism));
    }
    return mechanisms;
  }();
  return all;
}

StatusOr<const MechanismInfo*> FindMechanism(std::string_view name) {
  std::string names;
  for (const MechanismInfo& mechanism : Catalog()) {
    if (mechanism.name == name) return &mechanism;
    names += (names.empty() ? "" : ", ") + mechanism.name;
  }
  return NotFound(reason::ARGUMENT_INVALID,
                  "mechanism: expected one of " + names + ", got " + std::string(name))
      .WithField("mechanism");
}

}  // namespace interlacer::attention
