#include "server/handlers/get_statistics.h"

#include "server/convert/responses.h"

namespace interlacer {

wire::GetStatisticsResponse GetStatistics(const ServerContext& server) {
  wire::GetStatisticsResponse response;
  for (const ModelLoadStatus& model : server.models.Statuses()) {
    const ModelCounts counts = server.statistics.Of(model.model_name);
    wire::ModelStatistics* entry = response.add_models();
    entry->set_model_name(model.model_name);
    entry->set_success_count(counts.success_count);
    entry->mutable_failure_count_by_reason()->insert(counts.failure_count_by_reason.begin(),
                                                     counts.failure_count_by_reason.end());
    entry->set_step_count(counts.step_count);
    entry->set_candidate_count(counts.candidate_count);
    ToWire(counts.durations, entry->mutable_total_durations());
  }
  response.set_queue_length(server.worker.queue_length());
  response.set_active_call_count(server.worker.active_count());
  response.set_scene_count(server.scenes.count());
  return response;
}

}  // namespace interlacer
