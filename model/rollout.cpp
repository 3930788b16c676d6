#include "model/rollout.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "model/engine/turned_step.h"
#include "model/network/radiance_field.h"
#include "model/ops/device_surfels.h"
#include "model/runtime/torch_errors.h"

namespace interlacer {
namespace {

std::span<const float> Values(const torch::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

void CopyTo(std::span<float> out, const torch::Tensor& values) {
  const torch::Tensor host = values.to(at::kCPU).contiguous();
  std::copy_n(host.const_data_ptr<float>(), out.size(), out.begin());
}

/// A sum of the values times zero is zero if all are finite, else NaN. On a device it takes five
/// launches and waits once.
bool AreFinite(const CloudTensors& cloud) {
  return ((cloud.positions_m * 0).sum() + (cloud.features * 0).sum()).item<float>() == 0;
}

}  // namespace

ModelRollout::ModelRollout(std::shared_ptr<WorldModel> model, std::shared_ptr<StepGraph> step_graph,
                           std::shared_ptr<const LiftedScene> scene, const KinematicRows& actions,
                           const RolloutMotion& motion)
    : model_(std::move(model)),
      step_graph_(std::move(step_graph)),
      scene_(std::move(scene)),
      asks_network_(motion.asks_network(scene_->action_kind)),
      clouds_{scene_->older, scene_->newer, {}},
      rows_(JoinRows(scene_->history, actions)),
      robot_(scene_->robot.get(), rows_, motion.is_exact(), {clouds_.older, scene_->older_links},
             {clouds_.newer, scene_->newer_links}) {
  if (scene_->contacts != nullptr) clouds_.touched = scene_->contacts->rule().Untouched();
  particles_.count = particle_count();
  particles_.colors_rgb8 = scene_->colors_rgb8;
}

StatusOr<const Particles*> ModelRollout::ReadParticles() const {
  if (particles_step_ != step_) {
    INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([this] {
      const torch::Tensor& positions_m = clouds_.newer.positions_m;
      particles_.positions_m.resize(static_cast<std::size_t>(positions_m.numel()));
      CopyTo(particles_.positions_m, positions_m);
      if (!turned_.empty()) {
        particles_.spread_m.resize(static_cast<std::size_t>(particles_.count));
        CopyTo(particles_.spread_m, Spread());
      }
      return Status();
    }));
    particles_step_ = step_;
  }
  return &particles_;
}

Status ModelRollout::Step() {
  return CatchTorchErrors([this] { return Advance(); });
}

Status ModelRollout::Advance() {
  const at::NoGradGuard no_grad;
  if (scene_->action_kind != ActionKind::kNone && step_ + kKinematicTimes > rows_.row_count) {
    return Mismatch(reason::ACTION_SHAPE, "actions.row_count",
                    "a row for step " + std::to_string(step_ + 1),
                    std::to_string(rows_.row_count - scene_->history.row_count));
  }
  std::vector<Clouds> next;
  for (int turns = 0; turns <= static_cast<int>(turned_.size()); ++turns) {
    INTERLACER_ASSIGN_OR_RETURN(
        next.emplace_back(),
        NextOf(turns == 0 ? clouds_ : turned_[static_cast<std::size_t>(turns - 1)], turns));
  }
  // Only after all checks: an error leaves the rollout unchanged.
  clouds_ = std::move(next[0]);
  for (std::size_t i = 0; i < turned_.size(); ++i) turned_[i] = std::move(next[i + 1]);
  ++step_;
  return Status();
}

StatusOr<ModelRollout::Clouds> ModelRollout::NextOf(const Clouds& clouds, int quarter_turns) const {
  CloudTensors next = clouds.newer;
  ContactRule::Touched touched = clouds.touched;
  if (asks_network_) {
    torch::Tensor guess_m;
    if (scene_->contacts != nullptr) {
      guess_m = robot_.Guess(step_ + 1, clouds.newer, *scene_->contacts, &touched);
    }
    const StepInput input =
        robot_.InputOf(step_ + 1, clouds.older, clouds.newer, guess_m, scene_->workspace);
    next = quarter_turns == 0 ? step_graph_->Step(input)
                              : TurnedBack(step_graph_->Step(Turned(input, quarter_turns)),
                                           input.workspace, quarter_turns);
    if (!AreFinite(next)) {
      return DataLoss(reason::PREDICTION_NOT_FINITE,
                      "step " + std::to_string(step_ + 1) + " predicted a value that is not finite")
          .WithMetadata("step", std::to_string(step_ + 1));
    }
  }
  return Clouds{clouds.newer, robot_.Place(step_ + 1, next, clouds.newer), std::move(touched)};
}

Status ModelRollout::MeasureSpread() {
  static_assert(kSpreadStepCount == kQuarterTurns);
  if (step_ > 0) {
    return Mismatch(reason::STEP_INVALID, "step", "0, before the first step",
                    std::to_string(step_));
  }
  turned_.assign(kQuarterTurns - 1, clouds_);
  particles_step_ = -1;
  return Status();
}

torch::Tensor ModelRollout::Spread() const {
  std::vector<torch::Tensor> positions_m{clouds_.newer.positions_m};
  for (const Clouds& clouds : turned_) positions_m.push_back(clouds.newer.positions_m);
  const torch::Tensor all = at::stack(positions_m);
  return (all - all.mean(0, /*keepdim=*/true)).square().sum(2).mean(0).sqrt();
}

Status ModelRollout::PrepareRenderer() const {
  if (renderer_step_ == step_) return Status();
  const CloudTensors cloud{clouds_.newer.positions_m.contiguous(),
                           clouds_.newer.features.contiguous()};
  if (model_->cuda() != nullptr) {
    device_cloud_ = std::make_unique<DeviceCloud>(scene_->renderer, cloud, *model_->cuda(),
                                                  model_->serving_precision());
    renderer_step_ = step_;
    return Status();
  }
  if (!renderer_) renderer_ = MakePointNerfRenderer(scene_->renderer);
  INTERLACER_RETURN_IF_ERROR(
      renderer_->SetParticles(Values(cloud.positions_m), Values(cloud.features)));
  renderer_step_ = step_;
  return Status();
}

void ModelRollout::RenderRaysOnDevice(const PixelRays& rays, const RayOutputs& out) const {
  const torch::Device device = clouds_.newer.positions_m.device();
  const RenderedRays rendered = device_cloud_->Render(
      model_->radiance_field().tensors(),
      {RowsOf3(rays.origins_m, device), RowsOf3(rays.directions, device), torch::Tensor()});
  CopyTo(out.rgb, rendered.rgb);
  CopyTo(out.distance_m, rendered.distance_m);
  CopyTo(out.opacity, rendered.opacity);
}

Status ModelRollout::RenderRays(const PixelRays& rays, const RayOutputs& out) const {
  return CatchTorchErrors([&] {
    const at::NoGradGuard no_grad;
    INTERLACER_RETURN_IF_ERROR(PrepareRenderer());
    if (!device_cloud_) return renderer_->Render(model_->field_weights(), rays.batch(), out);
    RenderRaysOnDevice(rays, out);
    return Status();
  });
}

StatusOr<ModelRollout::FieldValues> ModelRollout::RenderField(
    const Camera& camera, std::span<const std::int64_t> pixels) const {
  FieldValues field{std::vector<float>(3 * pixels.size()), std::vector<float>(pixels.size())};
  // Also saves the renderer its tree of the step's particles.
  if (pixels.empty()) return field;
  INTERLACER_ASSIGN_OR_RETURN(const PixelRays rays, MakePixelRays(camera, pixels));
  std::vector<float> opacity(pixels.size());
  INTERLACER_RETURN_IF_ERROR(RenderRays(rays, {field.rgb, field.depth_m, opacity}));
  // The renderer measures along the ray, depth along the optical axis.
  for (std::size_t i = 0; i < pixels.size(); ++i) field.depth_m[i] *= rays.depth_per_distance[i];
  return field;
}

std::span<const Transform> ModelRollout::LinksAt(int step) const {
  if (rows_.link_poses.empty()) return {};
  return rows_.link_poses.at(kNewestTime + static_cast<std::size_t>(step));
}

StatusOr<const ObservedScene*> ModelRollout::Observed() const {
  if (scene_->observed != nullptr) return scene_->observed.get();
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([this]() -> Status {
    const torch::Tensor start_m = scene_->newer.positions_m.to(at::kCPU).contiguous();
    const std::span<const Transform> links = LinksAt(0);
    ObservedRobot robot;
    if (!links.empty()) {
      robot = {scene_->robot.get(), model_->config().lifting.attach, scene_->newer_links};
    }
    INTERLACER_ASSIGN_OR_RETURN(ObservedScene observed,
                                ObservedScene::Make(scene_->newest_views(), scene_->region,
                                                    {Values(start_m), links}, robot));
    if (model_->cuda() != nullptr) {
      observed.DrawBy(std::make_shared<DeviceSurfels>(observed.renderer(), *model_->cuda(),
                                                      scene_->newer.positions_m.device()));
    }
    scene_->observed = std::make_shared<const ObservedScene>(std::move(observed));
    return Status();
  }));
  return scene_->observed.get();
}

