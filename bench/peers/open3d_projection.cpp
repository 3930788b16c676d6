#include "bench/peers/open3d_projection.h"

#if INTERLACER_WITH_OPEN3D
#include <open3d/t/geometry/PointCloud.h>
#include <open3d/t/geometry/RGBDImage.h>

#include <memory>

#include "common/transforms.h"

namespace interlacer::bench {
namespace {

constexpr float kFarM = 100;

std::function<std::vector<float>()> Prepare(std::span<const float> positions_m,
                                            std::span<const float> colors, const Camera& camera) {
  using open3d::core::Tensor;
  const auto rows = static_cast<std::int64_t>(positions_m.size() / 3);
  const auto cloud = std::make_shared<open3d::t::geometry::PointCloud>(
      Tensor(positions_m.data(), {rows, 3}, open3d::core::Float32));
  cloud->SetPointColors(Tensor(colors.data(), {rows, 3}, open3d::core::Float32));
  const Tensor intrinsics = Tensor::Init<double>(
      {{camera.fx_px, 0, camera.cx_px}, {0, camera.fy_px, camera.cy_px}, {0, 0, 1}});
  const Matrix4d m = ToMatrix(Inverse(camera.world_from_camera));
  const Tensor extrinsics(std::vector<double>(m.begin(), m.end()), {4, 4}, open3d::core::Float64);
  return [cloud, intrinsics, extrinsics, width = camera.width_px, height = camera.height_px] {
    const auto picture =
        cloud->ProjectToRGBDImage(width, height, intrinsics, extrinsics, 1.F, kFarM);
    return picture.depth_.AsTensor().ToFlatVector<float>();
  };
}

}  // namespace

PointProjection Open3dProjection() {
  return {"open3d " INTERLACER_BENCH_OPEN3D_VERSION, "", &Prepare};
}

}  // namespace interlacer::bench

#else

namespace interlacer::bench {

PointProjection Open3dProjection() { return {"", "built without Open3D", nullptr}; }

}  // namespace interlacer::bench

#endif
