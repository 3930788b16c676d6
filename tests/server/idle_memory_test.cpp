/// Memory of a burst of requests goes back to the system when the server is idle.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "common/process_memory.h"
#include "tests/support/in_process_server.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

constexpr int kCallCount = 8;
/// Images of 640x480.
constexpr int kFactor = 40;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
/// What stays after a burst: decoded frames of 9 MiB, which the next call uses, for each of the 4
/// calls that may be active at once, and as much again for the pools of gRPC and the pieces between
/// them.
constexpr std::int64_t kMaxKeptBytes = 2 * 4 * 9 * kMiB;

std::int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total_pages = 0, resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

void Enlarge(v1::RgbdView* view) {
  Widen(view, kFactor * kFactor);
  for (v1::Image* image : {view->mutable_color(), view->mutable_depth()}) {
    image->set_width_px(kFactor * kViewWidthPx);
    image->set_height_px(kFactor * kViewHeightPx);
  }
  v1::CameraCalibration* calibration = view->mutable_calibration();
  calibration->set_width_px(kFactor * kViewWidthPx);
  calibration->set_height_px(kFactor * kViewHeightPx);
  calibration->set_fx_px(kFactor * calibration->fx_px());
  calibration->set_fy_px(kFactor * calibration->fy_px());
  calibration->set_cx_px((kFactor * kViewWidthPx - 1) / 2.0);
  calibration->set_cy_px((kFactor * kViewHeightPx - 1) / 2.0);
}

void RunBurst(InProcessServer* fixture) {
  v1::PredictRolloutRequest request = MakeRolloutRequest(4);
  auto* input = request.mutable_source()->mutable_scene_input();
  for (v1::Observation& observation : *input->mutable_observations()) {
    for (v1::RgbdView& view : *observation.mutable_views()) Enlarge(&view);
  }
  std::vector<std::future<grpc::Status>> calls;
  for (int call = 0; call < kCallCount; ++call) {
    calls.push_back(std::async(std::launch::async, [&] {
      grpc::ClientContext context;
      auto reader = fixture->stub->PredictRollout(&context, request);
      v1::PredictRolloutResponse message;
      while (reader->Read(&message)) {
      }
      return reader->Finish();
    }));
  }
  for (auto& call : calls) {
    const grpc::Status status = call.get();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST(IdleMemory, ComesBackAfterABurst) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator keeps what is freed";
#endif
  RetainFreedMemory();  // as the program does
  ServingInProcessServer fixture;
  const std::int64_t before = ResidentBytes();
  RunBurst(&fixture);
  const std::int64_t after = ResidentBytes() - before;
  EXPECT_GT(after, kMaxKeptBytes);  // else there would be nothing to see
  EXPECT_TRUE(WaitUntil([&] { return ResidentBytes() - before < kMaxKeptBytes; }, 10))
      << after / kMiB << " MiB after the burst, " << (ResidentBytes() - before) / kMiB
      << " MiB when idle";
  RecordProperty("after_burst_mib", std::to_string(after / kMiB));
  RecordProperty("idle_mib", std::to_string((ResidentBytes() - before) / kMiB));
}

}  // namespace
}  // namespace interlacer::testing
