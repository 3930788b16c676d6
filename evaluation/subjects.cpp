#include "evaluation/subjects.h"

#include <algorithm>

namespace interlacer {

namespace {

std::vector<std::string> AllBut(std::span<const std::string_view> left_out) {
  std::vector<std::string> subjects;
  for (const std::string_view subject : kSubjects) {
    if (std::find(left_out.begin(), left_out.end(), subject) == left_out.end()) {
      subjects.emplace_back(subject);
    }
  }
  return subjects;
}

}  // namespace

std::vector<std::string> SubjectsOfOneRollout() {
  constexpr std::array kLeftOut{kModelField, kKinematicField, kContact, kOracleRender};
  return AllBut(kLeftOut);
}

std::vector<std::string> SubjectsOfReports() {
  constexpr std::array kLeftOut{kModelField, kOracleRender};
  return AllBut(kLeftOut);
}

StatusOr<std::vector<std::string>> ParseSubjects(std::span<const std::string> names) {
  const bool has_all = Contains(names, "all");
  for (const std::string& name : names) {
    if (name == "all" || std::find(kSubjects.begin(), kSubjects.end(), name) != kSubjects.end()) {
      continue;
    }
    std::string known = "all";
    for (const std::string_view subject : kSubjects) known.append(", ").append(subject);
    return Mismatch(reason::ARGUMENT_INVALID, "subjects", "some of " + known, name);
  }
  std::vector<std::string> subjects;
  for (const std::string_view subject : kSubjects) {
    if (has_all || Contains(names, subject)) subjects.emplace_back(subject);
  }
  return subjects;
}

bool Contains(std::span<const std::string> subjects, std::string_view subject) {
  return std::find(subjects.begin(), subjects.end(), subject) != subjects.end();
}

bool NeedModel(std::span<const std::string> subjects) {
  return std::any_of(subjects.begin(), subjects.end(), [](const std::string& subject) {
    return subject != kKinematicSubject && subject != kContact && subject != kCopyLast &&
           subject != kOracleMotion;
  });
}

}  // namespace interlacer
