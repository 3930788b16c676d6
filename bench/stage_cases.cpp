#include "bench/stage_cases.h"

#include <cstdio>

#include "common/number_text.h"
#include "knn/walk_lists.h"

namespace interlacer::bench {
namespace {

Case TokenCase(const char* stage, const std::string& name, const Options& options) {
  Case base;
  base.stage = stage;
  base.name = name + std::to_string(options.tokens());
  base.n = options.n;
  base.tokens = options.tokens();
  return base;
}

Case CloudCase(const char* stage, const std::string& prefix, const Options& options) {
  Case base = TokenCase(stage, prefix + options.cloud + "/", options);
  base.cloud = options.cloud;
  return base;
}

void SetWidth(int d, Case* base) {
  base->name += "/d" + std::to_string(d);
  base->d = d;
}

Floor BytesFloor(double bytes) { return {Floor::Kind::kMemoryBytes, bytes}; }

}  // namespace

Case KnnCase(const std::string& prefix, const Options& options) {
  Case base = CloudCase("knn", prefix, options);
  base.params = {{"k", kGraphNeighbors}, {"timesteps", options.timesteps}};
  base.floor = BytesFloor(static_cast<double>(options.tokens()) * (12 + 4 * kGraphNeighbors));
  return base;
}

Case WalksCase(const std::string& prefix, const Options& options, const KnnGraph& graph,
               const WalkLists& lists) {
  Case base = CloudCase("walks", prefix, options);
  base.params = {{"k", kGraphNeighbors},
                 {"hops", kMaxHops},
                 {"timesteps", options.timesteps},
                 {"pairs", lists.entries.size()}};
  base.floor = BytesFloor(4.0 * static_cast<double>(graph.neighbors.size() + lists.offsets.size() +
                                                    lists.entries.size()));
  return base;
}

Case GrfAttentionCase(const std::string& prefix, const Options& options, std::int64_t pair_count) {
  Case base = CloudCase("grf_attention", prefix, options);
  SetWidth(options.d, &base);
  base.dtype = options.dtype;
  base.params = {{"k", kGraphNeighbors},
                 {"pairs", pair_count},
                 {"timesteps", options.timesteps},
                 {"order", "morton"},
                 {"backward", options.backward}};
  // Forward reads q, k, v and writes out; backward reads q, k, v, out, its gradient and writes
  // three. Rows of bfloat16 have half the size.
  const double arrays = options.backward ? 8 : options.dtype == "bf16" ? 2 : 4;
  base.floor = BytesFloor(arrays * 4 * options.d * static_cast<double>(options.tokens()));
  return base;
}

Case LinearAttentionCase(const std::string& prefix, const Options& options) {
  Case base = TokenCase("linear_attention", prefix, options);
  SetWidth(options.d, &base);
  base.params = {{"heads", kLinearHeads}};
  base.floor = BytesFloor(4.0 * 4 * options.d * static_cast<double>(options.tokens()));
  return base;
}

Case RenderCase(const std::string& prefix, const Options& options, const RendererConfig& config) {
  Case base = CloudCase("render", prefix, options);
  const std::string image = SizeText(options.image_width_px, options.image_height_px);
  char support[16];
  std::snprintf(support, sizeof(support), "%.3f", static_cast<double>(options.support_m));
  base.name += "/" + image + "/support" + support;
  base.params = {{"image", image},
                 {"support_m", options.support_m},
                 {"samples_per_ray", config.samples_per_ray},
                 {"neighbors", config.neighbor_count},
                 {"hidden_width", config.hidden_width},
                 {"stop_transmittance", config.stop_transmittance},
                 {"includes", "index of the cloud"}};
  return base;
}

}  // namespace interlacer::bench
