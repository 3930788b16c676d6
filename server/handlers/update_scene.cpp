#include "server/handlers/update_scene.h"

#include <utility>

#include "server/calls/admission.h"
#include "server/calls/update_scene_call.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> UpdateScene(const ServerContext& server, IncomingCall* call,
                                                 ResponseSink* sink) {
  INTERLACER_RETURN_IF_ERROR(server.state.CheckAccepting());
  wire::UpdateSceneRequest request;
  PixelPayloads payloads;
  INTERLACER_RETURN_IF_ERROR(ParseWithoutPixels(*call->request, &request, &payloads));
  INTERLACER_ASSIGN_OR_RETURN(AdmittedUpdate admitted,
                              AdmitUpdate(server, &request, std::move(payloads), call));
  return std::shared_ptr<SceneCall>(
      std::make_shared<UpdateSceneCall>(server, std::move(call->record), std::move(admitted.scene),
                                        request.scene_id(), std::move(admitted.before), sink));
}

}  // namespace interlacer
