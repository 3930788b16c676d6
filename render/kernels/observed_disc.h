#pragma once

/// A carried pixel in a picture: the arithmetic that the CPU and CUDA forms of
/// render/observed_renderer.h share, with products and sums rounded apart (-ffp-contract=off,
/// -fmad=false) and sums of integers, so that both give equal bytes in any order of surfels.
///
/// A pixel of a frame is a parallelogram on the surface that it saw, spanned by the steps to the
/// pixels beside and below it. A disc is the ellipse around its picture:
///   share(d) = 1 - d' inverse(V) d,   V = 4/5 (a a' + b b') + 1/50 px^2
/// with the steps a, b in pixels of the picture; its depth goes on as the steps' does. Shares of a
/// surface's discs add up to about 1 or more everywhere within it. A pixel saw half a step to each
/// side of its centre, and there, beyond the last pixels of a surface, one half is covered:
///   coverage = 2 sum - 9/10, within [0,1]
/// The sizes were chosen on validation episodes: larger discs blur, and smear outlines over what is
/// behind them; smaller ones leave gaps in what turns to the camera.
/// Lengths in metres and pixels. Pure functions.
/// Source: surface-splatting (elliptical weights).

#include <cmath>
#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

/// V of the steps, and of discs that are seen from the side.
inline constexpr float kStepShare = 0.8F, kLeastSqPx = 0.02F;
/// A disc's core, where it hides what is behind it: half of a pixel's diagonal has a share of 2/5.
inline constexpr float kCoreShare = 0.3F;
/// Units of a disc's share.
inline constexpr float kShareUnits = 1024;
/// Units of a metre in sums of depths.
inline constexpr float kDepthUnits = 65536;
/// A step to a neighbour longer than so many times what it was where it was seen is torn.
inline constexpr float kTornRatio = 2;
/// Where something moved so near, a pixel without depth does not keep its colour: sensors measure
/// nothing along the edges of what moves.
inline constexpr int kEdgePx = 3;
/// A disc's depth changes by at most this share of it from its centre to its edge.
inline constexpr float kMaxDepthReach = 0.1F;
/// Front of a pixel that no core covers: above the bits of every depth.
inline constexpr std::uint32_t kNoFront = 0xFFFFFFFFU;

/// The surfels around one along its row and its column: itself where the surface ends there.
struct SurfelNeighbors {
  std::int32_t left = 0, right = 0, above = 0, below = 0;
  float per_column = 0, per_row = 0;  ///< 1 / pixels from left to right, above to below; 0: none
};

/// Arrays of all surfels [n] and where they are now.
struct SurfelArrays {
  std::int64_t count = 0;
  const float* seen_m = nullptr;       ///< [n,3]
  const float* positions_m = nullptr;  ///< [n,3]
  const float* pixel_m = nullptr;      ///< width of the pixel at the depth of the surfel
  const SurfelNeighbors* neighbors = nullptr;
  const std::int32_t* frame_of = nullptr;
  const std::int32_t* pixel_of = nullptr;
  const std::uint8_t* rgb = nullptr;  ///< [n,3]
};

/// A camera without lens, what it draws, and the frame that it recorded itself.
struct DiscView {
  double camera_from_world[12] = {};  ///< [3,4]
  double fx_px = 0, fy_px = 0, cx_px = 0, cy_px = 0;
  double near_m = 0;
  float focal_px = 0;
  float max_step_px = 0;  ///< longest step of a disc
  float depth_band = 0;
  int width_px = 0, height_px = 0;
  std::int32_t own_frame = -1;
  const std::uint8_t* own_rgb = nullptr;  ///< [h,w,3] of own_frame
  const float* own_depth_m = nullptr;     ///< [h,w]
};

/// depth_m 0: not in front of the camera.
struct SurfelPixel {
  float u_px = 0, v_px = 0, depth_m = 0;
};

