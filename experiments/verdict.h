#pragma once

/// What numbers say of a claim. Values.

#include <string_view>

namespace interlacer {

enum class Verdict { kHolds, kDoesNotHold, kUndecided };

inline constexpr std::string_view VerdictText(Verdict verdict) {
  return verdict == Verdict::kHolds         ? "holds"
         : verdict == Verdict::kDoesNotHold ? "does not hold"
                                            : "undecided";
}

}  // namespace interlacer
