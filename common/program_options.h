#pragma once

/// What the command lines of both programs share: reading and printing of a configuration, and
/// whole numbers. CLI11's own reader of files cuts values at a # within quotes and goes on over the
/// lines behind an array that is not closed, and it reads 010 as 8. For those who have the library
/// already: it is in no other header of this folder.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <istream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
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

inline bool HasOption(const CLI::App& app, const std::string& name) {
  const std::function<bool(const CLI::App*)> every;
  if (app.get_option_no_throw("--" + name) != nullptr) return true;
  for (const CLI::App* const verb : app.get_subcommands(every)) {
    if (HasOption(*verb, name)) return true;
  }
  return false;
}

/// What is wrong with the file of --config, with its name; a key with _ is told its option's name.
inline std::string ConfigErrorText(const CLI::App& app, const CLI::ConfigError& error) {
  constexpr std::string_view kNoOption = "INI was not able to parse ";  // of the library
  std::string text = error.what();
  if (text.starts_with(kNoOption)) {
    const std::string key = text.substr(kNoOption.size());
    text = key + " is no option";
    std::string name = key.substr(key.rfind('.') + 1);
    std::replace(name.begin(), name.end(), '_', '-');
    if (HasOption(app, name)) text += "; it is called " + name;
  }
  const std::vector<std::string> files = app.get_config_ptr()->results();
  return (files.empty() ? "" : files.back() + ": ") + text;
}

/// A line of a file for --config: the option's value and where it came from. What holds by default
/// is a comment, so that the file sets nothing that excludes an option which is given beside it.
inline std::string OptionLine(const CLI::Option& option, const std::string& name,
                              const char* source) {
  const auto quoted = [](const std::string& text) {
    std::string all = "\"";
    for (const char c : text) all += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return all + "\"";
  };
  if (option.count() == 0) {
    const bool is_flag = option.get_items_expected_max() == 0;
    const std::string value = is_flag ? "false" : option.get_default_str();
    if (value.empty()) return "# " + name + " is not set\n";
    return "# " + name + " = " + quoted(value) + "  # default\n";
  }
  const std::vector<std::string> results = option.results();
  std::string values;
  for (const std::string& result : results) values += (values.empty() ? "" : ", ") + quoted(result);
  if (results.size() != 1) values = "[" + values + "]";
  return name + " = " + values + "  # " + source + "\n";
}

/// A whole number that `Whole` holds, in decimal digits: CLI11 alone reads 010 as 8 and what does
/// not fit as the nearest number that does. What follows the digits is a unit or is refused.
template <typename Whole>
CLI::Validator WholeNumber(bool may_have_unit) {
  return CLI::Validator(
      [may_have_unit](std::string& text) {
        Whole number = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc() || (stop != end && !may_have_unit)) {
          return "expected a whole number from " +
                 std::to_string(std::numeric_limits<Whole>::min()) + " to " +
                 std::to_string(std::numeric_limits<Whole>::max()) + ", got " + text;
        }
        text = std::to_string(number) + std::string(stop, end);
        return std::string();
      },
      "");
}

/// Checks the integers of `app` and of all verbs below it by WholeNumber, before their own checks.
inline void ReadIntegersInDecimal(CLI::App* app) {
  for (CLI::Option* const option : app->get_options()) {
    const std::string type = option->get_type_name();
    const bool may_have_unit = type.find(":SIZE") != std::string::npos;  // CLI::AsSizeValue
    if (type.starts_with("INT")) option->transform(WholeNumber<std::int64_t>(may_have_unit));
    if (type.starts_with("UINT")) option->transform(WholeNumber<std::uint64_t>(may_have_unit));
  }
  const std::function<bool(CLI::App*)> every;
  for (CLI::App* const verb : app->get_subcommands(every)) ReadIntegersInDecimal(verb);
}

}  // namespace interlacer
