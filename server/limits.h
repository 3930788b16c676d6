#pragma once

/// Limits of the server and their defaults. Each has a flag and, where it concerns clients, a field
/// of the wire message Limits and an error reason. Value type.

#include <cstdint>

namespace interlacer {

struct Limits {
  std::int64_t max_request_bytes = 64LL << 20;
  std::int64_t max_response_bytes = 48LL << 20;
  int max_image_side_px = 2048;
  int max_step_count = 128;
  int max_candidate_count = 256;
  int max_candidate_step_count = 4096;
  int max_render_target_count = 8;
  int max_render_side_px = 1024;
  int max_queue_length = 8;
  int max_active_calls = 4;
  /// Enough for a view from two cameras of 1280x720, also beside another call of such.
  std::int64_t max_inflight_request_bytes = 1LL << 30;
  int max_scene_count = 16;
  std::int64_t max_scene_bytes = 1LL << 30;
  double scene_ttl_s = 30;
  double max_scene_ttl_s = 300;
  double max_camera_skew_s = 0.05;
  /// Enough for a rendered rollout of a dozen steps on two CPU cores.
  double max_call_duration_s = 600;
  /// Time limit for one message, whatever its size: a client must read size / timeout bytes a
  /// second.
  double slow_reader_timeout_s = 10;
  int max_streams_per_connection = 16;
  /// The descriptors of the process bound it too, three a connection.
  int max_connections = 256;
  /// Time limit for a request to arrive, whatever its size.
  double upload_timeout_s = 30;
  std::int64_t memory_quota_bytes = 4LL << 30;
  double drain_timeout_s = 30;
  double watchdog_s = 120;
  int max_buffered_messages = 4;
  std::int64_t max_buffered_bytes = 8LL << 20;
};

}  // namespace interlacer
