#pragma once

namespace interlacer {

/// How much an edge i -> j of a neighbour graph weighs.
enum class EdgeWeight {
  kUniform,            ///< 1 / out_degree_i
  kExpDistance,        ///< exp(-|x_i - x_j|^2 / (2 s^2)), s = median edge length
  kInverseSqrtDegree,  ///< 1 / sqrt(out_degree_i * in_degree_j)
};

}  // namespace interlacer
