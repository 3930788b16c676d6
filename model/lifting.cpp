#include "model/lifting.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <vector>

namespace interlacer {

torch::Tensor ImagesToTensor(std::span<const RgbImage> images) {
  std::vector<torch::Tensor> parts;
  for (const RgbImage& image : images) {
    const torch::Tensor bytes = at::empty({image.height_px, image.width_px, 3}, at::kByte);
    std::copy(image.pixels.begin(), image.pixels.end(), bytes.mutable_data_ptr<std::uint8_t>());
    parts.push_back(bytes.permute({2, 0, 1}).to(at::kFloat).div_(255));
  }
  return at::stack(parts, 0);
}

torch::Tensor GatherFeatures(const torch::Tensor& encoded, const torch::Tensor& source_index) {
  return encoded.permute({0, 2, 3, 1}).reshape({-1, encoded.size(1)}).index_select(0, source_index);
}

CloudTensors LiftCloud(WorldModel* model, const torch::Tensor& images,
                       const torch::Tensor& positions_m, const torch::Tensor& source_index) {
  return {positions_m, GatherFeatures(model->EncodeImages(images), source_index)};
}

}  // namespace interlacer
