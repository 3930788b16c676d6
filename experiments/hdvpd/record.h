#pragma once

/// Writes a comparison of variants to files: hdvpd.json with every number, CSVs by step and by run,
/// Markdown tables for model cards. Equal pieces give equal bytes. Pure functions of the study.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/hdvpd/relations.h"
#include "experiments/hdvpd/study.h"
#include "experiments/hdvpd/verdicts.h"

namespace interlacer {

inline constexpr char kStudyFile[] = "hdvpd.json";

/// `claims` of a planned study, else none.
nlohmann::ordered_json StudyToJson(const Study& study, const std::vector<Relation>& relations,
                                   const std::vector<Claim>& claims = {});
std::string StudyToCsv(const Study& study);
/// What the claims rest on: of every run that takes part and every episode the metrics of claims,
/// means over steps and views; a cell is empty where nothing moves.
std::string RunsToCsv(const Study& study);
std::string StudyToMarkdown(const Study& study, const std::vector<Relation>& relations,
                            const std::vector<Claim>& claims = {});

}  // namespace interlacer
