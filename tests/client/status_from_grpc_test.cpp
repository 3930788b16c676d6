#include "client/status_from_grpc.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace interlacer {
namespace {

TEST(StatusFromGrpc, CarriesReasonFieldAndNumbers) {
  google::rpc::ErrorInfo info;
  info.set_domain("interlacer");
  info.set_reason(reason::IMAGE_DATA_LENGTH);
  (*info.mutable_metadata())["expected"] = "230400 bytes";
  (*info.mutable_metadata())["got"] = "12 bytes";
  google::rpc::BadRequest bad_request;
  bad_request.add_field_violations()->set_field("source.scene_input.observations[1]");
  google::rpc::Status details;
  details.add_details()->PackFrom(bad_request);
  details.add_details()->PackFrom(info);

  const Status status = StatusFromGrpc(
      grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "too short", details.SerializeAsString()));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.reason(), reason::IMAGE_DATA_LENGTH);
  EXPECT_EQ(status.message(), "too short");
  EXPECT_EQ(status.field(), "source.scene_input.observations[1]");
  EXPECT_EQ(status.metadata().at("expected"), "230400 bytes");
  EXPECT_EQ(status.metadata().at("got"), "12 bytes");
}

TEST(StatusFromGrpc, SurvivesMissingAndBrokenDetails) {
  EXPECT_TRUE(StatusFromGrpc(grpc::Status::OK).ok());
  const Status bare = StatusFromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "no route"));
  EXPECT_EQ(bare.code(), StatusCode::kUnavailable);
  EXPECT_EQ(bare.reason(), "");
  const Status broken =
      StatusFromGrpc(grpc::Status(grpc::StatusCode::INTERNAL, "odd", "\xff\xff not a message"));
  EXPECT_EQ(broken.code(), StatusCode::kInternal);
  EXPECT_EQ(broken.message(), "odd");
}

}  // namespace
}  // namespace interlacer
