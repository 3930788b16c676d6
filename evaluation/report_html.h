#pragma once

/// The HTML report of an evaluation: one model beside its baselines, or several models beside each
/// other.
///
/// Verdict, curves with 95 % bands, tables, paired differences, distribution over episodes, frame
/// strips of the best, the median and the worst episode, cost, failures, how it was computed.
/// Reads the pictures that lie beside the results; a missing picture leaves its place empty.
/// The page follows evaluation/html.h.

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

std::string ReportHtml(const ReportInput& input);

}  // namespace interlacer
