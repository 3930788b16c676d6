#include "render/particle_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/check.h"

namespace interlacer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Orders `slots` so that every aligned run of 16^k slots is compact in space.
class MedianSorter {
 public:
  MedianSorter(std::span<const float> positions_m, std::span<std::uint32_t> slots)
      : positions_(positions_m), slots_(slots) {}

  void Sort() {
    std::int64_t run = kGatherWidth;
    while (run < static_cast<std::int64_t>(slots_.size())) run *= kGatherWidth;
    Split(0, static_cast<std::int64_t>(slots_.size()), run);
  }

 private:
  /// Splits [begin,end) at multiples of `run`, halving the number of runs, then every run at
  /// multiples of run / 16.
  void Split(std::int64_t begin, std::int64_t end, std::int64_t run) {
    if (end - begin <= kGatherWidth) return;
    while (end - begin <= run) run /= kGatherWidth;
    const std::int64_t run_count = (end - begin + run - 1) / run;
    // Splitting at whole runs keeps every leaf but the last one full.
    const std::int64_t middle = begin + (run_count + 1) / 2 * run;
    const int axis = LongestAxis(begin, end);
    std::nth_element(slots_.begin() + begin, slots_.begin() + middle, slots_.begin() + end,
                     [&](std::uint32_t a, std::uint32_t b) {
                       const float xa = positions_[3 * std::size_t{a} + axis];
                       const float xb = positions_[3 * std::size_t{b} + axis];
                       return xa != xb ? xa < xb : a < b;
                     });
    Split(begin, middle, run);
    Split(middle, end, run);
  }

  int LongestAxis(std::int64_t begin, std::int64_t end) const {
    float low[3] = {kInfinity, kInfinity, kInfinity};
    float high[3] = {-kInfinity, -kInfinity, -kInfinity};
    for (std::int64_t i = begin; i < end; ++i) {
      const float* p = positions_.data() + 3 * std::size_t{slots_[i]};
      for (int axis = 0; axis < 3; ++axis) {
        low[axis] = std::min(low[axis], p[axis]);
        high[axis] = std::max(high[axis], p[axis]);
      }
    }
    int longest = 0;
    for (int axis = 1; axis < 3; ++axis) {
      if (high[axis] - low[axis] > high[longest] - low[longest]) longest = axis;
    }
    return longest;
  }

  std::span<const float> positions_;
  std::span<std::uint32_t> slots_;
};

std::int64_t RoundUp(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

ParticleTree::ParticleTree(std::span<const float> positions_m, std::span<const float> features,
                           int feature_width)
    : feature_stride_(static_cast<int>(RoundUp(feature_width, kGatherWidth))) {
  const std::int64_t n = static_cast<std::int64_t>(positions_m.size() / 3);
  view_.particle_count = n;
  original_index_.resize(n);
  std::iota(original_index_.begin(), original_index_.end(), 0u);
  MedianSorter(positions_m, original_index_).Sort();
  slot_of_index_.resize(n);
  for (std::int64_t slot = 0; slot < n; ++slot) slot_of_index_[original_index_[slot]] = slot;
  original_index_.resize(RoundUp(n, kGatherWidth), kNoSlot);

  features_.assign(original_index_.size() * feature_stride_, 0.f);
  for (std::int64_t slot = 0; slot < n; ++slot) {
    const float* source = features.data() + std::size_t{original_index_[slot]} * feature_width;
    std::copy_n(source, feature_width, features_.data() + slot * feature_stride_);
  }
  BuildLeaves(positions_m);
  BuildBoxes();
  view_.original_index = original_index_.data();
  view_.slot_of_index = slot_of_index_.data();
}

void ParticleTree::BuildLeaves(std::span<const float> positions_m) {
  leaf_xyz_.assign(original_index_.size() * 3, kInfinity);
  for (std::int64_t slot = 0; slot < view_.particle_count; ++slot) {
    float* leaf = leaf_xyz_.data() + 48 * (slot / 16) + slot % 16;
    const float* p = positions_m.data() + 3 * std::size_t{original_index_[slot]};
    for (int axis = 0; axis < 3; ++axis) leaf[16 * axis] = p[axis];
  }
  view_.leaf_xyz = leaf_xyz_.data();
}

void ParticleTree::BuildBoxes() {
  std::int64_t child_count = static_cast<std::int64_t>(original_index_.size()) / kGatherWidth;
  if (child_count == 0) return;
  do {
    const int level = static_cast<int>(level_boxes_.size());
    INTERLACER_CHECK(level < kMaxTreeLevels, "more particles than the tree can address");
    const std::int64_t group_count = RoundUp(child_count, kGatherWidth) / kGatherWidth;
    std::vector<float>& boxes = level_boxes_.emplace_back(group_count * 96, kInfinity);
    for (std::int64_t child = 0; child < child_count; ++child) {
      float* box = boxes.data() + 96 * (child / 16) + child % 16;
      for (int axis = 0; axis < 3; ++axis) {
        // Below: the 16 particles of a leaf, or the 16 boxes of a group, lane by lane. Padding is
        // +infinity, which a minimum ignores and a maximum must skip.
        const float* lows = level == 0 ? leaf_xyz_.data() + 48 * child + 16 * axis
                                       : level_boxes_[level - 1].data() + 96 * child + 16 * axis;
        const float* highs = level == 0 ? lows : lows + 48;
        float low = kInfinity, high = -kInfinity;
        for (int i = 0; i < 16; ++i) {
          low = std::min(low, lows[i]);
          if (highs[i] < kInfinity) high = std::max(high, highs[i]);
        }
        box[16 * axis] = low;
        box[48 + 16 * axis] = high;
      }
    }
    child_count = group_count;
  } while (child_count > 1);
  view_.level_count = static_cast<int>(level_boxes_.size());
  for (int level = 0; level < view_.level_count; ++level) {
    view_.level_boxes[level] = level_boxes_[level].data();
  }
}

}  // namespace interlacer
