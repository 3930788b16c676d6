#pragma once

/// Turns chosen pixels of camera images into particles with learned features.
///
/// Shared by trainer and predictor: isolated points are dropped, the images of one time are
/// encoded, every particle takes the feature vector of its source pixel. Differentiable in the
/// encoder's weights.
///   source_index  [n] int64: (camera * height + row) * width + column of each particle
/// Threads: as WorldModel. Source: hd-vpd, encoder of point features.

#include <torch/types.h>

#include <cstdint>
#include <span>

#include "common/image.h"
#include "data/unproject.h"
#include "model/clouds.h"
#include "model/config.h"

namespace interlacer {

class WorldModel;

/// The configured outlier filter (data/outlier_filter.h) for LiftObservation; empty without one.
/// The number of dropped points is added to `dropped_count`, if given.
PointFilter MakePointFilter(const LiftingConfig& config, std::int64_t* dropped_count = nullptr);

/// Packs equally sized images as bytes [c,h,w,3].
torch::Tensor ImageBytes(std::span<const RgbImage> images, torch::Device device);
/// Converts bytes [c,h,w,3] to [c,3,h,w] float32 in [0,1].
torch::Tensor ColorsInUnit(const torch::Tensor& bytes);

/// features [n,feature_width] of particles in `encoded` [c,feature_width,h,w].
torch::Tensor GatherFeatures(const torch::Tensor& encoded, const torch::Tensor& source_index);

/// Encodes `images` and gathers features: the cloud of one time.
CloudTensors LiftCloud(WorldModel* model, const torch::Tensor& images,
                       const torch::Tensor& positions_m, const torch::Tensor& source_index);

}  // namespace interlacer
