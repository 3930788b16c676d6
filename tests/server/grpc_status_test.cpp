/// Status to grpc::Status: details, size, hostile text.

#include "server/convert/grpc_status.h"

#include <gtest/gtest.h>

#include <string>

#include "common/retry_delay.h"
#include "server/call_record.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

TEST(GrpcStatus, CarriesReasonFieldAndNumbers) {
  const Status status = Mismatch(reason::IMAGE_DATA_LENGTH, "data", "9 bytes", "8 bytes")
                            .WithFieldPrefix("views[0].depth");
  const grpc::Status result = ToGrpcStatus(status);
  const ErrorDetails details = ReadDetails(result);
  EXPECT_EQ(result.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(result.error_message(), "views[0].depth.data: expected 9 bytes, got 8 bytes");
  EXPECT_EQ(details.info.domain(), "interlacer");
  EXPECT_EQ(details.info.reason(), "IMAGE_DATA_LENGTH");
  EXPECT_EQ(details.info.metadata().at("expected"), "9 bytes");
  EXPECT_EQ(details.field(), "views[0].depth.data");
}

TEST(GrpcStatus, OkHasNoDetails) { EXPECT_TRUE(ToGrpcStatus(Status::Ok()).ok()); }

TEST(GrpcStatus, RetryDelayBecomesRetryInfo) {
  const Status status =
      ResourceExhausted(reason::QUEUE_FULL, "full").WithMetadata(kRetryDelayKey, "1.5");
  const ErrorDetails details = ReadDetails(ToGrpcStatus(status));
  EXPECT_EQ(details.retry.retry_delay().seconds(), 1);
  EXPECT_EQ(details.retry.retry_delay().nanos(), 500'000'000);
}

TEST(GrpcStatus, StaysBelowTheHeaderLimitWhateverComes) {
  Status status = InvalidArgument(reason::CAMERA_UNKNOWN, std::string(5000, 'm'))
                      .WithField(std::string(5000, 'f'));
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(
        std::move(status).WithMetadata("key" + std::to_string(i), std::string(500, 'v')));
  }
  const grpc::Status result = ToGrpcStatus(status);
  EXPECT_LE(result.error_details().size(), kMaxDetailBytes);
  EXPECT_EQ(ReadDetails(result).info.reason(), "CAMERA_UNKNOWN");
}

TEST(GrpcStatus, ControlCharactersAndBrokenUtf8AreReplaced) {
  const Status status = InvalidArgument(reason::CAMERA_UNKNOWN, "name \"\n\x01\xff\"")
                            .WithMetadata("got", "\xc3\x28");
  const grpc::Status result = ToGrpcStatus(status);
  EXPECT_EQ(result.error_message(), "name \"???\"");
  EXPECT_EQ(ReadDetails(result).info.metadata().at("got"), "?(");
}

// fm-41
TEST(RequestId, TakesOnlyWhatIsSafeToLog) {
  EXPECT_TRUE(CheckRequestId("").ok());
  EXPECT_TRUE(CheckRequestId("Robot_7.run-12").ok());
  for (const std::string& bad : {std::string("a b"), std::string("a\n"), std::string(65, 'a')}) {
    EXPECT_EQ(CheckRequestId(bad).reason(), reason::REQUEST_ID_INVALID);
    EXPECT_EQ(LoggableId(bad), "");
  }
}

}  // namespace
}  // namespace interlacer::testing
