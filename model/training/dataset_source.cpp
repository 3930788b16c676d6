#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "common/number_text.h"
#include "common/random.h"
#include "common/transforms.h"
#include "data/dataset.h"
#include "data/episode_joints.h"
#include "data/episode_reader.h"
#include "data/resized_view.h"
#include "data/simulation_truth.h"
#include "data/training_windows.h"
#include "data/unproject.h"
#include "model/lifting/kinematic_rows.h"
#include "model/lifting/lifting.h"
#include "model/lifting/seen_points.h"
#include "model/training/sample_source.h"
#include "model/training/true_tracks.h"
#include "render/image_metrics.h"
#include "robots/attachment.h"

namespace interlacer {
namespace {

constexpr double kStepToleranceS = 0.1;

struct Recording {
  EpisodeReader reader;
  int stride = 1;
  /// Columns of its tables in the order of its robot's; none without actions.
  std::vector<int> state_columns, action_columns;
};

struct WindowRef {
  std::size_t recording;
  TrainingWindow window;
};

struct WindowList {
  std::vector<WindowRef> all;
  /// Of `all`, those in which an object moves; listed once they are asked for.
  std::optional<std::vector<std::size_t>> moving;
};

/// The episodes of one split of a data set, with their windows by rollout length.
struct SplitData {
  std::vector<Recording> recordings;
  std::map<int, WindowList> windows;
};

LiftRegion RegionOf(const EpisodeManifest& manifest) {
  const EpisodeCamera& camera = manifest.cameras.front();
  return {manifest.workspace, camera.near_m, camera.far_m};
}

class DatasetSource : public SampleSource {
 public:
  DatasetSource(const InterlacerConfig& config, std::uint64_t seed)
      : config_(config), seed_(seed) {}

  Status Add(const TrainingDataset& dataset);
  StatusOr<TrainingSample> Draw(const SampleRequest& request) override;
  bool Has(Split split) const override {
    return std::any_of(sets_.begin(), sets_.end(),
                       [&](const auto& set) { return !set.splits.at(split).recordings.empty(); });
  }
  std::string robot_folder() const override;
  std::string note() const override;

 private:
  struct WeightedSet {
    double weight;
    std::string path;
    std::map<Split, SplitData> splits;
  };

  Status AddEpisodes(const std::string& path, const char* split_name, SplitData* split);
  StatusOr<WindowList*> Windows(const std::string& path, SplitData* split, int rollout_steps);
  WeightedSet* ChooseSet(Split split, double u);
  struct Chosen {
    const Recording* recording;
    const TrainingWindow* window;
  };
  StatusOr<Chosen> Choose(const SampleRequest& request);
  std::uint64_t SeedOf(Split split) const {
    return split == Split::kValidation ? kValidationSeed : seed_;
  }
  RgbdView OfModelSize(const RgbdView& view) const;
  StatusOr<TrainingSample> Load(const Recording& recording, const TrainingWindow& window,
                                const SampleRequest& request) const;
  /// The input views of a step as they were recorded.
  StatusOr<std::vector<RgbdView>> ReadInputs(const Recording& recording, int step,
                                             const TrainingWindow& window) const;
  StatusOr<LiftedTime> Lift(std::span<const RgbdView> recorded, const LiftRegion& region,
                            const SampleRequest& request, std::uint32_t time) const;
  Status AddTargets(const Recording& recording, const TrainingWindow& window,
                    TrainingSample* sample) const;
  Status TakeRobot(Recording* recording) const;
  StatusOr<KinematicRows> ToRows(const EpisodeReader& reader, const ActionSequence& actions) const;
  Status AddRobot(const Recording& recording, const TrainingWindow& window,
                  TrainingSample* sample) const;
  void Attach(std::size_t time, const TrainingSample& sample, LiftedTime* lifted) const;