/// share(d) = 1 - (uu du^2 + 2 uv du dv + vv dv^2), inside +-half_u_px, +-half_v_px; depth_m 0: not
/// drawn.
struct Disc {
  float u_px, v_px, depth_m;
  float depth_m_per_u, depth_m_per_v;
  float uu, uv, vv;
  float half_u_px, half_v_px;
  std::uint32_t rgb[3];
  bool has_moved;
};

struct PixelRange {
  int first_row = 0, last_row = -1, first_column = 0, last_column = -1;
};

/// Sums over the discs of a pixel, weighed by their shares: colour and weight, then depth and
/// weight of those within the band around the front. 64 bits hold 2^24 discs.
struct DiscSums {
  std::uint64_t rgb_weight_depth_weight[6];
};

/// What a pixel becomes.
struct PixelResult {
  float rgb[3];
  float depth_m;
  float coverage;
};

/// The whole numbers above and below; without the instructions of newer CPUs std::ceil is a call.
INTERLACER_HOST_DEVICE inline int CeilOf(float x) {
  const int whole = static_cast<int>(x);
  return whole + (static_cast<float>(whole) < x);
}
INTERLACER_HOST_DEVICE inline int FloorOf(float x) {
  const int whole = static_cast<int>(x);
  return whole - (static_cast<float>(whole) > x);
}

INTERLACER_HOST_DEVICE inline bool HasMoved(const SurfelArrays& surfels, std::int64_t i) {
  // By value, so that both forms agree on NaN and signed zeros: those have moved, and have not.
  const float* a = surfels.seen_m + 3 * i;
  const float* b = surfels.positions_m + 3 * i;
  return !(a[0] == b[0] && a[1] == b[1] && a[2] == b[2]);
}

/// Whether a pixel of the own frame keeps its colour. is_still [h,w]: 0 where its surfel has moved.
INTERLACER_HOST_DEVICE inline bool KeepsColor(const DiscView& view, const std::uint8_t* is_still,
                                              int row, int column) {
  if (view.own_frame < 0) return false;
  const std::int64_t pixel = static_cast<std::int64_t>(row) * view.width_px + column;
  const float own_m = view.own_depth_m[pixel];
  if (own_m > 0 && own_m < INFINITY) return is_still[pixel] != 0;
  for (int r = row - kEdgePx; r <= row + kEdgePx; ++r) {
    for (int c = column - kEdgePx; c <= column + kEdgePx; ++c) {
      if (r < 0 || r >= view.height_px || c < 0 || c >= view.width_px) continue;
      if (is_still[static_cast<std::int64_t>(r) * view.width_px + c] == 0) return false;
    }
  }
  return true;
}

INTERLACER_HOST_DEVICE inline SurfelPixel ProjectSurfel(const DiscView& view, const float* p) {
  const double* m = view.camera_from_world;
  const double x = m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3];
  const double y = m[4] * p[0] + m[5] * p[1] + m[6] * p[2] + m[7];
  const double z = m[8] * p[0] + m[9] * p[1] + m[10] * p[2] + m[11];
  constexpr double kFarPx = 1e6, kFarM = 1e4;
  if (!(z >= view.near_m && z < kFarM)) return {};
  const double per_z = 1 / z;
  const double u = view.fx_px * x * per_z + view.cx_px;
  const double v = view.fy_px * y * per_z + view.cy_px;
  if (!(u > -kFarPx && u < kFarPx && v > -kFarPx && v < kFarPx)) return {};
  return {static_cast<float>(u), static_cast<float>(v), static_cast<float>(z)};
}

INTERLACER_HOST_DEVICE inline float SquaredStep(const float* positions_m, std::int32_t from,
                                                std::int32_t to) {
  const float* a = positions_m + 3 * static_cast<std::int64_t>(from);
  const float* b = positions_m + 3 * static_cast<std::int64_t>(to);
  const float x = b[0] - a[0], y = b[1] - a[1], z = b[2] - a[2];
  return x * x + y * y + z * z;
}

