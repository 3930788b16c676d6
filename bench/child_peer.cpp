#include "bench/child_peer.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "bench/machine.h"

extern char** environ;

namespace interlacer::bench {
namespace {

std::string Interpreter() {
  const char* chosen = std::getenv("BENCH_PYTHON");
  return chosen ? chosen : "/usr/bin/python3";
}

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw PeerError("no pipe to a child process");
  }
  int ends[2];
};

}  // namespace

ChildPeer::ChildPeer(const std::string& script, int threads) : script_(script) {
  std::signal(SIGPIPE, SIG_IGN);  // writing to a dead child fails with an error instead
  const Pipe to, from;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from.ends[1], STDOUT_FILENO);
  const std::string python = Interpreter();
  const std::string path = SourceDir() + "/bench/peers/" + script;
  const std::string thread_count = std::to_string(threads);
  std::string arguments[] = {python, "-B", path, thread_count};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), nullptr};
  const int status = posix_spawn(&pid_, python.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to.ends[0]);
  close(from.ends[1]);
  to_child_.reset(fdopen(to.ends[1], "wb"));
  from_child_.reset(fdopen(from.ends[0], "rb"));
  if (status != 0) {
    pid_ = -1;
    throw PeerError("cannot start " + python);
  }
  const std::string answer = Receive();
  if (answer.rfind("ready ", 0) != 0) throw PeerError(answer);
  version_ = answer.substr(6);
}

ChildPeer::~ChildPeer() {
  to_child_.reset();  // the child exits at the end of its input
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

void ChildPeer::Load(const std::string& name, std::span<const float> values,
                     const std::vector<std::int64_t>& shape) {
  LoadBytes(name, "<f4", values.data(), values.size_bytes(), shape);
}
void ChildPeer::Load(const std::string& name, std::span<const std::int32_t> values,
                     const std::vector<std::int64_t>& shape) {
  LoadBytes(name, "<i4", values.data(), values.size_bytes(), shape);
}
void ChildPeer::Load(const std::string& name, std::span<const std::uint8_t> values,
                     const std::vector<std::int64_t>& shape) {
  LoadBytes(name, "|u1", values.data(), values.size_bytes(), shape);
}

void ChildPeer::LoadBytes(const std::string& name, const char* type, const void* data,
                          std::size_t bytes, const std::vector<std::int64_t>& shape) {
  std::string line = "array " + name + " " + type;
  for (const std::int64_t size : shape) line += " " + std::to_string(size);
  Send(line);
  std::fwrite(data, 1, bytes, to_child_.get());
  std::fflush(to_child_.get());
}

double ChildPeer::RunMs() {
  Send("run");
  const std::string answer = Receive();
  if (answer.rfind("ms ", 0) != 0) throw PeerError(script_ + ": " + answer);
  return std::stod(answer.substr(3));
}

std::vector<double> ChildPeer::Fetch(const std::string& name) {
  Send("fetch " + name);
  const std::string answer = Receive();
  if (answer.rfind("f8 ", 0) != 0) throw PeerError(script_ + ": " + answer);
  std::vector<double> values(std::stoull(answer.substr(3)));
  if (std::fread(values.data(), sizeof(double), values.size(), from_child_.get()) !=
      values.size()) {
    throw PeerError(script_ + ": ended within its result " + name);
  }
  return values;
}

void ChildPeer::Send(const std::string& line) {
  std::fputs((line + "\n").c_str(), to_child_.get());
  std::fflush(to_child_.get());
}

std::string ChildPeer::Receive() {
  char line[1024];
  if (!std::fgets(line, sizeof(line), from_child_.get())) {
    throw PeerError(script_ + ": the child process ended");
  }
  std::string text = line;
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace interlacer::bench
