#include "server/handlers/predict_rollout.h"

#include <utility>

#include "server/calls/admission.h"
#include "server/calls/rollout_call.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> PredictRollout(const ServerContext& server, IncomingCall* call,
                                                    ResponseSink* sink) {
  INTERLACER_RETURN_IF_ERROR(server.state.CheckAccepting());
  wire::PredictRolloutRequest request;
  PixelPayloads payloads;
  INTERLACER_RETURN_IF_ERROR(ParseWithoutPixels(*call->request, &request, &payloads));
  INTERLACER_ASSIGN_OR_RETURN(AdmittedRollout rollout,
                              AdmitRollout(server, &request, std::move(payloads), call));
  return std::shared_ptr<SceneCall>(std::make_shared<RolloutCall>(
      server, std::move(call->record), std::move(rollout.scene), request.request_id(),
      std::move(rollout.actions), std::move(rollout.output), sink));
}

}  // namespace interlacer
