#pragma once

/// interlacer-server as a process with one model, by default on a free port of loopback.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/eventually.h"

namespace interlacer::testing {

class ListeningServer {
 public:
  /// `model`: NAME=DIR; `more`: further arguments; `variables`: NAME=VALUE. Returns once the server
  /// listens, on a path at once.
  explicit ListeningServer(const std::string& model, const std::string& address = "127.0.0.1:0",
                           const std::vector<std::string>& more = {},
                           const std::vector<std::string>& variables = {})
      : process_(Arguments(model, address, more, variables)), address_(address) {
    if (!address.ends_with(":0")) return;
    static const std::regex kPort(R"(listening .*port=(\d+))");
    std::smatch match;
    std::string log;
    EXPECT_TRUE(Eventually([&] {
      log = process_.Err();
      return std::regex_search(log, match, kPort) || !process_.IsRunning();
    }));
    EXPECT_EQ(match.size(), 2u) << process_.Err();
    if (match.size() == 2) address_.replace(address_.size() - 1, 1, match[1].str());
  }

  const std::string& address() const { return address_; }
  ChildProcess& process() { return process_; }
  ProcessResult Stop() {
    process_.Signal(SIGTERM);
    return process_.Wait();
  }

 private:
  static std::vector<std::string> Arguments(const std::string& model, const std::string& address,
                                            const std::vector<std::string>& more,
                                            const std::vector<std::string>& variables) {
    std::vector<std::string> all = variables;
    if (!all.empty()) all.insert(all.begin(), "/usr/bin/env");
    all.insert(all.end(), {INTERLACER_SERVER_PROGRAM, "--model", model, "--address", address});
    if (std::find(more.begin(), more.end(), "--metrics-address") == more.end()) {
      all.insert(all.end(), {"--metrics-address", ""});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  ChildProcess process_;
  std::string address_;
};

}  // namespace interlacer::testing
