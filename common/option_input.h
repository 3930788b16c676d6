#pragma once

/// What command lines of CLI11 take in, where the library's own ways mislead: its reader of
/// `--config` cuts values at a # within quotes and goes on over the lines behind an array that is
/// not closed, and it reads 010 as 8. For those who have the library already: it is in no other
/// header of this folder.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <functional>
#include <istream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
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

/// A whole number that `Whole` holds, in decimal digits: CLI11 alone reads 010 as 8 and what does
/// not fit as the nearest number that does.
template <typename Whole>
CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](std::string& text) {
        Whole number = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc() || stop != end) {
          return "expected a whole number from " +
                 std::to_string(std::numeric_limits<Whole>::min()) + " to " +
                 std::to_string(std::numeric_limits<Whole>::max()) + ", got " + text;
        }
        text = std::to_string(number);
        return std::string();
      },
      "");
}

/// Checks the integers of `app` and of all verbs below it by WholeNumber, before their own checks.
inline void ReadIntegersInDecimal(CLI::App* app) {
  for (CLI::Option* const option : app->get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT")) option->transform(WholeNumber<std::int64_t>());
    if (type.starts_with("UINT")) option->transform(WholeNumber<std::uint64_t>());
  }
  const std::function<bool(CLI::App*)> every;
  for (CLI::App* const verb : app->get_subcommands(every)) ReadIntegersInDecimal(verb);
}

}  // namespace interlacer
