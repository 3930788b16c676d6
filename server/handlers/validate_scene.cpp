#include "server/handlers/validate_scene.h"

#include <utility>

#include "server/calls/admission.h"
#include "server/calls/validate_call.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> ValidateScene(const ServerContext& server, IncomingCall* call,
                                                   ResponseSink* sink) {
  INTERLACER_RETURN_IF_ERROR(server.state.CheckAccepting());
  wire::ValidateSceneRequest request;
  PixelPayloads payloads;
  INTERLACER_RETURN_IF_ERROR(ParseWithoutPixels(*call->request, &request, &payloads));
  INTERLACER_ASSIGN_OR_RETURN(AdmittedScene scene,
                              AdmitValidation(server, &request, std::move(payloads), call));
  return std::shared_ptr<SceneCall>(
      std::make_shared<ValidateCall>(server, std::move(call->record), std::move(scene), sink));
}

}  // namespace interlacer
