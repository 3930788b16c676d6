#include "bench/options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

namespace interlacer::bench {
namespace {

/// Stages of all platforms.
constexpr const char* kStages[] = {
    "knn",  "walks", "grf_attention", "linear_attention", "step",   "render", "observed",
    "ssim", "rpc",   "serve",         "train_step",       "update", "layers", "mechanisms"};

/// Sets the default sizes of a stage.
void FillDefaults(Options* options, bool dtype_given) {
  const bool train = options->stage == "train_step" || options->stage == "update";
  if (options->n == 0) options->n = train ? 2048 : 32768;
  const bool is_step = options->stage == "step" || options->stage == "layers";
  if (is_step || train) options->timesteps = 2;
  const bool runs_whole_model = is_step || options->stage == "update";
  if (runs_whole_model && !dtype_given) options->dtype = "bf16";
  if (options->threads == 0) {
    options->threads = static_cast<int>(std::thread::hardware_concurrency());
  }
  if (options->image_width_px == 0) {
    const bool small = options->stage == "render";
    options->image_width_px = small ? 128 : 320;
    options->image_height_px = small ? 128 : 240;
  }
  if (options->seed == 0) {
    options->seed = static_cast<std::uint64_t>(
        std::chrono::system_clock::now().time_since_epoch().count() / 1000);
  }
}

std::string ParseImage(const std::string& text, Options* options) {
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &options->image_width_px, &options->image_height_px,
                  &rest) == 2 &&
      options->image_width_px >= 16 && options->image_height_px >= 16) {
    return "";
  }
  return "expected WIDTHxHEIGHT of at least 16x16, got " + text;
}

}  // namespace

std::optional<Options> ParseOptions(int argc, const char* const* argv, int* exit_code) {
  Options options;
  CLI::App app(
      "Measures one stage against its peers: correctness first, then both sides in turn.\n"
      "Exit codes: 0 all gates passed, 1 a gate failed or a goal was missed, 2 usage, 3 device or "
      "required peer absent.",
      "interlacer_bench");
  // Who calls a script that gives options of its own can say otherwise.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--stage", options.stage, "What to measure")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kStages), std::end(kStages))));
  app.add_option("--peer", options.peer, "Only this peer (see --list), or none: ours alone");
  app.add_option("--n", options.n, "Particles of one time")->check(CLI::Range(64, 1 << 20));
  app.add_option("--timesteps", options.timesteps, "Times in the cloud; tokens = n * times")
      ->check(CLI::Range(1, 2));
  app.add_option("--cloud", options.cloud)->check(CLI::IsMember({"sheet", "cube"}));
  app.add_option("--device", options.device)->check(CLI::IsMember({"cpu", "cuda"}));
  CLI::Option* dtype = app.add_option("--dtype", options.dtype, "Of both sides");
  dtype->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--inputs", options.inputs,
                 "warm: as the last run left them; rotated: out of every cache")
      ->check(CLI::IsMember({"warm", "rotated"}));
  app.add_option("--d", options.d, "Width")->check(CLI::Range(8, 1024));
  app.add_option("--threads", options.threads, "Of both sides; default: all cores")
      ->check(CLI::Range(1, 256));
  app.add_option("--rounds", options.rounds, "Turns of each side; 0 checks the gates alone")
      ->check(CLI::Range(0, 1000));
  app.add_option("--seed", options.seed, "Of the inputs; default: from the clock");
  app.add_option("--support-m", options.support_m, "Empty beyond this distance (render)")
      ->check(CLI::PositiveNumber);
  std::string image;
  app.add_option("--image", image, "WIDTHxHEIGHT (render, observed, ssim, update)");
  app.add_option("--rollout-steps", options.rollout_steps, "Predicted steps (train_step, update)")
      ->check(CLI::Range(1, 12));
  app.add_option("--batch", options.batch, "Sequences of an update (update)")
      ->check(CLI::Range(1, 64));
  app.add_flag("--backward", options.backward, "The backward pass (grf_attention)");
  app.add_flag("--list", options.list, "Names of cases and which peers were found");
  app.add_flag("--ceilings", options.ceilings, "What this machine can do at best");
  app.add_flag("--require-peer", options.require_peer, "A missing peer is an error");
  app.add_option("--gate", options.gate, "Fail unless every ratio reaches this share of its goal")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--json", options.json, "One object a line; - is standard output");
  try {
    app.parse(argc, argv);
    if (!options.ceilings && !options.list && options.stage.empty()) {
      throw CLI::RequiredError("--stage, --list or --ceilings");
    }
    if (!image.empty()) {
      const std::string problem = ParseImage(image, &options);
      if (!problem.empty()) throw CLI::ValidationError("--image", problem);
    }
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : kUsage;
    return std::nullopt;
  }
  FillDefaults(&options, dtype->count() > 0);
  return options;
}

}  // namespace interlacer::bench
