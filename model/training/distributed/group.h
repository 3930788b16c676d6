#pragma once

/// The group of processes of one training run, and its collective operations.
///
/// Every rank calls the same functions in the same order. Results are equal to the bit on all
/// ranks. Gloo carries tensors on CPUs, NCCL those on GPUs; where NCCL cannot be loaded, Gloo
/// carries copies in host memory and a warning is logged. The rendezvous is c10d's TCPStore.
/// Errors: StatusException INTERNAL when another process ended, or did not answer within the time
/// limit; FAILED_PRECONDITION on all ranks when some would use NCCL and others Gloo. Threads: one
/// at a time.

#include <ATen/core/Tensor.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "model/runtime/torch_status.h"
#include "model/training/distributed/environment.h"

namespace interlacer {

class RankGroup {
 public:
  virtual ~RankGroup() = default;
  /// Sum over the ranks, in place; contiguous float32 or float64 on the group's device.
  virtual void Sum(at::Tensor* values) = 0;
  /// Copies rank 0's values to all ranks; contiguous, any type, on the group's device.
  virtual void Broadcast(at::Tensor* values) = 0;

  const DistributedEnvironment& place() const { return place_; }
  at::Device device() const { return device_; }
  bool alone() const { return place_.alone(); }
  int rank() const { return place_.rank; }
  int size() const { return place_.world_size; }
  bool is_first() const { return place_.rank == 0; }

 protected:
  RankGroup(DistributedEnvironment place, at::Device device)
      : place_(std::move(place)), device_(device) {}
  /// The error of a collective call that the other ranks did not answer.
  StatusException Lost(const std::string& what, const std::string& why) const;
  /// Runs a call and converts its exceptions to that error.
  template <typename Function>
  auto Call(const char* what, const Function& function) const {
    try {
      return function();
    } catch (const std::exception& error) {
      throw Lost(what, error.what());
    }
  }

 private:
  DistributedEnvironment place_;
  at::Device device_;
};

/// Joins the other ranks; a world of one needs no rendezvous. `device` is where the tensors are.
std::unique_ptr<RankGroup> JoinGroup(const DistributedEnvironment& place, at::Device device);

}  // namespace interlacer
