#include "model/network/world_model.h"

#include <ATen/Functions.h>

#include "model/network/head.h"
#include "model/network/interlacer.h"
#include "model/network/radiance_field.h"
#include "model/network/tokens.h"
#include "model/network/unet.h"

namespace interlacer {

WorldModel::WorldModel(const InterlacerConfig& config, const WorldModelOptions& options)
    : config_(config), options_(options), graph_(BindTokenGraph(config, nullptr)) {
  const Precision precision = ResolvePrecision(options.dense_dtype, options.device);
  unet_ = register_module("unet", std::make_shared<Unet>(config.encoder, precision));
  tokens_ = register_module("tokens", std::make_shared<TokenEncoder>(config));
  interlacer_ = register_module(
      "interlacer",
      std::make_shared<Interlacer>(config.network, precision, options.recompute_blocks));
  head_ = register_module("head", std::make_shared<DynamicsHead>(config));
  radiance_field_ =
      register_module("radiance_field", std::make_shared<RadianceField>(config.renderer));
}

WorldModel::~WorldModel() = default;

torch::Tensor WorldModel::EncodeImages(const torch::Tensor& rgb) {
  return unet_->forward(rgb, cuda_);
}

WorldModel::OrderedStep WorldModel::Order(const StepInput& input) const {
  const auto with_motion = [&](const CloudTensors& cloud, const torch::Tensor& motion) {
    return WithRobotMotion(cloud, motion, config_.tokens.displacement_scale);
  };
  const OrderedClouds clouds =
      InSpatialOrder(with_motion(input.older, input.surface.older_motion),
                     with_motion(input.newer, input.surface.newer_motion), cuda_);
  return {{clouds.older, clouds.newer, input.kinematic_points_m, input.workspace, input.graph_seed,
           input.surface},
          clouds.newer_order};
}

CloudTensors WorldModel::Step(const StepInput& input) {
  const OrderedStep step = Order(input);
  TokenSet tokens = tokens_->forward(step.input);
  const TokenGraph graph = graph_(tokens, input.graph_seed);
  const RowRange newer{tokens.older_count, tokens.older_count + tokens.newer_count};
  return head_->forward(interlacer_->forward(std::move(tokens.h), graph, newer),
                        interlacer_->last_norm(), input.newer, step.newer_order,
                        ContactGuessOf(input.surface));
}

RenderedRays WorldModel::RenderRays(const CloudTensors& cloud, const torch::Tensor& origins_m,
                                    const torch::Tensor& directions, const torch::Tensor& jitter) {
  return RenderRays(cloud, origins_m, directions, jitter, config_.renderer);
}

RenderedRays WorldModel::RenderRays(const CloudTensors& cloud, const torch::Tensor& origins_m,
                                    const torch::Tensor& directions, const torch::Tensor& jitter,
                                    const RendererConfig& renderer) {
  return RenderOp(cloud, radiance_field_->tensors(), origins_m, directions, jitter, renderer,
                  cuda_);
}

FieldWeights WorldModel::field_weights() const { return ViewOf(radiance_field_->tensors()); }

FieldPrecision WorldModel::serving_precision() const {
  return ResolvePrecision(options_.dense_dtype, options_.device) == Precision::kBfloat16
             ? FieldPrecision::kBfloat16
             : FieldPrecision::kFloat32;
}

void WorldModel::MoveTo(torch::Device device, const CudaBackend* cuda) {
  to(device);
  cuda_ = cuda;
  graph_ = BindTokenGraph(config_, cuda);
}

torch::Device WorldModel::device() const { return radiance_field_->tensors().front().device(); }

std::int64_t WorldModel::parameter_count() const {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

}  // namespace interlacer
