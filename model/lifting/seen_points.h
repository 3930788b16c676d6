#pragma once

/// The points that a guess of contacts sees (robots/contact_guess.h): pixels of the newest views as
/// they were sent, of which small models take few. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "common/scene.h"
#include "common/status.h"
#include "data/unproject.h"
#include "model/config.h"
#include "robots/contact_guess.h"

namespace interlacer {

struct SeenPoints {
  std::vector<float> positions_m;   ///< [n,3]
  std::vector<std::int32_t> links;  ///< [n]
  LinkedPoints linked() const { return {positions_m, links}; }
};

/// Whether a model's guess sees such points; where its particles are as many, it sees those.
bool GuessSeesMore(const InterlacerConfig& config, std::int64_t particle_count);

/// At most lifting.contact_point_count pixels within the region, drawn evenly, and the links that
/// they are attached to. Errors: those of LiftObservation.
StatusOr<SeenPoints> SeePoints(std::span<const RgbdView> views, const LiftRegion& region,
                               const Robot& robot, std::span<const Transform> world_from_link,
                               const LiftingConfig& config);

}  // namespace interlacer
