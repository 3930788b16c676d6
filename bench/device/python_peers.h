#pragma once

/// One Python process that plays all peers of a stage on the same device, so that its libraries are
/// loaded once. Without a device no process is started.
///
/// The child takes the peer's name as the array "peer", times itself with device events and gives
/// its answer as the result "out". Threads: one at a time.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/child_peer.h"
#include "bench/options.h"

namespace interlacer::bench {

/// How far a peer's answer is from the reference, and how far it may be.
struct PeerCheck {
  std::function<double(const std::vector<double>& out)> error;
  double bound = 0;
};

class PythonPeers {
 public:
  /// `load` hands the inputs over, once; what it throws is the reason why the peers are skipped.
  PythonPeers(const std::string& script, const Options& options,
              const std::function<void(ChildPeer* child)>& load);

  /// `base` against `peer`, which is skipped with a reason when it cannot run or computes something
  /// else.
  Case Against(const Case& base, const std::string& peer, const PeerCheck& check,
               std::optional<double> goal = {}) const;

 private:
  std::shared_ptr<ChildPeer> child_;
  std::string missing_;
};

}  // namespace interlacer::bench
