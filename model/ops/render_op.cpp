#include "model/ops/render_op.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <span>
#include <utility>

#include "model/ops/device_render.h"
#include "model/ops/saved_object.h"
#include "model/runtime/torch_status.h"

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

/// The renderer and tape of one forward pass.
struct RenderRecord {
  std::unique_ptr<PointNerfRenderer> renderer;
  std::shared_ptr<const RenderTape> tape;
  std::unique_ptr<DeviceCloud> device;  ///< used instead on a device
};

/// Configuration and what else no gradient reaches.
struct RenderTask {
  RendererConfig config;
  const CudaBackend* cuda;
  bool with_gradient;
};

RenderedRays RenderOnHost(const FieldTensors& field, const CloudTensors& cloud,
                          const RayTensors& rays, const RenderTask& task, RenderRecord* record) {
  const std::int64_t count = rays.origins_m.size(0);
  const RenderedRays out{at::empty({count, 3}, at::kFloat), at::empty({count}, at::kFloat),
                         at::empty({count}, at::kFloat)};
  const RayBatch batch{ConstView(rays.origins_m), ConstView(rays.directions),
                       ConstView(rays.jitter)};
  const RayOutputs outputs{MutableView(out.rgb), MutableView(out.distance_m),
                           MutableView(out.opacity)};
  record->renderer = MakePointNerfRenderer(task.config);
  ThrowIfError(
      record->renderer->SetParticles(ConstView(cloud.positions_m), ConstView(cloud.features)));
  if (task.with_gradient) {
    record->tape = ValueOrThrow(record->renderer->RenderForTraining(ViewOf(field), batch, outputs));
  } else {
    ThrowIfError(record->renderer->Render(ViewOf(field), batch, outputs));
  }
  return out;
}

RenderedRays RenderOnDevice(const FieldTensors& field, const CloudTensors& cloud,
                            const RayTensors& rays, const RenderTask& task, RenderRecord* record) {
  record->device = std::make_unique<DeviceCloud>(task.config, cloud, *task.cuda);
  return task.with_gradient ? record->device->RenderTaped(field, rays)
                            : record->device->Render(field, rays);
}

variable_list BackwardOnHost(const RenderRecord& record, const variable_list& saved,
                             const FieldTensors& field, const RenderedRays& grad) {
  variable_list result;
  for (const torch::Tensor& input : saved) result.push_back(at::zeros_like(input));
  const FieldGradients field_grad{MutableView(result[2]), MutableView(result[3]),
                                  MutableView(result[4]), MutableView(result[5]),
                                  MutableView(result[6]), MutableView(result[7])};
  ThrowIfError(record.renderer->RenderBackward(
      ViewOf(field), *record.tape, ConstView(grad.rgb), ConstView(grad.distance_m),
      ConstView(grad.opacity), MutableView(result[0]), MutableView(result[1]), field_grad));
  return result;
}

class RenderFunction : public torch::autograd::Function<RenderFunction> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& positions_m,
                               const torch::Tensor& features, const torch::Tensor& w1,
                               const torch::Tensor& b1, const torch::Tensor& w2,
                               const torch::Tensor& b2, const torch::Tensor& w3,
                               const torch::Tensor& b3, const torch::Tensor& origins_m,
                               const torch::Tensor& directions, const torch::Tensor& jitter,
                               const RenderTask& task) {
    auto record = std::make_shared<RenderRecord>();
    const auto render = task.cuda != nullptr ? RenderOnDevice : RenderOnHost;
    const RenderedRays out = render({w1, b1, w2, b2, w3, b3}, {positions_m, features},
                                    {origins_m, directions, jitter}, task, record.get());
    if (task.with_gradient) {
      context->save_for_backward({positions_m, features, w1, b1, w2, b2, w3, b3});
      SaveObject<RenderRecord>(context, "record", std::move(record));
    }
    return {out.rgb, out.distance_m, out.opacity};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const auto record = LoadObject<RenderRecord>(context, "record");
    const FieldTensors field{saved[2], saved[3], saved[4], saved[5], saved[6], saved[7]};
    const RenderedRays grad{grads[0].contiguous(), grads[1].contiguous(), grads[2].contiguous()};
    variable_list result = record->device ? record->device->Backward(field, grad)
                                          : BackwardOnHost(*record, saved, field, grad);
    constexpr std::size_t kConstantInputs = 4;  // rays, jitter, task
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
                      const torch::Tensor& jitter, const RendererConfig& config,
                      const CudaBackend* cuda) {
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
                            jitter.defined() ? jitter.contiguous() : torch::empty({0}),
                            RenderTask{config, cuda, wants_gradient && at::GradMode::is_enabled()});
  return {out[0], out[1], out[2]};
}

}  // namespace interlacer