/// Where a neighbour of a surfel is in the picture. One that left a surfel behind which did not
/// move counts where it was: what does not move does not change.
INTERLACER_HOST_DEVICE inline SurfelPixel NeighborPixel(const DiscView& view,
                                                        const SurfelArrays& surfels,
                                                        const SurfelPixel* pixels,
                                                        std::int64_t neighbor, bool has_moved) {
  if (has_moved || !HasMoved(surfels, neighbor)) return pixels[neighbor];
  return ProjectSurfel(view, surfels.seen_m + 3 * neighbor);
}

/// The step of one pixel of the frame in the picture and along its axis; false where the surface
/// ends or tore.
INTERLACER_HOST_DEVICE inline bool PixelStep(const DiscView& view, const SurfelArrays& surfels,
                                             const SurfelPixel* pixels, bool has_moved,
                                             std::int32_t from, std::int32_t to, float per_pixel,
                                             SurfelPixel* step) {
  if (from == to) return false;
  const SurfelPixel a = NeighborPixel(view, surfels, pixels, from, has_moved);
  const SurfelPixel b = NeighborPixel(view, surfels, pixels, to, has_moved);
  if (a.depth_m == 0 || b.depth_m == 0) return false;
  if (has_moved) {
    const float seen = SquaredStep(surfels.seen_m, from, to);
    if (!(SquaredStep(surfels.positions_m, from, to) <= kTornRatio * kTornRatio * seen)) {
      return false;
    }
  }
  *step = {(b.u_px - a.u_px) * per_pixel, (b.v_px - a.v_px) * per_pixel,
           (b.depth_m - a.depth_m) * per_pixel};
  return true;
}

/// How the depth of a disc changes with the pixel: the plane through its two steps. Steps that are
/// nearly one line tell nothing across it.
INTERLACER_HOST_DEVICE inline void SetSlope(const SurfelPixel& a, const SurfelPixel& b,
                                            Disc* disc) {
  const float a2 = a.u_px * a.u_px + a.v_px * a.v_px, b2 = b.u_px * b.u_px + b.v_px * b.v_px;
  const float turn = a.u_px * b.v_px - a.v_px * b.u_px;
  float per_u = 0, per_v = 0;
  if (turn * turn > 0.0625F * a2 * b2) {
    per_u = (a.depth_m * b.v_px - b.depth_m * a.v_px) / turn;
    per_v = (b.depth_m * a.u_px - a.depth_m * b.u_px) / turn;
  }
  const float reach_m = std::fabs(per_u) * disc->half_u_px + std::fabs(per_v) * disc->half_v_px;
  const float most_m = kMaxDepthReach * disc->depth_m;
  const float scale = reach_m > most_m ? most_m / reach_m : 1;
  disc->depth_m_per_u = per_u * scale;
  disc->depth_m_per_v = per_v * scale;
}

/// The disc at a place with steps `a` and `b`, none of them zero.
INTERLACER_HOST_DEVICE inline Disc DiscOf(const DiscView& view, const SurfelPixel& at,
                                          const SurfelPixel& a, const SurfelPixel& b,
                                          const std::uint8_t* rgb, bool has_moved) {
  Disc disc{};
  float au = a.u_px, av = a.v_px, bu = b.u_px, bv = b.v_px;
  const float a2 = au * au + av * av, b2 = bu * bu + bv * bv;
  const float most = view.max_step_px * view.max_step_px;
  if (a2 > most) {
    const float scale = view.max_step_px / std::sqrt(a2);
    au *= scale, av *= scale;
  }
  if (b2 > most) {
    const float scale = view.max_step_px / std::sqrt(b2);
    bu *= scale, bv *= scale;
  }
  const float vuu = kStepShare * (au * au + bu * bu) + kLeastSqPx;
  const float vuv = kStepShare * (au * av + bu * bv);
  const float vvv = kStepShare * (av * av + bv * bv) + kLeastSqPx;
  const float half_u = std::sqrt(vuu), half_v = std::sqrt(vvv);
  if (!(at.u_px + half_u >= 0 && at.u_px - half_u <= static_cast<float>(view.width_px - 1) &&
        at.v_px + half_v >= 0 && at.v_px - half_v <= static_cast<float>(view.height_px - 1))) {
    return disc;
  }
  const float per_determinant = 1 / (vuu * vvv - vuv * vuv);
  disc = {at.u_px,
          at.v_px,
          at.depth_m,
          0,
          0,
          vvv * per_determinant,
          -vuv * per_determinant,
          vuu * per_determinant,
          half_u,
          half_v,
          {rgb[0], rgb[1], rgb[2]},
          has_moved};
  SetSlope(a, b, &disc);
  return disc;
}