StatusOr<const ObservedPicture*> ModelRollout::CarryPixels(const Camera& camera) const {
  INTERLACER_ASSIGN_OR_RETURN(const ObservedScene* scene, Observed());
  if (observed_step_ != step_) {
    INTERLACER_ASSIGN_OR_RETURN(const Particles* particles, ReadParticles());
    observed_m_ = scene->PositionsAt({particles->positions_m, LinksAt(step_)});
    observed_step_ = step_;
    observed_view_.reset();
  }
  if (!observed_view_ || observed_view_->first != camera) {
    observed_view_.reset();
    INTERLACER_RETURN_IF_ERROR(CatchTorchErrors([&]() -> Status {
      INTERLACER_ASSIGN_OR_RETURN(ObservedPicture picture,
                                  scene->Render(camera, observed_m_, LinksAt(step_)));
      observed_view_.emplace(camera, std::move(picture));
      return Status();
    }));
  }
  return &observed_view_->second;
}

Status ModelRollout::RenderRows(const Camera& camera, int row_begin, int row_end, RenderMode mode,
                                bool needs_depth, FloatImage* color, DepthImage* depth) const {
  if (row_begin < 0 || row_begin > row_end || row_end > camera.height_px) {
    return Mismatch(reason::RENDER_TARGET_INVALID, "rows",
                    "0 <= begin <= end <= " + std::to_string(camera.height_px),
                    std::to_string(row_begin) + ".." + std::to_string(row_end));
  }
  if (mode == RenderMode::kObserved) {
    INTERLACER_ASSIGN_OR_RETURN(const ObservedPicture* picture, CarryPixels(camera));
    const std::vector<std::int64_t> holes = FieldPixels(*picture, row_begin, row_end, needs_depth);
    INTERLACER_ASSIGN_OR_RETURN(const FieldValues field, RenderField(camera, holes));
    BlendRows(*picture, row_begin, row_end, holes, field.rgb, field.depth_m, color, depth);
    return Status();
  }
  const int rows = row_end - row_begin;
  std::vector<std::int64_t> pixels(static_cast<std::size_t>(rows) * camera.width_px);
  std::iota(pixels.begin(), pixels.end(), static_cast<std::int64_t>(row_begin) * camera.width_px);
  INTERLACER_ASSIGN_OR_RETURN(FieldValues field, RenderField(camera, pixels));
  *color = {camera.width_px, rows, 3, std::move(field.rgb)};
  *depth = {camera.width_px, rows, std::move(field.depth_m)};
  return Status();
}

StatusOr<Camera> ModelRollout::SceneCamera(const std::string& name) const {
  for (std::size_t i = 0; i < scene_->camera_names.size(); ++i) {
    if (scene_->camera_names[i] == name) return scene_->cameras[i];
  }
  return NotFound(reason::CAMERA_UNKNOWN, "the scene has no camera named " + name)
      .WithField("scene_camera_name");
}

}  // namespace interlacer
