#pragma once

/// The points that a guess of contacts sees (robots/contact_guess.h): pixels of the newest views as
/// they were sent, of which small models take few. Pure functions, thread-safe.

#include <cstdint>
#include <memory>
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

/// Whether a guess of so many particles sees such points.
bool GuessSeesMore(const InterlacerConfig& config, std::int64_t particle_count);

/// At most lifting.contact_point_count pixels within the region that the configured filter leaves,
/// any as likely as another, and the links that they are attached to. Errors: those of
/// LiftObservation, but for too few points.
StatusOr<SeenPoints> SeePoints(std::span<const RgbdView> views, const LiftRegion& region,
                               const Robot& robot, std::span<const Transform> world_from_link,
                               const LiftingConfig& config);

/// Of particles of the same observation. Where no more points than these were seen, the rule sees
/// the particles.
ContactGuess GuessOf(std::shared_ptr<const Robot> robot, const SeenPoints& seen,
                     const LinkedPoints& particles);

}  // namespace interlacer
