#include "cli/child_jobs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

namespace interlacer::cli {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};
constexpr char kThisProgram[] = "/proc/self/exe";

/// The calling thread must live as long as the child: the signal of a parent's death is that of the
/// thread's.
StatusOr<pid_t> Start(const ChildJob& job) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(job.log_path).parent_path(), error);
  const int log = open(job.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) {
    return FailedPrecondition(reason::FILE_UNWRITABLE, std::strerror(errno))
        .WithField(job.log_path);
  }
  std::vector<std::string> words = job.arguments;
  words.insert(words.begin(), "interlacer");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t pid = fork();
  if (pid == 0) {
    // Other threads may hold locks: only calls that need none until exec. A group of its own,
    // because a terminal's Ctrl-C reaches the group and a second SIGINT would end it unsaved.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGINT);
    dup2(nowhere, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(kThisProgram, argv.data());
    _exit(127);
  }
  close(log);
  close(nowhere);
  if (pid < 0) return Internal(std::string("cannot start a process: ") + std::strerror(errno));
  return pid;
}

}  // namespace

Status RunChildJobs(const std::vector<ChildJob>& jobs, int jobs_at_once,
                    const std::stop_token& stop,
                    const std::function<void(std::size_t, int)>& on_end) {
  // A parent may have left it ignored, with which children end without leaving a trace to wait for.
  signal(SIGCHLD, SIG_DFL);
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0;
  bool was_told = false;
  Status status;
  while (true) {
    const bool ends = stop.stop_requested() || !status.ok();
    if (ends && !was_told) {
      for (const auto& [pid, job] : running) kill(pid, SIGINT);
      was_told = true;
    }
    while (!ends && next < jobs.size() && running.size() < static_cast<std::size_t>(jobs_at_once)) {
      const StatusOr<pid_t> pid = Start(jobs[next]);
      if (!pid.ok()) {
        status = pid.status();
        break;
      }
      running[*pid] = next++;
    }
    for (auto it = running.begin(); it != running.end();) {
      int how = 0;
      if (waitpid(it->first, &how, WNOHANG) != it->first) {
        ++it;
        continue;
      }
      on_end(it->second, WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how));
      it = running.erase(it);
    }
    if (running.empty() && (ends || next == jobs.size())) break;
    std::this_thread::sleep_for(kPollInterval);
  }
  if (status.ok() && stop.stop_requested()) return Cancelled("stopped");
  return status;
}

}  // namespace interlacer::cli
