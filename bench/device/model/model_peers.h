#pragma once

/// Transfers a model and its inputs to a Python peer (bench/peers/model_torch.py).

#include <torch/types.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "bench/child_peer.h"
#include "bench/options.h"
#include "bench/peers/eager_walks.h"
#include "model/network/world_model.h"

namespace interlacer::bench {

/// Sends floating-point tensors as float32, indices as int32.
void LoadTensor(ChildPeer* child, const std::string& name, const torch::Tensor& tensor);

/// Sends weights "w.NAME" without the encoder's, "numbers", "context_bandwidths".
void LoadModel(ChildPeer* child, const WorldModel& model, const Box& workspace);

/// Sends clouds "older.…" and "newer.…", robot "points" [2 + steps,p,3] with "attributes.S" of
/// every step, and the merged walks of each step "roots.S", "ends.S", "loads.S".
void LoadSteps(ChildPeer* child, const InterlacerConfig& config, const StepInput& first,
               const torch::Tensor& points_m, const std::vector<WalkIndices>& walks);

/// Whether --peer selects any of them, because transferring a model takes a while.
bool AnySelected(const Options& options, std::initializer_list<std::string> peers);

std::vector<double> ToDoubles(const torch::Tensor& tensor);

}  // namespace interlacer::bench
