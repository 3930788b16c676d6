#include "model/lifting/lifted_scene.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "common/number_text.h"
#include "common/transforms.h"
#include "data/robot_agreement.h"
#include "data/scene_report.h"
#include "model/lifting/device_lifting.h"
#include "model/lifting/lifting.h"
#include "model/lifting/scene_views.h"
#include "model/lifting/seen_points.h"
#include "model/network/world_model.h"
#include "robots/attachment.h"

namespace interlacer {
namespace {

/// Draws on the host; the cloud is on the model's device.
StatusOr<LiftedCloud> LiftOnHost(std::span<const RgbdView> views, const LiftRegion& region,
                                 const ParticleDraw& draw, bool with_colors,
                                 const torch::Tensor& encoded, WorldModel* model) {
  LiftedCloud lifted;
  const PointFilter filter =
      MakePointFilter(model->config().lifting, &lifted.dropped_outlier_count);
  INTERLACER_ASSIGN_OR_RETURN(
      const LiftedPoints points,
      LiftObservation(views, region, draw.count, draw.min_count, draw.seed, draw.time, filter));
  const torch::Device device = model->device();
  lifted.encoded = encoded;
  if (!encoded.defined()) {
    std::vector<RgbImage> images;
    for (const RgbdView& view : views) images.push_back(view.color);
    lifted.encoded = model->EncodeImages(ColorsInUnit(ImageBytes(images, device)));
  }
  lifted.cloud = {
      at::tensor(points.positions_m, at::kFloat).reshape({-1, 3}).to(device),
      GatherFeatures(lifted.encoded, at::tensor(points.source_index, at::kLong).to(device))};
  if (with_colors) lifted.colors_rgb8 = ColorsOf(views, points.source_index);
  return lifted;
}

/// Whose joints the rows are, and the rows.
Status SetHistory(const SceneInput& input, std::shared_ptr<const Robot> robot, LiftedScene* scene) {
  const ActionSequence& actions = input.history_actions;
  scene->action_kind = actions.kind;
  if (input.robot) {
    if (Status status = ValidateRobot(*input.robot); !status.ok()) {
      return std::move(status).WithFieldPrefix("robot.");
    }
    robot = input.robot;
  }
  if (actions.kind == ActionKind::kJointPositions) scene->robot = std::move(robot);
  INTERLACER_ASSIGN_OR_RETURN(scene->history,
                              ToKinematicRows(actions, scene->robot.get(), "history_actions"));
  if (actions.kind == ActionKind::kNone || actions.row_count == kHistoryLength) return Status();
  return Mismatch(reason::ACTION_SHAPE, "history_actions.row_count", std::to_string(kHistoryLength),
                  std::to_string(actions.row_count));
}

/// The network sees positions as shares of the workspace (model/network/tokens.h), so another box
/// is another scale. Without a robot it is not asked.
void AddWorkspaceFinding(const Box& trained, const LiftedScene& scene,
                         std::vector<Finding>* findings) {
  if (scene.action_kind == ActionKind::kNone || HaveOneScale(scene.workspace, trained)) return;
  const double side_m = 2 * LargestHalfExtent(scene.workspace);
  const double trained_side_m = 2 * LargestHalfExtent(trained);
  findings->push_back(
      {"WORKSPACE_NOT_OF_TRAINING",
       "the longest side of the workspace is " + NumberText(side_m) + " m, of the model's " +
           NumberText(trained_side_m) + " m: the network sees the scene " +
           NumberText(std::round(100 * trained_side_m / side_m) / 100) +
           " times as large as it is and may be far off; give a box of the model's size around "
           "the middle of the table",
       "workspace"});
}

/// Finds the particles of the robot.
void AddRobotParticles(const torch::Tensor& positions_m, std::uint32_t time,
                       const InterlacerConfig& config, LiftedScene* scene) {
  const torch::Tensor host = positions_m.to(at::kCPU).contiguous();
  const std::span<const float> values{host.const_data_ptr<float>(),
                                      static_cast<std::size_t>(host.numel())};
  (time + 1 == kHistoryLength ? scene->newer_links : scene->older_links) =
      AttachPoints(*scene->robot, scene->history.link_poses[time], values, config.lifting.attach);
}

/// Finds what the robot may move. The views and links of the scene stand.
Status AddContacts(const InterlacerConfig& config, LiftedScene* scene) {
  const torch::Tensor host = scene->newer.positions_m.to(at::kCPU).contiguous();
  const LinkedPoints particles{
      {host.const_data_ptr<float>(), static_cast<std::size_t>(host.numel())}, scene->newer_links};
  SeenPoints seen;
  if (GuessSeesMore(config, scene->newer.positions_m.size(0))) {
    auto points = SeePoints(scene->newest_views_, scene->region, *scene->robot,
                            scene->history.link_poses.back(), config.lifting);
    if (!points.ok()) return std::move(points).status().WithFieldPrefix("observations[1].");
    seen = *std::move(points);
  }
  scene->contacts = std::make_shared<const ContactGuess>(GuessOf(scene->robot, seen, particles));
  return Status();
}

/// Whether the newest views see the robot where its joints say, and whether the model knows it.
/// `trained`: the robot of the checkpoint, or null.
Status AddRobotFindings(std::span<const RgbdView> newest, const SceneInput& input,
                        const Robot* trained, LiftedScene* scene) {
  if (!scene->robot) return Status();
  if (trained != nullptr && !IsSameTree(*trained, *scene->robot)) {
    scene->report_.findings.push_back(
        {"ROBOT_NOT_OF_TRAINING",
         "the model was trained with '" + trained->name + "', not '" + scene->robot->name +
             "': the robot itself moves exactly, what it does to the scene may be wrong; compare "
             "with the motion of the robot alone, or train with recordings of this robot",
         "robot"});
  }
  const ActionSequence& history = input.history_actions;
  const std::vector<double> joints(history.values.end() - history.column_count,
                                   history.values.end());
  INTERLACER_ASSIGN_OR_RETURN(std::vector<Finding> findings,
                              CheckRobotAgreement(newest, *scene->robot, joints));
  for (Finding& finding : findings) {
    const bool is_of_view = finding.field.starts_with("views[");
    finding.field = is_of_view ? "observations[1]." + finding.field : "history_actions";
    scene->report_.findings.push_back(std::move(finding));
  }
  return Status();
}

/// Memory of one observed pixel in ObservedScene and in what is made of it: its colour and place,
/// its neighbours and their weights.
constexpr std::int64_t kObservedPixelBytes = 128;
/// And on a device that draws it (model/ops/device_surfels.h), with its frame.
constexpr std::int64_t kObservedPixelDeviceBytes = 64;

}  // namespace

std::int64_t LiftedScene::size_bytes() const {
  std::int64_t bytes = static_cast<std::int64_t>(
      colors_rgb8.size() + sizeof(std::int32_t) * (older_links.size() + newer_links.size()));
  if (contacts != nullptr) bytes += contacts->size_bytes();
  if (newest_encoded.defined()) bytes += static_cast<std::int64_t>(newest_encoded.nbytes());
  for (const CloudTensors* cloud : {&older, &newer}) {
    bytes += static_cast<std::int64_t>(cloud->positions_m.nbytes() + cloud->features.nbytes());
  }
  for (const RgbdView& view : newest_views_) {
    const auto pixels = static_cast<std::int64_t>(view.depth.pixels_m.size());
    bytes += static_cast<std::int64_t>(view.color.pixels.size()) + 4 * pixels +
             kObservedPixelBytes * pixels;
    if (!newer.positions_m.is_cpu()) bytes += kObservedPixelDeviceBytes * pixels;
  }
  return bytes;
}

StatusOr<std::shared_ptr<const LiftedScene>> LiftScene(const SceneInput& input,
                                                       const ModelMetadata& metadata,
                                                       std::shared_ptr<const Robot> robot,
                                                       WorldModel* model,
                                                       const LiftedScene* before) {
  const at::NoGradGuard no_grad;
  INTERLACER_ASSIGN_OR_RETURN(SceneViews views, PrepareViews(input, metadata));
  auto scene = std::make_shared<LiftedScene>();
  INTERLACER_RETURN_IF_ERROR(SetHistory(input, robot, scene.get()));
  const bool is_filtered = model->config().lifting.outlier_filter.has_value();
  const auto lift = model->cuda() != nullptr && !is_filtered ? LiftOnDevice : LiftOnHost;
  for (std::uint32_t time = 0; time < kHistoryLength; ++time) {
    const ParticleDraw draw{metadata.particle_count, metadata.min_particle_count,
                            static_cast<std::uint64_t>(input.seed), time};
    const bool is_newest = time + 1 == kHistoryLength;
    const torch::Tensor known =
        is_newest || before == nullptr ? torch::Tensor() : before->newest_encoded;
    auto lifted = lift(views.times[time], views.region, draw, is_newest, known, model);
    if (!lifted.ok()) {
      return std::move(lifted).status().WithFieldPrefix("observations[" + std::to_string(time) +
                                                        "].");
    }
    if (!scene->history.link_poses.empty()) {
      AddRobotParticles(lifted->cloud.positions_m, time, model->config(), scene.get());
    }
    (is_newest ? scene->newer : scene->older) = std::move(lifted->cloud);
    if (!is_newest) continue;
    scene->newest_encoded = std::move(lifted->encoded);
    if (lifted->dropped_outlier_count > 0) {
      views.findings.push_back({"OUTLIERS_DROPPED",
                                "the model's outlier filter left out " +
                                    std::to_string(lifted->dropped_outlier_count) + " points",
                                "observations[1]"});
    }
    scene->colors_rgb8 = std::move(lifted->colors_rgb8);
    scene->report_ = ReportScene(views.times[time], views.region);
    for (Finding& finding : scene->report_.findings) {
      finding.field = "observations[" + std::to_string(time) + "]." + finding.field;
    }
    INTERLACER_RETURN_IF_ERROR(
        AddRobotFindings(views.times[time], input, robot.get(), scene.get()));
    const std::int64_t count = scene->newer.positions_m.size(0);
    if (count < metadata.particle_count) {
      views.findings.push_back({"FEW_POINTS",
                                "the cloud has " + std::to_string(count) + " of " +
                                    std::to_string(metadata.particle_count) + " particles",
                                "observations[1]"});
    }
  }
  scene->workspace = views.region.workspace;
  AddWorkspaceFinding(metadata.workspace, *scene, &views.findings);
  for (Finding& finding : views.findings) {
    scene->report_.findings.push_back(std::move(finding));
  }
  for (const RgbdView& view : views.times.back()) {
    scene->camera_names.push_back(view.camera_name);
    scene->cameras.push_back(RectifiedCamera(view.camera));
    scene->newest_views_.push_back(*FindView(input.observations.back(), view.camera_name));
  }
  scene->region = views.region;
  if (!scene->history.link_poses.empty() && model->config().network.contact_guess) {
    INTERLACER_RETURN_IF_ERROR(AddContacts(model->config(), scene.get()));
  }
  scene->renderer =
      RendererForRange(model->config().renderer, static_cast<float>(views.region.near_m),
                       static_cast<float>(views.region.far_m));
  return std::shared_ptr<const LiftedScene>(std::move(scene));
}

}  // namespace interlacer
