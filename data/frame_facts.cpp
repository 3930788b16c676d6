#include "data/frame_facts.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "data/depth.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

constexpr std::uint16_t kLargestDepthInteger = 65535;
constexpr std::size_t kConstantMinPixels = 1000;
/// Rows that tell what share of the measured pixels lies inside.
constexpr int kRatioRows = 160;

/// One row of each of kRatioRows bands, anywhere in it: regular ones could all be rows without
/// depth, as registered or interlaced images have.
std::vector<int> RatioRows(int height_px) {
  const int band_px = std::max(1, height_px / kRatioRows);
  std::vector<int> rows;
  std::minstd_rand random;
  for (int first = 0; first < height_px; first += band_px) {
    const int rows_px = std::min(height_px - first, band_px);
    rows.push_back(first + static_cast<int>(random() % static_cast<unsigned>(rows_px)));
  }
  return rows;
}

/// Share of the measured pixels of these rows that lie inside; nothing without any.
std::optional<double> InsideShare(const DepthImage16& depth, const Camera& camera,
                                  const LiftRegion& region, std::span<const int> rows) {
  DepthImage16 part{depth.width_px, static_cast<int>(rows.size()), depth.unit_m, {}};
  part.pixels.reserve(static_cast<std::size_t>(part.width_px) * rows.size());
  for (const int row : rows) {
    const auto begin = depth.pixels.begin() + static_cast<std::ptrdiff_t>(row) * depth.width_px;
    part.pixels.insert(part.pixels.end(), begin, begin + depth.width_px);
  }
  const auto classes = ClassifyRows(camera, DepthToMeters(part), rows, region);
  const auto holes = std::count(classes.begin(), classes.end(), PixelClass::kHole);
  const auto measured = std::ssize(classes) - holes;
  if (measured == 0) return std::nullopt;
  const auto inside = std::count(classes.begin(), classes.end(), PixelClass::kValid);
  return static_cast<double>(inside) / static_cast<double>(measured);
}

double InsideShare(const DepthImage16& depth, const Camera& camera, const LiftRegion& region) {
  if (const auto share = InsideShare(depth, camera, region, RatioRows(depth.height_px))) {
    return *share;
  }
  std::vector<int> all(static_cast<std::size_t>(depth.height_px));
  std::iota(all.begin(), all.end(), 0);
  return InsideShare(depth, camera, region, all).value_or(0);
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
  const auto pixel_count = static_cast<double>(raw->pixels.size());
  const std::vector<std::uint32_t> counts = CountDepths(*raw);
  facts.valid_depth_ratio = 1 - counts[0] / pixel_count;
  facts.workspace_ratio =
      facts.valid_depth_ratio * InsideShare(*raw, episode.CameraAt(step, camera),
                                            {manifest.workspace, item.near_m, item.far_m});
  facts.saturated_ratio = counts[kLargestDepthInteger] / pixel_count;
  const auto median = MedianDepth(counts);
  if (!median) return facts;
  facts.median_depth_m = *median * raw->unit_m;
  facts.is_constant = raw->pixels.size() >= kConstantMinPixels && counts[*median] == pixel_count;
  return facts;
}

}  // namespace interlacer
