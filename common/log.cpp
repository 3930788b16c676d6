#include "common/log.h"

#include <limits.h>
#include <poll.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>

#include "common/json.h"
#include "common/printable_text.h"

namespace interlacer {
namespace {

std::atomic<LogFormat> log_format{LogFormat::kText};

std::string UtcNow();

/// Stderr, but lines that nobody reads are lost: a full pipe must stop no program. The first one
/// waits a moment for its reader, those after it do not, and the next line that is read says how
/// many there were.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (lost_count_ > 0) {
      const std::string note =
          FormatLogEvent(log_format, LogLevel::kWarning, UtcNow(), "lines of the log were lost",
                         {{"count", std::to_string(lost_count_)}});
      if (!Write(is_cut_ ? '\n' + note : note, 0)) {
        ++lost_count_;
        return;
      }
      lost_count_ = 0;
    }
    constexpr int kPatienceMs = 200;
    if (!Write(std::string(message.payload.data(), message.payload.size()), kPatienceMs)) {
      lost_count_ = 1;
    }
  }
  void flush_() override {}

 private:
  /// In pieces of the size that a pipe takes at once when it takes anything.
  bool Write(std::string line, int patience_ms) {
    line += '\n';
    for (std::size_t begin = 0; begin < line.size();) {
      pollfd entry{STDERR_FILENO, POLLOUT, 0};
      const bool can_write = poll(&entry, 1, patience_ms) == 1 && (entry.revents & POLLOUT) != 0;
      const std::size_t size = std::min<std::size_t>(PIPE_BUF, line.size() - begin);
      const ssize_t count = can_write ? write(STDERR_FILENO, line.data() + begin, size) : -1;
      if (count <= 0) {
        is_cut_ |= begin > 0;
        return false;
      }
      begin += static_cast<std::size_t>(count);
    }
    is_cut_ = false;
    return true;
  }

  std::int64_t lost_count_ = 0;
  /// The last line ended in its middle.
  bool is_cut_ = false;
};

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    return std::make_shared<spdlog::logger>("interlacer", std::make_shared<StderrSink>());
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
