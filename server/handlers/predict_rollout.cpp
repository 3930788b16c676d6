#include "server/handlers/predict_rollout.h"

#include <memory>
#include <utility>

#include "server/admission.h"
#include "server/rollout_call.h"

namespace interlacer {

void StartPredictRollout(const ServerContext& server, IncomingCall call, ResponseSink* sink) {
  wire::PredictRolloutRequest request;
  Status status = ParseRequest(*call.request, &request);
  if (status.ok()) {
    auto admitted = AdmitRollout(server, &request, &call);
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
  server.Report(call.record, status);
  sink->Finish(status);
}

}  // namespace interlacer
