#include "server/calls/validate_call.h"

#include "server/calls/incoming_call.h"
#include "server/convert/responses.h"

namespace interlacer {

Status ValidateCall::OnLifted() {
  wire::ValidateSceneResponse response;
  ToWire(report(), response.mutable_report());
  SendLast(SerializeResponse(response));
  return Status::Ok();
}

}  // namespace interlacer
