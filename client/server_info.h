#pragma once

/// What a server says of itself. Values.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/prediction.h"

namespace interlacer {

struct ModelStatus {
  std::string model_name;
  std::string state;  ///< "loading", "ready" or "failed"
  std::string failure_message;
};

/// Limits in force on the server; durations in seconds.
struct ServerLimits {
  std::int64_t max_request_bytes = 0;
  std::int64_t max_response_bytes = 0;
  int max_image_side_px = 0;
  int max_step_count = 0;
  int max_candidate_count = 0;
  int max_candidate_step_count = 0;
  int max_render_target_count = 0;
  int max_render_side_px = 0;
  int max_queue_length = 0;
  int max_scene_count = 0;
  std::int64_t max_scene_bytes = 0;
  double scene_ttl_s = 0;
  double max_scene_ttl_s = 0;
  double max_camera_skew_s = 0;
  double max_call_duration_s = 0;
};

struct ServerInfo {
  std::string server_version;
  std::string build_id;
  std::string instance_id;
  std::string device;
  bool is_device_fallback = false;
  std::string state;  ///< "starting", "warming_up", "serving", "draining" or "device_lost"
  std::vector<ModelStatus> models;
  std::vector<std::string> features;
  ServerLimits limits;
};

/// Counters of one model since the server started.
struct ModelCallCounts {
  std::string model_name;
  std::int64_t success_count = 0;
  std::map<std::string, std::int64_t> failure_count_by_reason;
  std::int64_t step_count = 0;
  std::int64_t candidate_count = 0;
  StageDurations total_durations;
};

struct ServerStatistics {
  std::vector<ModelCallCounts> models;
  int queue_length = 0;
  int active_call_count = 0;
  int scene_count = 0;
};

}  // namespace interlacer
