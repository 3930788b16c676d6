#include "server/handlers/validate_scene.h"

#include <memory>
#include <utility>

#include "server/calls/admission.h"
#include "server/calls/validate_call.h"

namespace interlacer {

void StartValidateScene(const ServerContext& server, IncomingCall call, ResponseSink* sink) {
  wire::ValidateSceneRequest request;
  PixelPayloads payloads;
  Status status = server.state.CheckAccepting();
  if (status.ok()) status = ParseWithoutPixels(*call.request, &request, &payloads);
  if (status.ok()) {
    auto admitted = AdmitValidation(server, &request, std::move(payloads), &call);
    if (admitted.ok()) {
      std::make_shared<ValidateCall>(server, std::move(call.record), *std::move(admitted), sink)
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
