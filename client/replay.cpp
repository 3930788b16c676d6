#include "client/replay.h"

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "client/call.h"
#include "client/channel.h"
#include "client/recording.h"
#include "client/status_from_grpc.h"
#include "common/duration.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "interlacer/v1/interlacer_service.grpc.pb.h"
#include "proto/recording.h"

namespace interlacer {
namespace {

constexpr std::string_view kPackage = "interlacer.v1.";

/// Of one call: its messages as bytes that can be compared, and how it failed.
struct Answers {
  std::vector<std::string> messages;
  std::optional<int> error_code;
  bool has_summary = false;
  bool is_whole() const { return has_summary || error_code; }
};

struct RecordedCall {
  std::string method, request;
  std::string request_id;
  Answers answers;
};

struct Recording {
  std::vector<RecordedCall> calls;
  std::vector<std::pair<std::string, std::string>> weights;
  int broken_count = 0;
  bool is_cut = false;
};

/// What every repetition says anew.
template <typename Response>
std::string Comparable(Response response) {
  if (response.has_summary()) response.mutable_summary()->clear_durations();
  return response.SerializeAsString();
}

template <typename Response>
void AddAnswer(const Response& response, Answers* answers) {
  answers->has_summary = answers->has_summary || response.has_summary();
  answers->messages.push_back(Comparable(response));
}

/// Errors that say what the client or the load did, not what was asked.
bool DependsOnCircumstances(int code) {
  return code == grpc::CANCELLED || code == grpc::DEADLINE_EXCEEDED ||
         code == grpc::RESOURCE_EXHAUSTED || code == grpc::UNAVAILABLE;
}

/// Of an error that says so; else empty.
std::string RequestIdOf(const google::rpc::Status& status) {
  google::rpc::RequestInfo info;
  for (const google::protobuf::Any& detail : status.details()) {
    if (detail.Is<google::rpc::RequestInfo>() && detail.UnpackTo(&info)) return info.request_id();
  }
  return "";
}

class RecordingParser {
 public:
  /// Messages of other kinds are passed over.
  Status Add(const RecordedMessage& message) {
    if (message.name == recording::kCallName) return ReadCallNumber(message);
    const Status status = AddMessage(message);
    call_number_.reset();
    return status;
  }

  Recording Take() { return std::move(recording_); }
  void MarkCut() { recording_.is_cut = true; }

 private:
  Status AddMessage(const RecordedMessage& message) {
    if (message.name == "google.rpc.Status") return AddError(message);
    if (!message.name.starts_with(kPackage)) return Status::Ok();
    const std::string name = message.name.substr(kPackage.size());
    if (name == "PredictRolloutRequest") {
      AddRequest<v1::PredictRolloutRequest>(message, "PredictRollout");
    } else if (name == "PredictCandidatesRequest") {
      AddRequest<v1::PredictCandidatesRequest>(message, "PredictCandidates");
    } else if (name == "PredictRolloutResponse") {
      return AddResponse<v1::PredictRolloutResponse>(message);
    } else if (name == "PredictCandidatesResponse") {
      return AddResponse<v1::PredictCandidatesResponse>(message);
    } else if (name == "GetModelMetadataResponse") {
      return AddModel(message);
    }
    return Status::Ok();
  }

  template <typename Message>
  static Status Parse(const RecordedMessage& recorded, Message* message) {
    if (message->ParseFromString(recorded.bytes)) return Status::Ok();
    return InvalidArgument(reason::SCHEMA_INVALID, "the recording holds a broken " + recorded.name);
  }

  Status ReadCallNumber(const RecordedMessage& message) {
    google::protobuf::UInt64Value number;
    INTERLACER_RETURN_IF_ERROR(Parse(message, &number));
    call_number_ = number.value();
    return Status::Ok();
  }

  /// The number of the call where there is one, else its id.
  std::string KeyOf(const std::string& request_id) const {
    return call_number_ ? "#" + std::to_string(*call_number_) : request_id;
  }

  template <typename Request>
  void AddRequest(const RecordedMessage& message, const std::string& method) {
    Request request;
    // A client may have sent anything; its answers then have no request either.
    if (!request.ParseFromString(message.bytes)) {
      ++recording_.broken_count;
      return;
    }
    const std::string key = KeyOf(request.request_id());
    latest_[key] = recording_.calls.size();
    const std::string& id = request.request_id().empty() ? key : request.request_id();
    recording_.calls.push_back({method, message.bytes, id, {}});
  }

  template <typename Response>
  Status AddResponse(const RecordedMessage& message) {
    Response response;
    INTERLACER_RETURN_IF_ERROR(Parse(message, &response));
    const auto call = latest_.find(KeyOf(response.request_id()));
    // Its request may have gone with an older file.
    if (call != latest_.end()) AddAnswer(response, &recording_.calls[call->second].answers);
    return Status::Ok();
  }

  Status AddError(const RecordedMessage& message) {
    google::rpc::Status status;
    INTERLACER_RETURN_IF_ERROR(Parse(message, &status));
    if (DependsOnCircumstances(status.code())) return Status::Ok();
    const auto call = latest_.find(KeyOf(RequestIdOf(status)));
    if (call != latest_.end()) recording_.calls[call->second].answers.error_code = status.code();
    return Status::Ok();
  }

  Status AddModel(const RecordedMessage& message) {
    v1::GetModelMetadataResponse response;
    INTERLACER_RETURN_IF_ERROR(Parse(message, &response));
    recording_.weights.emplace_back(response.model_name(), response.weights_sha256());
    return Status::Ok();
  }

