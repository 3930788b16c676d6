#pragma once

/// Mechanisms of the attention library as layers of a tiny model: those of experiments/layers, and
/// others that read a graph, positions or neither.

#include <string>
#include <vector>

#include "model/attention/library_attention.h"
#include "model/config.h"

namespace interlacer::testing {

struct LibraryLayer {
  const char* test_name;
  LayerPlace place;
  MechanismConfig mechanism;
  std::vector<std::string> learned{};  ///< parameters, in the order of their names
};

inline std::vector<LibraryLayer> LibraryLayers() {
  return {
      {"SymmetricGrf",
       LayerPlace::kLocal,
       {"grf_sym", R"({"walks": 4, "hops": 2, "independent_qk_walks": true})"},
       {"f"}},
      {"AsymmetricGrfOnDirectedEdges", LayerPlace::kLocal, {"grf_asym", "{}", 3, false}, {"f"}},
      {"Rwgnk", LayerPlace::kLocal, {"rwgnk", R"({"hops": 2})"}, {"lambda"}},
      {"NearestNeighbours", LayerPlace::kLocal, {"gat_mask", R"({"score": "softmax"})", 12, false}},
      {"GraphAttentionNetwork", LayerPlace::kLocal, {"gat"}, {"a_left", "a_right"}},
      {"Fourier", LayerPlace::kGlobal, {"flt_gauss3d", R"({"width": 0.1})"}, {"weight", "width"}},
      {"Favor", LayerPlace::kGlobal, {"favor_pos", R"({"features": 16})"}},
      {"HeatKernel", LayerPlace::kGlobal, {"heat", R"({"lambda": 2})"}, {"lambda"}},
  };
}

inline void PutLayer(const LibraryLayer& layer, InterlacerConfig* config) {
  if (layer.place == LayerPlace::kGlobal) {
    config->network.global.mechanism = layer.mechanism;
    return;
  }
  config->network.local.kind = LocalLayer::kMechanism;
  config->network.local.head_count = 2;
  config->network.local.mechanism = layer.mechanism;
}

}  // namespace interlacer::testing
