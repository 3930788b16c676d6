#pragma once

/// Options of a mechanism: what there is, with type, default and range, and values read from JSON.
///
/// Errors: INVALID_ARGUMENT CONFIG_INVALID at "options.NAME" with expected and got, for an unknown
/// name, a wrong type, a number that is not finite or out of range, and a word that is no choice.
/// Thread-safety: value types.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/json.h"
#include "common/status.h"

namespace interlacer::attention {

struct OptionSpec {
  enum class Type { kFlag, kInteger, kIntegers, kNumber, kWord };
  std::string name;
  Type type = Type::kNumber;
  nlohmann::json default_value;
  double low = 0;  ///< of integers and numbers, inclusive
  double high = 0;
  std::vector<std::string> choices;  ///< of words
  std::string text;                  ///< one line
};

OptionSpec Flag(std::string name, bool default_value, std::string text);
OptionSpec Integer(std::string name, std::int64_t default_value, std::int64_t low,
                   std::int64_t high, std::string text);
/// A list of one number or more; in JSON also a number for a list of one.
OptionSpec Integers(std::string name, std::vector<std::int64_t> default_value, std::int64_t low,
                    std::int64_t high, std::string text);
OptionSpec Number(std::string name, double default_value, double low, double high,
                  std::string text);
OptionSpec Word(std::string name, std::vector<std::string> choices, std::string text);

/// Two lists, the second after the first.
std::vector<OptionSpec> Joined(std::vector<OptionSpec> first,
                               const std::vector<OptionSpec>& second);

/// "integer in [1, 64]", for messages and descriptions.
std::string DescribeRange(const OptionSpec& spec);

/// Throws StatusException CONFIG_INVALID at "options.NAME" where more numbers than `most` would be
/// made, before they are: for sizes that are products of options.
void RequireNumbers(const std::string& name, double count, double most, const std::string& of_what);

class Options {
 public:
  static StatusOr<Options> Parse(const std::vector<OptionSpec>& specs,
                                 const nlohmann::json& values);

  // Of options that are in the specs; asking for others is a broken invariant.
  bool Has(std::string_view name) const { return values_.contains(name); }
  bool IsSet(std::string_view name) const { return Value(name).get<bool>(); }
  std::int64_t Int(std::string_view name) const { return Value(name).get<std::int64_t>(); }
  std::vector<std::int64_t> Ints(std::string_view name) const;
  double Real(std::string_view name) const { return Value(name).get<double>(); }
  const std::string& Chosen(std::string_view name) const {
    return Value(name).get_ref<const std::string&>();
  }
  bool Is(std::string_view name, std::string_view word) const { return Chosen(name) == word; }
  const nlohmann::json& values() const { return values_; }

 private:
  const nlohmann::json& Value(std::string_view name) const;

  nlohmann::json values_ = nlohmann::json::object();
};

}  // namespace interlacer::attention
