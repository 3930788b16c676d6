#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/describe.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "model/attention/files/attention_files.h"

namespace interlacer::cli {
namespace {

using attention::AttentionCheck;
using attention::AttentionRun;
using attention::AttentionTiming;
using attention::WalkBound;

constexpr char kWayHelp[] =
    "dense, fastmult, pairs, features or auto; default auto, by the mechanism and the number of "
    "tokens, and printed";

/// What a verb asks of the library, whose options come as text.
template <typename Task>
struct TaskArguments {
  Task task;
  std::string options = "{}";
  bool force = false;

  StatusOr<Task> Parsed() const {
    Task parsed = task;
    INTERLACER_ASSIGN_OR_RETURN(parsed.options,
                                ParseJson(options, "--options", reason::CONFIG_INVALID));
    return parsed;
  }
};

std::string Joined(const nlohmann::ordered_json& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word.get<std::string>();
  return text.empty() ? "-" : text;
}

StatusOr<ExitCode> ListAll(const VerbContext& context) {
  const nlohmann::ordered_json mechanisms = attention::ListMechanisms();
  TextRows rows;
  for (const auto& mechanism : mechanisms) {
    rows.emplace_back(
        mechanism.at("name").get<std::string>(),
        "[" + Joined(mechanism.at("ways")) + "] " + mechanism.at("text").get<std::string>());
  }
  context.Result(mechanisms, AlignedText(rows));
  return kExitDone;
}

StatusOr<ExitCode> DescribeOne(const std::string& name, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::ordered_json mechanism,
                              attention::DescribeMechanism(name));
  TextRows rows{{"mechanism", mechanism.at("name").get<std::string>()},
                {"computes", mechanism.at("text").get<std::string>()},
                {"time", mechanism.at("cost").get<std::string>()},
                {"source", mechanism.at("source").get<std::string>()},
                {"inputs", "q, k, v; key_mask if wanted; " + Joined(mechanism.at("inputs"))},
                {"ways", Joined(mechanism.at("ways"))}};
  if (const auto& options = mechanism.at("fast_options"); !options.empty()) {
    rows.emplace_back("ways with " + JsonText(options, -1), Joined(mechanism.at("fast_ways")));
  }
  if (const auto& lengths = mechanism.at("dense_up_to"); !lengths.is_null()) {
    rows.emplace_back(
        "dense by itself",
        Format("up to %lld tokens at width 8, %lld at width 64 (measured)",
               lengths.at("width_8").get<long long>(), lengths.at("width_64").get<long long>()));
  }
  for (const auto& option : mechanism.at("options")) {
    rows.emplace_back("option " + option.at("name").get<std::string>(),
                      JsonText(option.at("default"), -1) + " (" +
                          option.at("range").get<std::string>() +
                          "): " + option.at("text").get<std::string>());
  }
  context.Result(mechanism, AlignedText(rows));
  return kExitDone;
}

StatusOr<ExitCode> RunOnFile(const TaskArguments<AttentionRun>& arguments,
                             const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const AttentionRun run, arguments.Parsed());
  std::error_code ignored;
  if (!arguments.force && std::filesystem::exists(run.output_path, ignored)) {
    return FailedPrecondition(reason::OUTPUT_EXISTS,
                              run.output_path + " exists; --force replaces it")
        .WithField(run.output_path);
  }
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::ordered_json result,
                              attention::RunAttentionFile(run));
  TextRows rows{{"mechanism", run.mechanism},
                {"way", result.at("way").get<std::string>()},
                {"out", JsonText(result.at("shape"), -1)},
                {"seconds", Format("%.3g", result.at("seconds").get<double>())},
                {"written to", run.output_path}};
  if (run.with_largest_logit) {
    rows.emplace_back("largest |f|, by head", JsonText(result.at("largest_position_logit"), -1));
  }
  context.Result(result, AlignedText(rows));
  return kExitDone;
}

StatusOr<ExitCode> CheckWays(const TaskArguments<AttentionCheck>& arguments,
                             const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const AttentionCheck check, arguments.Parsed());
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::ordered_json result,
                              attention::CheckMechanism(check));
  TextRows rows{{"mechanism", check.mechanism}, {"trials", std::to_string(check.trials)}};
  for (const auto& [way, error] : result.at("ways").items()) {
    rows.emplace_back(way, Format("%.2e from dense at most", error.get<double>()));
  }
  const nlohmann::ordered_json& agree = result.at("agree");
  const bool is_compared = !agree.is_null(), is_equal = is_compared && agree.get<bool>();
  rows.emplace_back("agree", is_compared
                                 ? Format(is_equal ? "yes, within %.0e" : "no, not within %.0e",
                                          result.at("tolerance").get<double>())
                                 : "nothing was compared: the dense way is the only one");
  context.Result(result, AlignedText(rows));
  return is_compared && !is_equal ? kExitCheckFailed : kExitDone;
}

StatusOr<ExitCode> TimeWay(const TaskArguments<AttentionTiming>& arguments,
                           const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const AttentionTiming timing, arguments.Parsed());
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::ordered_json result,
                              attention::TimeMechanism(timing));
  TextRows rows{{"mechanism", timing.mechanism}};
  for (std::size_t i = 0; i < result.at("lengths").size(); ++i) {
    rows.emplace_back(std::to_string(result.at("lengths")[i].get<std::int64_t>()) + " tokens",
                      Format("%.3g s, %s", result.at("seconds")[i].get<double>(),
                             result.at("ways")[i].get<std::string>().c_str()));
  }
  rows.emplace_back("time grows with tokens to the power",
                    Format("%.2f", result.at("exponent").get<double>()));
  context.Result(result, AlignedText(rows));
  return kExitDone;
}

