#include "model/training/distributed/gloo.h"

// The class is in libtorch_cpu, but its declaration is compiled only where this macro is defined.
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace interlacer {
namespace {

class GlooGroup : public RankGroup {
 public:
  GlooGroup(const DistributedEnvironment& place, at::Device device,
            const c10::intrusive_ptr<c10d::Store>& store)
      : RankGroup(place, device) {
    Call("meeting", [&] {
      using c10d::ProcessGroupGloo;
      gloo_ = c10::make_intrusive<ProcessGroupGloo>(
          store, place.rank, place.world_size,
          ProcessGroupGloo::Options::create_default(std::chrono::seconds(place.timeout_s)));
    });
  }

  void Sum(at::Tensor* values) override {
    OnHost(values, [&](std::vector<at::Tensor>& host) {
      Call("summing", [&] { gloo_->allreduce(host)->wait(); });
    });
  }

  void Broadcast(at::Tensor* values) override {
    OnHost(values, [&](std::vector<at::Tensor>& host) {
      Call("broadcasting", [&] { gloo_->broadcast(host)->wait(); });
    });
  }

 private:
  template <typename Function>
  static void OnHost(at::Tensor* values, const Function& call) {
    std::vector<at::Tensor> host{values->cpu()};  // the tensor itself if it is on the host already
    call(host);
    if (!values->is_cpu()) values->copy_(host[0]);
  }

  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

}  // namespace

std::unique_ptr<RankGroup> JoinGloo(const DistributedEnvironment& place, at::Device device,
                                    const c10::intrusive_ptr<c10d::Store>& store) {
  return std::make_unique<GlooGroup>(place, device, store);
}

}  // namespace interlacer
