#include "evaluation/baselines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/box_around.h"
#include "common/transforms.h"
#include "data/rectified_view.h"
#include "data/resized_view.h"
#include "data/unproject.h"
#include "render/fill_holes.h"
#include "render/observed_renderer.h"
#include "robots/nearest_point.h"
#include "robots/particle_clusters.h"
#include "robots/robot.h"

namespace interlacer {
namespace {

/// As many as a model of the paper's size draws.
constexpr std::size_t kParticleCount = 32768;
constexpr char kNoModel[] = "none";
/// From here on a pixel shows what was observed more than what fills holes.
constexpr float kReachedCoverage = 0.5f;
/// Pixels farther than this from every particle of an object show something else.
constexpr double kPixelReachM = 0.04;
/// DrawSubset's time of the newest observation.
constexpr std::uint32_t kNewestTime = 1;

/// Depth where nothing landed, from the surroundings; pixels that kept a place without measured
/// depth stay without.
Status FillDepth(ObservedPicture* picture) {
  std::vector<float> known = picture->coverage;
  FloatImage depth{picture->depth.width_px, picture->depth.height_px, 3, {}};
  for (std::size_t i = 0; i < known.size(); ++i) {
    const float z_m = picture->depth.pixels_m[i];
    if (!std::isfinite(z_m)) known[i] = 0;
    depth.pixels.insert(depth.pixels.end(), 3, std::isfinite(z_m) ? z_m : 0);
  }
  INTERLACER_RETURN_IF_ERROR(FillHoles(known, std::nanf(""), &depth));
  for (std::size_t i = 0; i < known.size(); ++i) {
    float& z_m = picture->depth.pixels_m[i];
    if (picture->coverage[i] < 1 && !std::isfinite(z_m)) z_m = depth.pixels[3 * i];
  }
  return Status::Ok();
}

SurfaceShell ShellOf(const Baseline& baseline, const CarriedPixels& pixels) {
  if (baseline.motion.robot == nullptr) return {};
  const SurfacePoints& surface = baseline.motion.robot->surface;
  // Bodies begin with the links.
  return SurfaceShell::Make({surface.positions_m, surface.normals, surface.links},
                            baseline.motion.start, pixels.renderer(), baseline.pixel_bodies);
}

/// The box of the particles that belong to objects, with kPixelReachM around it; min above max
/// where there are none.
Box ReachOfObjects(const ContactMotion& contact, std::span<const float> particles_m) {
  Box reach = NoBox();
  for (std::size_t i = 0; i < contact.bodies.size(); ++i) {
    if (contact.bodies[i] >= static_cast<std::int32_t>(contact.motion.link_count)) {
      Include(PositionOf(particles_m, i), &reach);
    }
  }
  return Grown(reach, kPixelReachM);
}

StatusOr<std::vector<float>> DrawParticles(std::span<const RgbdView> views, std::int64_t count,
                                           const PredictionTask& task) {
  INTERLACER_ASSIGN_OR_RETURN(
      LiftedPoints points,
      LiftObservation(views, task.region, count, 1, static_cast<std::uint64_t>(task.input.seed),
                      kNewestTime));
  return std::move(points.positions_m);
}

}  // namespace

CarriedPixels::CarriedPixels(std::unique_ptr<const ObservedRenderer> renderer)
    : renderer_(std::move(renderer)) {}
CarriedPixels::CarriedPixels(CarriedPixels&&) noexcept = default;
CarriedPixels& CarriedPixels::operator=(CarriedPixels&&) noexcept = default;
CarriedPixels::~CarriedPixels() = default;

StatusOr<CarriedPixels> CarriedPixels::Make(const PredictionTask& task) {
  std::vector<ObservedFrame> frames;
  auto recorded = task.input.observations.back().views.begin();
  for (const TargetView& target : task.targets) {
    if (!target.is_input) continue;
    // At the size that is asked for, so that a model of small pictures is compared with pictures
    // made of the same pixels.
    RgbdView view = ResizedView(RectifiedView(*recorded++), target.width_px, target.height_px);
    frames.push_back({view.camera, std::move(view.color), std::move(view.depth)});
  }
  INTERLACER_ASSIGN_OR_RETURN(ObservedRenderer renderer, ObservedRenderer::Make(std::move(frames)));
  return CarriedPixels(std::make_unique<const ObservedRenderer>(std::move(renderer)));
}

const std::vector<float>& CarriedPixels::positions_m() const { return renderer_->positions_m(); }

StatusOr<std::vector<SimulationTruth::PixelTruth>> CarriedPixels::Shown(
    const SimulationTruth& truth, const PredictionTask& task) const {
  std::vector<DepthImage> labels;
  for (const TargetView& target : task.targets) {
    if (!target.is_input) continue;
    INTERLACER_ASSIGN_OR_RETURN(DepthImage mask, truth.ReadLabels(task.start_step, target.name));
    labels.push_back(ResizeNearest(mask, target.width_px, target.height_px));
  }
  std::vector<SimulationTruth::PixelTruth> shown;
  for (std::size_t i = 0; i < static_cast<std::size_t>(renderer_->count()); ++i) {
    const DepthImage& mask = labels[static_cast<std::size_t>(renderer_->frame_of()[i])];
    shown.push_back(
        truth.Classify(mask.pixels_m[static_cast<std::size_t>(renderer_->pixel_of()[i])]));
  }
  return shown;
}

StatusOr<std::vector<std::uint8_t>> CarriedPixels::Reached(const Camera& camera,
                                                           const PredictionTask& task) const {
  INTERLACER_ASSIGN_OR_RETURN(const ObservedPicture picture,
                              renderer_->RenderNearestFirst(camera, positions_m()));
  const std::vector<PixelClass> classes = ClassifyPixels(camera, picture.depth, task.region);
  std::vector<std::uint8_t> reached(classes.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    reached[i] = picture.coverage[i] >= kReachedCoverage && classes[i] == PixelClass::kValid;
  }
  return reached;
}

StatusOr<BaselinePicture> CarriedPixels::Draw(const Camera& camera, const Baseline& baseline,
                                              int step, const PredictionTask& task) const {
  const std::vector<float> carried_m =
      PositionsAt(baseline.motion, step, baseline.pixel_bodies, positions_m());
  INTERLACER_ASSIGN_OR_RETURN(ObservedPicture picture,
                              renderer_->RenderNearestFirst(camera, carried_m));
  if (step > 0) {
    const std::vector<Transform>& bodies =
        baseline.motion.later[static_cast<std::size_t>(step) - 1];
    INTERLACER_RETURN_IF_ERROR(baseline.shell.FillGaps(camera, bodies, &picture));
  }
  if (task.paint_outside_white) {
    PaintOutsideWhite(ClassifyPixels(camera, picture.depth, task.region), &picture.color);
  }
  INTERLACER_RETURN_IF_ERROR(FillHoles(picture.coverage, picture.depth, 1, &picture.color));
  INTERLACER_RETURN_IF_ERROR(FillDepth(&picture));
  return BaselinePicture{QuantizeRgb(picture.color), std::move(picture.depth)};
}

StatusOr<Baseline> KinematicBaseline(const EpisodeReader& episode, const PredictionTask& task,
                                     const CarriedPixels& pixels) {
  Baseline baseline;
  INTERLACER_ASSIGN_OR_RETURN(baseline.motion, CommandedMotion(episode, task));
  baseline.pixel_bodies = BodiesOfRobot(baseline.motion, pixels.positions_m());
  baseline.shell = ShellOf(baseline, pixels);
  return baseline;
}

Baseline ContactBaseline(const ContactMotion& contact, std::span<const float> particles_m,
                         const CarriedPixels& pixels) {
  Baseline baseline;
  baseline.motion = contact.motion;
  const auto first_object = static_cast<std::int32_t>(contact.motion.link_count);
  const std::vector<float>& positions_m = pixels.positions_m();
  baseline.pixel_bodies = BodiesOfRobot(baseline.motion, positions_m);
  if (contact.motion.start.size() > contact.motion.link_count) {
    const Box reach = ReachOfObjects(contact, particles_m);
    const NearestPoint nearest(particles_m);
    for (std::size_t i = 0; i < baseline.pixel_bodies.size(); ++i) {
      const float* p = positions_m.data() + 3 * i;
      if (baseline.pixel_bodies[i] != kStandsStill || !Contains(reach, {p[0], p[1], p[2]}))
        continue;
      const std::int32_t body = contact.bodies[nearest.NearestTo({p[0], p[1], p[2]}).index];
      if (body >= first_object) baseline.pixel_bodies[i] = body;
    }
  }
  baseline.shell = ShellOf(baseline, pixels);
  return baseline;
}

StatusOr<Baseline> OracleMotionBaseline(const EpisodeReader& episode, const PredictionTask& task,
                                        const SimulationTruth& truth, const CarriedPixels& pixels) {
  Baseline baseline;
  INTERLACER_ASSIGN_OR_RETURN(baseline.motion, TrueMotion(episode, task, truth));
  if (baseline.motion.robot == nullptr && episode.manifest().states) {
    return Mismatch(reason::ACTION_KIND, "robot",
                    "the folder of the robot (in the episode, or --robot)", "no folder");
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<SimulationTruth::PixelTruth> shown,
                              pixels.Shown(truth, task));
  baseline.pixel_bodies = TrueBodies(baseline.motion, shown, pixels.positions_m());
  baseline.shell = ShellOf(baseline, pixels);
  return baseline;
}

StatusOr<ModelMetadata> MetadataWithoutModel(const EpisodeManifest& manifest,
                                             std::span<const std::string> input_cameras) {
  ModelMetadata metadata;
  metadata.model_name = kNoModel;
  metadata.attention_variant = kNoModel;
  metadata.particle_count = kParticleCount;
  metadata.step_duration_s = manifest.step_duration_s;
  metadata.workspace = manifest.workspace;
  metadata.world_frame_name = manifest.world_frame_name;
  const auto add = [&](const EpisodeCamera& camera, const std::string& name) {
    metadata.cameras.push_back({name, camera.camera.width_px, camera.camera.height_px});
  };
  if (!input_cameras.empty()) {
    for (const std::string& name : input_cameras) {
      const auto found =
          std::find_if(manifest.cameras.begin(), manifest.cameras.end(),
                       [&](const EpisodeCamera& camera) { return camera.name == name; });
      if (found == manifest.cameras.end()) {
        return Mismatch(reason::CAMERA_UNKNOWN, "cameras", "names of the episode's cameras", name);
      }
      add(*found, name);
    }
  } else if (manifest.kind == EpisodeKind::kStaticViews) {
    // No camera of these names: two views of one place are chosen.
    for (const char* name : {"first", "second"}) add(manifest.cameras.front(), name);
  } else {
    for (std::size_t i = 0; i < std::min<std::size_t>(2, manifest.cameras.size()); ++i) {
      add(manifest.cameras[i], manifest.cameras[i].name);
    }
  }
  metadata.near_m = manifest.cameras.front().near_m;
  metadata.far_m = manifest.cameras.front().far_m;
  return metadata;
}

StatusOr<std::vector<float>> DrawnParticles(const PredictionTask& task,
                                            const ModelMetadata& metadata) {
  std::vector<RgbdView> views;
  const std::vector<RgbdView>& recorded = task.input.observations.back().views;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    views.push_back(
        ResizedView(recorded[i], metadata.cameras[i].width_px, metadata.cameras[i].height_px));
  }
  return DrawParticles(views, metadata.particle_count, task);
}

StatusOr<std::vector<float>> SeenByContact(const PredictionTask& task,
                                           std::span<const float> particles_m) {
  if (particles_m.size() / 3 >= kParticleCount) {
    return std::vector<float>(particles_m.begin(), particles_m.end());
  }
  return DrawParticles(task.input.observations.back().views, kParticleCount, task);
}

}  // namespace interlacer
