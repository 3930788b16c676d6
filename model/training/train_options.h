#pragma once

/// What a training run is asked for: configuration, data, where it writes. Values, free of
/// LibTorch.

#include <cstdint>
#include <string>
#include <vector>

#include "common/device.h"
#include "model/training/training_config.h"

namespace interlacer {

struct CudaBackend;

struct TrainingDataset {
  std::string path;     ///< folder with dataset.json, or an episode
  double weight = 1.0;  ///< fraction of the sequences drawn from it
};

struct TrainOptions {
  RunConfig config;
  std::vector<TrainingDataset> datasets;
  std::string output_dir;
  /// Initial weights (a checkpoint of the same configuration except for the local layers and a
  /// contact_guess, which it then trusts by half); empty for random initial weights.
  std::string initial_checkpoint;
  /// Encoder and radiance field of this checkpoint in place of the initial ones; the rest of its
  /// configuration may differ. Empty for none.
  std::string initial_appearance;
  /// Zeroes the dynamics heads of the initial weights. After further training of the encoder the
  /// heads' knowledge of its features is stale, and zero heads predict that nothing moves except
  /// by half of a contact_guess.
  bool reset_heads = false;
  std::uint64_t seed = 0;
  bool resume = false;
  bool overwrite = false;
  /// With several processes on a machine, each uses the device of its local rank.
  DeviceRequest device = DeviceRequest::kCpu;
  /// The program's (model/cuda/built_backend.h); without one there is no CUDA device.
  const CudaBackend* cuda = nullptr;
};

}  // namespace interlacer
