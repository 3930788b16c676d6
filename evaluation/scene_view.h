#pragma once

/// The 3-D view of one rollout as part of a page: particles of the prediction and of motions that
/// need no model, the robot's surface and the cameras, by step.
///
/// Positions are 16-bit integers on a grid over the box of all of them, so they are off by at most
/// half of a 65535th of its sides; colours have 8 bits. Particles that are not finite at some step
/// are left out. What rigid bodies carry is sent as the body
/// of each particle and a matrix of each body and step, whatever the number of particles. Of more
/// particles than kMaxSceneViewBytes of text hold, every k-th is shown and the page says so.
/// World frame, metres. The page needs evaluation/scene_view.js as its script (PageHtml). The same
/// data as a file (SceneViewData) is what `evaluate` keeps for `report`. Errors: SCHEMA_INVALID.
/// Pure functions.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/status.h"
#include "evaluation/scene_motion.h"

namespace interlacer {

inline constexpr std::size_t kMaxSceneViewBytes = 3'200'000;
/// Of what is read: names of cameras, keys and other layouts of numbers stand beside particles.
inline constexpr std::size_t kMaxSceneDataBytes = kMaxSceneViewBytes + 100'000;

struct SceneView {
  double step_duration_s = 0;
  Box workspace;
  std::vector<std::vector<float>> predicted_m;  ///< [steps + 1][n,3]
  std::vector<std::uint8_t> colors_rgb8;        ///< [n,3]
  std::vector<CarriedParticles> carried;        ///< of n particles, named as the layers are
  std::vector<std::pair<std::string, Camera>> cameras;
};

/// JSON; empty where there are no particles to show, or where motions alone are too much for a
/// page.
std::string SceneViewData(const SceneView& scene);

/// A section with such data, which may come from a file `origin`; `of_text` says whose it is.
StatusOr<std::string> SceneDataHtml(const std::string& data, const std::string& origin,
                                    std::string_view of_text = "");

/// Both; empty where there are no data.
std::string SceneViewHtml(const SceneView& scene);

/// The script of a page with that section.
std::string_view SceneViewScript();

}  // namespace interlacer
