#include "cli/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "cli/color.h"
#include "cli/effective_config.h"
#include "cli/interrupt.h"
#include "cli/verb.h"
#include "cli/verbs/verbs.h"
#include "common/log.h"
#include "common/printable_text.h"
#include "common/program_options.h"

namespace interlacer::cli {
namespace {

std::string CommandLineText(int argc, char** argv) {
  std::string text = "interlacer";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool is_plain = argument.find_first_of(" \t\n\"'\\$&;|<>()*?") == std::string::npos;
    text += is_plain && !argument.empty() ? " " + argument : " '" + argument + "'";
  }
  return text;
}

void AddCommonOptions(CLI::App* app, CommonOptions* options) {
  app->add_flag("--json", options->json, "Print the result as JSON on stdout");
  app->add_flag("-q,--quiet", options->quiet, "No messages and no progress on stderr");
  app->add_flag("-v,--verbose", options->verbose, "More messages on stderr");
  app->add_option("--progress", options->progress, "auto, always or never")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app->add_option("--color", options->color, "auto, always or never; NO_COLOR holds for auto")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "always", "never"}));
  AddConfigFile(app, "TOML file: common options, and those of a verb in [verb]");
  app->add_flag("--print-config", options->print_config,
                "Print every option with value and source, and stop");
}

void AddVerbs(CLI::App* app, VerbTable* verbs) {
  AddSimulate(app, verbs);
  AddImport(app, verbs);
  AddValidate(app, verbs);
  AddTrain(app, verbs);
  AddExport(app, verbs);
  AddPredict(app, verbs);
  AddPlan(app, verbs);
  AddEvaluate(app, verbs);
  AddExperiment(app, verbs);
  AddReport(app, verbs);
  AddReplay(app, verbs);
  AddCompare(app, verbs);
  AddRobot(app, verbs);
  AddAttention(app, verbs);
  AddBench(app, verbs);
  AddProbe(app, verbs);
  AddInfo(app, verbs);
  AddVersion(app, verbs);
}

std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void PrintError(const CommonOptions& options, const std::string& message) {
  const bool is_colored = IsColorWanted(
      options.color,
      {isatty(STDERR_FILENO) == 1, EnvironmentValue("NO_COLOR"), EnvironmentValue("TERM")});
  std::cerr << Alarming("error:", is_colored) << " " << PrintableText(message) << std::endl;
}

/// The parser's message, which repeats arguments.
int RefuseUsage(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream message;
  app.exit(error, message, message);
  std::cerr << PrintableText(message.str()) << std::flush;
  return kExitUsage;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CommonOptions common;
  VerbTable verbs;
  CLI::App app("Predict how a scene of RGB-D frames changes under robot actions.", "interlacer");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_all_flag("--help-all", "Help of every verb");
  AddCommonOptions(&app, &common);
  AddVerbs(&app, &verbs);
  ReadIntegersInDecimal(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::RequiredError& error) {
    // --print-config also shows which required options are missing.
    if (!common.print_config) return RefuseUsage(app, error);
  } catch (const CLI::ConfigError& error) {
    return RefuseUsage(app, CLI::ConfigError(ConfigErrorText(app, error)));
  } catch (const CLI::ParseError& error) {
    return RefuseUsage(app, error);
  }
  if (common.print_config) {
    std::cout << PrintableText(EffectiveConfigText(app, {argv + 1, argv + argc})) << std::flush;
    return kExitDone;
  }
  InitLogging(common.verbose ? LogLevel::kInfo : LogLevel::kWarning, LogFormat::kText);

  const InterruptWatcher interrupt;
  const VerbContext context(common, CommandLineText(argc, argv), interrupt.token());
  const VerbAction action = verbs.Chosen();
  const StatusOr<ExitCode> code = WithoutExceptions([&] { return action(context); });
  if (!std::cout.flush()) {
    PrintError(common, "stdout could not be written");
    return kExitOutputFailed;
  }
  if (code.ok()) return *code;
  const bool is_interrupted = ExitCodeOf(code.status()) == kExitInterrupted;
  PrintError(common,
             is_interrupted ? "interrupted: " + code.status().message() : code.status().ToString());
  return ExitCodeOf(code.status());
}

}  // namespace interlacer::cli
