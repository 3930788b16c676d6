#pragma once

/// Scores of predicted geometry against the true depth image of a view, in metres; smaller is
/// better.
///
///   depth_abs_m_v1     mean |predicted - true depth| over the pixels whose true depth is valid and
///                      inside the workspace and whose predicted depth is valid
///   chamfer_half_m_v1  half the sum of two means over nearest neighbours: from the predicted
///                      particles that the camera sees to the true points, and back. True points
///                      are the valid depth pixels inside the workspace; a particle is seen when it
///                      projects into the image at most 2 cm behind the z-buffer of all particles
/// Before anything moves a Chamfer distance is what sampling leaves: true points are the pixels of
/// one view, particles a draw from all. A score that does not exist is null with a reason. Pure
/// functions, thread-safe. Errors: INVALID_ARGUMENT IMAGE_SIZE_MISMATCH, SHAPE_MISMATCH.

#include <span>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "evaluation/prediction_task.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// Particles of a subject and their z-buffer picture in the view.
struct SubjectParticles {
  std::string_view subject;
  std::span<const float> positions_m;  ///< [n,3] world frame
  const DepthImage* z_buffer = nullptr;
};

/// Depth scores of all subjects with a depth image, Chamfer distances of those with particles.
StatusOr<std::vector<ViewScore>> ScoreGeometry(std::span<const SubjectView> subjects,
                                               std::span<const SubjectParticles> particles,
                                               const TrueFrame& truth, const Box& workspace);

}  // namespace interlacer
