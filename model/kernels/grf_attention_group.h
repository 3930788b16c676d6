#pragma once

/// A few pairs of one row, found before any of them is used, so that their memory is asked for
/// together.

namespace interlacer {

inline constexpr int kGroupPairs = 4;

template <typename T>
struct GrfGroup {
  int count = 0;
  const T* k[kGroupPairs];
  const T* v[kGroupPairs];
  T weight[kGroupPairs];
};

}  // namespace interlacer
