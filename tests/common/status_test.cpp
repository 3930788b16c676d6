#include "common/status.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/checked_math.h"
#include "common/device.h"

namespace interlacer {
namespace {

TEST(StatusTest, NamesFieldExpectedAndGot) {
  const Status status = Mismatch(reason::IMAGE_DATA_LENGTH, "views[0].depth.data", "12", "7");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.reason(), "IMAGE_DATA_LENGTH");
  EXPECT_EQ(status.field(), "views[0].depth.data");
  EXPECT_EQ(status.metadata().at("expected"), "12");
  EXPECT_EQ(status.metadata().at("got"), "7");
  EXPECT_EQ(status.ToString(),
            "INVALID_ARGUMENT IMAGE_DATA_LENGTH: views[0].depth.data: expected 12, got 7");
}

TEST(StatusTest, ThePathIsToldOnceAndWhole) {
  const Status data = Mismatch(reason::IMAGE_DATA_LENGTH, "data", "12", "7");
  EXPECT_EQ(MessageWithPath(data), "data: expected 12, got 7");
  EXPECT_EQ(MessageWithPath(Status(data).WithFieldPrefix("views[0]")),
            "views[0].data: expected 12, got 7");
  EXPECT_EQ(MessageWithPath(NotFound(reason::FILE_NOT_FOUND, "gone").WithField("a/b.json")),
            "a/b.json: gone");
  EXPECT_EQ(MessageWithPath(Internal("broken: twice")), "broken: twice");
}

TEST(StatusTest, PrefixesJoinToAPath) {
  const auto prefixed = [](std::string field, std::string_view prefix) {
    return NotFound(reason::FILE_NOT_FOUND, "gone")
        .WithField(std::move(field))
        .WithFieldPrefix(prefix)
        .field();
  };
  EXPECT_EQ(prefixed("depth.data", "views[0]"), "views[0].depth.data");
  EXPECT_EQ(prefixed("[3].x", "rows"), "rows[3].x");
  EXPECT_EQ(prefixed("", "views"), "views");
  EXPECT_EQ(prefixed("", "a/manifest.json:"), "a/manifest.json");
  EXPECT_EQ(prefixed("x", ""), "x");
  EXPECT_EQ(prefixed("cameras[0]", "a/manifest.json:"), "a/manifest.json:cameras[0]");
}

TEST(StatusTest, CodeNumbersAreThoseOfTheWire) {
  EXPECT_EQ(static_cast<int>(StatusCode::kInvalidArgument), 3);
  EXPECT_EQ(static_cast<int>(StatusCode::kUnavailable), 14);
  EXPECT_EQ(StatusCodeName(StatusCode::kDataLoss), "DATA_LOSS");
}

StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return Mismatch(reason::ARGUMENT_INVALID, "value", "even", "odd");
  return std::make_unique<int>(value / 2);
}

StatusOr<int> Quarter(int value) {
  INTERLACER_ASSIGN_OR_RETURN(const auto half, Half(value));
  INTERLACER_ASSIGN_OR_RETURN(const auto quarter, Half(*half));
  return *quarter;
}

TEST(StatusOrTest, CarriesMoveOnlyValuesAndPassesErrorsOn) {
  ASSERT_TRUE(Quarter(12).ok());
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().reason(), "ARGUMENT_INVALID");
}

TEST(StatusOrDeathTest, ReadingAnErrorAborts) {
  EXPECT_DEATH((void)Quarter(6).value(), "ARGUMENT_INVALID");
}

TEST(CheckedMathTest, RefusesOverflowAndNegativeFactors) {
  EXPECT_EQ(CheckedProduct({65535, 65535, 3}), 12884508675);
  EXPECT_EQ(CheckedProduct({INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(CheckedProduct({INT64_MAX, 2, 0}), 0);
  EXPECT_EQ(CheckedProduct({-1, 0}), std::nullopt);
}

TEST(DeviceTest, ParsesTheThreeWords) {
  EXPECT_EQ(*ParseDeviceRequest("auto"), DeviceRequest::kAuto);
  EXPECT_EQ(ParseDeviceRequest("gpu").status().metadata().at("got"), "gpu");
}

}  // namespace
}  // namespace interlacer
