#include "model/training/distributed/group.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "common/log.h"
#include "model/runtime/torch_errors.h"
#include "model/training/distributed/back_end.h"
#include "model/training/distributed/gloo.h"
#include "model/training/distributed/nccl.h"

namespace interlacer {
namespace {

/// The group of a single process: sums and broadcasts do nothing.
class SingleRank : public RankGroup {
 public:
  SingleRank(const DistributedEnvironment& place, at::Device device) : RankGroup(place, device) {}
  void Sum(at::Tensor*) override {}
  void Broadcast(at::Tensor*) override {}
};

/// The rendezvous of the ranks; rank 0 serves it unless the launcher does.
c10::intrusive_ptr<c10d::Store> OpenRendezvous(const DistributedEnvironment& place) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.master_port);
  options.isServer = place.rank == 0 && !place.launcher_has_store;
  options.timeout = std::chrono::seconds(place.timeout_s);
  options.waitWorkers = !place.launcher_has_store;
  if (options.waitWorkers) options.numWorkers = static_cast<std::size_t>(place.world_size);
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(place.master_address, options);
    return c10::make_intrusive<c10d::PrefixStore>("interlacer/" + std::to_string(place.attempt),
                                                  std::move(store));
  } catch (const std::exception& error) {
    throw StatusException(Internal("the processes of the run did not meet within " +
                                   std::to_string(place.timeout_s) +
                                   " s: " + FirstLine(error.what()))
                              .WithField("MASTER_ADDR " + place.master_address + " MASTER_PORT " +
                                         std::to_string(place.master_port)));
  }
}

}  // namespace

StatusException RankGroup::Lost(const std::string& what, const std::string& why) const {
  return StatusException(Internal("rank " + std::to_string(rank()) + " of " +
                                  std::to_string(size()) + ", " + what +
                                  ": another process of the run ended or did not answer within " +
                                  std::to_string(place_.timeout_s) + " s: " + FirstLine(why)));
}

std::unique_ptr<RankGroup> JoinGroup(const DistributedEnvironment& place, at::Device device) {
  if (place.alone()) return std::make_unique<SingleRank>(place, device);
  const auto store = OpenRendezvous(place);
  if (device.is_cuda()) {
    StatusOr<NcclLibrary> nccl = NcclLibrary::Open();
    if (nccl.ok()) {
      CheckEqualBackEnds(place, "nccl", store.get());
      return JoinNccl(place, device, store, *nccl);
    }
    Log(LogLevel::kWarning, "gradients travel through host memory",
        {{"reason", nccl.status().message()}});
  }
  CheckEqualBackEnds(place, "gloo", store.get());
  return JoinGloo(place, device, store);
}

}  // namespace interlacer
