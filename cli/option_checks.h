#pragma once

/// Checks of command-line values with readable errors: "expected a number above 0, got -2".

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "common/status.h"

namespace interlacer::cli {

inline CLI::Validator NumberFrom(double least, bool is_included, const std::string& expected) {
  return CLI::Validator(
      [=](const std::string& text) {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number) && std::isfinite(number);
        if (is_number && (number > least || (is_included && number == least))) return std::string();
        return "expected " + expected + ", got " + text;
      },
      "");
}

inline CLI::Validator AboveZero() { return NumberFrom(0, false, "a number above 0"); }
inline CLI::Validator ZeroOrMore() { return NumberFrom(0, true, "0 or more"); }
inline CLI::Validator FiniteNumber() {
  return NumberFrom(std::numeric_limits<double>::lowest(), true, "a finite number");
}

/// From `least` to `most`, both included.
inline CLI::Validator NumberBetween(double least, double most) {
  return CLI::Validator(
      [=](const std::string& text) {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(text, number);
        if (is_number && number >= least && number <= most) return std::string();
        std::ostringstream bounds;
        bounds << "expected " << least << " to " << most << ", got " << text;
        return bounds.str();
      },
      "");
}

/// Steps of a rollout: 10000 of half a second are 83 minutes.
inline CLI::Validator RolloutSteps(int least) { return NumberBetween(least, 10000); }

/// Parses with `parse` into `target`; an error becomes a usage error with its message, without the
/// field that begins it: CLI11 puts the option there.
template <typename T, typename Parse>
CLI::Validator ParsedInto(T* target, Parse parse) {
  return CLI::Validator(
      [target, parse](const std::string& text) {
        StatusOr<T> parsed = parse(text);
        if (!parsed.ok()) {
          const std::string message = parsed.status().message();
          const std::string field = parsed.status().field() + ": ";
          return message.starts_with(field) ? message.substr(field.size()) : message;
        }
        *target = *parsed;
        return std::string();
      },
      "");
}

}  // namespace interlacer::cli
