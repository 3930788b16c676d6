#include "experiments/hdvpd/evaluation.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "common/json.h"
#include "common/log.h"
#include "common/version.h"
#include "data/scene_input.h"
#include "data/view_choice.h"
#include "evaluation/episode_run.h"
#include "evaluation/view_scores.h"
#include "model/files/tensor_header.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

/// Metrics of the oracle: its pictures and geometry come from one encoder, and nothing is compared
/// with an earlier frame.
constexpr std::array kOracleMetrics{kSsim, kSsimWorkspace, kPsnr, kDepthAbs, kChamferHalf};

Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return Status::Ok();
  return FailedPrecondition(reason::FILE_UNWRITABLE, error.message()).WithField(folder.string());
}

/// Where nothing moves, one rollout is as good as several.
PlanOptions PlanOf(const StudySetup& setup, const StudyEpisode& episode) {
  PlanOptions plan = setup.plan;
  if (episode.is_still) plan.window_count = 1;
  return plan;
}

bool DrawsField(const StudySetup& setup) { return setup.plan.render_mode == RenderMode::kField; }

/// 4 for a quarter of the particles.
int ParticleDivisor(Condition condition) {
  if (condition == Condition::kQuarterParticles) return 4;
  return condition == Condition::kHalfParticles ? 2 : 1;
}

/// The link is made at once and renamed over an earlier one, which may lead to another target, so
/// that shards which meet here never see half a file.
Status Link(const fs::path& target, const fs::path& link) {
  std::error_code error;
  if (fs::read_symlink(link, error) == target && !error) return Status::Ok();
  const fs::path fresh = link.string() + "." + std::to_string(getpid());
  fs::create_symlink(target, fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (!error) return Status::Ok();
  return FailedPrecondition(reason::FILE_UNWRITABLE, error.message()).WithField(link.string());
}

/// A checkpoint of the same weights and robot that draws `count` particles.
StatusOr<std::string> ThinnedCheckpoint(const StudySetup& setup, const TrainedRun& run,
                                        std::int64_t count) {
  const fs::path folder = fs::path(setup.output_dir) / "evaluations" / run.name() /
                          ("checkpoint_particles_" + std::to_string(count));
  INTERLACER_RETURN_IF_ERROR(MakeFolder(folder));
  nlohmann::ordered_json config = run.config;
  auto& data = config["data"];
  data["particle_count"] = count;
  data["min_particle_count"] = std::min(count, data.value("min_particle_count", count));
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile((folder / "config.json").string(), config));
  for (const char* name : {kWeightsFile, "robot"}) {
    const fs::path target = fs::absolute(run.checkpoint_dir()) / name;
    if (fs::exists(target)) INTERLACER_RETURN_IF_ERROR(Link(target, folder / name));
  }
  return folder.string();
}

/// Particles the model makes of the scene an episode starts with: fewer than it could draw where
/// the pictures hold fewer.
StatusOr<std::int64_t> CountParticles(const EpisodeReader& episode, PlanOptions plan,
                                      RolloutBackend* backend, const std::stop_token& stop) {
  plan.step_count = 0;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<PredictionRequest> requests,
                              PlanEpisode(episode.manifest(), backend->metadata(), plan));
  INTERLACER_ASSIGN_OR_RETURN(const PredictionTask task,
                              MakePredictionTask(episode, backend->metadata(), requests.front()));
  std::int64_t count = 0;
  const auto keep = [&](const PredictedStep& step) {
    count = step.particle_count;
    return Status::Ok();
  };
  OutputOptions output;
  output.steps = {0};
  output.include_positions = true;
  INTERLACER_RETURN_IF_ERROR(
      backend->Predict(task.input, task.actions, output, keep, stop).status());
  return count;
}

/// The planned rows of another episode from the same step on.
Status TakeActions(const std::string& source_dir, const ModelMetadata& metadata,
                   PredictionTask* task) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader source, EpisodeReader::Open(source_dir));
  SceneInputOptions options = SceneInputOptionsFor(metadata);
  options.newest_step = task->start_step;
  options.stride = task->stride;
  options.robot = task->input.robot;
  INTERLACER_ASSIGN_OR_RETURN(ActionSequence other,
                              MakePlannedActions(source, options, task->step_count));
  if (other.row_count != task->actions.row_count ||
      other.column_count != task->actions.column_count) {
    return Mismatch(
        reason::SHAPE_MISMATCH, source_dir + ": actions",
        std::to_string(task->actions.row_count) + " rows of " +
            std::to_string(task->actions.column_count),
        std::to_string(other.row_count) + " rows of " + std::to_string(other.column_count));
  }
  task->actions = std::move(other);
  return Status::Ok();
}

/// The part of the results that scores and failures of a piece have in common.
Results HeadOf(const StudySetup& setup, const Piece& piece, nlohmann::ordered_json model) {
  Results results;
  results.tool_version = kVersion;
  results.model = std::move(model);
  results.model["study"] = nlohmann::ordered_json(PieceKey(setup, piece));
  results.dataset_name = setup.dataset_name;
  results.dataset_sha256 = setup.dataset_sha256;
  results.split = setup.split;
  results.step_count = setup.plan.step_count;
  results.target_background = setup.target_background;
  results.render_mode = DrawsField(setup) ? "field" : "observed";
  results.seed = setup.plan.seed;
  return results;
}

