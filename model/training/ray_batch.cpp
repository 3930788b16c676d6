#include "model/training/ray_batch.h"

#include <algorithm>
#include <unordered_set>

#include "common/random.h"
#include "render/rays.h"

namespace interlacer {
namespace {

struct PixelRef {
  std::uint32_t view;
  std::uint32_t pixel;
};

/// The first `count` entries of a random permutation (Fisher-Yates, cut short).
void ShuffleFront(std::vector<PixelRef>* pixels, std::size_t count, RandomSequence* random) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto rest = static_cast<std::uint32_t>(pixels->size() - i);
    std::swap((*pixels)[i], (*pixels)[i + random->Below(rest)]);
  }
}

/// Chosen pixels of one view, in the order drawn.
using ChosenPixels = std::vector<std::vector<std::int64_t>>;

Status AppendRays(const SupervisedView& view, const std::vector<std::int64_t>& pixels,
                  TrainingRays* rays) {
  INTERLACER_ASSIGN_OR_RETURN(const PixelRays chosen, MakePixelRays(view.camera, pixels));
  rays->origins_m.insert(rays->origins_m.end(), chosen.origins_m.begin(), chosen.origins_m.end());
  rays->directions.insert(rays->directions.end(), chosen.directions.begin(),
                          chosen.directions.end());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::int64_t pixel = pixels[i];
    rays->target_distance_m.push_back(view.depth.pixels_m[static_cast<std::size_t>(pixel)] /
                                      chosen.depth_per_distance[i]);
    for (int c = 0; c < 3; ++c) {
      rays->target_rgb.push_back(static_cast<float>(view.color.pixels[3 * pixel + c]) / 255.0f);
    }
  }
  rays->count += chosen.count();
  return Status::Ok();
}

}  // namespace

StatusOr<TrainingRays> DrawTrainingRays(const std::vector<SupervisedView>& views,
                                        const RayDraw& draw) {
  std::vector<PixelRef> supervised, moving;
  for (std::uint32_t v = 0; v < views.size(); ++v) {
    for (std::uint32_t p = 0; p < views[v].is_supervised.size(); ++p) {
      if (!views[v].is_supervised[p]) continue;
      supervised.push_back({v, p});
      if (views[v].is_moving[p]) moving.push_back({v, p});
    }
  }
  RandomSequence random(draw.seed, RandomStream::kRays, draw.draw_index, draw.step);
  const auto ray_count = static_cast<std::size_t>(draw.ray_count);
  const std::size_t moving_count =
      std::min(static_cast<std::size_t>(draw.ray_count * draw.moving_share), moving.size());
  ShuffleFront(&moving, moving_count, &random);
  // Draws as many spare pixels as may turn out to be taken already.
  const std::size_t shuffled = std::min(supervised.size(), ray_count);
  ShuffleFront(&supervised, shuffled, &random);

  ChosenPixels chosen(views.size());
  std::size_t chosen_count = 0;
  std::unordered_set<std::uint64_t> taken;
  const auto choose = [&](const PixelRef& ref) {
    if (chosen_count == ray_count) return;
    if (!taken.insert((std::uint64_t{ref.view} << 32) | ref.pixel).second) return;
    chosen[ref.view].push_back(ref.pixel);
    ++chosen_count;
  };
  for (std::size_t i = 0; i < moving_count; ++i) choose(moving[i]);
  for (std::size_t i = 0; i < shuffled; ++i) choose(supervised[i]);

  TrainingRays rays;
  for (std::size_t v = 0; v < views.size(); ++v) {
    INTERLACER_RETURN_IF_ERROR(AppendRays(views[v], chosen[v], &rays));
  }
  return rays;
}

}  // namespace interlacer