  Recording recording_;
  std::map<std::string, std::size_t> latest_;
  std::optional<std::uint64_t> call_number_;
};

StatusOr<Recording> ReadRecording(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(RecordingReader reader, RecordingReader::Open(path));
  RecordingParser parser;
  while (true) {
    auto message = reader.Next();
    if (!message.ok()) {
      if (message.status().code() != StatusCode::kDataLoss) return message.status();
      parser.MarkCut();
      break;
    }
    if (!message->has_value()) break;
    INTERLACER_RETURN_IF_ERROR(parser.Add(**message));
  }
  return parser.Take();
}

/// Empty when equal.
std::string DifferenceOf(const Answers& then, const Answers& now) {
  if (then.error_code != now.error_code) {
    const auto text = [](const std::optional<int>& code) {
      return code ? "error " + std::to_string(*code) : std::string("an answer");
    };
    return "recorded " + text(then.error_code) + ", now " + text(now.error_code);
  }
  if (then.messages.size() != now.messages.size()) {
    return "recorded " + std::to_string(then.messages.size()) + " messages, now " +
           std::to_string(now.messages.size());
  }
  for (std::size_t i = 0; i < then.messages.size(); ++i) {
    if (then.messages[i] != now.messages[i]) return "message " + std::to_string(i) + " differs";
  }
  return "";
}

class Repeater {
 public:
  Repeater(const ReplayOptions& options, const std::shared_ptr<grpc::Channel>& channel)
      : options_(options),
        place_{"", nullptr, channel},
        service_(v1::InterlacerService::NewStub(channel)) {}

  StatusOr<std::vector<std::pair<std::string, std::string>>> Weights() {
    v1::GetServerInfoResponse info;
    Call call({}, options_.deadline_s, place_);
    INTERLACER_RETURN_IF_ERROR(StatusFromGrpc(service_->GetServerInfo(call.context(), {}, &info)));
    std::vector<std::pair<std::string, std::string>> weights;
    for (const v1::ModelStatus& model : info.models()) {
      v1::GetModelMetadataRequest request;
      request.set_model_name(model.model_name());
      v1::GetModelMetadataResponse response;
      Call next({}, options_.deadline_s, place_);
      const grpc::Status status = service_->GetModelMetadata(next.context(), request, &response);
      if (!status.ok()) continue;
      weights.emplace_back(response.model_name(), response.weights_sha256());
    }
    return weights;
  }

  ReplayedCall Repeat(const RecordedCall& call) {
    if (call.method == "PredictRollout") {
      return Repeat<v1::PredictRolloutRequest, v1::PredictRolloutResponse>(
          call, [this](auto* context, const auto& request) {
            return service_->PredictRollout(context, request);
          });
    }
    return Repeat<v1::PredictCandidatesRequest, v1::PredictCandidatesResponse>(
        call, [this](auto* context, const auto& request) {
          return service_->PredictCandidates(context, request);
        });
  }

  /// A lost server ends the replay.
  const std::optional<Status>& failure() const { return failure_; }

 private:
  template <typename Request, typename Response, typename Open>
  ReplayedCall Repeat(const RecordedCall& call, const Open& open) {
    Request request;
    request.ParseFromString(call.request);
    CallOptions options;
    options.stop = options_.stop;
    Call sent(options, options_.deadline_s, place_);
    const auto start = std::chrono::steady_clock::now();
    Answers answers;
    const auto reader = open(sent.context(), request);
    for (Response response; reader->Read(&response);) AddAnswer(response, &answers);
    const grpc::Status status = reader->Finish();
    ReplayedCall replayed{
        call.request_id, call.method, SecondsSince(start), "", call.answers.is_whole(), false, ""};
    if (!status.ok()) {
      answers.error_code = status.error_code();
      replayed.error = StatusFromGrpc(status).ToString();
      if (status.error_code() == grpc::StatusCode::UNAVAILABLE) failure_ = StatusFromGrpc(status);
    }
    if (!replayed.was_whole) return replayed;
    replayed.difference = DifferenceOf(call.answers, answers);
    replayed.is_equal = replayed.difference.empty();
    return replayed;
  }

  const ReplayOptions& options_;
  const CallPlace place_;
  const std::unique_ptr<v1::InterlacerService::Stub> service_;
  std::optional<Status> failure_;
};

bool IsOverAKeptScene(const RecordedCall& call) {
  if (call.method == "PredictRollout") {
    v1::PredictRolloutRequest request;
    return request.ParseFromString(call.request) && request.source().has_scene_id();
  }
  v1::PredictCandidatesRequest request;
  return request.ParseFromString(call.request) && request.source().has_scene_id();
}

}  // namespace

StatusOr<ReplayReport> Replay(const std::string& path, const ReplayOptions& options,
                              const std::function<void(const ReplayedCall&)>& on_call) {
  INTERLACER_ASSIGN_OR_RETURN(const Recording recording, ReadRecording(path));
  ReplayReport report;
  report.recorded_weights = recording.weights;
  report.broken_count = recording.broken_count;
  report.is_cut = recording.is_cut;
  // What failed is what is compared: nothing is tried twice.
  INTERLACER_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                              MakeChannel({.address = options.address,
                                           .max_message_bytes = options.max_message_bytes,
                                           .retry = false,
                                           .tls = options.tls}));
  Repeater repeater(options, channel);
  INTERLACER_ASSIGN_OR_RETURN(report.served_weights, repeater.Weights());
  for (const RecordedCall& call : recording.calls) {
    if (options.stop.stop_requested()) return Cancelled("stopped by the caller");
    if (IsOverAKeptScene(call)) {
      ++report.kept_scene_count;
      continue;
    }
    report.calls.push_back(repeater.Repeat(call));
    if (repeater.failure()) return *repeater.failure();
    on_call(report.calls.back());
  }
  return report;
}

}  // namespace interlacer
