#pragma once

/// A scored view of one step, and the particles that its scores are about. Value types.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/image.h"
#include "evaluation/tracked_particles.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// One camera at one step.
struct EvaluatedView {
  std::string camera;
  bool is_input = false;
  int step = 0;
  std::optional<RgbImage> truth;
  /// By subject, in the order of kSubjects; those of copy_last and of the reconstruction are other
  /// steps' pictures and not repeated here.
  std::vector<std::pair<std::string, RgbImage>> pictures;
  std::vector<ViewScore> scores;  ///< empty without truth

  /// Null where the subject has none.
  const RgbImage* Picture(std::string_view subject) const;
};

/// Which particles of step 0 the scores of particles are about; simulated episodes.
struct ParticleCensus {
  std::vector<ParticleKind> kinds;         ///< [n]
  std::vector<std::string> moved_objects;  ///< that truly move in this rollout

  std::int64_t CountOf(ParticleKind kind) const;
  /// The kinds as an NPY file, [n] uint8.
  std::vector<std::uint8_t> KindsAsNpy() const;
};

}  // namespace interlacer
