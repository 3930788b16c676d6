#include "client/latest_only.h"

#include <string>
#include <utility>

#include "common/duration.h"

namespace interlacer {

struct LatestOnly::Request {
  SceneInput frames;
  ActionSequence actions;
  OutputOptions output;
  double age_at_birth_s = 0;
  Clock::time_point birth = Clock::now();
  std::promise<StatusOr<LatestAnswer>> answer;

  double AgeS() const { return age_at_birth_s + SecondsSince(birth); }
  LatestAnswer Word(AnswerWord word) const { return {word, {}, {}, AgeS()}; }
};

namespace {

Status Closed() { return Cancelled("LatestOnly is closed"); }

}  // namespace

StatusOr<std::unique_ptr<LatestOnly>> LatestOnly::Create(Client* client, double max_age_s,
                                                         const CallOptions& options) {
  if (!(max_age_s > 0)) {
    return Mismatch(reason::ARGUMENT_INVALID, "max_age_s", "a number of seconds above 0",
                    std::to_string(max_age_s));
  }
  return std::unique_ptr<LatestOnly>(new LatestOnly(client, max_age_s, options));
}

LatestOnly::LatestOnly(Client* client, double max_age_s, CallOptions options)
    : client_(client),
      max_age_s_(max_age_s),
      options_(std::move(options)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

LatestOnly::~LatestOnly() {
  thread_.request_stop();
  thread_.join();
  if (waiting_) waiting_->answer.set_value(Closed());
}

std::future<StatusOr<LatestAnswer>> LatestOnly::Submit(SceneInput frames, ActionSequence actions,
                                                       OutputOptions output, double age_s) {
  auto request = std::make_unique<Request>(
      Request{std::move(frames), std::move(actions), std::move(output), age_s, Clock::now(), {}});
  std::future<StatusOr<LatestAnswer>> answer = request->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    waiting_.swap(request);
  }
  changed_.notify_all();
  if (request) request->answer.set_value(request->Word(AnswerWord::kSuperseded));
  return answer;
}

void LatestOnly::Run(const std::stop_token& stop) {
  while (true) {
    std::unique_ptr<Request> request;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return waiting_ != nullptr; })) return;
      request = std::move(waiting_);
    }
    request->answer.set_value(stop.stop_requested() ? Closed() : Answer(*request, stop));
  }
}

StatusOr<LatestAnswer> LatestOnly::Answer(const Request& request,
                                          const std::stop_token& stop) const {
  const double left_s = max_age_s_ - request.AgeS();
  if (left_s <= 0) return request.Word(AnswerWord::kStale);
  CallOptions options = options_;
  options.deadline_s = left_s;
  options.priority = RequestPriority::kControl;
  options.stop = stop;
  LatestAnswer answer;
  StatusOr<RolloutSummary> summary = client_->PredictRollout(
      request.frames, request.actions, request.output,
      [&](PredictedStep step) {
        answer.steps.push_back(std::move(step));
        return Status::Ok();
      },
      options);
  if (!summary.ok()) {
    if (stop.stop_requested()) return Closed();
    // The call's deadline is the age; a server that foresees it refuses with the same code.
    if (summary.status().code() == StatusCode::kDeadlineExceeded) {
      return request.Word(AnswerWord::kStale);
    }
    return summary.status();
  }
  answer.word = AnswerWord::kFresh;
  answer.summary = *std::move(summary);
  answer.age_s = request.AgeS();
  return answer;
}

}  // namespace interlacer
