#include "server/calls/create_scene_call.h"

#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {

Status CreateSceneCall::OnLifted() {
  wire::CreateSceneResponse response;
  INTERLACER_ASSIGN_OR_RETURN(
      *response.mutable_scene_id(),
      server().scenes.Keep(std::move(place_), Content(), time_to_live_s_, Clock::now()));
  SetDuration(time_to_live_s_, response.mutable_time_to_live());
  ToWire(report(), response.mutable_report());
  SendLast(SerializeResponse(response));
  return Status::Ok();
}

void CreateSceneCall::End(Status status) {
  place_ = {};
  SceneCall::End(std::move(status));
}

}  // namespace interlacer
