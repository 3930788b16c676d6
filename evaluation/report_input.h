#pragma once

/// What the report of an evaluation is made of. Values; the results must outlive them.

#include <string>
#include <vector>

#include "evaluation/comparison.h"

namespace interlacer {

struct ReportInput {
  std::string title;
  std::vector<Variant> variants;  ///< at least one; the first is the reference
  /// Sentences in bold at the head, such as what makes the results hard to compare.
  std::vector<std::string> warnings;
  std::string command;
  std::string created_time;

  const Results& reference() const { return *variants[0].results; }
};

}  // namespace interlacer
