#include "bench/device/python_peers.h"

#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include "bench/device/device_platform.h"

namespace interlacer::bench {
namespace {

/// The text without the stack trace that LibTorch appends.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

PythonPeers::PythonPeers(const std::string& script, const Options& options,
                         const std::function<void(ChildPeer* child)>& load)
    : missing_(DeviceAbsence()) {
  if (missing_.empty() && options.inputs != "warm") missing_ = "peers are timed on warm inputs";
  if (missing_.empty() && options.peer == kNoPeer) missing_ = "not asked for";
  if (!missing_.empty()) return;
  try {
    child_ = std::make_shared<ChildPeer>(script, options.threads);
    load(child_.get());
  } catch (const std::exception& error) {  // also LibTorch's, about the transferred data
    child_.reset();
    missing_ = FirstLine(error.what());
  }
}

Case PythonPeers::Against(const Case& base, const std::string& peer, const PeerCheck& check,
                          std::optional<double> goal) const {
  Case item = bench::Against(base, peer);
  item.goal = goal;
  item.skipped = missing_;
  if (!missing_.empty()) return item;
  item.peer_version = child_->version();
  item.run_peer = [child = child_, peer, check, checked = false]() mutable {
    const std::vector<std::uint8_t> name(peer.begin(), peer.end());
    child->Load("peer", std::span(name), {static_cast<std::int64_t>(name.size())});
    const double ms = child->RunMs();
    if (!std::exchange(checked, true)) {
      const double error = check.error(child->Fetch("out"));
      if (!(error <= check.bound)) {
        throw PeerError(peer + ": computes something else, error " + std::to_string(error));
      }
    }
    return ms;
  };
  return item;
}

}  // namespace interlacer::bench
