#pragma once

/// Files of `--config` for command lines of CLI11, whose own reader cuts values at a # within
/// quotes and goes on over the lines behind an array that is not closed. For those who have the
/// library already: it is in no other header of this folder.

#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "common/toml_options.h"

namespace interlacer {

/// Throws CLI::ConfigError with the line. An empty array is no value: the option stays as it was.
class TomlConfig : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& file) const override {
    const std::string text(std::istreambuf_iterator<char>(file), {});
    StatusOr<std::vector<TomlOption>> options = ParseTomlOptions(text);
    if (!options.ok()) throw CLI::ConfigError(options.status().message());
    std::vector<CLI::ConfigItem> found;
    for (TomlOption& option : *options) {
      if (option.values.empty()) continue;
      found.push_back(
          {std::move(option.parents), std::move(option.name), std::move(option.values)});
    }
    return found;
  }

  std::string to_flag(const CLI::ConfigItem& item) const override {
    // CLI11 takes the empty text for true.
    if (item.inputs == std::vector<std::string>{""}) {
      throw CLI::ConfigError(item.fullname() + ": expected true or false, got nothing");
    }
    return CLI::ConfigTOML::to_flag(item);
  }
};

/// The option --config of a program. A key of the file that is no option is an error.
inline void AddConfigFile(CLI::App* app, const std::string& help) {
  // CLI11 itself takes an empty name for no file.
  app->set_config("--config", "", help)->check(CLI::ExistingFile);
  app->config_formatter(std::make_shared<TomlConfig>());
  app->allow_config_extras(CLI::config_extras_mode::error);
}

}  // namespace interlacer
