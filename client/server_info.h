#pragma once

/// What a server says of itself. Values.

#include <cstdint>
#include <string>
#include <vector>

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
  int max_render_target_count = 0;
  int max_render_side_px = 0;
  int max_queue_length = 0;
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

}  // namespace interlacer
