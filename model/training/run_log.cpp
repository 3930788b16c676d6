#include "model/training/run_log.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/file_io.h"
#include "common/json.h"

namespace interlacer {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Lines of an earlier run up to `last_step` without its end; an unreadable tail (an incomplete
/// line) is dropped.
std::string KeptLines(const std::string& path, std::int64_t last_step) {
  std::ifstream old(path);
  std::string kept, line;
  while (std::getline(old, line)) {
    const auto record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object() || !record.contains("step")) break;
    const nlohmann::json& step = record["step"];
    if (!step.is_number_integer() || step > last_step) break;
    if (record.value("kind", nlohmann::json()) == "end") continue;
    kept += line + "\n";
  }
  return kept;
}

template <typename Record>
void AddOptional(const Record& record, OrderedJson* line) {
  if (record.depth_loss_m > 0) (*line)["depth_loss_m"] = record.depth_loss_m;
  if (record.track_loss_m > 0) (*line)["track_loss_m"] = record.track_loss_m;
}

}  // namespace

bool ValidationRecord::IsOfAModelThatMovesNothing() const {
  constexpr double kEqual = 1e-6;
  return still_track_loss_m > 0 &&
         std::abs(track_loss_m - still_track_loss_m) <= kEqual * still_track_loss_m;
}

StatusOr<RunLog> RunLog::Open(const std::string& path, std::int64_t resume_step) {
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(path, KeptLines(path, resume_step)));
  std::ofstream file(path, std::ios::app);
  if (!file) return FailedPrecondition(reason::FILE_UNWRITABLE, "cannot write " + path);
  return RunLog(std::move(file));
}

Status RunLog::WriteLine(const std::string& line) {
  file_ << line << "\n" << std::flush;
  if (!file_) return FailedPrecondition(reason::FILE_UNWRITABLE, "cannot append to the run log");
  return Status::Ok();
}

Status RunLog::Write(const TrainingRecord& record) {
  OrderedJson line{{"kind", "train"},
                   {"step", record.step},
                   {"loss", record.loss},
                   {"reconstruction_loss", record.reconstruction_loss},
                   {"prediction_loss", record.prediction_loss}};
  AddOptional(record, &line);
  line["gradient_norm"] = record.gradient_norm;
  line["learning_rate"] = record.learning_rate;
  line["seconds"] = record.seconds;
  line["cpu_seconds"] = record.cpu_seconds;
  return WriteLine(line.dump());
}

Status RunLog::Write(const ValidationRecord& record) {
  OrderedJson line{{"kind", "validation"},
                   {"step", record.step},
                   {"loss", record.loss},
                   {"reconstruction_loss", record.reconstruction_loss},
                   {"prediction_loss", record.prediction_loss}};
  AddOptional(record, &line);
  if (record.still_track_loss_m > 0) line["still_track_loss_m"] = record.still_track_loss_m;
  return WriteLine(line.dump());
}

Status RunLog::WriteEnd(std::int64_t step, bool is_flat) {
  return WriteLine(OrderedJson{{"kind", "end"}, {"step", step}, {"flat", is_flat}}.dump());
}

std::vector<double> ReadValidationLosses(const std::string& path, std::int64_t after_step) {
  std::vector<double> losses;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_discarded() || record.value("kind", "") != "validation") continue;
    if (record.value("step", std::int64_t{0}) <= after_step) continue;
    const auto loss = record.find("loss");
    if (loss == record.end()) continue;
    // One that was not finite was written as null.
    losses.push_back(loss->is_number() ? loss->get<double>()
                                       : std::numeric_limits<double>::infinity());
  }
  return losses;
}

}  // namespace interlacer
