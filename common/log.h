#pragma once

/// Log lines to stderr, as text or as JSON; no other part includes spdlog.
///
/// One event is one line: what common/printable_text.h calls unprintable is escaped; in text,
/// values with spaces, "=", quotes or backslashes are quoted. Before InitLogging the level is kInfo
/// and the format text. Lines that nobody reads from a full pipe are lost, and the next one says
/// how many. Thread-safe.
///   text  2026-11-21T10:00:00.123Z INFO server ready address=127.0.0.1:50051
///   JSON  {"time":"2026-11-21T10:00:00.123Z","level":"info","message":"server ready",...}

#include <initializer_list>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

struct LogField {
  std::string_view key;
  std::string value;
};

StatusOr<LogLevel> ParseLogLevel(std::string_view text);    // debug | info | warning | error
StatusOr<LogFormat> ParseLogFormat(std::string_view text);  // text | json

void InitLogging(LogLevel level, LogFormat format);
/// Whether Log would print anything; lets callers skip building the fields.
bool IsLogged(LogLevel level);
void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

/// The line that Log prints at `time`.
std::string FormatLogEvent(LogFormat format, LogLevel level, std::string_view time,
                           std::string_view message, std::initializer_list<LogField> fields);

}  // namespace interlacer
