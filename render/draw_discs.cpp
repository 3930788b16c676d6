#include "render/draw_discs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "common/thread_pool.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

/// Rows that one thread draws at once: their sums stay in its cache.
constexpr int kBandRows = 24;

/// Discs by the bands of rows that they touch; within a band in the order of surfels.
struct BandLists {
  std::vector<std::int32_t> first;  ///< [bands + 1]
  std::vector<std::int32_t> discs;
};

BandLists SortIntoBands(const std::vector<Disc>& discs, int height_px) {
  const int bands = (height_px + kBandRows - 1) / kBandRows;
  const auto for_bands = [&](const Disc& disc, const auto& visit) {
    if (disc.depth_m == 0) return;
    const PixelRange range = PixelsUnder(disc, 1, 0, height_px);
    for (int b = range.first_row / kBandRows; b <= range.last_row / kBandRows; ++b) visit(b);
  };
  BandLists lists{std::vector<std::int32_t>(static_cast<std::size_t>(bands) + 1, 0), {}};
  for (const Disc& disc : discs) {
    for_bands(disc, [&](int b) { ++lists.first[static_cast<std::size_t>(b) + 1]; });
  }
  for (std::size_t b = 0; b < lists.first.size() - 1; ++b) lists.first[b + 1] += lists.first[b];
  lists.discs.resize(static_cast<std::size_t>(lists.first.back()));
  std::vector<std::int32_t> next = lists.first;
  for (std::size_t i = 0; i < discs.size(); ++i) {
    for_bands(discs[i], [&](int b) {
      lists.discs[static_cast<std::size_t>(next[static_cast<std::size_t>(b)]++)] =
          static_cast<std::int32_t>(i);
    });
  }
  return lists;
}

/// One picture being drawn.
struct Drawing {
  const DiscView& view;
  const std::vector<Disc>& discs;
  const std::vector<std::uint8_t>& is_kept;  ///< [h,w] pixels that keep their recorded colour
  ObservedPicture* picture;

  /// Unmoved surfels of other frames draw only where the own frame has nothing: two cameras' depths
  /// of one surface differ by their noise.
  template <typename Visit>
  void VisitShares(std::span<const std::int32_t> band, int row_begin, int row_end,
                   const Visit& visit) const {
    for (const std::int32_t d : band) {
      const Disc& disc = discs[static_cast<std::size_t>(d)];
      const PixelRange range = PixelsUnder(disc, view.width_px, row_begin, row_end);
      for (int row = range.first_row; row <= range.last_row; ++row) {
        const std::size_t first = static_cast<std::size_t>(row) * view.width_px;
        for (int column = range.first_column; column <= range.last_column; ++column) {
          const std::size_t pixel = first + static_cast<std::size_t>(column);
          if (!disc.has_moved && is_kept[pixel]) continue;
          visit(disc, pixel, ShareAt(disc, row, column), DepthAt(disc, row, column));
        }
      }
    }
  }

  void DrawRows(std::span<const std::int32_t> band, int row_begin, int row_end) const {
    const std::size_t first = static_cast<std::size_t>(row_begin) * view.width_px;
    const std::size_t count = static_cast<std::size_t>(row_end - row_begin) * view.width_px;
    constexpr float kNowhere = std::numeric_limits<float>::infinity();
    std::vector<float> front_m(count, kNowhere);
    VisitShares(band, row_begin, row_end,
                [&](const Disc&, std::size_t pixel, float share, float depth_m) {
                  const float core_m = share >= kCoreShare ? depth_m : kNowhere;
                  front_m[pixel - first] = std::min(front_m[pixel - first], core_m);
                });
    std::vector<FrontRange> ranges(count);
    for (std::size_t i = 0; i < count; ++i) {
      const float own_m = is_kept[first + i] ? view.own_depth_m[first + i] : 0;
      ranges[i] = RangeOf(front_m[i], view.depth_band, is_kept[first + i] != 0, own_m);
    }
    std::vector<DiscSums> sums(count, DiscSums{});
    VisitShares(band, row_begin, row_end,
                [&](const Disc& disc, std::size_t pixel, float share, float depth_m) {
                  const DiscWeights weights = WeightsOf(depth_m, share, ranges[pixel - first]);
                  const DiscTerms terms = TermsOf(disc, depth_m);
                  std::uint64_t* sum = sums[pixel - first].rgb_weight_depth_weight;
                  for (int k = 0; k < 6; ++k) {
                    sum[k] += std::uint64_t{terms.rgb_one_depth_one[k]} *
                              (k < 4 ? weights.of_color : weights.of_depth);
                  }
                });
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t pixel = first + i;
      const PixelResult result =
          ResultOf(view, sums[i], is_kept[pixel] != 0, static_cast<std::int64_t>(pixel));
      std::copy_n(result.rgb, 3, picture->color.pixels.begin() + 3 * static_cast<long>(pixel));
      picture->depth.pixels_m[pixel] = result.depth_m;
      picture->coverage[pixel] = result.coverage;
    }
  }
};

}  // namespace

DiscView DiscViewOf(const Camera& camera, const ObservedOptions& options) {
  DiscView view;
  const Matrix4d m = ToMatrix(Inverse(camera.world_from_camera));
  std::copy_n(m.begin(), 12, view.camera_from_world);
  view.fx_px = camera.fx_px, view.fy_px = camera.fy_px;
  view.cx_px = camera.cx_px, view.cy_px = camera.cy_px;
  view.near_m = options.near_m;
  view.focal_px = static_cast<float>(std::sqrt(camera.fx_px * camera.fy_px));
  view.max_step_px = static_cast<float>(options.max_step_px);
  view.depth_band = static_cast<float>(options.depth_band);
  view.width_px = camera.width_px, view.height_px = camera.height_px;
  return view;
}

ObservedPicture DrawDiscs(const DiscView& view, const std::vector<Disc>& discs,
                          const std::vector<std::uint8_t>& is_kept) {
  const std::size_t pixel_count = static_cast<std::size_t>(view.width_px) * view.height_px;
  const BandLists lists = SortIntoBands(discs, view.height_px);
  constexpr float kNoDepth = std::numeric_limits<float>::quiet_NaN();
  ObservedPicture picture{
      {view.width_px, view.height_px, 3, std::vector<float>(3 * pixel_count, 0)},
      {view.width_px, view.height_px, std::vector<float>(pixel_count, kNoDepth)},
      std::vector<float>(pixel_count, 0)};
  const Drawing drawing{view, discs, is_kept, &picture};
  ParallelFor(static_cast<std::int64_t>(lists.first.size()) - 1, 1,
              [&](std::int64_t begin, std::int64_t end) {
                for (auto b = static_cast<std::size_t>(begin); b < static_cast<std::size_t>(end);
                     ++b) {
                  const int row = static_cast<int>(b) * kBandRows;
                  drawing.DrawRows(
                      std::span(lists.discs)
                          .subspan(static_cast<std::size_t>(lists.first[b]),
                                   static_cast<std::size_t>(lists.first[b + 1] - lists.first[b])),
                      row, std::min(row + kBandRows, view.height_px));
                }
              });
  return picture;
}

}  // namespace interlacer
