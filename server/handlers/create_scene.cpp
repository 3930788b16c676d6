#include "server/handlers/create_scene.h"

#include <utility>

#include "server/calls/admission.h"
#include "server/calls/create_scene_call.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> CreateScene(const ServerContext& server, IncomingCall* call,
                                                 ResponseSink* sink) {
  INTERLACER_RETURN_IF_ERROR(server.state.CheckAccepting());
  wire::CreateSceneRequest request;
  PixelPayloads payloads;
  INTERLACER_RETURN_IF_ERROR(ParseWithoutPixels(*call->request, &request, &payloads));
  INTERLACER_ASSIGN_OR_RETURN(AdmittedCreation admitted,
                              AdmitCreation(server, &request, std::move(payloads), call));
  return std::shared_ptr<SceneCall>(
      std::make_shared<CreateSceneCall>(server, std::move(call->record), std::move(admitted.scene),
                                        std::move(admitted.place), admitted.time_to_live_s, sink));
}

}  // namespace interlacer
