#include "server/transport/library_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <ios>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>

#include "common/log.h"

namespace interlacer {
namespace {

// Errors are warnings here: the server itself reports what stops it.

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_ERROR:
      return LogLevel::kWarning;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_DEBUG:
      break;
  }
  return LogLevel::kDebug;
}

void ForwardGrpc(gpr_log_func_args* line) {
  Log(LevelOf(line->severity), "grpc", {{"text", line->message}});
}

/// Such as that a string of a request is no UTF-8.
void ForwardProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& text) {
  const bool is_news = level == google::protobuf::LOGLEVEL_INFO;
  Log(is_news ? LogLevel::kInfo : LogLevel::kWarning, "protobuf", {{"text", text}});
}

/// Passes on whole lines, of any thread.
class LineBuffer final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override {
    const char text = traits_type::to_char_type(c);
    if (!traits_type::eq_int_type(c, traits_type::eof())) Add({&text, 1});
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    Add({text, static_cast<std::size_t>(size)});
    return size;
  }

 private:
  void Add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    for (const char c : text) {
      if (c != '\n') {
        line_ += c;
      } else {
        Log(LogLevel::kWarning, "stderr", {{"text", std::exchange(line_, {})}});
      }
    }
  }

  std::mutex mutex_;
  std::string line_;
};

}  // namespace

void LogLibraryLines() {
  gpr_set_log_function(&ForwardGrpc);
  google::protobuf::SetLogHandler(&ForwardProtobuf);
  // Never freed: the stream is flushed after the last static object is gone.
  static auto* const lines = new LineBuffer;
  std::cerr.rdbuf(lines);
}

}  // namespace interlacer
