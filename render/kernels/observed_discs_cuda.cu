#include "common/kernels/launch.h"
#include "common/kernels/workspace.h"
#include "render/kernels/observed_discs_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;

struct Workspace {
  SurfelPixel* pixels;     // [surfels]
  Disc* discs;             // [surfels]
  std::uint8_t* is_still;  // [h,w] 0 where the own frame's surfel has moved
  std::uint8_t* is_kept;   // [h,w]
  std::uint32_t* front;    // [h,w] bits of the least depth of cores
  DiscSums* sums;          // [h,w]
  std::size_t size_bytes;
};

Workspace Carve(void* base, std::int64_t surfel_count, std::int64_t pixel_count) {
  WorkspaceCutter cutter(base);
  Workspace w;
  w.pixels = cutter.Take<SurfelPixel>(surfel_count);
  w.discs = cutter.Take<Disc>(surfel_count);
  w.is_still = cutter.Take<std::uint8_t>(pixel_count);
  w.is_kept = cutter.Take<std::uint8_t>(pixel_count);
  w.front = cutter.Take<std::uint32_t>(pixel_count);
  w.sums = cutter.Take<DiscSums>(pixel_count);
  w.size_bytes = cutter.size_bytes();
  return w;
}

__device__ FrontRange RangeAt(const DiscView& view, const Workspace& w, std::int64_t pixel) {
  const std::uint32_t front = w.front[pixel];
  const bool is_kept = w.is_kept[pixel] != 0;
  return RangeOf(front == kNoFront ? INFINITY : __uint_as_float(front), view.depth_band, is_kept,
                 is_kept ? view.own_depth_m[pixel] : 0.F);
}

/// Calls visit(pixel, share, depth_m) for the pixels under a disc that it may draw.
template <typename Visit>
__device__ void VisitShares(const DiscView& view, const std::uint8_t* is_kept, const Disc& disc,
                            const Visit& visit) {
  const PixelRange range = PixelsUnder(disc, view.width_px, 0, view.height_px);
  for (int row = range.first_row; row <= range.last_row; ++row) {
    for (int column = range.first_column; column <= range.last_column; ++column) {
      const std::int64_t pixel = static_cast<std::int64_t>(row) * view.width_px + column;
      if (!disc.has_moved && is_kept[pixel] != 0) continue;
      const float share = ShareAt(disc, row, column);
      if (share > 0) visit(pixel, share, DepthAt(disc, row, column));
    }
  }
}

/// Where surfels are in the picture, and which pixels of the own frame they have left.
/// Bound: memory, 44 bytes a surfel; in double, which only few GPUs compute fast.
/// Block: a thread per surfel, nothing shared.
/// Layout: neighbouring threads write neighbouring pixels of surfels.
__global__ void ProjectKernel(DiscView view, SurfelArrays surfels, Workspace w) {
  const std::int64_t i = GlobalThread();
  if (i >= surfels.count) return;
  w.pixels[i] = ProjectSurfel(view, surfels.positions_m + 3 * i);
  if (surfels.frame_of[i] == view.own_frame && HasMoved(surfels, i)) {
    w.is_still[surfels.pixel_of[i]] = 0;
  }
}

/// Bound: memory, 6 bytes a pixel; about fifty more from the L1 cache where depth is unknown.
/// Block: a thread per pixel, nothing shared.
/// Layout: pixels row by row, so that the surroundings of neighbouring threads overlap.
__global__ void KeepKernel(DiscView view, std::int64_t pixel_count, Workspace w) {
  const std::int64_t pixel = GlobalThread();
  if (pixel >= pixel_count) return;
  w.is_kept[pixel] = KeepsColor(view, w.is_still, static_cast<int>(pixel / view.width_px),
                                static_cast<int>(pixel % view.width_px));
}

