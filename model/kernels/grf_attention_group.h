#pragma once

/// A group of pairs of one row, collected before their rows are read, so that the loads overlap.

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
