#include "model/training/ray_batch.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "common/random.h"

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

void AppendRay(const TargetView& view, std::uint32_t pixel, TrainingRays* rays) {
  const int width = view.camera.width_px;
  const auto [x, y] = UndistortPixel(view.camera, pixel % width, pixel / width);
  const Transform& pose = view.camera.world_from_camera;
  const Vec3d tip = Unproject(view.camera, pixel % width, pixel / width, 1.0);
  const double norm = std::sqrt(x * x + y * y + 1.0);
  for (int c = 0; c < 3; ++c) {
    rays->origins_m.push_back(static_cast<float>(pose.translation_m[c]));
    rays->directions.push_back(static_cast<float>((tip[c] - pose.translation_m[c]) / norm));
    rays->target_rgb.push_back(static_cast<float>(view.color.pixels[3 * pixel + c]) / 255.0f);
  }
  ++rays->count;
}

}  // namespace

TrainingRays DrawTrainingRays(const std::vector<TargetView>& views, const RayDraw& draw) {
  std::vector<PixelRef> supervised, moving;
  for (std::uint32_t v = 0; v < views.size(); ++v) {
    for (std::uint32_t p = 0; p < views[v].is_supervised.size(); ++p) {
      if (!views[v].is_supervised[p]) continue;
      supervised.push_back({v, p});
      if (views[v].is_moving[p]) moving.push_back({v, p});
    }
  }
  RandomSequence random(draw.seed, RandomStream::kRays, draw.draw_index, draw.step);
  const auto wanted_moving = static_cast<std::size_t>(draw.ray_count * draw.moving_share);
  const std::size_t moving_count = std::min(wanted_moving, moving.size());
  ShuffleFront(&moving, moving_count, &random);

  TrainingRays rays;
  std::unordered_set<std::uint64_t> taken;
  for (std::size_t i = 0; i < moving_count; ++i) {
    taken.insert((std::uint64_t{moving[i].view} << 32) | moving[i].pixel);
    AppendRay(views[moving[i].view], moving[i].pixel, &rays);
  }
  const std::size_t rest = static_cast<std::size_t>(draw.ray_count) - moving_count;
  // Twice as many as needed are shuffled, so that skipping taken pixels leaves enough.
  const std::size_t shuffled = std::min(supervised.size(), rest + moving_count);
  ShuffleFront(&supervised, shuffled, &random);
  for (std::size_t i = 0; i < shuffled && rays.count < draw.ray_count; ++i) {
    const PixelRef ref = supervised[i];
    if (taken.contains((std::uint64_t{ref.view} << 32) | ref.pixel)) continue;
    AppendRay(views[ref.view], ref.pixel, &rays);
  }
  return rays;
}

}  // namespace interlacer
