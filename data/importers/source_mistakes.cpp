#include "data/importers/source_mistakes.h"

#include <algorithm>
#include <cstddef>

#include "common/number_text.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

/// Half a turn about x: y up and z backward become y down and z forward.
constexpr Transform kOpenGlFromOptical = {{0, 0, 0}, {1, 0, 0, 0}};

void TurnUpsideDown(RgbImage* image) {
  const auto row = static_cast<std::ptrdiff_t>(3) * image->width_px;
  auto top = image->pixels.begin(), bottom = image->pixels.end();
  for (; bottom - top >= 2 * row && row > 0; top += row) {
    bottom -= row;
    std::swap_ranges(top, top + row, bottom);
  }
}

SourceMistake TooFarApart(double factor) {
  return {"with the positions of the poses divided by " + NumberText(factor),
          "are the poses in metres?", [factor](RgbdView* view) {
            for (double& x : view->camera.world_from_camera.translation_m) x /= factor;
          }};
}

}  // namespace

std::vector<SourceMistake> CommonMistakes(const Transform& world_from_source) {
  std::vector<SourceMistake> mistakes = {
      {"with the poses inverted", "are they camera_from_world?",
       [source_from_world = Inverse(world_from_source)](RgbdView* view) {
         Transform& pose = view->camera.world_from_camera;
         pose = Inverse(Compose(source_from_world, pose));
       }},
      {"with the cameras' axes y and z turned over",
       "are the poses those of OpenGL's cameras (y up, z backward)?",
       [](RgbdView* view) {
         Transform& pose = view->camera.world_from_camera;
         pose = Compose(pose, kOpenGlFromOptical);
       }},
      {"with the colours turned upside down", "is the top row of the colour images the last?",
       [](RgbdView* view) { TurnUpsideDown(&view->color); }}};
  for (const double factor : {10, 100, 1000}) mistakes.push_back(TooFarApart(factor));
  return mistakes;
}

}  // namespace interlacer
