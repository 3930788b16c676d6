#pragma once

/// Sets up one prediction from an episode: the input, the requested views and their true frames.
///
/// Views are rendered at the asked size by rectified cameras. The true frame of a view is
/// the episode's frame resized (and, for cameras with a lens model, resampled) to that camera, with
/// everything outside the scene's workspace and depth range painted white when asked for. A static
/// scene is true at every step. A moving camera is given as its views (AsStaticViews of the
/// reader); evaluation_plan.h chooses among them. Units and frames: common/scene.h.
/// Errors: those of data/episode_reader.h and data/scene_input.h; INVALID_ARGUMENT CAMERA_UNKNOWN,
/// STEP_INVALID, HISTORY_SPACING. Thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "data/unproject.h"

namespace interlacer {

inline constexpr int kDefaultRolloutSteps = 8;
/// A static scene shows the same at every step; a few of them show that the rollout keeps still.
inline constexpr int kDefaultStaticSteps = 2;

/// Of the pictures: that of the model's images, that of the recording, or one that is given.
struct PictureSize {
  enum class Of : std::uint8_t { kModel, kRecorded, kGiven };
  Of of = Of::kModel;
  int width_px = 0, height_px = 0;  ///< of kGiven
};

struct PredictionRequest {
  /// Newest observed step; negative takes the first one with a full history.
  int start_step = -1;
  /// Future steps; negative takes a default, fewer where the episode's actions end.
  int step_count = -1;
  /// Episode cameras that act as the model's; empty takes those with the model's names.
  std::vector<std::string> input_cameras;
  /// Planned rows in place of the episode's: what was recorded is then true of step 0 alone.
  std::optional<ActionSequence> actions;
  /// Further episode cameras to predict, which the model does not see.
  std::vector<std::string> target_cameras;
  PictureSize picture_size;
  std::int64_t seed = 0;
  bool paint_outside_white = true;
  RenderMode render_mode = OutputOptions().render_mode;
  /// Whether the model says how unsure it is of each particle.
  bool measures_spread = false;
  /// Whom EvaluateEpisode scores (evaluation/subjects.h); empty: SubjectsOfOneRollout.
  std::vector<std::string> subjects;
  /// The robot whose joints the episode's rows hold; null takes the episode's own.
  std::shared_ptr<const Robot> robot;
};

struct TargetView {
  std::string name;  ///< the episode's camera
  int episode_camera = 0;
  bool is_input = false;
  int width_px = 0;
  int height_px = 0;
};

/// Name of the depth image that is asked for beside the picture of a target.
std::string DepthViewName(const TargetView& target);

struct TrueFrame {
  Camera camera;  ///< rectified, at the target's size
  RgbImage color;
  DepthImage depth;
};

struct PredictionTask {
  SceneInput input;
  ActionSequence actions;
  /// Steps 0 ... step_count, positions, colours, and for each target its picture and, as long as
  /// all together are no more than a server allows by default, its depth.
  OutputOptions output;
  std::vector<TargetView> targets;
  LiftRegion region;
  PredictionRequest request;  ///< what this was made of
  int start_step = 0;
  int stride = 1;  ///< episode steps in a model step
  int step_count = 0;
  bool is_static = false;
  bool has_own_actions = false;  ///< not the episode's
  bool paint_outside_white = true;

  /// Episode step of a model step; of a static scene always the first.
  int EpisodeStep(int step) const { return is_static ? start_step : start_step + step * stride; }
  /// That renders the picture of one of the targets.
  const Camera& CameraOf(const TargetView& target) const;
};

/// Width and height of the pictures of a camera whose model takes images of `model`'s size.
std::pair<int, int> SizeOf(const PictureSize& size, const CameraSpec& model,
                           const EpisodeCamera& recorded);

StatusOr<PredictionTask> MakePredictionTask(const EpisodeReader& episode,
                                            const ModelMetadata& metadata,
                                            const PredictionRequest& request);

/// Nothing where the recording ends before that step.
StatusOr<std::optional<TrueFrame>> ReadTrueFrame(const EpisodeReader& episode,
                                                 const PredictionTask& task,
                                                 const TargetView& target, int step);

}  // namespace interlacer
