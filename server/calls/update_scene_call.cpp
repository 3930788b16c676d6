#include "server/calls/update_scene_call.h"

#include <string_view>
#include <utility>

#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {
namespace {

/// `path` with `to` where it begins with `from`.
std::string WithStart(const std::string& path, std::string_view from, const std::string& to) {
  return path.starts_with(from) ? to + path.substr(from.size()) : path;
}

/// The message has one row.
std::string WithOneRow(const std::string& path) {
  return WithStart(path, "history_actions", "history_action");
}

}  // namespace

void UpdateSceneCall::CompleteWindow(SceneInput* decoded) const {
  Observation newest = std::move(decoded->observations.front());
  std::vector<Observation> observations = std::move(decoded->observations);
  *decoded = before_->settings;
  decoded->history_actions = admitted().checked.history_actions;
  observations.front() = {before_->scene->newest_views()};
  observations.push_back(std::move(newest));
  decoded->observations = std::move(observations);
}

std::string UpdateSceneCall::RequestField(const std::string& field) const {
  const std::string path = FieldInRequest(admitted().checked, field);
  return WithOneRow(WithStart(path, "observations[1]", "observation"));
}

std::string UpdateSceneCall::MessageField(const std::string& field) const {
  return WithOneRow(WithStart(field, "observations[0]", "observation"));
}

Status UpdateSceneCall::OnLifted() {
  wire::UpdateSceneResponse response;
  INTERLACER_ASSIGN_OR_RETURN(const double time_to_live_s,
                              server().scenes.Replace(scene_id_, before_, Content()));
  SetDuration(time_to_live_s, response.mutable_time_to_live());
  ToWire(report(), response.mutable_report());
  SendLast(SerializeResponse(response));
  return Status::Ok();
}

void UpdateSceneCall::End(Status status) {
  // What was replaced would count as memory of scenes for as long as the client does not read.
  if (status.ok()) before_.reset();
  SceneCall::End(std::move(status));
}

}  // namespace interlacer
