#include "server/calls/create_scene_call.h"

#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {

Status CreateSceneCall::OnLifted() {
  INTERLACER_ASSIGN_OR_RETURN(
      scene_id_, server().scenes.Keep(std::move(place_), Content(), time_to_live_s_, Clock::now()));
  is_kept_ = true;
  wire::CreateSceneResponse response;
  response.set_scene_id(scene_id_);
  SetDuration(time_to_live_s_, response.mutable_time_to_live());
  ToWire(report(), response.mutable_report());
  SendLast(SerializeResponse(response));
  return Status::Ok();
}

void CreateSceneCall::End(Status status) {
  place_ = {};
  // Its client may have gone before the scene was there.
  if (!status.ok() || is_lost_) Lose();
  SceneCall::End(std::move(status));
}

void CreateSceneCall::OnClientGone() {
  Lose();
  SceneCall::OnClientGone();
}

void CreateSceneCall::OnReset() {
  Lose();
  SceneCall::OnReset();
}

void CreateSceneCall::Lose() {
  is_lost_ = true;
  if (is_kept_.exchange(false)) server().scenes.Delete(scene_id_);
}

}  // namespace interlacer
