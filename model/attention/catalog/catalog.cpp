#include "model/attention/catalog/catalog.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/json.h"

namespace interlacer::attention {

namespace {

/// Their tokens have no weight for others that no walk leads to, and nothing is of the whole graph.
constexpr std::string_view kPackGraphs[] = {"fastmult", "gat_mask", "grf_exact", "rwgnk",
                                            "gkat0",    "gat",      "gcn",       "sgc"};

}  // namespace

const std::vector<MechanismInfo>& Catalog() {
  static const std::vector<MechanismInfo> all = [] {
    std::vector<MechanismInfo> mechanisms;
    for (const auto part :
         {&UnmaskedMechanisms, &SequenceMechanisms, &LearnedMaskMechanisms, &GridMechanisms,
          &TreeMechanisms, &GraphKernelMechanisms, &WalkMechanisms, &GraphLayerMechanisms,
          &PositionMechanisms, &StochasticMechanisms}) {
      for (MechanismInfo& mechanism : part()) {
        mechanism.packs_graphs = std::find(std::begin(kPackGraphs), std::end(kPackGraphs),
                                           mechanism.name) != std::end(kPackGraphs);
        mechanism.dense_up_to = MeasuredDenseLengths(mechanism.name);
        mechanisms.push_back(std::move(mechanism));
      }
    }
    return mechanisms;
  }();
  return all;
}

nlohmann::json FastOptions(std::string_view mechanism) {
  if (mechanism == "malpha_dense") return {{"positive", "coefficients"}};
  if (mechanism == "jlt") return {{"abs", false}};
  return nlohmann::json::object();
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
