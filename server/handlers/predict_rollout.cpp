#include "server/handlers/predict_rollout.h"

#include <memory>
#include <utility>

#include "server/calls/admission.h"
#include "server/calls/rollout_call.h"

namespace interlacer {

void StartPredictRollout(const ServerContext& server, IncomingCall call, ResponseSink* sink) {
  wire::PredictRolloutRequest request;
  PixelPayloads payloads;
  Status status = server.state.CheckAccepting();
  if (status.ok()) status = ParseWithoutPixels(*call.request, &request, &payloads);
  if (status.ok()) {
    auto admitted = AdmitRollout(server, &request, std::move(payloads), &call);
    if (admitted.ok()) {
      AdmittedRollout rollout = *std::move(admitted);
      std::make_shared<RolloutCall>(server, std::move(call.record), std::move(rollout.scene),
                                    request.request_id(), std::move(rollout.actions),
                                    std::move(rollout.output), sink)
          ->Start();
      return;
    }
    status = admitted.status();
  }
  server.Count(call.record, status);
  sink->Finish(status);
  LogCall(call.record, status);
}

}  // namespace interlacer