/// The disc of a surfel; pixels [n] are those of ProjectSurfel.
INTERLACER_HOST_DEVICE inline Disc MakeDisc(const DiscView& view, const SurfelArrays& surfels,
                                            const SurfelPixel* pixels, std::int64_t i) {
  const SurfelPixel at = pixels[i];
  Disc disc{};
  if (at.depth_m == 0) return disc;
  const SurfelNeighbors near = surfels.neighbors[i];
  const bool has_moved = HasMoved(surfels, i);
  SurfelPixel a, b;
  const bool has_a =
      PixelStep(view, surfels, pixels, has_moved, near.left, near.right, near.per_column, &a);
  const bool has_b =
      PixelStep(view, surfels, pixels, has_moved, near.above, near.below, near.per_row, &b);
  float au = a.u_px, av = a.v_px, bu = b.u_px, bv = b.v_px;
  const float facing_px = surfels.pixel_m[i] * view.focal_px / at.depth_m;
  const float a2 = au * au + av * av, b2 = bu * bu + bv * bv;
  if (has_a && has_b) {
    // Seen from behind: nobody knows what that side looks like. Noise turns what is seen at a
    // grazing angle by a few degrees.
    const float turn = au * bv - av * bu;
    if (turn < 0 && turn * turn > 0.0625F * a2 * b2) return disc;
  }
  // A missing step is across the other one and as long as where the surface faces the camera.
  if (!has_a && !(has_b && b2 > 0)) {
    if (!has_b) bv = facing_px;
    au = facing_px;
  } else if (!has_a) {
    const float scale = facing_px / std::sqrt(b2);
    au = bv * scale, av = -bu * scale;
  } else if (!has_b) {
    const float scale = a2 > 0 ? facing_px / std::sqrt(a2) : 0;
    bu = -av * scale, bv = au * scale;
  }
  a.u_px = au, a.v_px = av, b.u_px = bu, b.v_px = bv;
  return DiscOf(view, at, a, b, surfels.rgb + 3 * i, has_moved);
}

/// Pixels of the picture's rows [row_begin, row_end) in which a disc may have a share.
INTERLACER_HOST_DEVICE inline PixelRange PixelsUnder(const Disc& disc, int width_px, int row_begin,
                                                     int row_end) {
  PixelRange range{CeilOf(disc.v_px - disc.half_v_px), FloorOf(disc.v_px + disc.half_v_px),
                   CeilOf(disc.u_px - disc.half_u_px), FloorOf(disc.u_px + disc.half_u_px)};
  if (range.first_row < row_begin) range.first_row = row_begin;
  if (range.last_row > row_end - 1) range.last_row = row_end - 1;
  if (range.first_column < 0) range.first_column = 0;
  if (range.last_column > width_px - 1) range.last_column = width_px - 1;
  return range;
}

INTERLACER_HOST_DEVICE inline float ShareAt(const Disc& disc, int row, int column) {
  const float du = static_cast<float>(column) - disc.u_px;
  const float dv = static_cast<float>(row) - disc.v_px;
  return 1 - (disc.uu * (du * du) + 2 * disc.uv * (du * dv) + disc.vv * (dv * dv));
}

