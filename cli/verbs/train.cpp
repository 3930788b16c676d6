
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/option_checks.h"
#include "cli/verbs/verbs.h"
#include "common/device.h"
#include "common/file_io.h"
#include "common/json.h"
#include "common/thread_pool.h"
#include "model/config.h"
#include "model/cuda/built_backend.h"
#include "model/training/distributed/environment.h"
#include "model/training/trainer.h"

namespace interlacer::cli {
namespace {

struct TrainArguments {
  std::string config = "small";
  std::string variant;
  std::vector<std::string> data;
  std::string output;
  std::string initial_checkpoint, initial_appearance;
  std::uint64_t seed = 0;
  std::int64_t step_count = 0;
  int threads = 0;
  std::string device = "auto";
  bool reset_heads = false;
  bool resume = false;
  bool force = false;
};

/// A preset's name, or a file in the form of training_config.h.
StatusOr<RunConfig> ReadRunConfig(const std::string& name_or_path) {
  const auto presets = PresetNames();
  if (std::find(presets.begin(), presets.end(), name_or_path) != presets.end()) {
    return PresetRunConfig(name_or_path);
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(name_or_path));
  return ParseRunConfigJson(text, name_or_path);
}

/// "PATH" or "PATH=WEIGHT"; a folder that is there under the whole text is that folder.
StatusOr<TrainingDataset> ParseDataset(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::error_code error;
  if (equals == std::string::npos || std::filesystem::is_directory(text, error)) {
    return TrainingDataset{text, 1.0};
  }
  char* end = nullptr;
  const std::string number = text.substr(equals + 1);
  const double weight = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !(weight > 0) || !std::isfinite(weight)) {
    return Mismatch(reason::ARGUMENT_INVALID, "--data",
                    "PATH or PATH=WEIGHT with a finite weight > 0", text);
  }
  return TrainingDataset{text.substr(0, equals), weight};
}

std::string Digits(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.5f", value);
  return text;
}

/// Losses of the pictures, and those of depth and tracks where they are asked for.
template <typename Record>
std::string Parts(const Record& record) {
  std::string parts = "step 0 " + Digits(record.reconstruction_loss) + ", predicted " +
                      Digits(record.prediction_loss);
  if (record.depth_loss_m > 0) parts += ", depth " + Digits(record.depth_loss_m) + " m";
  if (record.track_loss_m > 0) parts += ", tracks " + Digits(record.track_loss_m) + " m";
  return parts;
}

class ProgressObserver : public TrainObserver {
 public:
  ProgressObserver(const VerbContext& context, std::int64_t step_count)
      : context_(context), progress_(context.MakeProgress("train", step_count)) {}
  void OnNote(const std::string& text) override { context_.Message(text); }
  bool OnStep(const TrainingRecord& record, std::int64_t) override {
    progress_->Update(record.step, "loss " + Digits(record.loss) + " (" + Parts(record) + ")");
    return !context_.stop().stop_requested();
  }
  void OnValidation(const ValidationRecord& record) override {
    const std::string still = record.still_track_loss_m > 0
                                  ? ", standing still " + Digits(record.still_track_loss_m) + " m"
                                  : "";
    context_.Message("validation after " + std::to_string(record.step) +
                     " steps: " + Parts(record) + still);
    if (record.IsOfAModelThatMovesNothing()) {
      context_.Message(
          "no particle moves: the model predicts that all stands still and gets next to no "
          "gradient. "
          "If that lasts, start again from the checkpoint before with a smaller learning_rate");
    }
  }
  void Finish() { progress_->Finish(); }

 private:
  const VerbContext& context_;
  std::unique_ptr<Progress> progress_;
};

/// Observer of the ranks other than 0, which print nothing.
class SilentObserver : public TrainObserver {
 public:
  explicit SilentObserver(const VerbContext& context) : context_(context) {}
  bool OnStep(const TrainingRecord&, std::int64_t) override {
    return !context_.stop().stop_requested();
  }
  void OnValidation(const ValidationRecord&) override {}

