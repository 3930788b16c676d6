#include "server/handlers/get_model_metadata.h"

#include "server/convert/metadata.h"

namespace interlacer {

StatusOr<wire::GetModelMetadataResponse> GetModelMetadata(
    const ServerContext& server, const wire::GetModelMetadataRequest& request) {
  INTERLACER_ASSIGN_OR_RETURN(const ServedModel* model, server.models.Find(request.model_name()));
  wire::GetModelMetadataResponse response;
  ModelMetadata metadata = model->metadata;
  model->costs->CopyTo(&metadata, Clock::now());
  ToWire(metadata, &response);
  return response;
}

}  // namespace interlacer
