#include "model/lifting/seen_points.h"

#include <utility>

#include "model/lifting/lifting.h"
#include "model/lifting/scene_views.h"
#include "robots/attachment.h"

namespace interlacer {

bool GuessSeesMore(const InterlacerConfig& config, std::int64_t particle_count) {
  return config.network.contact_guess && particle_count < config.lifting.contact_point_count;
}

StatusOr<SeenPoints> SeePoints(std::span<const RgbdView> views, const LiftRegion& region,
                               const Robot& robot, std::span<const Transform> world_from_link,
                               const LiftingConfig& config) {
  constexpr std::uint64_t kSeed = 0;
  constexpr std::uint32_t kTime = kHistoryLength - 1;
  INTERLACER_ASSIGN_OR_RETURN(
      LiftedPoints points, LiftObservation(views, region, config.contact_point_count,
                                           /*min_count=*/0, kSeed, kTime, MakePointFilter(config)));
  SeenPoints seen;
  seen.links = AttachPoints(robot, world_from_link, points.positions_m, config.attach);
  seen.positions_m = std::move(points.positions_m);
  return seen;
}

ContactGuess GuessOf(std::shared_ptr<const Robot> robot, const SeenPoints& seen,
                     const LinkedPoints& particles) {
  if (seen.links.size() <= particles.links.size()) return {std::move(robot), particles};
  return {std::move(robot), seen.linked(), particles};
}

}  // namespace interlacer
