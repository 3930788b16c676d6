#pragma once

/// All attention mechanisms by name.
///
/// docs/attention.md has them in a table. Errors: NOT_FOUND ARGUMENT_INVALID at "mechanism" for a
/// name that is none. Thread-safety: pure functions; what they return lives as long as the program.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "model/attention/core/mechanism.h"

namespace interlacer::attention {

const std::vector<MechanismInfo>& Catalog();
StatusOr<const MechanismInfo*> FindMechanism(std::string_view name);

/// Of a mechanism with the default options, one head; absent for those that have dense alone.
std::optional<DenseLengths> MeasuredDenseLengths(std::string_view mechanism);

/// Options that give a mechanism its fast ways where the default ones have none; empty for others.
nlohmann::json FastOptions(std::string_view mechanism);

// The parts of the catalogue, one for each kind of extra input.
std::vector<MechanismInfo> UnmaskedMechanisms();
std::vector<MechanismInfo> SequenceMechanisms();
std::vector<MechanismInfo> LearnedMaskMechanisms();
std::vector<MechanismInfo> GridMechanisms();
std::vector<MechanismInfo> TreeMechanisms();
std::vector<MechanismInfo> GraphKernelMechanisms();
std::vector<MechanismInfo> WalkMechanisms();
std::vector<MechanismInfo> GraphLayerMechanisms();
std::vector<MechanismInfo> PositionMechanisms();
std::vector<MechanismInfo> StochasticMechanisms();

}  // namespace interlacer::attention
