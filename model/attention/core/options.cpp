#include "model/attention/core/options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/json.h"
#include "common/number_text.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

using Type = OptionSpec::Type;

Status Refuse(const std::string& name, std::string expected, const nlohmann::json& got) {
  return Mismatch(reason::CONFIG_INVALID, "options." + name, std::move(expected),
                  JsonText(got, -1));
}

bool Fits(const OptionSpec& spec, const nlohmann::json& value) {
  switch (spec.type) {
    case Type::kFlag:
      return value.is_boolean();
    case Type::kWord:
      return value.is_string() && std::find(spec.choices.begin(), spec.choices.end(),
                                            value.get<std::string>()) != spec.choices.end();
    case Type::kIntegers: {
      if (!value.is_array()) break;
      OptionSpec of_one = spec;
      of_one.type = Type::kInteger;
      return !value.empty() &&
             std::all_of(value.begin(), value.end(),
                         [&](const nlohmann::json& number) { return Fits(of_one, number); });
    }
    case Type::kInteger:
      break;
    case Type::kNumber:
      break;
  }
  if (spec.type == Type::kNumber ? !value.is_number() : !value.is_number_integer()) return false;
  // Beyond 2^63 an unsigned number has no signed value.
  if (spec.type != Type::kNumber && value.is_number_unsigned() &&
      value.get<std::uint64_t>() > INT64_MAX) {
    return false;
  }
  const double number = value.get<double>();
  return std::isfinite(number) && number >= spec.low && number <= spec.high;
}

std::string NamesOf(const std::vector<OptionSpec>& specs) {
  std::string names;
  for (const OptionSpec& spec : specs) names += (names.empty() ? "" : ", ") + spec.name;
  return names.empty() ? "no options" : "one of " + names;
}

}  // namespace

OptionSpec Flag(std::string name, bool default_value, std::string text) {
  return {std::move(name), Type::kFlag, default_value, 0, 0, {}, std::move(text)};
}

OptionSpec Integer(std::string name, std::int64_t default_value, std::int64_t low,
                   std::int64_t high, std::string text) {
  return {std::move(name),
          Type::kInteger,
          default_value,
          static_cast<double>(low),
          static_cast<double>(high),
          {},
          std::move(text)};
}

OptionSpec Integers(std::string name, std::vector<std::int64_t> default_value, std::int64_t low,
                    std::int64_t high, std::string text) {
  OptionSpec spec = Integer(std::move(name), 0, low, high, std::move(text));
  spec.type = Type::kIntegers;
  spec.default_value = std::move(default_value);
  return spec;
}

OptionSpec Number(std::string name, double default_value, double low, double high,
                  std::string text) {
  return {std::move(name), Type::kNumber, default_value, low, high, {}, std::move(text)};
}

OptionSpec Word(std::string name, std::vector<std::string> choices, std::string text) {
  const std::string first = choices.at(0);
  return {std::move(name), Type::kWord, first, 0, 0, std::move(choices), std::move(text)};
}

std::vector<OptionSpec> Joined(std::vector<OptionSpec> first,
                               const std::vector<OptionSpec>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string DescribeRange(const OptionSpec& spec) {
  const auto range = [&spec] {
    return " in [" + NumberText(spec.low) + ", " + NumberText(spec.high) + "]";
  };
  switch (spec.type) {
    case Type::kFlag:
      return "true or false";
    case Type::kInteger:
      return "integer" + range();
    case Type::kIntegers:
      return "integer or list of integers" + range();
    case Type::kNumber:
      return "number" + range();
    case Type::kWord:
      break;
  }
  std::string words;
  for (const std::string& choice : spec.choices) words += (words.empty() ? "" : ", ") + choice;
  return "one of " + words;
}

void RequireNumbers(const std::string& name, double count, double most,
                    const std::string& of_what) {
  if (count <= most) return;
  throw StatusException(Mismatch(
      reason::CONFIG_INVALID, "options." + name,
      "a number for which " + of_what + " are at most " + NumberText(most), NumberText(count)));
}

StatusOr<Options> Options::Parse(const std::vector<OptionSpec>& specs,
                                 const nlohmann::json& values) {
  if (!values.is_object()) {
    return Mismatch(reason::CONFIG_INVALID, "options", "a JSON object", values.type_name());
  }
  Options options;
  for (const OptionSpec& spec : specs) options.values_[spec.name] = spec.default_value;
  for (const auto& [name, value] : values.items()) {
    const auto spec = std::find_if(specs.begin(), specs.end(), [&name = name](const auto& known) {
      return known.name == name;
    });
    if (spec == specs.end()) return Refuse(name, NamesOf(specs), name);
    if (!Fits(*spec, value)) return Refuse(name, DescribeRange(*spec), value);
    options.values_[name] = value;
  }
  return options;
}

std::vector<std::int64_t> Options::Ints(std::string_view name) const {
  const nlohmann::json& value = Value(name);
  if (value.is_array()) return value.get<std::vector<std::int64_t>>();
  return {value.get<std::int64_t>()};
}

const nlohmann::json& Options::Value(std::string_view name) const {
  const auto found = values_.find(name);
  INTERLACER_CHECK(found != values_.end(), std::string(name));
  return *found;
}

}  // namespace interlacer::attention
