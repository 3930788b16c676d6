#include "server/handlers/predict_candidates.h"

#include <utility>

#include "server/calls/admission.h"
#include "server/calls/candidates_call.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> PredictCandidates(const ServerContext& server,
                                                       IncomingCall* call, ResponseSink* sink) {
  INTERLACER_RETURN_IF_ERROR(server.state.CheckAccepting());
  wire::PredictCandidatesRequest request;
  PixelPayloads payloads;
  INTERLACER_RETURN_IF_ERROR(ParseWithoutPixels(*call->request, &request, &payloads));
  INTERLACER_ASSIGN_OR_RETURN(AdmittedCandidates admitted,
                              AdmitCandidates(server, &request, std::move(payloads), call));
  return std::shared_ptr<SceneCall>(std::make_shared<CandidatesCall>(
      server, std::move(call->record), std::move(admitted.scene), request.request_id(),
      std::move(admitted.candidates), std::move(admitted.output), sink));
}

}  // namespace interlacer
