#pragma once

/// Results of a few episodes with known numbers.

#include <string>

#include "evaluation/results.h"
#include "evaluation/view_scores.h"

namespace interlacer {

inline void AddValue(Results* results, std::string_view subject, const std::string& episode,
                     int step, std::string_view metric, std::optional<double> value,
                     const std::string& camera = "left", int start_step = 1) {
  results->values.push_back({std::string(subject), episode, start_step, camera, true, step,
                             std::string(metric), value, value ? "" : "fewer than 100 pixels"});
}

/// Episode e at step s: SSIM 0.9 - 0.01 s + `offset` + 0.001 e for the model, 0.9 for copy_last.
inline Results MakeResults(int episode_count, int step_count, double offset = 0) {
  Results r;
  r.tool_version = "0.1.0";
  r.command = "interlacer evaluate";
  r.created_time = "2026-01-01T00:00:00Z";
  r.device = "cpu";
  r.duration_s = 12.5;
  r.model = {
      {"name", "small"}, {"variant", "grf"}, {"weights_sha256", "abc"}, {"trained_step_count", 4}};
  r.dataset_name = "push_block";
  r.dataset_sha256 = "ds";
  r.split = "test";
  r.step_count = step_count;
  r.step_duration_s = 0.5;
  r.image_width_px = 320;
  r.image_height_px = 240;
  r.target_background = "white_outside_workspace";
  r.seed = 3;
  r.location = "local";
  for (int e = 0; e < episode_count; ++e) {
    const std::string id = "episode_" + std::to_string(e);
    r.episodes.push_back({id, "hash" + std::to_string(e), "push_block"});
    for (int s = 0; s <= step_count; ++s) {
      AddValue(&r, kModelSubject, id, s, kSsim, 0.9 - 0.01 * s + offset + 0.001 * e);
      AddValue(&r, kCopyLast, id, s, kSsim, 0.9);
      AddValue(&r, kModelSubject, id, s, kSsimMoving,
               s == 0 ? std::nullopt : std::optional<double>(0.5 + 0.01 * e));
      AddValue(&r, kModelSubject, id, s, kPsnr, 30.0 - s);
      AddValue(&r, kModelSubject, id, s, kDepthAbs, 0.01 + 0.01 * s);
    }
    r.timings.push_back({0.2, 0.5 + 0.1 * e, 0.3});
  }
  return r;
}

}  // namespace interlacer
