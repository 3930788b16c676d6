#include "robots/seen_objects.h"

#include <algorithm>

#include "common/box_around.h"
#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/nearest_point.h"
#include "robots/particle_clusters.h"

namespace interlacer {
namespace {

/// Boxes with kSamePlaceM around the seen points of each object.
std::vector<Box> PlacesOf(std::span<const float> seen_m,
                          std::span<const std::int32_t> objects_of_seen, std::size_t object_count) {
  std::vector<Box> boxes(object_count, NoBox());
  for (std::size_t i = 0; i < objects_of_seen.size(); ++i) {
    if (objects_of_seen[i] == kNotAttached) continue;
    Include(PositionOf(seen_m, i), &boxes[static_cast<std::size_t>(objects_of_seen[i])]);
  }
  for (Box& box : boxes) box = Grown(box, kSamePlaceM);
  return boxes;
}

bool IsInOne(const std::vector<Box>& boxes, std::span<const float> positions_m, std::size_t i) {
  const Vec3f point_m{positions_m[3 * i], positions_m[3 * i + 1], positions_m[3 * i + 2]};
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const Box& box) { return Contains(box, point_m); });
}

}  // namespace

std::vector<std::int32_t> ObjectsOfParticles(const LinkedPoints& particles,
                                             std::span<const float> seen_m,
                                             std::span<const std::int32_t> objects_of_seen,
                                             std::size_t object_count) {
  std::vector<std::int32_t> objects(particles.links.size(), kNotAttached);
  if (object_count == 0) return objects;
  // A particle outside of these is of none, and of the others no point farther than kSamePlaceM
  // from them is the nearest, so that few points are searched.
  const std::vector<Box> near = PlacesOf(seen_m, objects_of_seen, object_count);
  std::vector<Box> searched;
  for (const Box& box : near) searched.push_back(Grown(box, kSamePlaceM));
  std::vector<float> searched_m;
  std::vector<std::int32_t> of_searched;
  for (std::size_t i = 0; i < objects_of_seen.size(); ++i) {
    if (!IsInOne(searched, seen_m, i)) continue;
    of_searched.push_back(objects_of_seen[i]);
    searched_m.insert(searched_m.end(), &seen_m[3 * i], &seen_m[3 * i] + 3);
  }
  const NearestPoint nearest(searched_m);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (particles.links[i] != kNotAttached || !IsInOne(near, particles.positions_m, i)) continue;
    const NearestPoint::Found found =
        nearest.NearestTo(PositionOf(particles.positions_m, i), kSamePlaceM);
    if (found.distance_m < kSamePlaceM) objects[i] = of_searched[found.index];
  }
  return objects;
}

}  // namespace interlacer
