#include "data/frame_facts.h"

#include <algorithm>
#include <vector>

#include "data/depth.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

constexpr std::uint16_t kLargestDepthInteger = 65535;
constexpr std::size_t kConstantMinPixels = 1000;
/// Rows that tell what share of a picture lies inside; larger pictures are thinned.
constexpr int kRatioRows = 160;

/// Every `stride`-th row, as a camera with longer pixels sees it.
double WorkspaceRatio(const DepthImage16& depth, Camera camera, const LiftRegion& region) {
  const int stride = std::max(1, depth.height_px / kRatioRows);
  camera.height_px = (depth.height_px + stride - 1) / stride;
  camera.fy_px /= stride;
  camera.cy_px /= stride;
  DepthImage16 rows{depth.width_px, camera.height_px, depth.unit_m, {}};
  rows.pixels.reserve(static_cast<std::size_t>(rows.width_px) * rows.height_px);
  for (int v = 0; v < depth.height_px; v += stride) {
    const auto row = depth.pixels.begin() + static_cast<std::ptrdiff_t>(v) * depth.width_px;
    rows.pixels.insert(rows.pixels.end(), row, row + depth.width_px);
  }
  const auto classes = ClassifyPixels(camera, DepthToMeters(rows), region);
  return static_cast<double>(std::count(classes.begin(), classes.end(), PixelClass::kValid)) /
         static_cast<double>(classes.size());
}

}  // namespace

FrameFacts MeasureFrame(const EpisodeReader& episode, int step, int camera, bool decode_color) {
  FrameFacts facts;
  if (decode_color) facts.color = episode.ReadColor(step, camera).status();
  const auto raw = episode.ReadRawDepth(step, camera);
  facts.depth = raw.status();
  if (!raw.ok()) return facts;
  const EpisodeManifest& manifest = episode.manifest();
  const EpisodeCamera& item = manifest.cameras[camera];
  facts.workspace_ratio = WorkspaceRatio(*raw, episode.CameraAt(step, camera),
                                         {manifest.workspace, item.near_m, item.far_m});
  const auto pixel_count = static_cast<double>(raw->pixels.size());
  const std::vector<std::uint32_t> counts = CountDepths(*raw);
  facts.valid_depth_ratio = 1 - counts[0] / pixel_count;
  facts.saturated_ratio = counts[kLargestDepthInteger] / pixel_count;
  const auto median = MedianDepth(counts);
  if (!median) return facts;
  facts.median_depth_m = *median * raw->unit_m;
  facts.is_constant = raw->pixels.size() >= kConstantMinPixels && counts[*median] == pixel_count;
  return facts;
}

}  // namespace interlacer
