#pragma once

/// Ctrl-C as a stop request: the running verb ends at its next safe place and keeps what is done.
///
/// One InterruptWatcher a process, made in main. The first SIGINT or SIGTERM requests a stop; the
/// second ends the process at once with 130. A closed pipe (SIGPIPE) becomes an error of the write.

#include <stop_token>
#include <thread>

namespace interlacer::cli {

class InterruptWatcher {
 public:
  InterruptWatcher();
  ~InterruptWatcher();
  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::thread thread_;
};

}  // namespace interlacer::cli
