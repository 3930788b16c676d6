#include "model/training/distributed/nccl.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace interlacer {
namespace {

constexpr char kIdKey[] = "nccl_id";
constexpr char kArrivedKey[] = "nccl_arrived/";
constexpr auto kPollInterval = std::chrono::microseconds(50);

class NcclGroup : public RankGroup {
 public:
  NcclGroup(const DistributedEnvironment& place, at::Device device,
            const c10::intrusive_ptr<c10d::Store>& store, const NcclLibrary& nccl)
      : RankGroup(place, device), nccl_(nccl) {
    const c10::DeviceGuard guard(device);
    const NcclUniqueId id = AgreeOnId(store);
    WaitForAll(store);
    Check("meeting", nccl_.comm_init_rank(&communicator_, size(), id, rank()));
  }

  ~NcclGroup() override {
    if (communicator_ != nullptr) nccl_.comm_destroy(communicator_);
  }

  void Sum(at::Tensor* values) override {
    const int type = values->scalar_type() == at::kDouble ? kNcclFloat64 : kNcclFloat32;
    Run("summing", [&](void* stream) {
      return nccl_.all_reduce(values->data_ptr(), values->data_ptr(),
                              static_cast<std::size_t>(values->numel()), type, kNcclSum,
                              communicator_, stream);
    });
  }

  void Broadcast(at::Tensor* values) override {
    Run("broadcasting", [&](void* stream) {
      return nccl_.broadcast(values->data_ptr(), values->data_ptr(), values->nbytes(), kNcclUint8,
                             /*root=*/0, communicator_, stream);
    });
  }

 private:
  NcclUniqueId AgreeOnId(const c10::intrusive_ptr<c10d::Store>& store) const {
    NcclUniqueId id{};
    if (is_first()) {
      Check("meeting", nccl_.get_unique_id(&id));
      store->set(kIdKey, std::vector<std::uint8_t>(id.bytes, id.bytes + sizeof(id.bytes)));
      return id;
    }
    const std::vector<std::uint8_t> bytes = Call("meeting", [&] { return store->get(kIdKey); });
    if (bytes.size() != sizeof(id.bytes)) throw Lost("meeting", "NCCL's identifier is incomplete");
    std::memcpy(id.bytes, bytes.data(), bytes.size());
    return id;
  }

  /// NCCL's own rendezvous has no time limit, so it starts only when all ranks are present.
  void WaitForAll(const c10::intrusive_ptr<c10d::Store>& store) const {
    std::vector<std::string> keys;
    for (int i = 0; i < size(); ++i) keys.push_back(kArrivedKey + std::to_string(i));
    store->set(keys[static_cast<std::size_t>(rank())], std::vector<std::uint8_t>{1});
    Call("meeting", [&] { store->wait(keys); });
  }

  void Check(const char* what, int result) const {
    if (result != kNcclSuccess && result != kNcclInProgress) {
      throw Lost(what, nccl_.get_error_string(result));
    }
  }

  template <typename Function>
  void Run(const char* what, const Function& launch) {
    const c10::DeviceGuard guard(device());
    // Through torch's device interface: its CUDA headers need the toolkit, which a build may lack.
    const c10::impl::VirtualGuardImpl devices(device().type());
    const c10::Stream stream = devices.getStream(device());
    if (communicator_ == nullptr) throw Lost(what, "the group was given up after an error");
    Check(what, launch(devices.getStreamNativeHandle(stream)));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(place().timeout_s);
    while (!stream.query()) {
      int error = kNcclSuccess;
      nccl_.comm_get_async_error(communicator_, &error);
      const bool late = std::chrono::steady_clock::now() > end;
      if (late || (error != kNcclSuccess && error != kNcclInProgress)) {
        nccl_.comm_abort(communicator_);
        communicator_ = nullptr;
        throw Lost(what, late ? "time limit" : nccl_.get_error_string(error));
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }

  NcclLibrary nccl_;
  NcclCommunicator* communicator_ = nullptr;
};

}  // namespace

std::unique_ptr<RankGroup> JoinNccl(const DistributedEnvironment& place, at::Device device,
                                    const c10::intrusive_ptr<c10d::Store>& store,
                                    const NcclLibrary& nccl) {
  return std::make_unique<NcclGroup>(place, device, store, nccl);
}

}  // namespace interlacer
