/// What calls may take of the host's memory, together and alone.

#include "server/calls/memory_budget.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/server/rollout_call.h"
#include "tests/support/matchers.h"

namespace interlacer::testing {
namespace {

TEST(MemoryBudget, WhatWouldNotFitAloneIsNoMatterOfOthers) {
  MemoryBudget budget(1000);
  const Status alone = budget.Reserve(700, /*is_urgent=*/false, /*unit_bytes=*/51).status();
  EXPECT_EQ(alone.code(), StatusCode::kOutOfRange) << "it would be refused again";
  EXPECT_EQ(alone.reason(), reason::HOST_MEMORY);
  EXPECT_THAT(alone.message(),
              AllOf(HasSubstr("751"), HasSubstr("750"), HasSubstr("--max-inflight-request-bytes")));
  EXPECT_EQ(alone.metadata().at("got"), "751");
  EXPECT_EQ(alone.metadata().at("limit"), "750");
  const auto fits = budget.Reserve(700, /*is_urgent=*/false, /*unit_bytes=*/50);
  ASSERT_TRUE(fits.ok());
  const Status beside = budget.Reserve(1, /*is_urgent=*/false).status();
  EXPECT_EQ(beside.code(), StatusCode::kResourceExhausted) << "it may fit a little later";
  EXPECT_EQ(beside.reason(), reason::HOST_MEMORY);
}

/// One unit of work runs at a time.
TEST(MemoryBudget, OfUnitsOnlyTheLargestCounts) {
  MemoryBudget budget(1000);
  auto first = Must(budget.Reserve(100, /*is_urgent=*/true, /*unit_bytes=*/300));
  const auto second = Must(budget.Reserve(100, /*is_urgent=*/true, /*unit_bytes=*/200));
  EXPECT_EQ(budget.used_bytes(), 500);
  EXPECT_FALSE(budget.Reserve(501, /*is_urgent=*/true).ok());
  EXPECT_FALSE(budget.Reserve(400, /*is_urgent=*/true, /*unit_bytes=*/401).ok());
  EXPECT_TRUE(budget.Reserve(400, /*is_urgent=*/true, /*unit_bytes=*/400).ok());
  EXPECT_EQ(budget.used_bytes(), 500) << "it was given back at once";
  first = {};
  EXPECT_EQ(budget.used_bytes(), 300);
}

TEST(MemoryBudget, AQuarterIsLeftForUrgentCallsWhateverUnitsTake) {
  MemoryBudget budget(1000);
  const auto others = Must(budget.Reserve(600, /*is_urgent=*/false, /*unit_bytes=*/150));
  EXPECT_FALSE(budget.Reserve(1, /*is_urgent=*/false).ok());
  EXPECT_TRUE(budget.Reserve(250, /*is_urgent=*/true, /*unit_bytes=*/150).ok());
  EXPECT_TRUE(budget.Reserve(100, /*is_urgent=*/true, /*unit_bytes=*/300).ok());
}

void Resize(v1::RgbdView* view, int width_px, int height_px) {
  const int pixels = width_px * height_px;
  view->mutable_color()->set_data(std::string(static_cast<std::size_t>(3 * pixels), 'x'));
  view->mutable_depth()->set_data(
      BytesOf(std::vector<std::uint16_t>(static_cast<std::size_t>(pixels), 1000)));
  for (v1::Image* image : {view->mutable_color(), view->mutable_depth()}) {
    image->set_width_px(width_px);
    image->set_height_px(height_px);
  }
  v1::CameraCalibration* calibration = view->mutable_calibration();
  calibration->set_width_px(width_px);
  calibration->set_height_px(height_px);
  calibration->set_fx_px(width_px);
  calibration->set_fy_px(width_px);
  calibration->set_cx_px((width_px - 1) / 2.0);
  calibration->set_cy_px((height_px - 1) / 2.0);
}

/// A view of what two common cameras see.
TEST(MemoryBudget, LetsTwoCamerasOf1280x720BeDrawnByDefault) {
  auto request = MakeRolloutRequest(1);
  for (auto& observation :
       *request.mutable_source()->mutable_scene_input()->mutable_observations()) {
    for (v1::RgbdView& view : *observation.mutable_views()) Resize(&view, 1280, 720);
  }
  AddView(request.mutable_output(), "view", "left");
  const auto status_with = [&](const Limits& limits) {
    auto controls = std::make_shared<ServerControls>();
    controls->particles = FakeGrid();
    ServingInProcessServer fixture(TestServerOptions(limits), controls);
    return Call(&fixture, request).Finish();
  };
  const grpc::Status taken = status_with({});
  EXPECT_TRUE(taken.ok()) << taken.error_message();
  ExpectRefused(status_with({.max_inflight_request_bytes = 512 << 20}),
                grpc::StatusCode::OUT_OF_RANGE, "HOST_MEMORY");
}

}  // namespace
}  // namespace interlacer::testing
