#include "client/status_from_grpc.h"

#include <utility>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace interlacer {

Status StatusFromGrpc(const grpc::Status& status) {
  if (status.ok()) return Status::Ok();
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      detail.UnpackTo(&info) || detail.UnpackTo(&bad_request);
    }
  }
  Status out(static_cast<StatusCode>(status.error_code()), info.reason(), status.error_message());
  if (bad_request.field_violations_size() > 0) {
    out.WithField(bad_request.field_violations(0).field());
  }
  for (const auto& [key, value] : info.metadata()) {
    std::move(out).WithMetadata(key, value);  // in place
  }
  return out;
}

}  // namespace interlacer
