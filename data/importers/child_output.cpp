#include "data/importers/child_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "common/printable_text.h"

namespace interlacer {
namespace {

constexpr std::size_t kMostErrorBytes = 4096;
constexpr int kStopCheckMs = 100;

/// Both ends close with the object and do not pass to other programs.
struct Pipe {
  std::array<int, 2> ends = {-1, -1};
  bool Open() { return pipe2(ends.data(), O_CLOEXEC) == 0; }
  void Close(int end) {
    if (ends[static_cast<std::size_t>(end)] >= 0) close(ends[static_cast<std::size_t>(end)]);
    ends[static_cast<std::size_t>(end)] = -1;
  }
  ~Pipe() {
    Close(0);
    Close(1);
  }
};

/// Ended and waited for at the latest when the object goes.
struct Child {
  pid_t id = -1;
  int Wait() {
    int status = 0;
    while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    id = -1;
    return status;
  }
  ~Child() {
    if (id <= 0) return;
    kill(id, SIGKILL);
    Wait();
  }
};

Status CannotStart(const std::string& program, int error) {
  const std::string what = std::generic_category().message(error);
  const char* const help = error == ENOENT ? "; Debian's package ffmpeg has it" : "";
  return FailedPrecondition(reason::FILE_NOT_FOUND,
                            "cannot start the program " + program + ": " + what + help)
      .WithField(program);
}

Status Spawn(const std::vector<std::string>& arguments, int input_fd, const Pipe& output,
             const Pipe& errors, Child* child) {
  std::vector<char*> argv;
  for (const std::string& text : arguments) argv.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input_fd >= 0) {
    posix_spawn_file_actions_adddup2(&actions, input_fd, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  const int error = posix_spawnp(&child->id, argv.front(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return Status::Ok();
  child->id = -1;
  return CannotStart(arguments.front(), error);
}

}  // namespace

Status RunProgram(const std::vector<std::string>& arguments, int input_fd, std::stop_token stop,
                  const std::function<Status(std::span<const std::uint8_t>)>& take) {
  Pipe output, errors;
  if (!output.Open() || !errors.Open()) return CannotStart(arguments.front(), errno);
  Child child;
  INTERLACER_RETURN_IF_ERROR(Spawn(arguments, input_fd, output, errors, &child));
  output.Close(1);
  errors.Close(1);
  std::string said;
  std::vector<std::uint8_t> buffer(std::size_t{1} << 16);
  std::array<pollfd, 2> open = {pollfd{output.ends[0], POLLIN, 0},
                                pollfd{errors.ends[0], POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (stop.stop_requested()) return Cancelled("import stopped");
    if (poll(open.data(), open.size(), kStopCheckMs) < 0 && errno != EINTR) {
      return CannotStart(arguments.front(), errno);
    }
    for (pollfd& stream : open) {
      if (stream.fd < 0 || stream.revents == 0) continue;
      const ssize_t count = read(stream.fd, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        stream.fd = -1;  // poll passes over it
      } else if (&stream == open.data()) {
        INTERLACER_RETURN_IF_ERROR(take({buffer.data(), static_cast<std::size_t>(count)}));
      } else {
        said.append(reinterpret_cast<const char*>(buffer.data()),
                    std::min(static_cast<std::size_t>(count), kMostErrorBytes - said.size()));
      }
    }
  }
  const int status = child.Wait();
  if (stop.stop_requested()) return Cancelled("import stopped");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status::Ok();
  while (!said.empty() && said.back() == '\n') said.pop_back();
  std::replace(said.begin(), said.end(), '\n', ' ');
  return InvalidArgument(
      reason::FILE_UNREADABLE,
      arguments.front() + " failed: " + (said.empty() ? "it says nothing" : PrintableLine(said)));
}

}  // namespace interlacer
