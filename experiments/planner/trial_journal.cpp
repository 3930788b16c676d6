#include "experiments/planner/trial_journal.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "common/file_io.h"
#include "common/json.h"

namespace interlacer {
namespace {

/// What trials of a journal have in common.
std::string FirstLine(ClosedLoopStudy study) {
  study.trials.clear();
  nlohmann::ordered_json json = ClosedLoopToJson(study);
  json.erase("command");
  json.erase("created_time");
  return JsonText(json, -1);
}

}  // namespace

StatusOr<TrialJournal> TrialJournal::Open(const std::string& path, const ClosedLoopStudy& study) {
  TrialJournal journal(path);
  if (path.empty()) return journal;
  const std::string first = FirstLine(study);
  std::string text;
  if (std::filesystem::exists(path)) {
    INTERLACER_ASSIGN_OR_RETURN(text, ReadTextFile(path));
  }
  const std::size_t last_break = text.rfind('\n');
  // A command that was killed at its first line has left a part of it.
  if (last_break == std::string::npos && first.starts_with(text)) {
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(path, first + "\n"));
    return journal;
  }
  text.resize(last_break == std::string::npos ? 0 : last_break + 1);
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != first) {
    return Mismatch(reason::ARGUMENT_INVALID, "--journal", "one of " + first,
                    line.empty() ? "a file without a whole line" : line);
  }
  while (std::getline(lines, line)) {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(line, path));
    INTERLACER_ASSIGN_OR_RETURN(TrialResult trial, TrialFromJson(json));
    journal.trials_.push_back(std::move(trial));
  }
  // What is appended begins a line.
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(path, text));
  return journal;
}

std::optional<TrialResult> TrialJournal::Find(std::uint64_t seed, Chooser chooser) const {
  for (const TrialResult& trial : trials_) {
    if (trial.seed == seed && trial.chooser == chooser) return trial;
  }
  return std::nullopt;
}

Status TrialJournal::Add(const TrialResult& trial) {
  trials_.push_back(trial);
  return Append(JsonText(TrialToJson(trial), -1));
}

Status TrialJournal::Append(const std::string& line) const {
  if (path_.empty()) return Status::Ok();
  std::ofstream file(path_, std::ios::app);
  file << line << '\n' << std::flush;
  return file.good() ? Status::Ok() : CannotWrite(path_, {errno, std::generic_category()});
}

}  // namespace interlacer
