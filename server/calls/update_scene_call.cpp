#include "server/calls/update_scene_call.h"

#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {

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
  constexpr char kNewest[] = "observations[1]";
  const std::string path = FieldInRequest(admitted().checked, field);
  return path.starts_with(kNewest) ? "observation" + path.substr(sizeof(kNewest) - 1) : path;
}

std::string UpdateSceneCall::MessageField(const std::string& field) const {
  constexpr char kOnly[] = "observations[0]";
  return field.starts_with(kOnly) ? "observation" + field.substr(sizeof(kOnly) - 1) : field;
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

}  // namespace interlacer
