#pragma once

/// A scene in the form of the model: two clouds with features, the robot's history, and cameras.
/// Immutable after LiftScene, but for what is computed on first use. Threads: as Predictor.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/scene.h"
#include "data/unproject.h"
#include "model/clouds.h"
#include "model/lifting/kinematic_rows.h"
#include "model/predictor.h"
#include "robots/contact_guess.h"
#include "robots/robot.h"

namespace interlacer {

class WorldModel;

class ObservedScene;

class LiftedScene : public Scene {
 public:
  const SceneReport& report() const override { return report_; }
  const std::vector<RgbdView>& newest_views() const override { return newest_views_; }
  std::int64_t size_bytes() const override;

  CloudTensors older, newer;              ///< t-2, t-1
  torch::Tensor newest_encoded;           ///< LiftedCloud::encoded of the newest views
  std::vector<std::uint8_t> colors_rgb8;  ///< [n,3] of `newer`
  ActionKind action_kind = ActionKind::kNone;
  KinematicRows history;  ///< two rows, or none
  /// What the rows are joints of; null without a robot and where nothing describes it.
  std::shared_ptr<const Robot> robot;
  /// Link of each particle of `older` and `newer` (robots/attachment.h); empty without link poses.
  std::vector<std::int32_t> older_links, newer_links;
  /// What the robot may move, of a model with a contact_guess; else null.
  std::shared_ptr<const ContactGuess> contacts;
  std::vector<std::string> camera_names;
  std::vector<Camera> cameras;  ///< newest calibrations, rectified to the model's image size
  std::vector<RgbdView> newest_views_;  ///< as they were sent, in the order of the cameras
  LiftRegion region;
  Box workspace;
  RendererConfig renderer;  ///< with the scene's depth range
  SceneReport report_;
  /// Made of newest_views_ by the first rollout that draws them.
  mutable std::shared_ptr<const ObservedScene> observed;
};

/// Checks, resamples, unprojects, draws, encodes and finds the robot's particles. `robot` is the
/// checkpoint's, for scenes that bring none, or null. `before`, or null, is a scene of the same
/// region whose newest observation is the older one here: what its images were encoded to is taken,
/// particles are drawn anew, so that the bytes are those of lifting both. Throws torch's
/// exceptions.
StatusOr<std::shared_ptr<const LiftedScene>> LiftScene(const SceneInput& input,
                                                       const ModelMetadata& metadata,
                                                       std::shared_ptr<const Robot> robot,
                                                       WorldModel* model,
                                                       const LiftedScene* before = nullptr);

}  // namespace interlacer
