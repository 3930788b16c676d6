#pragma once

/// A peer that runs in a Python process, which is kept alive between runs.
///
/// The child measures its own time, without the pipe's. Lines are exchanged over its standard input
/// and output, each array as raw little-endian bytes after its line (bench/peers/peer.py). The
/// interpreter is BENCH_PYTHON, by default Debian's /usr/bin/python3. Errors: PeerError when the
/// script cannot run here or the child fails. Threads: one at a time.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace interlacer::bench {

struct PeerError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ChildPeer {
 public:
  /// Starts bench/peers/SCRIPT and waits until it reports that its modules are loaded.
  ChildPeer(const std::string& script, int threads);
  ~ChildPeer();
  ChildPeer(const ChildPeer&) = delete;
  ChildPeer& operator=(const ChildPeer&) = delete;

  /// Name and version of the library, such as "numpy 1.24.2".
  const std::string& version() const { return version_; }
  void Load(const std::string& name, std::span<const float> values,
            const std::vector<std::int64_t>& shape);
  void Load(const std::string& name, std::span<const std::int32_t> values,
            const std::vector<std::int64_t>& shape);
  void Load(const std::string& name, std::span<const std::uint8_t> values,
            const std::vector<std::int64_t>& shape);
  double RunMs();
  /// A result of the last run, converted to float64.
  std::vector<double> Fetch(const std::string& name);

 private:
  void LoadBytes(const std::string& name, const char* type, const void* data, std::size_t bytes,
                 const std::vector<std::int64_t>& shape);
  void Send(const std::string& line);
  std::string Receive();

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string script_;
  std::string version_;
  int pid_ = -1;
  std::unique_ptr<std::FILE, CloseFile> to_child_, from_child_;
};

}  // namespace interlacer::bench
