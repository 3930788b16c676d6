#include "cli/effective_config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "common/program_options.h"

namespace interlacer::cli {
namespace {

const std::set<std::string> kCommandOnly = {"help", "help-all", "config", "print-config"};

/// "steps" for --steps, "episode" for a positional argument.
std::string NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name(true) : option.get_lnames().front();
}

bool IsTyped(const CLI::Option& option, const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    const auto is_long = [&](const std::string& name) {
      return argument == "--" + name || argument.starts_with("--" + name + "=");
    };
    const auto is_short = [&](const std::string& name) {
      return argument.starts_with("-" + name) && !argument.starts_with("--");
    };
    return std::any_of(option.get_lnames().begin(), option.get_lnames().end(), is_long) ||
           std::any_of(option.get_snames().begin(), option.get_snames().end(), is_short);
  });
}

/// Names that the file given by --config sets in `section`, such as "robot.make"; "" holds the
/// common options.
std::set<std::string> NamesInFile(const CLI::App& app, const std::string& section) {
  std::set<std::string> names;
  const CLI::Option* config = app.get_config_ptr();
  if (config == nullptr || config->count() == 0) return names;
  for (const CLI::ConfigItem& item :
       app.get_config_formatter_base()->from_file(config->results().front())) {
    if (CLI::detail::join(item.parents, ".") == section) names.insert(item.name);
  }
  return names;
}

/// The options of a verb, and of its groups, which have no name.
std::string OptionsText(const CLI::App& section, const std::set<std::string>& in_file,
                        const std::vector<std::string>& arguments) {
  std::string text;
  for (const CLI::Option* option : section.get_options()) {
    const std::string name = NameOf(*option);
    // The configuration of `train` is an option like others; that of the program is this text.
    const bool is_of_verb = section.get_parent() != nullptr && name == "config";
    if (kCommandOnly.count(name) > 0 && !is_of_verb) continue;
    const bool is_from_file = !IsTyped(*option, arguments) && in_file.count(name) > 0;
    text += OptionLine(*option, name, is_from_file ? "file" : "flag");
  }
  const auto is_group = [](const CLI::App* below) { return below->get_name().empty(); };
  for (const CLI::App* group : section.get_subcommands(is_group)) {
    text += OptionsText(*group, in_file, arguments);
  }
  return text;
}

/// `section` and the verbs chosen below it, each under a heading such as [robot.make].
std::string SectionsText(const CLI::App& app, const CLI::App& section, const std::string& path,
                         const std::vector<std::string>& arguments) {
  std::string text = OptionsText(section, NamesInFile(app, path), arguments);
  if (!path.empty() && !text.empty()) text = "\n[" + path + "]\n" + text;
  for (const CLI::App* verb : section.get_subcommands()) {
    const std::string& name = verb->get_name();
    text += SectionsText(app, *verb, path.empty() ? name : path + "." + name, arguments);
  }
  return text;
}

}  // namespace

std::string EffectiveConfigText(const CLI::App& app, const std::vector<std::string>& arguments) {
  return SectionsText(app, app, "", arguments);
}

}  // namespace interlacer::cli
