/// The log of the real server: its form whatever clients send, and a pipe that nobody reads.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "common/json.h"
#include "tests/deploy/running_server.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

/// A string of which protobuf says by itself that it is no UTF-8.
Status AskWithBadString(const RunningServer& server) {
  CallOptions options;
  options.deadline_s = 10;
  options.model_name = "\xff\xfe";
  return server.Connect()->GetModelMetadata(options).status();
}

// fm-41
TEST(ServerLog, IsJsonWhateverLibrariesSay) {
  const TempFolder folder;
  RunningServer server("unix:" + folder.File("socket"), {"--log-format", "json"});
  ASSERT_TRUE(server.WaitUntilReady());
  EXPECT_EQ(AskWithBadString(server).code(), StatusCode::kInternal);
  const std::string log = server.Stop().err;
  EXPECT_NE(log.find("\"message\":\"protobuf\""), std::string::npos) << log;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    EXPECT_TRUE(ParseJson(line, "log").ok()) << line;
  }
}

/// A named pipe that is full, and stays so.
class FullPipe {
 public:
  explicit FullPipe(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    // Also for reading, so that no open waits for somebody who reads.
    fd_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::string page(4096, 'x');
    while (write(fd_, page.data(), page.size()) > 0) {
    }
  }
  ~FullPipe() { close(fd_); }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;

 private:
  int fd_ = -1;
};

// fm-20
TEST(ServerLog, AFullPipeThatNobodyReadsHoldsUpNothing) {
  constexpr int kCalls = 32;  // more than gRPC has threads
  const TempFolder folder;
  const FullPipe pipe(folder.File("log"));
  RunningServer server("unix:" + folder.File("socket"), {},
                       {"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + folder.File("log")});
  ASSERT_TRUE(server.WaitUntilReady());
  std::vector<Status> ends(kCalls);
  {
    std::vector<std::jthread> callers;
    for (Status& end : ends) callers.emplace_back([&] { end = AskWithBadString(server); });
  }
  for (const Status& end : ends) EXPECT_EQ(end.code(), StatusCode::kInternal) << end.ToString();
  EXPECT_TRUE(server.Connect()->GetServerInfo({}).ok());
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(20).exit_code, 0);
}

}  // namespace
}  // namespace interlacer::testing