  InterlacerConfig config_;
  std::uint64_t seed_;
  std::vector<WeightedSet> sets_;
  std::mutex lists_mutex_;  ///< guards what the sets list of their windows
};

Status DatasetSource::AddEpisodes(const std::string& path, const char* split_name,
                                  SplitData* split) {
  INTERLACER_ASSIGN_OR_RETURN(const auto directories, ListEpisodes(path, split_name));
  for (const std::string& directory : directories) {
    INTERLACER_ASSIGN_OR_RETURN(EpisodeReader reader, EpisodeReader::Open(directory));
    INTERLACER_ASSIGN_OR_RETURN(
        const int stride,
        WindowStride(reader.manifest(), config_.data.step_duration_s, kStepToleranceS));
    Recording recording{std::move(reader), stride, {}, {}};
    if (recording.reader.actions().row_count > 0) {
      INTERLACER_RETURN_IF_ERROR(TakeRobot(&recording));
    }
    split->recordings.push_back(std::move(recording));
  }
  return Status::Ok();
}

Status DatasetSource::Add(const TrainingDataset& dataset) {
  WeightedSet set{dataset.weight, dataset.path, {}};
  INTERLACER_RETURN_IF_ERROR(AddEpisodes(dataset.path, "train", &set.splits[Split::kTrain]));
  // A data set of one episode has no splits: all of it trains and nothing validates.
  SplitData& validation = set.splits[Split::kValidation];
  std::error_code error;
  if (std::filesystem::exists(dataset.path + "/" + kDatasetFile, error) || error) {
    INTERLACER_RETURN_IF_ERROR(AddEpisodes(dataset.path, "val", &validation));
  }
  sets_.push_back(std::move(set));
  return Status::Ok();
}

StatusOr<WindowList*> DatasetSource::Windows(const std::string& path, SplitData* split,
                                             int rollout_steps) {
  if (const auto known = split->windows.find(rollout_steps); known != split->windows.end()) {
    return &known->second;
  }
  WindowList list;
  for (std::size_t r = 0; r < split->recordings.size(); ++r) {
    WindowOptions options;
    options.rollout_step_count = rollout_steps;
    options.stride = split->recordings[r].stride;
    options.camera_names.clear();
    for (const CameraSpec& camera : config_.data.cameras)
      options.camera_names.push_back(camera.name);
    INTERLACER_ASSIGN_OR_RETURN(
        auto windows, ListTrainingWindows(split->recordings[r].reader.manifest(), options));
    for (TrainingWindow& window : windows) list.all.push_back({r, std::move(window)});
  }
  if (list.all.empty()) {
    return FailedPrecondition(reason::ARGUMENT_INVALID,
                              path + ": no window of " + std::to_string(rollout_steps) +
                                  " rollout steps; the episodes are too short")
        .WithField(path);
  }
  return &split->windows.emplace(rollout_steps, std::move(list)).first->second;
}

/// The windows of one recording stand together in the list.
StatusOr<std::vector<std::size_t>> MovingWindows(const std::vector<Recording>& recordings,
                                                 const std::vector<WindowRef>& windows) {
  std::vector<std::size_t> moving;
  std::optional<SimulationTruth> truth;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (i == 0 || windows[i].recording != windows[i - 1].recording) {
      INTERLACER_ASSIGN_OR_RETURN(truth,
                                  SimulationTruth::Open(recordings[windows[i].recording].reader));
    }
    if (truth && AnObjectMoves(*truth, windows[i].window)) moving.push_back(i);
  }
  return moving;
}

DatasetSource::WeightedSet* DatasetSource::ChooseSet(Split split, double u) {
  double total = 0;
  for (const WeightedSet& set : sets_) {
    if (!set.splits.at(split).recordings.empty()) total += set.weight;
  }
  WeightedSet* chosen = nullptr;
  double sum = 0;
  for (WeightedSet& set : sets_) {
    if (set.splits.at(split).recordings.empty()) continue;
    if (chosen == nullptr || u * total >= sum) chosen = &set;
    sum += set.weight;
  }
  return chosen;
}

/// Lists windows when they are first asked for; what was listed stays where it is.
StatusOr<DatasetSource::Chosen> DatasetSource::Choose(const SampleRequest& request) {
  const std::lock_guard<std::mutex> lock(lists_mutex_);
  RandomSequence random(SeedOf(request.split), RandomStream::kDataGeneration,
                        static_cast<std::uint32_t>(request.split),
                        static_cast<std::uint32_t>(request.index));
  WeightedSet* set = ChooseSet(request.split, random.Uniform());
  if (set == nullptr) {
    return FailedPrecondition(reason::ARGUMENT_INVALID, "no data set has episodes of this split");
  }
  SplitData& split = set->splits.at(request.split);
  INTERLACER_ASSIGN_OR_RETURN(WindowList * windows,
                              Windows(set->path, &split, request.rollout_steps));
  const auto below = [&](std::size_t count) {
    return random.Below(static_cast<std::uint32_t>(count));
  };
  const bool is_moving = request.moving_share > 0 && random.Uniform() < request.moving_share;
  if (is_moving && !windows->moving) {
    INTERLACER_ASSIGN_OR_RETURN(windows->moving, MovingWindows(split.recordings, windows->all));
  }
  const WindowRef& chosen = windows->all[is_moving && !windows->moving->empty()
                                             ? (*windows->moving)[below(windows->moving->size())]
                                             : below(windows->all.size())];
  return Chosen{&split.recordings[chosen.recording], &chosen.window};
}

StatusOr<TrainingSample> DatasetSource::Draw(const SampleRequest& request) {
  INTERLACER_ASSIGN_OR_RETURN(const Chosen chosen, Choose(request));
  return Load(*chosen.recording, *chosen.window, request);
}

RgbdView DatasetSource::OfModelSize(const RgbdView& view) const {
  const CameraSpec& size = config_.data.cameras.front();
  return ResizedView(view, size.width_px, size.height_px);
}

StatusOr<std::vector<RgbdView>> DatasetSource::ReadInputs(const Recording& recording, int step,
                                                          const TrainingWindow& window) const {
  std::vector<RgbdView> views;
  for (const int camera : window.input_cameras) {
    INTERLACER_ASSIGN_OR_RETURN(RgbdView view, recording.reader.ReadView(step, camera));
    views.push_back(std::move(view));
  }
  return views;
}

StatusOr<LiftedTime> DatasetSource::Lift(std::span<const RgbdView> recorded,
                                         const LiftRegion& region, const SampleRequest& request,
                                         std::uint32_t time) const {
  std::vector<RgbdView> views;
  for (const RgbdView& view : recorded) views.push_back(OfModelSize(view));
  const std::uint64_t draw_seed =
      SeedOf(request.split) + 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(request.index + 1);
  INTERLACER_ASSIGN_OR_RETURN(
      LiftedPoints points,
      LiftObservation(views, region, request.particle_count,
                      std::min(config_.data.min_particle_count, request.particle_count), draw_seed,
                      time, MakePointFilter(config_.lifting)));
  LiftedTime lifted;
  for (RgbdView& view : views) lifted.images.push_back(std::move(view.color));
  lifted.positions_m = std::move(points.positions_m);
  lifted.source_index = std::move(points.source_index);
  return lifted;
}

Status DatasetSource::AddTargets(const Recording& recording, const TrainingWindow& window,
                                 TrainingSample* sample) const {
  const LiftRegion region = RegionOf(recording.reader.manifest());
  std::vector<RgbImage> newest;
  for (const int step : window.target_steps) {
    std::vector<SupervisedView> views;
    for (const int camera : window.target_cameras) {
      INTERLACER_ASSIGN_OR_RETURN(const RgbdView recorded, recording.reader.ReadView(step, camera));
      RgbdView view = OfModelSize(recorded);
      const std::vector<PixelClass> classes = ClassifyPixels(view.camera, view.depth, region);
      PaintOutsideWhite(classes, &view.color);
      SupervisedView target;
      for (std::size_t i = 0; i < classes.size(); ++i) {
        target.is_supervised.push_back(classes[i] != PixelClass::kHole);
        if (classes[i] != PixelClass::kValid) {
          view.depth.pixels_m[i] = std::numeric_limits<float>::quiet_NaN();
        }
      }
      if (sample->target_steps.empty()) newest.push_back(view.color);
      target.is_moving = DifferingPixels(view.color, newest[views.size()]);
      target.camera = std::move(view.camera);
      target.color = std::move(view.color);
      target.depth = std::move(view.depth);
      views.push_back(std::move(target));
    }
    sample->target_steps.push_back(std::move(views));
  }
  return Status::Ok();
}

std::string DatasetSource::robot_folder() const {
  for (const WeightedSet& set : sets_) {
    for (const Recording& recording : set.splits.at(Split::kTrain).recordings) {
      const EpisodeReader& reader = recording.reader;
      if (reader.robot()) return reader.directory() + "/" + reader.manifest().robot->folder;
    }
  }
  return "";
}

/// A scene of a robot is scaled by its own box, and a checkpoint says by which boxes it was trained
/// in its configuration alone.
std::string DatasetSource::note() const {
  for (const WeightedSet& set : sets_) {
    for (const Recording& recording : set.splits.at(Split::kTrain).recordings) {
      const Box& box = recording.reader.manifest().workspace;
      if (recording.reader.actions().row_count == 0 || HaveOneScale(box, config_.data.workspace)) {
        continue;
      }
      return "the workspace of " + recording.reader.directory() + " is " +
             NumberText(2 * LargestHalfExtent(box)) + " m at its longest side, that of the model " +
             NumberText(2 * LargestHalfExtent(config_.data.workspace)) +
             " m: the network sees places as shares of it. Import with --workspace of the model's "
             "size, or give data.workspace of the configuration that of the recordings";
    }
  }
  return "";
}

Status AtEpisode(const EpisodeReader& reader, Status status) {
  return std::move(status).WithFieldPrefix(reader.directory() + ":");
}

StatusOr<KinematicRows> DatasetSource::ToRows(const EpisodeReader& reader,
                                              const ActionSequence& actions) const {
  const bool is_joints = actions.kind == ActionKind::kJointPositions;
  const Robot* robot = is_joints ? reader.robot().get() : nullptr;
  auto rows = ToKinematicRows(actions, robot, "actions");
  if (!rows.ok()) return AtEpisode(reader, rows.status());
  if (Status status = CheckRobotTokens(config_, *robot); !status.ok()) {
    return AtEpisode(reader, std::move(status));
  }
  return rows;
}

/// Before the first draw: does the model take this robot, and which columns are its joints?
Status DatasetSource::TakeRobot(Recording* recording) const {
  const EpisodeReader& reader = recording->reader;
  const EpisodeManifest& manifest = reader.manifest();
  const ActionSequence no_rows{manifest.actions->kind, 0, reader.actions().column_count, {}};
  INTERLACER_RETURN_IF_ERROR(ToRows(reader, no_rows).status());
  const auto order = [&](const MotionTable& motion, std::vector<int>* columns) -> Status {
    auto ordered = ColumnsInOrder(motion, reader.robot().get());
    if (!ordered.ok()) return AtEpisode(reader, ordered.status());
    *columns = *std::move(ordered);
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(order(*manifest.states, &recording->state_columns));
  return order(*manifest.actions, &recording->action_columns);
}

Status DatasetSource::AddRobot(const Recording& recording, const TrainingWindow& window,
                               TrainingSample* sample) const {
  const EpisodeReader& reader = recording.reader;
  if (reader.actions().row_count == 0) return Status::Ok();
  ActionSequence rows{reader.manifest().actions->kind, 0, 0, {}};
  // Measured values for the past, commanded values from the first predicted time on.
  for (const int step : {window.older_step, window.newest_step}) {
    AppendRow(reader.states(), step, recording.state_columns, &rows);
  }
  for (std::size_t i = 1; i < window.target_steps.size(); ++i) {
    AppendRow(reader.actions(), window.target_steps[i], recording.action_columns, &rows);
  }
  INTERLACER_ASSIGN_OR_RETURN(sample->robot_rows, ToRows(reader, rows));
  if (rows.kind == ActionKind::kJointPositions) sample->robot = reader.robot();
  return Status::Ok();
}

/// Attaches the particles of a time to the links of the robot that moves exactly.
void DatasetSource::Attach(std::size_t time, const TrainingSample& sample,
                           LiftedTime* lifted) const {
  if (config_.robot_motion != RobotMotion::kKinematic || sample.robot_rows.link_poses.empty()) {
    return;
  }
  lifted->links = AttachPoints(*sample.robot, sample.robot_rows.link_poses[time],
                               lifted->positions_m, config_.lifting.attach);
}

StatusOr<TrainingSample> DatasetSource::Load(const Recording& recording,
                                             const TrainingWindow& window,
                                             const SampleRequest& request) const {
  const LiftRegion region = RegionOf(recording.reader.manifest());
  TrainingSample sample;
  sample.workspace = region.workspace;
  sample.near_m = static_cast<float>(region.near_m);
  sample.far_m = static_cast<float>(region.far_m);
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<RgbdView> older,
                              ReadInputs(recording, window.older_step, window));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<RgbdView> newest,
                              ReadInputs(recording, window.newest_step, window));
  INTERLACER_ASSIGN_OR_RETURN(sample.older, Lift(older, region, request, 0));
  INTERLACER_ASSIGN_OR_RETURN(sample.newer, Lift(newest, region, request, 1));
  sample.step_count = static_cast<int>(window.target_steps.size()) - 1;
  if (request.with_views) INTERLACER_RETURN_IF_ERROR(AddTargets(recording, window, &sample));
  INTERLACER_RETURN_IF_ERROR(AddRobot(recording, window, &sample));
  Attach(0, sample, &sample.older);
  Attach(1, sample, &sample.newer);
  if (GuessSeesMore(config_, request.particle_count) && sample.step_count > 0 &&
      !sample.newer.links.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(
        sample.seen,
        SeePoints(newest, region, *sample.robot, sample.robot_rows.link_poses[1], config_.lifting));
  }
  if (request.with_tracks) {
    INTERLACER_ASSIGN_OR_RETURN(sample.tracks,
                                ReadTrueTracks(recording.reader, window, sample.newer));
  }
  return sample;
}

}  // namespace

StatusOr<std::unique_ptr<SampleSource>> MakeDatasetSource(
    const InterlacerConfig& config, const std::vector<TrainingDataset>& datasets,
    std::uint64_t seed) {
  auto source = std::make_unique<DatasetSource>(config, seed);
  for (const TrainingDataset& dataset : datasets) {
    INTERLACER_RETURN_IF_ERROR(source->Add(dataset));
  }
  if (!source->Has(Split::kTrain)) {
    return FailedPrecondition(reason::ARGUMENT_INVALID,
                              "no training episodes in the data sets given")
        .WithField("datasets");
  }
  return std::unique_ptr<SampleSource>(std::move(source));
}

}  // namespace interlacer
