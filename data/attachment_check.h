#pragma once

/// How well attachment (robots/attachment.h) finds the robot's pixels, against the masks of a
/// simulated episode.
///
/// Counted are pixels that lift into the workspace. An object is held while an arm touches it
/// (truth/contacts.npy). Errors: those of data/simulation_truth.h and data/episode_joints.h;
/// NOT_FOUND FILE_NOT_FOUND without contacts. Thread-safe.

#include <cstdint>

#include "common/status.h"
#include "data/simulation_truth.h"
#include "robots/attachment.h"

namespace interlacer {

struct AttachmentScore {
  std::int64_t robot_pixels = 0;
  std::int64_t attached_pixels = 0;
  std::int64_t attached_robot_pixels = 0;
  std::int64_t held_pixels = 0;
  std::int64_t attached_held_pixels = 0;

  /// Share of attached pixels that show the robot, of the robot's pixels that are attached, of held
  /// objects' pixels that are attached; negative where there is nothing to share.
  double precision() const { return Share(attached_robot_pixels, attached_pixels); }
  double recall() const { return Share(attached_robot_pixels, robot_pixels); }
  double held_share() const { return Share(attached_held_pixels, held_pixels); }

  AttachmentScore& operator+=(const AttachmentScore& other);

 private:
  static double Share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? -1 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

/// One step, all cameras, measured joints.
StatusOr<AttachmentScore> ScoreAttachment(const EpisodeReader& episode,
                                          const SimulationTruth& truth, int step,
                                          const AttachOptions& options = {});

}  // namespace interlacer
