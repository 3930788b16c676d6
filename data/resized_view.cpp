#include "data/resized_view.h"

namespace interlacer {

RgbdView ResizedView(const RgbdView& view, int width_px, int height_px) {
  if (view.color.width_px == width_px && view.color.height_px == height_px) return view;
  RgbdView result;
  result.camera_name = view.camera_name;
  result.capture_time_ns = view.capture_time_ns;
  result.camera = ResizedCamera(view.camera, width_px, height_px);
  result.color = ResizeArea(view.color, width_px, height_px);
  result.depth = ResizeNearest(view.depth, width_px, height_px);
  return result;
}

}  // namespace interlacer
