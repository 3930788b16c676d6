#pragma once

/// Writes a comparison of variants to files: hdvpd.json with every number, a CSV for plotting, a
/// Markdown table for model cards. Equal pieces give equal bytes. Pure functions of the study.

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
std::string StudyToMarkdown(const Study& study, const std::vector<Relation>& relations,
                            const std::vector<Claim>& claims = {});

}  // namespace interlacer
