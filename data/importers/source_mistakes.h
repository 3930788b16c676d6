#pragma once

/// Mistakes that the poses and pictures of a source may have, each with what takes it out of a
/// view, so that views which contradict each other can be tried without it.

#include <functional>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/scene.h"

namespace interlacer {

struct SourceMistake {
  std::string without;   ///< "with the poses inverted"
  std::string question;  ///< "are they camera_from_world?"
  std::function<void(RgbdView*)> mend;
};

/// Of all formats: poses that are camera_from_world, of OpenGL's cameras, or 10, 100 or 1000 times
/// too far apart; colours upside down. `world_from_source`: a turn of the world by the importer,
/// which came after what the source says. The functions take views without pictures too and are
/// thread-safe.
std::vector<SourceMistake> CommonMistakes(const Transform& world_from_source = {});

}  // namespace interlacer
