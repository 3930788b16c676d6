#include "server/validate_call.h"

#include "server/convert/responses.h"
#include "server/incoming_call.h"

namespace interlacer {

Status ValidateCall::OnLifted() {
  wire::ValidateSceneResponse response;
  ToWire(report(), response.mutable_report());
  SendLast(SerializeResponse(response));
  return Status::Ok();
}

}  // namespace interlacer
