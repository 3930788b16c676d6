#pragma once

/// When a validation loss has flattened: the stopping rule of a run that ends itself.
///
/// The mean of the last `window` validation losses is compared with the mean of the `window` before
/// them; flat when it is not lower by more than the share `min_improvement`. Pure functions.

#include <span>

namespace interlacer {

struct FlatnessRule {
  int window = 0;  ///< validations; 0: never flat
  double min_improvement = 0.02;
  bool operator==(const FlatnessRule&) const = default;
};

/// `losses` of validations in order, none below 0. One that is not finite among the last 2 `window`
/// is never flat, nor are fewer than 2 `window` losses, nor a window of zeros before the last.
bool IsFlat(std::span<const double> losses, const FlatnessRule& rule);

}  // namespace interlacer
