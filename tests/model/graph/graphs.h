#pragma once

/// Small graphs and dense algebra for tests of walk samplers.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "model/graph/walk_sampler.h"

namespace interlacer::testing {

using Matrix = std::vector<std::vector<double>>;
using Edges = std::vector<std::pair<int, int>>;

/// Undirected edges, each stored both ways, with weight 1 / sqrt(d_i d_j).
inline WeightedGraph UndirectedGraph(int n, const Edges& edges) {
  std::vector<std::vector<int>> neighbors(n);
  for (const auto& [a, b] : edges) {
    neighbors[a].push_back(b);
    neighbors[b].push_back(a);
  }
  WeightedGraph graph;
  graph.n = n;
  graph.offsets = {0};
  for (int i = 0; i < n; ++i) {
    std::sort(neighbors[i].begin(), neighbors[i].end());
    for (const int j : neighbors[i]) {
      graph.neighbors.push_back(j);
      graph.weights.push_back(1 / std::sqrt(static_cast<double>(neighbors[i].size()) *
                                            static_cast<double>(neighbors[j].size())));
    }
    graph.offsets.push_back(static_cast<std::int32_t>(graph.neighbors.size()));
  }
  return graph;
}

/// side_x * side_y nodes, four neighbours inside.
inline WeightedGraph GridGraph(int side_x, int side_y) {
  Edges edges;
  for (int y = 0; y < side_y; ++y) {
    for (int x = 0; x < side_x; ++x) {
      const int node = y * side_x + x;
      if (x + 1 < side_x) edges.emplace_back(node, node + 1);
      if (y + 1 < side_y) edges.emplace_back(node, node + side_x);
    }
  }
  return UndirectedGraph(side_x * side_y, edges);
}

inline WeightedGraph RingGraph(int n) {
  Edges edges;
  for (int i = 0; i < n; ++i) edges.emplace_back(i, (i + 1) % n);
  return UndirectedGraph(n, edges);
}

inline Matrix ZeroMatrix(std::int64_t n) { return Matrix(n, std::vector<double>(n, 0)); }

inline Matrix Multiply(const Matrix& a, const Matrix& b) {
  Matrix product = ZeroMatrix(static_cast<std::int64_t>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t l = 0; l < b.size(); ++l) {
      if (a[i][l] == 0) continue;
      for (std::size_t j = 0; j < b.size(); ++j) product[i][j] += a[i][l] * b[l][j];
    }
  }
  return product;
}

inline Matrix Adjacency(const WeightedGraph& graph) {
  Matrix w = ZeroMatrix(graph.n);
  for (int i = 0; i < graph.n; ++i) {
    for (int e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      w[i][graph.neighbors[e]] += graph.weights[e];
    }
  }
  return w;
}

/// sum_t f_t W^t by dense powers.
inline Matrix PowerSeries(const WeightedGraph& graph, const std::vector<double>& f) {
  const Matrix w = Adjacency(graph);
  Matrix power = ZeroMatrix(graph.n);
  for (int i = 0; i < graph.n; ++i) power[i][i] = 1;
  Matrix sum = ZeroMatrix(graph.n);
  for (std::size_t t = 0; t < f.size(); ++t) {
    for (int i = 0; i < graph.n; ++i) {
      for (int j = 0; j < graph.n; ++j) sum[i][j] += f[t] * power[i][j];
    }
    power = Multiply(power, w);
  }
  return sum;
}

/// sum_t f_t loads_t as a dense matrix.
inline Matrix Features(const WalkLoads& walks, const std::vector<double>& f) {
  Matrix features = ZeroMatrix(walks.n);
  for (int i = 0; i < walks.n; ++i) {
    for (int e = walks.offsets[i]; e < walks.offsets[i + 1]; ++e) {
      for (std::size_t t = 0; t < f.size(); ++t) {
        features[i][walks.nodes[e]] += f[t] * walks.loads[e * (walks.max_hops + 1) + t];
      }
    }
  }
  return features;
}

inline double Norm(const Matrix& a) {
  double sum = 0;
  for (const auto& row : a) {
    for (const double x : row) sum += x * x;
  }
  return std::sqrt(sum);
}

inline double RelativeError(const Matrix& a, const Matrix& exact) {
  Matrix difference = a;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) difference[i][j] -= exact[i][j];
  }
  return Norm(difference) / Norm(exact);
}

inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t x = 0; x < a.size(); ++x) sum += a[x] * b[x];
  return sum;
}

/// Mean and standard error of a sample.
class Sample {
 public:
  void Add(double value) {
    ++count_;
    sum_ += value;
    sum_of_squares_ += value * value;
  }
  double mean() const { return sum_ / count_; }
  double variance() const { return (sum_of_squares_ - sum_ * sum_ / count_) / (count_ - 1); }
  /// Distance of the mean from `exact` in standard errors.
  double StandardErrors(double exact) const {
    return (mean() - exact) / std::sqrt(variance() / count_);
  }

 private:
  double count_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace interlacer::testing
