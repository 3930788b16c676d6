#pragma once

/// The learned world model as one torch module: encoder, tokens, Interlacer, heads, radiance field.
///
///   EncodeImages   [b,3,h,w] colour in [0,1]              -> [b,feature_width,h,w]
///   Step           clouds at t-2, t-1 and robot points    -> cloud at t
///   RenderRays     cloud and rays                         -> colour, distance, opacity
/// Positions in metres, world frame. All three are differentiable in inputs and parameters; indices
/// (neighbours, walks, anchors, gather lists) are constants of the backward pass. With the heads at
/// zero, their initial value, Step returns the newer cloud unchanged.
/// Determinism: equal inputs give equal bits on one device and thread count, in gradients of
/// parameters too (on a CUDA device: docs/gpu.md, Determinism). Errors: c10::Error for shapes, a
/// kernel's Status as StatusException (model/runtime/torch_status.h), with NOT_FINITE for positions
/// in host memory; on a device positions are not checked, and such steps give results that are not
/// finite. Threads: one call at a time per model. Source: hd-vpd; grf-masking, Sec. 4 and App.
/// C.3.

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "common/device.h"
#include "model/clouds.h"
#include "model/config.h"
#include "model/graph/cloud_order.h"
#include "model/graph/token_graph.h"
#include "model/layers/precision.h"
#include "render/device_renderer.h"

namespace interlacer {

struct CudaBackend;
class Unet;
class TokenEncoder;
class Interlacer;
class DynamicsHead;
class RadianceField;

struct WorldModelOptions {
  DenseDtype dense_dtype = DenseDtype::kAuto;
  /// Gradient checkpointing: training keeps only the inputs of Interlacer blocks.
  bool recompute_blocks = false;
  /// Device on which the model will compute; it is created in host memory and moved by MoveTo.
  DeviceKind device = DeviceKind::kCpu;
};

class WorldModel : public torch::nn::Module {
 public:
  explicit WorldModel(const InterlacerConfig& config, const WorldModelOptions& options = {});
  ~WorldModel() override;

  torch::Tensor EncodeImages(const torch::Tensor& rgb);
  CloudTensors Step(const StepInput& input);
  /// A step's input as its tokens see it: clouds in spatial order, with the robot's motion where
  /// its tokens are surface points.
  struct OrderedStep {
    StepInput input;
    CloudOrder newer_order;
  };
  OrderedStep Order(const StepInput& input) const;

  /// `origins_m`, `directions` [r,3], unit directions; `jitter` [r,samples] in [0,1) or undefined
  /// for the middle of each stratum. `renderer` replaces that of the configuration.
  RenderedRays RenderRays(const CloudTensors& cloud, const torch::Tensor& origins_m,
                          const torch::Tensor& directions, const torch::Tensor& jitter);
  RenderedRays RenderRays(const CloudTensors& cloud, const torch::Tensor& origins_m,
                          const torch::Tensor& directions, const torch::Tensor& jitter,
                          const RendererConfig& renderer);

  /// Contiguous weights of the radiance field in host memory; valid while the model lives and is
  /// not trained.
  FieldWeights field_weights() const;
  const RadianceField& radiance_field() const { return *radiance_field_; }
  TokenEncoder& tokens() { return *tokens_; }
  Interlacer& interlacer() { return *interlacer_; }
  DynamicsHead& head() { return *head_; }
  /// Precision of the radiance field on a device, for rendering without gradients.
  FieldPrecision serving_precision() const;
  const InterlacerConfig& config() const { return config_; }
  std::int64_t parameter_count() const;
  /// Moves the parameters; the model computes by `cuda` from then on, on the host if that is null.
  void MoveTo(torch::Device device, const CudaBackend* cuda);
  /// Device of the parameters; inputs must be on it too.
  torch::Device device() const;
  const CudaBackend* cuda() const { return cuda_; }
  /// The form of its graphs, bound where it is.
  const GraphForm& graph() const { return graph_; }

 private:
  InterlacerConfig config_;
  WorldModelOptions options_;
  const CudaBackend* cuda_ = nullptr;
  GraphForm graph_;
  std::shared_ptr<Unet> unet_;
  std::shared_ptr<TokenEncoder> tokens_;
  std::shared_ptr<Interlacer> interlacer_;
  std::shared_ptr<DynamicsHead> head_;
  std::shared_ptr<RadianceField> radiance_field_;
};

/// Draws initial weights: truncated normal (two deviations, std 1/sqrt(fan_in)) from Philox stream
/// 7, biases 0, norms 1, heads 0 and their gate closed, mask coefficients exp(-0.01 hops). Depends
/// on seed and configuration alone.
void InitializeWeights(WorldModel* model, std::uint64_t seed);

/// Gives the last layers of the heads, but not their norms, their initial values: nothing moves
/// except by half of a contact_guess.
void ResetHeads(WorldModel* model);

/// False for biases, norms and mask coefficients.
bool HasWeightDecay(const std::string& parameter_name);

}  // namespace interlacer
