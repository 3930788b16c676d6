#include "model/cuda/recorded_work.h"

#include <utility>

namespace interlacer {
namespace {

class RerunWork : public RecordedWork {
 public:
  explicit RerunWork(std::function<void()> work) : work_(std::move(work)) {}
  void Replay() override { work_(); }

 private:
  std::function<void()> work_;
};

}  // namespace

std::unique_ptr<RecordedWork> RecordWork(torch::Device device, std::function<void()> work) {
  if (device.is_cuda()) return RecordCudaGraph(device, work);
  work();
  return std::make_unique<RerunWork>(std::move(work));
}

}  // namespace interlacer
