#pragma once

/// Predictions that need no learning, computed from an episode alone.
///
/// Pictures are made of the pixels of the newest observation of the input cameras at the size of
/// the recording, carried by a BodyMotion and drawn by render/observed_renderer.h; holes are
/// inpainted by render/fill_holes.h. As in true frames, what lies outside of the workspace and the
/// depth range is white when the task says so, by the depth that is drawn. Pictures are at the size
/// of the camera asked for; depth where nothing lands is that of the surroundings. Errors: those of
/// evaluation/scene_motion.h, of data/simulation_truth.h and of the renderer. Determinism: equal
/// bits for any thread count. Threads: const methods may run together.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/image.h"
#include "common/model_metadata.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/contact_motion.h"
#include "evaluation/prediction_task.h"
#include "evaluation/scene_motion.h"
#include "render/surface_shell.h"

namespace interlacer {

struct Baseline;

struct BaselinePicture {
  RgbImage color;
  DepthImage depth;
};

/// The pixels of the newest observation.
class CarriedPixels {
 public:
  static StatusOr<CarriedPixels> Make(const PredictionTask& task);
  CarriedPixels(CarriedPixels&&) noexcept;
  CarriedPixels& operator=(CarriedPixels&&) noexcept;
  ~CarriedPixels();

  /// [n,3] where they were seen.
  const std::vector<float>& positions_m() const;
  const ObservedRenderer& renderer() const { return *renderer_; }
  /// What each of them shows; the episode is simulated.
  StatusOr<std::vector<SimulationTruth::PixelTruth>> Shown(const SimulationTruth& truth,
                                                           const PredictionTask& task) const;
  /// [h,w] 1 where they cover a pixel of a camera by one half or more as long as none has moved,
  /// and what covers it lies in the task's region: the mask `@carried`.
  StatusOr<std::vector<std::uint8_t>> Reached(const Camera& camera,
                                              const PredictionTask& task) const;
  /// A picture at a step of a baseline of these pixels.
  StatusOr<BaselinePicture> Draw(const Camera& camera, const Baseline& baseline, int step,
                                 const PredictionTask& task) const;

 private:
  explicit CarriedPixels(std::unique_ptr<const ObservedRenderer> renderer);

  std::unique_ptr<const ObservedRenderer> renderer_;
};

/// A motion, which body each pixel belongs to, and the robot's surface.
struct Baseline {
  BodyMotion motion;
  std::vector<std::int32_t> pixel_bodies;
  SurfaceShell shell;

  bool HasStep(int step) const {
    return step == 0 || static_cast<std::size_t>(step) <= motion.later.size();
  }
};

StatusOr<Baseline> KinematicBaseline(const EpisodeReader& episode, const PredictionTask& task,
                                     const CarriedPixels& pixels);
/// `contact` is of these particles. A pixel that belongs to no link goes with its nearest particle
/// where that belongs to an object which is moved.
Baseline ContactBaseline(const ContactMotion& contact, std::span<const float> particles_m,
                         const CarriedPixels& pixels);
/// INVALID_ARGUMENT ACTION_KIND where there are arms but no robot folder.
StatusOr<Baseline> OracleMotionBaseline(const EpisodeReader& episode, const PredictionTask& task,
                                        const SimulationTruth& truth, const CarriedPixels& pixels);

/// What evaluations without a model take in the place of its metadata: the cameras that were named,
/// else the episode's first two, at the size of the recording; its step, workspace and depth range.
StatusOr<ModelMetadata> MetadataWithoutModel(const EpisodeManifest& manifest,
                                             std::span<const std::string> input_cameras);

/// Particles for an evaluation without a model: as many as a model draws, from the same pixels.
StatusOr<std::vector<float>> DrawnParticles(const PredictionTask& task,
                                            const ModelMetadata& metadata);

/// What the rule of contact sees: pixels of the views as they were recorded, where there are fewer
/// particles than a model of the paper's size has.
StatusOr<std::vector<float>> SeenByContact(const PredictionTask& task,
                                           std::span<const float> particles_m);

}  // namespace interlacer