 private:
  const VerbContext& context_;
};

/// A preset's schedule is as long as its own run: a shorter one may end before its first
/// prediction.
bool PredictsSteps(const TrainingConfig& training) {
  return std::any_of(training.rollout_steps.begin(), training.rollout_steps.end(),
                     [&](const ScheduleEntry<int>& entry) {
                       return entry.from_step < training.step_count && entry.value > 0;
                     });
}

StatusOr<ExitCode> RunTrain(const TrainArguments& arguments, const VerbContext& context) {
  SetThreadCount(arguments.threads);
  TrainOptions options;
  INTERLACER_ASSIGN_OR_RETURN(options.config, ReadRunConfig(arguments.config));
  if (!arguments.variant.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(options.config.model,
                                WithLocalLayer(options.config.model, arguments.variant));
  }
  if (arguments.step_count > 0) options.config.training.step_count = arguments.step_count;
  for (const std::string& text : arguments.data) {
    INTERLACER_ASSIGN_OR_RETURN(TrainingDataset dataset, ParseDataset(text));
    options.datasets.push_back(std::move(dataset));
  }
  INTERLACER_ASSIGN_OR_RETURN(options.device, ParseDeviceRequest(arguments.device));
  options.cuda = BuiltCudaBackend();
  options.output_dir = arguments.output;
  options.initial_checkpoint = arguments.initial_checkpoint;
  options.initial_appearance = arguments.initial_appearance;
  options.reset_heads = arguments.reset_heads;
  options.seed = arguments.seed;
  options.resume = arguments.resume;
  options.overwrite = arguments.force;

  INTERLACER_ASSIGN_OR_RETURN(const DistributedEnvironment place, ReadDistributedEnvironment());
  if (place.rank > 0) {
    SilentObserver observer(context);
    INTERLACER_RETURN_IF_ERROR(Train(options, &observer).status());
    return kExitDone;
  }
  if (!PredictsSteps(options.config.training)) {
    context.Message(
        "no update predicts a step: encoder and renderer learn the reconstruction alone, dynamics "
        "nothing. rollout_steps says from which update on how many steps are predicted");
  }
  ProgressObserver observer(context, options.config.training.step_count);
  const StatusOr<TrainSummary> summary = Train(options, &observer);
  observer.Finish();
  if (!summary.ok()) return summary.status();
  context.Result({{"steps", summary->steps_done},
                  {"loss", summary->final_loss},
                  {"checkpoint", summary->checkpoint_dir}},
                 summary->checkpoint_dir);
  return kExitDone;
}

}  // namespace

void AddTrain(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("train", "Train a world model end to end from video");
  const auto arguments = std::make_shared<TrainArguments>();
  verb->add_option("--config", arguments->config, "A preset (paper, small), or a JSON file")
      ->capture_default_str();
  verb->add_option(
      "--variant", arguments->variant,
      "Local layer instead of the configuration's, at equal size: " + LocalVariantNames());
  verb->add_option("--data", arguments->data,
                   "Data set or episode, PATH or PATH=WEIGHT; may be given several times")
      ->required();
  verb->add_option("-o,--output", arguments->output, "Folder of the run")->required();
  verb->add_option("--init", arguments->initial_checkpoint, "Checkpoint to start from");
  verb->add_option("--init-appearance", arguments->initial_appearance,
                   "Checkpoint whose encoder and radiance field to start from; the rest of its "
                   "configuration may differ");
  verb->add_option("--seed", arguments->seed, "Seed of weights, windows, particles and rays")
      ->capture_default_str();
  verb->add_option("--steps", arguments->step_count, "Steps in all instead of the configuration's")
      ->check(AboveZero());
  verb->add_option("--threads", arguments->threads, "Threads; 0 takes all cores")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--device", arguments->device, "cpu, cuda or auto")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  verb->add_flag("--reset-heads", arguments->reset_heads,
                 "With --init: begin with heads that predict no motion");
  CLI::Option* resume =
      verb->add_flag("--resume", arguments->resume, "Go on from the last checkpoint");
  verb->add_flag("--force", arguments->force, "Begin anew over a run that is there")
      ->excludes(resume);
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunTrain(*arguments, context); });
}

}  // namespace interlacer::cli
