#include "server/call_record.h"

#include <algorithm>
#include <cstdio>

#include "common/duration.h"
#include "common/log.h"

namespace interlacer {
namespace {

constexpr std::size_t kMaxIdLength = 64;
constexpr std::size_t kMaxLoggedLength = 200;

bool IsIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsId(std::string_view text) {
  return text.size() <= kMaxIdLength && std::all_of(text.begin(), text.end(), IsIdCharacter);
}

std::string Milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", seconds * 1e3);
  return text;
}

LogLevel LevelOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
    case StatusCode::kCancelled:
      return LogLevel::kInfo;
    case StatusCode::kInternal:
    case StatusCode::kDataLoss:
      return LogLevel::kError;
    default:
      return LogLevel::kWarning;
  }
}

}  // namespace

Status CheckRequestId(std::string_view request_id) {
  if (IsId(request_id)) return Status::Ok();
  return Mismatch(reason::REQUEST_ID_INVALID, "request_id", "at most 64 of A-Z a-z 0-9 . _ -",
                  request_id.size() > kMaxIdLength ? std::to_string(request_id.size()) + " bytes"
                                                   : "other characters");
}

std::string LoggableId(std::string_view value) {
  return IsId(value) ? std::string(value) : std::string();
}

void LogCall(const CallRecord& record, const Status& status) {
  if (!IsLogged(LevelOf(status))) return;
  const StageDurations& d = record.durations;
  Log(LevelOf(status), "call",
      {{"request_id", record.request_id},
       {"traceparent", record.traceparent},
       {"method", record.method},
       {"peer", record.peer.substr(0, kMaxLoggedLength)},
       {"model", record.model_name},
       {"steps", std::to_string(record.step_count)},
       {"candidates", std::to_string(record.candidate_count)},
       {"views", std::to_string(record.view_count)},
       {"bytes_in", std::to_string(record.request_bytes)},
       {"bytes_out", std::to_string(record.response_bytes)},
       {"total_ms", Milliseconds(SecondsSince(record.start))},
       {"queue_ms", Milliseconds(d.queue_s)},
       {"decode_ms", Milliseconds(d.decode_s)},
       {"lift_ms", Milliseconds(d.lift_s)},
       {"dynamics_ms", Milliseconds(d.dynamics_s)},
       {"render_ms", Milliseconds(d.render_s)},
       {"encode_ms", Milliseconds(d.encode_s)},
       {"blocked_ms", Milliseconds(d.blocked_s)},
       {"code", std::string(StatusCodeName(status.code()))},
       {"reason", status.reason()},
       {"field", status.field().substr(0, kMaxLoggedLength)},
       {"error", status.message().substr(0, kMaxLoggedLength)}});
}

}  // namespace interlacer
