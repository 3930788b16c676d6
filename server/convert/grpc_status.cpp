#include "server/convert/grpc_status.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/retry_delay.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace interlacer {
namespace {

constexpr char kDomain[] = "interlacer";
/// Values may come from requests; longer ones are truncated before they are sent.
constexpr std::size_t kMaxValueBytes = 200;
/// The message is sent twice: in the details and in a header of its own.
constexpr std::size_t kMaxMessageBytes = 512;

/// At most `max_bytes` of printable ASCII: strings of a proto message must be valid UTF-8.
std::string Printable(const std::string& text, std::size_t max_bytes) {
  std::string out = text.substr(0, max_bytes);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

void AddErrorInfo(const Status& status, google::rpc::Status* details) {
  google::rpc::ErrorInfo info;
  info.set_domain(kDomain);
  info.set_reason(status.reason());
  for (const auto& [key, value] : status.metadata()) {
    if (details->ByteSizeLong() + info.ByteSizeLong() + key.size() + kMaxValueBytes >
        kMaxDetailBytes / 2) {
      break;
    }
    (*info.mutable_metadata())[key] = Printable(value, kMaxValueBytes);
  }
  details->add_details()->PackFrom(info);
}

void AddBadRequest(const Status& status, google::rpc::Status* details) {
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field(Printable(status.field(), kMaxValueBytes));
  violation->set_description(Printable(status.message(), kMaxValueBytes));
  details->add_details()->PackFrom(bad_request);
}

void AddRetryInfo(double delay_s, google::rpc::Status* details) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(static_cast<std::int64_t>(delay_s));
  retry.mutable_retry_delay()->set_nanos(static_cast<int>((delay_s - std::floor(delay_s)) * 1e9));
  details->add_details()->PackFrom(retry);
}

}  // namespace

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Printable(MessageWithPath(status), kMaxMessageBytes);
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  AddErrorInfo(status, &details);
  if (!status.field().empty()) AddBadRequest(status, &details);
  if (const double delay_s = RetryDelayS(status); delay_s > 0) AddRetryInfo(delay_s, &details);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message,
                      details.SerializeAsString());
}

}  // namespace interlacer
