#include "model/lifting/lifting.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <vector>

#include "data/outlier_filter.h"
#include "model/network/world_model.h"

namespace interlacer {

PointFilter MakePointFilter(const LiftingConfig& config, std::int64_t* dropped_count) {
  if (!config.outlier_filter) return {};
  return [filter = *config.outlier_filter,
          dropped_count](const LiftedPoints& points) -> StatusOr<LiftedPoints> {
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::int64_t> inliers,
                                FindInliers(points.positions_m, filter));
    if (dropped_count) *dropped_count += points.count() - static_cast<std::int64_t>(inliers.size());
    return SelectPoints(points, inliers);
  };
}

torch::Tensor ImageBytes(std::span<const RgbImage> images, torch::Device device) {
  const auto count = static_cast<std::int64_t>(images.size());
  if (count == 0) return at::empty({0, 0, 0, 3}, at::kByte).to(device);
  const torch::Tensor bytes =
      at::empty({count, images[0].height_px, images[0].width_px, 3}, at::kByte);
  std::uint8_t* out = bytes.mutable_data_ptr<std::uint8_t>();
  for (const RgbImage& image : images) {
    out = std::copy(image.pixels.begin(), image.pixels.end(), out);
  }
  return bytes.to(device);
}

torch::Tensor ColorsInUnit(const torch::Tensor& bytes) {
  return bytes.permute({0, 3, 1, 2}).contiguous().to(at::kFloat).div_(255);
}

torch::Tensor GatherFeatures(const torch::Tensor& encoded, const torch::Tensor& source_index) {
  return encoded.permute({0, 2, 3, 1}).reshape({-1, encoded.size(1)}).index_select(0, source_index);
}

CloudTensors LiftCloud(WorldModel* model, const torch::Tensor& images,
                       const torch::Tensor& positions_m, const torch::Tensor& source_index) {
  return {positions_m, GatherFeatures(model->EncodeImages(images), source_index)};
}

}  // namespace interlacer
