#include "common/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "common/json.h"
#include "common/printable_text.h"

namespace interlacer {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto created = std::make_shared<spdlog::logger>(
        "interlacer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_pattern("%v");
    created->flush_on(spdlog::level::debug);
    return created;
  }();
  return *logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "info";
}

std::string UtcNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t millis = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(millis / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char date[32], text[48];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof(text), "%s.%03dZ", date, static_cast<int>(millis % 1000));
  return text;
}

/// Quotes values that could be read as more than one field.
std::string QuotedValue(std::string_view value) {
  if (value.find_first_of(" =\"\\") == std::string_view::npos) return PrintableLine(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return PrintableLine(quoted + '"');
}

}  // namespace

StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == LevelName(level)) return level;
  }
  return Mismatch(reason::ARGUMENT_INVALID, "log_level", "debug, info, warning or error",
                  std::string(text));
}

StatusOr<LogFormat> ParseLogFormat(std::string_view text) {
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return Mismatch(reason::ARGUMENT_INVALID, "log_format", "text or json", std::string(text));
}

void InitLogging(LogLevel level, LogFormat format) {
  log_format = format;
  Logger().set_level(ToSpdlog(level));
}

bool IsLogged(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!IsLogged(level)) return;
  Logger().log(ToSpdlog(level), "{}", FormatLogEvent(log_format, level, UtcNow(), message, fields));
}

std::string FormatLogEvent(LogFormat format, LogLevel level, std::string_view time,
                           std::string_view message, std::initializer_list<LogField> fields) {
  if (format == LogFormat::kJson) {
    nlohmann::ordered_json line;
    line["time"] = time;
    line["level"] = LevelName(level);
    line["message"] = message;
    for (const LogField& field : fields) line[std::string(field.key)] = field.value;
    return JsonText(line, -1);
  }
  std::string line(time);
  line += ' ';
  for (const char* c = LevelName(level); *c != 0; ++c) line += static_cast<char>(*c - 'a' + 'A');
  line += ' ' + PrintableLine(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=' + QuotedValue(field.value);
  }
  return line;
}

}  // namespace interlacer
