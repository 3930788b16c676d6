#pragma once

/// Runs a program under test as a child process: start, signal, wait, output.
///
/// The child dies with the test (Linux: parent death signal) and is killed when the time limit of
/// Wait passes or the object goes out of scope. Both streams go to files of a temporary folder, so
/// no pipe can fill up. One object, one thread.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {

struct ProcessResult {
  /// Exit code of the program; 128 + signal if a signal ended it.
  int exit_code = -1;
  std::string out;
  std::string err;
};

class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string out = folder_.File("out"), err = folder_.File("err");
    pid_ = fork();
    INTERLACER_CHECK(pid_ >= 0, "cannot fork");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    Redirect(out.c_str(), O_WRONLY | O_CREAT, STDOUT_FILENO);
    Redirect(err.c_str(), O_WRONLY | O_CREAT, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~ChildProcess() {
    if (pid_ <= 0) return;
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void Signal(int number) const {
    if (pid_ > 0) kill(pid_, number);
  }
  /// Process id while it runs; 0 after its end.
  pid_t id() const { return pid_; }
  std::string Out() const { return Read("out"); }
  std::string Err() const { return Read("err"); }

  /// Whether it is still running.
  bool IsRunning() { return !TryReap(); }

  /// Waits for the end; kills the program after `limit_s`, which gives exit code 137.
  ProcessResult Wait(double limit_s = 100) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
    while (!TryReap()) {
      if (std::chrono::steady_clock::now() > end) Signal(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {exit_code_, Out(), Err()};
  }

 private:
  static void Redirect(const char* path, int flags, int descriptor) {
    const int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
    close(file);
  }

  std::string Read(const std::string& name) const {
    std::ifstream file(folder_.File(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  bool TryReap() {
    if (pid_ <= 0) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    pid_ = 0;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  }

  const TempFolder folder_;
  pid_t pid_ = 0;
  int exit_code_ = -1;
};

}  // namespace interlacer::testing
