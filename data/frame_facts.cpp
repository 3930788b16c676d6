#include "data/frame_facts.h"

#include <algorithm>

#include "data/depth.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

constexpr std::uint16_t kLargestDepthInteger = 65535;
constexpr std::size_t kConstantMinPixels = 1000;

bool IsConstant(const DepthImage16& depth) {
  return depth.pixels.size() >= kConstantMinPixels && depth.pixels[0] != 0 &&
         std::all_of(depth.pixels.begin(), depth.pixels.end(),
                     [&](auto value) { return value == depth.pixels[0]; });
}

}  // namespace

FrameFacts MeasureFrame(const EpisodeReader& episode, int step, int camera) {
  FrameFacts facts;
  facts.color = episode.ReadColor(step, camera).status();
  const auto raw = episode.ReadRawDepth(step, camera);
  facts.depth = raw.status();
  if (!raw.ok()) return facts;
  const EpisodeManifest& manifest = episode.manifest();
  const EpisodeCamera& item = manifest.cameras[camera];
  const DepthImage depth = DepthToMeters(*raw);
  const auto classes = ClassifyPixels(episode.CameraAt(step, camera), depth,
                                      {manifest.workspace, item.near_m, item.far_m});
  facts.valid_depth_ratio = ValidDepthRatio(depth);
  facts.workspace_ratio =
      static_cast<double>(std::count(classes.begin(), classes.end(), PixelClass::kValid)) /
      static_cast<double>(classes.size());
  facts.median_depth_m = MedianDepthM(*raw);
  facts.saturated_ratio = static_cast<double>(std::count(raw->pixels.begin(), raw->pixels.end(),
                                                         kLargestDepthInteger)) /
                          static_cast<double>(raw->pixels.size());
  facts.is_constant = IsConstant(*raw);
  return facts;
}

}  // namespace interlacer
