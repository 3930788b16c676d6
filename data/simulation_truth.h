#pragma once

/// Ground truth of a simulated episode: poses of the objects, which of them an arm touches, and the
/// label of what each pixel shows. The files are those of data/sim/episode_export.h.
///
/// Open reads poses, contacts and names, masks are read when asked for. Frames and units:
/// common/geometry.h. Errors: those of data/episode_reader.h and common/npy.h; SCHEMA_INVALID,
/// SHAPE_MISMATCH, QUATERNION_NOT_UNIT naming the file. Const methods may run together; the reader
/// must outlive the truth.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/image.h"
#include "common/status.h"
#include "data/episode_reader.h"

namespace interlacer {

class SimulationTruth {
 public:
  /// A displacement, metres, from which on something counts as moved.
  static constexpr double kMovedM = 0.01;

  /// What a pixel shows: something that never moves, an arm, or an object.
  enum class PixelKind { kStatic, kArm, kObject };
  struct PixelTruth {
    PixelKind kind = PixelKind::kStatic;
    int object = 0;  ///< of kObject
  };

  /// An object before any arm has touched it, while one does, and after all have let go.
  enum class ContactPhase { kBefore, kTouched, kAfter };

  /// Nothing for an episode without truth/.
  static StatusOr<std::optional<SimulationTruth>> Open(const EpisodeReader& episode);

  const std::vector<std::string>& object_names() const { return object_names_; }
  const Transform& WorldFromObject(int step, int object) const {
    return poses_[static_cast<std::size_t>(step) * object_names_.size() +
                  static_cast<std::size_t>(object)];
  }

  /// Counted from the episode's first step; nothing where the episode holds no contacts.
  std::optional<ContactPhase> PhaseAt(int step, int object) const;

  /// Mask labels of a frame as numbers [height,width], so that they are resampled as depth is.
  StatusOr<DepthImage> ReadLabels(int step, const std::string& camera) const;
  PixelTruth Classify(float label) const;

 private:
  explicit SimulationTruth(const EpisodeReader& episode) : episode_(&episode) {}
  Status ReadNames();
  Status ReadPoses();
  Status ReadContacts();

  const EpisodeReader* episode_;
  std::vector<std::string> object_names_;
  std::vector<Transform> poses_;      // [steps,objects]
  std::vector<ContactPhase> phases_;  // [steps,objects], or empty
  int left_arm_label_ = 0, right_arm_label_ = 0, first_object_label_ = 0;
};

}  // namespace interlacer