/// The discs, and the least depth of cores in each pixel.
/// Bound: latency of the neighbours' reads, then atomics on about three pixels a surfel.
/// Block: a thread per surfel; neighbours in a frame's row are neighbours in memory.
/// Layout: depths are positive, so their bits are ordered as they are.
__global__ void FrontKernel(DiscView view, SurfelArrays surfels, Workspace w) {
  const std::int64_t i = GlobalThread();
  if (i >= surfels.count) return;
  Disc disc{};
  if (surfels.frame_of[i] != view.own_frame || HasMoved(surfels, i)) {
    disc = MakeDisc(view, surfels, w.pixels, i);
  }
  w.discs[i] = disc;
  if (disc.depth_m == 0) return;
  VisitShares(view, w.is_kept, disc, [&](std::int64_t pixel, float share, float depth_m) {
    if (share >= kCoreShare) atomicMin(w.front + pixel, __float_as_uint(depth_m));
  });
}

/// Adds up what the discs of each pixel's surface show.
/// Bound: atomics, six of 8 bytes in each of about three pixels a surfel, within the L2 cache.
/// Block: a thread per surfel, nothing shared.
/// Layout: the six sums of a pixel lie side by side.
__global__ void SumKernel(DiscView view, SurfelArrays surfels, Workspace w) {
  const std::int64_t i = GlobalThread();
  if (i >= surfels.count) return;
  const Disc disc = w.discs[i];
  if (disc.depth_m == 0) return;
  VisitShares(view, w.is_kept, disc, [&](std::int64_t pixel, float share, float depth_m) {
    const DiscWeights weights = WeightsOf(depth_m, share, RangeAt(view, w, pixel));
    const DiscTerms terms = TermsOf(disc, depth_m);
    auto* const sum = reinterpret_cast<unsigned long long*>(w.sums[pixel].rgb_weight_depth_weight);
    for (int k = 0; k < 6; ++k) {
      const unsigned weight = k < 4 ? weights.of_color : weights.of_depth;
      const auto add = static_cast<unsigned long long>(terms.rgb_one_depth_one[k]) * weight;
      if (add != 0) atomicAdd(sum + k, add);
    }
  });
}

/// Bound: memory, 80 bytes a pixel.
/// Block: a thread per pixel, nothing shared.
/// Layout: pixels row by row; colour is [h,w,3].
__global__ void ResultKernel(DiscView view, std::int64_t pixel_count, Workspace w,
                             ObservedPictureDevice picture) {
  const std::int64_t pixel = GlobalThread();
  if (pixel >= pixel_count) return;
  const PixelResult result = ResultOf(view, w.sums[pixel], w.is_kept[pixel] != 0, pixel);
  for (int c = 0; c < 3; ++c) picture.color[3 * pixel + c] = result.rgb[c];
  picture.depth_m[pixel] = result.depth_m;
  picture.coverage[pixel] = result.coverage;
}

}  // namespace

std::size_t ObservedWorkspaceBytes(std::int64_t surfel_count, int width_px, int height_px) {
  return Carve(nullptr, surfel_count, static_cast<std::int64_t>(width_px) * height_px).size_bytes;
}

CudaError LaunchObservedDiscs(const DiscView& view, const SurfelArrays& surfels,
                              void* workspace_device, const ObservedPictureDevice& picture,
                              CudaStream stream) {
  const std::int64_t pixels = static_cast<std::int64_t>(view.width_px) * view.height_px;
  const Workspace w = Carve(workspace_device, surfels.count, pixels);
  const auto count = static_cast<std::size_t>(pixels);
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(w.is_still, 1, count, stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(w.front, 0xFF, count * sizeof(std::uint32_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(w.sums, 0, count * sizeof(DiscSums), stream));
  const std::int64_t blocks = BlocksFor(surfels.count, kThreads);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(ProjectKernel, blocks, kThreads, stream, view, surfels, w));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(KeepKernel, BlocksFor(pixels, kThreads), kThreads, stream, view, pixels, w));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(FrontKernel, blocks, kThreads, stream, view, surfels, w));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(SumKernel, blocks, kThreads, stream, view, surfels, w));
  return LaunchBlocks(ResultKernel, BlocksFor(pixels, kThreads), kThreads, stream, view, pixels, w,
                      picture);
}

}  // namespace interlacer