Status WritePiece(const StudySetup& setup, const Piece& piece, const Results& results) {
  const std::string path = PiecePath(setup, piece);
  INTERLACER_RETURN_IF_ERROR(MakeFolder(fs::path(path).parent_path()));
  return WriteResults(path, results);
}

/// The stored scores or failure of a piece, if they belong to the same weights and settings.
std::optional<Results> ReadPiece(const StudySetup& setup, const Piece& piece) {
  const std::string path = PiecePath(setup, piece);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  StatusOr<Results> read = ReadResults(path);
  if (!read.ok()) {
    Log(LogLevel::kWarning, "a stored result is computed again",
        {{"why", read.status().message()}});
    return std::nullopt;
  }
  Results results = *std::move(read);
  const nlohmann::json stored = results.model["study"];
  nlohmann::json wanted = PieceKey(setup, piece);
  const bool has_frames = stored.is_object() && stored.value("frames", nlohmann::json()) == true;
  if (has_frames) wanted["frames"] = true;  // more than is needed does no harm
  const bool holds =
      results.model.value("weights_sha256", "") == piece.run->weights_sha256 && stored == wanted;
  return holds ? std::optional<Results>(std::move(results)) : std::nullopt;
}

}  // namespace

std::string_view ConditionName(Condition condition) {
  switch (condition) {
    case Condition::kRecorded:
      return "recorded";
    case Condition::kShuffledActions:
      return "shuffled_actions";
    case Condition::kQuarterParticles:
      return "quarter_particles";
    case Condition::kHalfParticles:
      return "half_particles";
    case Condition::kTrueFrames:
      return "oracle_render";
  }
  return "";
}

std::vector<Piece> ListPieces(const StudySetup& setup, const std::vector<TrainedRun>& runs,
                              const std::vector<StudyEpisode>& episodes) {
  const std::vector<const StudyEpisode*> moving = MovingEpisodes(episodes);
  std::set<const StudyEpisode*> shown;
  for (const std::size_t i :
       SpreadIndices(moving.size(), static_cast<std::size_t>(setup.strip_count))) {
    shown.insert(moving[i]);
  }
  std::vector<Piece> pieces;
  for (const TrainedRun& run : runs) {
    const bool is_shown = run.seed == runs.front().seed;
    for (const StudyEpisode& episode : episodes) {
      pieces.push_back(
          {&run, Condition::kRecorded, &episode, nullptr, is_shown && shown.count(&episode) > 0});
    }
    if (run.variant != runs.front().variant) continue;
    for (const Condition condition : setup.ablations) {
      const bool is_shuffled = condition == Condition::kShuffledActions;
      if (is_shuffled && moving.size() < 2) continue;
      for (std::size_t i = 0; i < moving.size(); ++i) {
        const StudyEpisode* const source = is_shuffled ? moving[(i + 1) % moving.size()] : nullptr;
        pieces.push_back({&run, condition, moving[i], source, false});
      }
    }
  }
  return pieces;
}

std::string PiecePath(const StudySetup& setup, const Piece& piece) {
  return (fs::path(setup.output_dir) / "evaluations" / piece.run->name() /
          ConditionName(piece.condition) / (piece.episode->id + ".json"))
      .string();
}

nlohmann::json PieceKey(const StudySetup& setup, const Piece& piece) {
  nlohmann::json key = {
      {"condition", ConditionName(piece.condition)},
      {"config_sha256", piece.run->config_sha256},
      {"action_source", piece.action_source ? piece.action_source->manifest_sha256 : ""},
      {"windows", PlanOf(setup, *piece.episode).window_count},
      {"start_step", setup.plan.start_step},
      {"steps", setup.plan.step_count},
      {"seed", setup.plan.seed},
      {"target_background", setup.target_background},
      {"frames", piece.writes_frames}};
  // Earlier versions took a share of the particles that the model could draw.
  if (ParticleDivisor(piece.condition) > 1) key["share_of"] = "scene";
  if (!DrawsField(setup)) key["render"] = "observed";
  return key;
}

std::string FramesDirOf(const StudySetup& setup, const TrainedRun& run) {
  return (fs::path(setup.output_dir) / "frames" / run.name()).string();
}

std::optional<Results> FindPiece(const StudySetup& setup, const Piece& piece) {
  std::optional<Results> results = ReadPiece(setup, piece);
  const bool holds = results && results->episodes.size() == 1 &&
                     results->episodes[0].manifest_sha256 == piece.episode->manifest_sha256;
  return holds ? std::move(results) : std::nullopt;
}

Status WriteFailure(const StudySetup& setup, const Piece& piece, const Status& why) {
  const PieceFailure failure = FailureOf(piece, why);
  Results results = HeadOf(setup, piece, {{"weights_sha256", piece.run->weights_sha256}});
  results.failures.push_back({failure.episode, failure.reason, failure.message});
  return WritePiece(setup, piece, results);
}

