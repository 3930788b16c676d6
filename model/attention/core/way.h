#pragma once

/// The four ways to compute one attention mechanism; they agree where a mechanism has several.
///
/// Errors: ARGUMENT_INVALID at "way". Thread-safety: pure functions. Source: gkat, Alg. 1
/// (fastmult); grf-masking, Alg. 1 and 2.

#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer::attention {

enum class Way {
  kDense,     ///< scores and mask are L x L arrays; the reference
  kFastmult,  ///< feature maps and a routine x -> M x
  kPairs,     ///< a list of the mask's entries that are not zero
  kFeatures,  ///< explicit features of the masked scores, sparse or of low rank
};

inline constexpr Way kWays[] = {Way::kDense, Way::kFastmult, Way::kPairs, Way::kFeatures};

inline std::string_view WayName(Way way) {
  constexpr std::string_view kNames[] = {"dense", "fastmult", "pairs", "features"};
  return kNames[static_cast<int>(way)];
}

/// None for "auto" or nothing: the mechanism chooses.
inline StatusOr<std::optional<Way>> ParseWay(std::string_view name) {
  if (name.empty() || name == "auto") return std::optional<Way>();
  for (const Way way : kWays) {
    if (WayName(way) == name) return std::optional<Way>(way);
  }
  return Mismatch(reason::ARGUMENT_INVALID, "way", "dense, fastmult, pairs, features or auto",
                  std::string(name));
}

}  // namespace interlacer::attention
