#include "common/toml_options.h"

#include <toml++/toml.h>

#include <charconv>
#include <optional>

namespace interlacer {
namespace {

Status At(const toml::source_region& source, const std::string& what) {
  return InvalidArgument(reason::CONFIG_INVALID,
                         "line " + std::to_string(source.begin.line) + ": " + what);
}

template <typename Number>
std::string TextOfNumber(Number value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// None of a table, an array or a date.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return TextOfNumber(number->get());
  if (const auto* number = node.as_floating_point()) return TextOfNumber(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

Status AddValue(const toml::node& node, TomlOption* option) {
  std::optional<std::string> text = TextOf(node);
  if (!text) {
    return At(node.source(), option->name + ": expected a text, a number, true or false");
  }
  option->values.push_back(*std::move(text));
  return Status::Ok();
}

Status AddTable(const toml::table& table, const std::vector<std::string>& parents,
                std::vector<TomlOption>* options) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const toml::table* inner = node.as_table()) {
      std::vector<std::string> path = parents;
      path.push_back(name);
      INTERLACER_RETURN_IF_ERROR(AddTable(*inner, path, options));
      continue;
    }
    TomlOption option{parents, name, {}};
    if (const toml::array* values = node.as_array()) {
      for (const toml::node& value : *values) {
        INTERLACER_RETURN_IF_ERROR(AddValue(value, &option));
      }
    } else {
      INTERLACER_RETURN_IF_ERROR(AddValue(node, &option));
    }
    options->push_back(std::move(option));
  }
  return Status::Ok();
}

}  // namespace

StatusOr<std::vector<TomlOption>> ParseTomlOptions(std::string_view text) {
  std::vector<TomlOption> options;
  try {
    INTERLACER_RETURN_IF_ERROR(AddTable(toml::parse(text), {}, &options));
  } catch (const toml::parse_error& error) {
    return At(error.source(), std::string(error.description()));
  }
  return options;
}

}  // namespace interlacer