std::optional<PieceFailure> FindFailure(const StudySetup& setup, const Piece& piece) {
  const std::optional<Results> results = ReadPiece(setup, piece);
  if (!results || results->failures.size() != 1) return std::nullopt;
  const ResultFailure& failure = results->failures[0];
  return PieceFailure{piece.run->name(), std::string(ConditionName(piece.condition)),
                      failure.episode, failure.reason, failure.message};
}

PieceFailure FailureOf(const Piece& piece, const Status& why) {
  return MakeFailure(piece.run->name(), ConditionName(piece.condition), piece.episode->id, why);
}

Status StudyEvaluator::Load(const std::string& checkpoint_dir) {
  if (checkpoint_dir != loaded_) {
    StatusOr<LoadedModel> model = setup_.load(checkpoint_dir);
    load_status_ = model.status();
    model_ = model.ok() ? *std::move(model) : LoadedModel();
    loaded_ = checkpoint_dir;
  }
  return load_status_;
}

Status StudyEvaluator::LoadFor(const Piece& piece, const EpisodeReader& episode,
                               const std::stop_token& stop) {
  const int divisor = ParticleDivisor(piece.condition);
  if (divisor == 1) return Load(piece.run->checkpoint_dir());
  // All runs of a study have the settings that this depends on in common.
  if (!particle_counts_.contains(piece.episode->id)) {
    INTERLACER_RETURN_IF_ERROR(Load(piece.run->checkpoint_dir()));
    INTERLACER_ASSIGN_OR_RETURN(particle_counts_[piece.episode->id],
                                CountParticles(episode, setup_.plan, model_.backend.get(), stop));
  }
  const std::int64_t count = particle_counts_[piece.episode->id];
  INTERLACER_ASSIGN_OR_RETURN(
      const std::string checkpoint,
      ThinnedCheckpoint(setup_, *piece.run, std::max<std::int64_t>(1, count / divisor)));
  return Load(checkpoint);
}

Status StudyEvaluator::RunOracle(const EpisodeReader& episode, RolloutBackend* backend,
                                 Results* results, const std::stop_token& stop) const {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<PredictionRequest> requests,
                              PlanEpisode(episode.manifest(), backend->metadata(), setup_.plan));
  for (const PredictionRequest& request : requests) {
    INTERLACER_ASSIGN_OR_RETURN(const PredictionTask task,
                                MakePredictionTask(episode, backend->metadata(), request));
    for (int step = 1; step <= task.step_count; ++step) {
      EpisodeRunOptions run;
      run.plan = setup_.plan;
      run.plan.start_step = task.EpisodeStep(step);
      run.plan.step_count = 0;
      run.plan.subjects = {std::string(kModelSubject)};
      run.plan.render_mode = RenderMode::kField;
      Results later;
      INTERLACER_RETURN_IF_ERROR(RunEpisode(episode, run, backend, &later, stop));
      for (ResultValue& value : later.values) {
        const bool is_kept = value.subject == kModelSubject &&
                             std::find(kOracleMetrics.begin(), kOracleMetrics.end(),
                                       value.metric) != kOracleMetrics.end();
        if (!is_kept) continue;
        value.start_step = task.start_step;
        value.step = step;
        results->values.push_back(std::move(value));
      }
      results->episodes = std::move(later.episodes);
    }
  }
  return Status::Ok();
}

Status StudyEvaluator::Evaluate(const Piece& piece, const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(piece.episode->dir));
  INTERLACER_RETURN_IF_ERROR(LoadFor(piece, episode, stop));
  const ModelMetadata& metadata = model_.backend->metadata();
  Results results = HeadOf(setup_, piece, model_.metadata);
  results.device = model_.backend->device_name();
  results.location = model_.backend->location();
  results.step_duration_s = metadata.step_duration_s;
  results.image_width_px = metadata.cameras[0].width_px;
  results.image_height_px = metadata.cameras[0].height_px;
  if (piece.condition == Condition::kTrueFrames) {
    INTERLACER_RETURN_IF_ERROR(RunOracle(episode, model_.backend.get(), &results, stop));
  } else {
    EpisodeRunOptions run;
    run.plan = PlanOf(setup_, *piece.episode);
    // Pictures of earlier scores would be taken for those of the new ones.
    const std::string frames = FramesDirOf(setup_, *piece.run);
    std::error_code error;
    if (piece.condition == Condition::kRecorded) {
      fs::remove_all(fs::path(frames) / piece.episode->id, error);
    }
    if (piece.writes_frames) run.frames_dir = frames;
    if (piece.action_source != nullptr) {
      run.alter = [&](PredictionTask* task) {
        return TakeActions(piece.action_source->dir, metadata, task);
      };
    }
    INTERLACER_RETURN_IF_ERROR(RunEpisode(episode, run, model_.backend.get(), &results, stop));
  }
  return WritePiece(setup_, piece, results);
}

}  // namespace interlacer