StatusOr<ExitCode> BoundOnFile(const TaskArguments<WalkBound>& arguments,
                               const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const WalkBound bound, arguments.Parsed());
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::ordered_json result, attention::BoundWalks(bound));
  const auto& walks = result.at("walks");
  context.Result(
      result,
      AlignedText(
          {{"largest load of a hop", Format("%.4g", result.at("largest_step_load").get<double>())},
           {"norm c of coefficients", Format("%.4g", result.at("load_norm").get<double>())},
           {"walks that suffice",
            walks.is_null() ? "no number below 2^31" : std::to_string(walks.get<std::int64_t>())},
           {"entries of a row at most",
            std::to_string(result.at("entries").get<std::int64_t>())}}));
  return kExitDone;
}

void AddBoundVerb(CLI::App* parent, VerbTable* verbs) {
  CLI::App* verb =
      parent->add_subcommand("walks", "Walks of grf_sym that suffice for an error, by theory");
  const auto arguments = std::make_shared<TaskArguments<WalkBound>>();
  verb->add_option("--input", arguments->task.input_path,
                   "safetensors file as of `attention run grf_sym`")
      ->required();
  verb->add_option("--error", arguments->task.error, "Of an entry of the mask off the diagonal")
      ->capture_default_str();
  verb->add_option("--probability", arguments->task.probability,
                   "Of a larger error, or of a row of more entries")
      ->capture_default_str();
  verb->add_option("--options", arguments->options, "JSON object of grf_sym's options")
      ->capture_default_str();
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return BoundOnFile(*arguments, context); });
}

void AddTimeVerb(CLI::App* parent, VerbTable* verbs) {
  CLI::App* verb = parent->add_subcommand("time", "Seconds of a way at several lengths");
  const auto arguments = std::make_shared<TaskArguments<AttentionTiming>>();
  verb->add_option("name", arguments->task.mechanism, "Mechanism, of `attention list`")->required();
  verb->add_option("--lengths", arguments->task.lengths, "Numbers of tokens, powers of two")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option("--repeats", arguments->task.repeats, "Runs, of which the fastest counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  verb->add_option("--options", arguments->options, "JSON object")->capture_default_str();
  verb->add_option("--way", arguments->task.way, kWayHelp);
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return TimeWay(*arguments, context); });
}

void AddRunVerb(CLI::App* parent, VerbTable* verbs) {
  CLI::App* verb = parent->add_subcommand("run", "A mechanism on arrays of a file");
  const auto arguments = std::make_shared<TaskArguments<AttentionRun>>();
  verb->add_option("name", arguments->task.mechanism, "Mechanism, of `attention list`")->required();
  verb->add_option("--input", arguments->task.input_path,
                   "safetensors file with q, k, v [B,H,L,d] and what the mechanism needs")
      ->required();
  verb->add_option("-o,--output", arguments->task.output_path, "safetensors file with out")
      ->required();
  verb->add_option("--options", arguments->options, "JSON object")->capture_default_str();
  verb->add_option("--way", arguments->task.way, kWayHelp);
  verb->add_flag("--mask", arguments->task.with_mask,
                 "Write the mask [1 or H,L,L] or [B,H,L,L] too");
  verb->add_flag("--largest-logit", arguments->task.with_largest_logit,
                 "Print the largest |f| that places add to logits, of flt_* and factor");
  verb->add_flag("--force", arguments->force, "Replace an existing output");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunOnFile(*arguments, context); });
}

void AddCheckVerb(CLI::App* parent, VerbTable* verbs) {
  CLI::App* verb =
      parent->add_subcommand("check", "Fast ways against the dense one on random inputs");
  const auto arguments = std::make_shared<TaskArguments<AttentionCheck>>();
  verb->add_option("name", arguments->task.mechanism, "Mechanism, of `attention list`")->required();
  verb->add_option("--trials", arguments->task.trials, "Random inputs")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  verb->add_option("--seed", arguments->task.seed, "Seed of the inputs")->capture_default_str();
  verb->add_option("--options", arguments->options, "JSON object")->capture_default_str();
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return CheckWays(*arguments, context); });
}

}  // namespace

void AddAttention(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("attention", "Attention mechanisms on arrays of one's own");
  verb->require_subcommand(1);
  CLI::App* list = verb->add_subcommand("list", "All mechanisms");
  verbs->Add(list, &ListAll);
  CLI::App* describe =
      verb->add_subcommand("describe", "A mechanism: inputs, options with ranges, cost, source");
  const auto name = std::make_shared<std::string>();
  describe->add_option("name", *name, "Mechanism")->required();
  verbs->Add(describe, [name](const VerbContext& context) { return DescribeOne(*name, context); });
  AddRunVerb(verb, verbs);
  AddCheckVerb(verb, verbs);
  AddTimeVerb(verb, verbs);
  AddBoundVerb(verb, verbs);
}

}  // namespace interlacer::cli
