#pragma once

/// All Python peers of a stage on one device in a single process, so that libraries are loaded
/// once. Without a device no process is started.
///
/// The child receives the peer's name as the array "peer", measures its time with device events and
/// returns the result "out". Threads: one at a time.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/child_peer.h"
#include "bench/options.h"

namespace interlacer::bench {

/// Error of a peer's result against the reference, and its bound.
struct PeerCheck {
  std::function<double(const std::vector<double>& out)> error;
  double bound = 0;
};

class PythonPeers {
 public:
  /// `load` transfers the inputs, once; an exception from it is the reason for which peers are
  /// skipped.
  PythonPeers(const std::string& script, const Options& options,
              const std::function<void(ChildPeer* child)>& load);

  /// Compares `base` with `peer`, which is skipped with a reason when it cannot run or computes
  /// something else.
  Case Against(const Case& base, const std::string& peer, const PeerCheck& check,
               std::optional<double> goal = {}) const;

 private:
  std::shared_ptr<ChildPeer> child_;
  std::string missing_;
};

}  // namespace interlacer::bench
