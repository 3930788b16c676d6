#pragma once

/// Hands a model and what it computes over to a Python peer (bench/peers/model_torch.py).

#include <torch/types.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "bench/child_peer.h"
#include "bench/options.h"
#include "bench/peers/eager_walks.h"
#include "model/network/world_model.h"

namespace interlacer::bench {

/// Floating tensors as float32, indices as int32.
void LoadTensor(ChildPeer* child, const std::string& name, const torch::Tensor& tensor);

/// Weights "w.NAME" without the encoder's, "numbers", "context_bandwidths".
void LoadModel(ChildPeer* child, const WorldModel& model, const Box& workspace);

/// Clouds "older.…" and "newer.…", robot "points" [2 + steps,p,3] with "attributes.S" of every
/// step, and its walks "roots.S", "ends.S", "loads.S", merged.
void LoadSteps(ChildPeer* child, const InterlacerConfig& config, const StepInput& first,
               const torch::Tensor& points_m, const std::vector<WalkIndices>& walks);

/// Whether --peer leaves any of them: handing a model over takes a while.
bool AnyAsked(const Options& options, std::initializer_list<std::string> peers);

std::vector<double> ToDoubles(const torch::Tensor& tensor);

}  // namespace interlacer::bench
