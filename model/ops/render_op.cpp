#include "model/ops/render_op.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <span>
#include <utility>

#include "model/ops/saved_object.h"
#include "model/torch_status.h"

namespace interlacer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::span<const float> ConstView(const torch::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::span<float> MutableView(const torch::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// Renderer and tape of one forward pass.
struct RenderRecord {
  std::unique_ptr<PointNerfRenderer> renderer;
  std::shared_ptr<const RenderTape> tape;
};

class RenderFunction : public torch::autograd::Function<RenderFunction> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& positions_m,
                               const torch::Tensor& features, const torch::Tensor& w1,
                               const torch::Tensor& b1, const torch::Tensor& w2,
                               const torch::Tensor& b2, const torch::Tensor& w3,
                               const torch::Tensor& b3, const torch::Tensor& origins_m,
                               const torch::Tensor& directions, const torch::Tensor& jitter,
                               const RendererConfig& config, bool with_gradient) {
    const std::int64_t rays = origins_m.size(0);
    const torch::Tensor rgb = at::empty({rays, 3}, at::kFloat);
    const torch::Tensor distance_m = at::empty({rays}, at::kFloat);
    const torch::Tensor opacity = at::empty({rays}, at::kFloat);
    const FieldTensors field{w1, b1, w2, b2, w3, b3};
    const RayBatch batch{ConstView(origins_m), ConstView(directions), ConstView(jitter)};
    const RayOutputs outputs{MutableView(rgb), MutableView(distance_m), MutableView(opacity)};

    auto record = std::make_shared<RenderRecord>();
    record->renderer = MakePointNerfRenderer(config);
    ThrowIfError(record->renderer->SetParticles(ConstView(positions_m), ConstView(features)));
    if (with_gradient) {
      record->tape =
          ValueOrThrow(record->renderer->RenderForTraining(ViewOf(field), batch, outputs));
      context->save_for_backward({positions_m, features, w1, b1, w2, b2, w3, b3});
      SaveObject<RenderRecord>(context, "record", std::move(record));
    } else {
      ThrowIfError(record->renderer->Render(ViewOf(field), batch, outputs));
    }
    return {rgb, distance_m, opacity};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const auto record = LoadObject<RenderRecord>(context, "record");
    variable_list result;
    for (const torch::Tensor& input : saved) result.push_back(at::zeros_like(input));
    const FieldTensors field{saved[2], saved[3], saved[4], saved[5], saved[6], saved[7]};
    const FieldGradients field_grad{MutableView(result[2]), MutableView(result[3]),
                                    MutableView(result[4]), MutableView(result[5]),
                                    MutableView(result[6]), MutableView(result[7])};
    const torch::Tensor grad_rgb = grads[0].contiguous();
    const torch::Tensor grad_distance = grads[1].contiguous();
    const torch::Tensor grad_opacity = grads[2].contiguous();
    ThrowIfError(record->renderer->RenderBackward(
        ViewOf(field), *record->tape, ConstView(grad_rgb), ConstView(grad_distance),
        ConstView(grad_opacity), MutableView(result[0]), MutableView(result[1]), field_grad));
    constexpr std::size_t kConstantInputs = 5;  // rays, jitter, configuration, flag
    result.resize(result.size() + kConstantInputs);
    return result;
  }
};

}  // namespace

FieldWeights ViewOf(const FieldTensors& field) {
  return {ConstView(field[0]), ConstView(field[1]), ConstView(field[2]),
          ConstView(field[3]), ConstView(field[4]), ConstView(field[5])};
}

RenderedRays RenderOp(const CloudTensors& cloud, const FieldTensors& field,
                      const torch::Tensor& origins_m, const torch::Tensor& directions,
                      const torch::Tensor& jitter, const RendererConfig& config) {
  const torch::Tensor positions = cloud.positions_m.contiguous();
  const torch::Tensor features = cloud.features.contiguous();
  TORCH_CHECK(positions.scalar_type() == at::kFloat && features.scalar_type() == at::kFloat,
              "render: positions and features must be float32");
  TORCH_CHECK(
      origins_m.sizes() == directions.sizes() && origins_m.dim() == 2 && origins_m.size(1) == 3,
      "render: expected origins and directions [r,3], got ", origins_m.sizes(), " and ",
      directions.sizes());
  bool wants_gradient = positions.requires_grad() || features.requires_grad();
  for (const torch::Tensor& weight : field) {
    wants_gradient = wants_gradient || weight.requires_grad();
  }
  const variable_list out =
      RenderFunction::apply(positions, features, field[0], field[1], field[2], field[3], field[4],
                            field[5], origins_m.contiguous(), directions.contiguous(),
                            jitter.defined() ? jitter.contiguous() : torch::empty({0}), config,
                            wants_gradient && at::GradMode::is_enabled());
  return {out[0], out[1], out[2]};
}

}  // namespace interlacer
