#include "data/frame_facts.h"

#include <algorithm>
#include <vector>

#include "data/depth.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

constexpr std::uint16_t kLargestDepthInteger = 65535;
constexpr std::size_t kConstantMinPixels = 1000;

}  // namespace

FrameFacts MeasureFrame(const EpisodeReader& episode, int step, int camera, bool decode_color) {
  FrameFacts facts;
  if (decode_color) facts.color = episode.ReadColor(step, camera).status();
  const auto raw = episode.ReadRawDepth(step, camera);
  facts.depth = raw.status();
  if (!raw.ok()) return facts;
  const EpisodeManifest& manifest = episode.manifest();
  const EpisodeCamera& item = manifest.cameras[camera];
  const auto classes = ClassifyPixels(episode.CameraAt(step, camera), DepthToMeters(*raw),
                                      {manifest.workspace, item.near_m, item.far_m});
  const auto pixel_count = static_cast<double>(raw->pixels.size());
  facts.workspace_ratio =
      static_cast<double>(std::count(classes.begin(), classes.end(), PixelClass::kValid)) /
      pixel_count;
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
