/// Communication through NCCL in a group of one, which is all that one GPU allows: the library is
/// found, its functions have the declared form, and sums and broadcasts run on the current stream.

#include <gtest/gtest.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "model/training/distributed/nccl.h"
#include "tests/model/test_device.h"

namespace interlacer::testing {
namespace {

TEST(NcclGroup, OfOneRankKeepsWhatItSumsAndBroadcasts) {
  INTERLACER_SKIP_WITHOUT_TEST_DEVICE();
  const TestDevice device;
  const StatusOr<NcclLibrary> nccl = NcclLibrary::Open();
  ASSERT_TRUE(nccl.ok()) << nccl.status().message();
  DistributedEnvironment place;
  place.timeout_s = 60;
  const auto group =
      JoinNccl(place, device.place(), c10::make_intrusive<c10d::HashStore>(), nccl.value());
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor expected = torch::arange(100'000, torch::dtype(type));
    at::Tensor values = expected.to(device.place());
    group->Sum(&values);
    EXPECT_TRUE(values.cpu().equal(expected));
    group->Broadcast(&values);
    EXPECT_TRUE(values.cpu().equal(expected));
  }
}

}  // namespace
}  // namespace interlacer::testing