INTERLACER_HOST_DEVICE inline float DepthAt(const Disc& disc, int row, int column) {
  const float du = static_cast<float>(column) - disc.u_px;
  const float dv = static_cast<float>(row) - disc.v_px;
  return disc.depth_m + (disc.depth_m_per_u * du + disc.depth_m_per_v * dv);
}

/// Depths up to which discs count in a pixel, and from which on they are its surface.
struct FrontRange {
  float first_m = 0, last_m = 0;
};

/// `front_m`: least depth of cores, infinite without one. In a pixel that keeps its recorded colour
/// discs count only in front of what was recorded.
INTERLACER_HOST_DEVICE inline FrontRange RangeOf(float front_m, float depth_band, bool is_kept,
                                                 float own_m) {
  FrontRange range{front_m * (1 - depth_band), front_m * (1 + depth_band)};
  if (is_kept && own_m > 0 && own_m * (1 - depth_band) < range.last_m) {
    range.last_m = own_m * (1 - depth_band);
  }
  return range;
}

/// How often a disc's colour and its depth count in a pixel: not at all without a share or behind
/// the front. Without branches, which a CPU would guess wrong.
struct DiscWeights {
  std::uint32_t of_color, of_depth;
};
INTERLACER_HOST_DEVICE inline DiscWeights WeightsOf(float depth_m, float share,
                                                    const FrontRange& range) {
  const bool counts = share > 0 && depth_m <= range.last_m;
  const auto weight =
      static_cast<std::uint32_t>(counts ? static_cast<std::int32_t>(share * kShareUnits) + 1 : 0);
  return {weight, depth_m >= range.first_m ? weight : 0};
}

/// What a disc of `depth_m` here adds to DiscSums, before its weights.
struct DiscTerms {
  std::uint32_t rgb_one_depth_one[6];
};
INTERLACER_HOST_DEVICE inline DiscTerms TermsOf(const Disc& disc, float depth_m) {
  // Also of pixels outside the disc, where the weights are 0 and depth may be anything.
  const float units = depth_m > 0 ? depth_m * kDepthUnits : 0;
  return {{disc.rgb[0], disc.rgb[1], disc.rgb[2], 1, static_cast<std::uint32_t>(units), 1}};
}

/// The picture of a pixel from its sums.
INTERLACER_HOST_DEVICE inline PixelResult ResultOf(const DiscView& view, const DiscSums& sums,
                                                   bool is_kept, std::int64_t pixel) {
  PixelResult result{{0, 0, 0}, NAN, 0};
  const std::uint64_t* sum = sums.rgb_weight_depth_weight;
  if (sum[3] > 0) {
    const float per_weight = 1 / static_cast<float>(sum[3]);
    for (int c = 0; c < 3; ++c) result.rgb[c] = static_cast<float>(sum[c]) * per_weight / 255;
    const float cover = 2 * (static_cast<float>(sum[3]) / kShareUnits) - 0.9F;
    result.coverage = cover < 0 ? 0 : cover < 1 ? cover : 1;
    if (sum[5] > 0) {
      result.depth_m = static_cast<float>(sum[4]) / static_cast<float>(sum[5]) / kDepthUnits;
    }
  }
  if (is_kept && result.coverage < 1) {
    const float own_m = view.own_depth_m[pixel];
    if (result.coverage < 0.5F) result.depth_m = own_m > 0 && own_m < INFINITY ? own_m : NAN;
    for (int c = 0; c < 3; ++c) {
      const float recorded = static_cast<float>(view.own_rgb[3 * pixel + c]) / 255;
      result.rgb[c] = result.coverage == 0
                          ? recorded
                          : result.coverage * result.rgb[c] + (1 - result.coverage) * recorded;
    }
    result.coverage = 1;
  }
  return result;
}

}  // namespace interlacer
