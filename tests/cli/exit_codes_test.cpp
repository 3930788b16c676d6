#include "cli/exit_codes.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "cli/verb.h"

namespace interlacer::cli {
namespace {

TEST(ExitCodes, FollowTheTable) {
  EXPECT_EQ(ExitCodeOf(Status::Ok()), 0);
  EXPECT_EQ(ExitCodeOf(InvalidArgument(reason::IMAGE_UNDECODABLE, "")), 3);
  EXPECT_EQ(ExitCodeOf(InvalidArgument(reason::ARGUMENT_INVALID, "")), 2);
  EXPECT_EQ(ExitCodeOf(InvalidArgument(reason::CONFIG_INVALID, "")), 2);
  EXPECT_EQ(ExitCodeOf(NotFound(reason::FILE_NOT_FOUND, "")), 3);
  EXPECT_EQ(ExitCodeOf(FailedPrecondition(reason::CHECKPOINT_INVALID, "")), 3);
  EXPECT_EQ(ExitCodeOf(DataLoss(reason::PREDICTION_NOT_FINITE, "")), 3);
  EXPECT_EQ(ExitCodeOf(Unavailable("", "")), 4);
  EXPECT_EQ(ExitCodeOf(DeadlineExceeded(reason::CALL_TOO_LONG, "")), 5);
  EXPECT_EQ(ExitCodeOf(ResourceExhausted(reason::QUEUE_FULL, "")), 6);
  EXPECT_EQ(ExitCodeOf(FailedPrecondition(reason::DEVICE_ABSENT, "")), 7);
  EXPECT_EQ(ExitCodeOf(FailedPrecondition(reason::OUTPUT_EXISTS, "")), 8);
  EXPECT_EQ(ExitCodeOf(FailedPrecondition(reason::FILE_UNWRITABLE, "")), 8);
  EXPECT_EQ(ExitCodeOf(Internal("")), 70);
  EXPECT_EQ(ExitCodeOf(Cancelled("")), 130);
}

TEST(ExitCodes, ExceptionsBecomeAStatus) {
  const auto thrown = [](const auto& error) {
    return WithoutExceptions([&]() -> Status { throw error; });
  };
  EXPECT_EQ(thrown(std::bad_alloc()).reason(), reason::HOST_MEMORY);
  const Status other = thrown(std::runtime_error("a loop of links"));
  EXPECT_EQ(other.code(), StatusCode::kInternal);
  EXPECT_EQ(other.message(), "a loop of links");
  EXPECT_TRUE(WithoutExceptions([] { return Status::Ok(); }).ok());
}

}  // namespace
}  // namespace interlacer::cli
