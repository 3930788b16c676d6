#include "render/device_renderer.h"

#include <algorithm>
#include <limits>
#include <string>

#include "render/device_render_memory.h"

namespace interlacer {
namespace {

/// Turns the first error of a run of launches into a Status.
class Launches {
 public:
  explicit Launches(const CudaRenderKernels& kernels) : kernels_(kernels) {}
  void operator()(CudaError error) {
    if (error_.ok()) error_ = error;
  }
  Status status() const {
    if (error_.ok()) return Status::Ok();
    return Internal(std::string("renderer on CUDA: ") + kernels_.CudaErrorText(error_));
  }

 private:
  const CudaRenderKernels& kernels_;
  CudaError error_;
};

Status CheckCount(const char* field, std::int64_t count, std::int64_t limit) {
  if (count >= 0 && count <= limit) return Status::Ok();
  return OutOfRange(reason::ARGUMENT_INVALID, std::string(field) + ": expected 0.." +
                                                  std::to_string(limit) + ", got " +
                                                  std::to_string(count))
      .WithField(field);
}

/// Checks that there is a cloud and that `count` rays with `each` elements per ray are at most 2^31
/// - 1 elements.
Status CheckRays(const void* cloud, std::int64_t count, std::int64_t each) {
  if (cloud == nullptr) {
    return FailedPrecondition(reason::ARGUMENT_INVALID, "renderer on CUDA: no particles were set");
  }
  return CheckCount("rays.count", count, std::numeric_limits<std::int32_t>::max() / each);
}

AnnularParameters Annular(const RendererConfig& config) {
  AnnularParameters parameters;
  parameters.kernel_count = static_cast<int>(config.kernel_radii_m.size());
  parameters.feature_width = config.feature_width;
  parameters.feature_stride = config.feature_width;
  parameters.input_stride = FieldInputWidth(config);
  std::copy(config.kernel_radii_m.begin(), config.kernel_radii_m.end(), parameters.radii_m);
  std::copy(config.kernel_bandwidths_m.begin(), config.kernel_bandwidths_m.end(),
            parameters.bandwidths_m);
  return parameters;
}

DenseLayer Layer(std::int64_t m, int x_width, const float* x, int y_width, const float* w,
                 float* y) {
  return {
      .m = m, .x_width = x_width, .x_stride = x_width, .y_stride = y_width, .x = x, .w = w, .y = y};
}

/// The run of launches over one cloud and one field.
struct Work {
  const RendererConfig& config;
  const CudaRenderKernels& kernels;
  CloudIndex cloud;
  DeviceField field;
  CudaStream stream;
  const void* packed_field = nullptr;  ///< of LaunchPackField: the field in bfloat16
  Launches launch{kernels};

  void PackWeights(void* packed) {
    launch(kernels.LaunchPackField({field.w1, field.b1, field.w2, field.b2, field.w3, field.b3},
                                   FieldInputWidth(config), config.hidden_width, packed, stream));
    packed_field = packed;
  }

  void TransposeWeights(const PassArrays& a) {
    const int in = FieldInputWidth(config), hidden = config.hidden_width;
    launch(kernels.LaunchTranspose(field.w1, hidden, in, a.w1, stream));
    launch(kernels.LaunchTranspose(field.w2, hidden, hidden, a.w2, stream));
    launch(kernels.LaunchTranspose(field.w3, kFieldOutputWidth, hidden, a.w3, stream));
  }

  void March(const DeviceRays& rays, std::int64_t begin, std::int64_t count, void* workspace,
             const MarchedSamples& samples) {
    MarchInputs in;
    in.ray_count = count;
    in.samples_per_ray = config.samples_per_ray;
    in.near_m = config.near_m;
    in.far_m = config.far_m;
    in.origins_m = rays.origins_m + 3 * begin;
    in.directions = rays.directions + 3 * begin;
    in.jitter = rays.jitter == nullptr ? nullptr : rays.jitter + config.samples_per_ray * begin;
    in.box = config.skip_empty_space ? cloud.box : nullptr;
    in.occupied = cloud.occupied;
    launch(kernels.LaunchMarchRays(in, workspace, samples, stream));
  }

  /// Neighbours of at most m samples from pass.begin on.
  void Gather(const float* points_m, std::int64_t m, const PassArrays& a, const PassRange& pass) {
    launch(kernels.LaunchGatherNearest(cloud.tree, config.neighbor_count, points_m, m, a.slots,
                                       a.sq_dist_m2, stream, pass));
  }

  /// Neighbours to hidden layers.
  void Hidden(std::int64_t m, const PassArrays& a, const PassRange& pass) {
    const int in = FieldInputWidth(config), hidden = config.hidden_width;
    launch(kernels.LaunchAnnularSums(Annular(config), cloud.features, a.slots, a.sq_dist_m2, m,
                                     a.inputs, stream, pass));
    DenseLayer first = Layer(m, in, a.inputs, hidden, a.w1, a.hidden1);
    first.bias = field.b1;
    first.relu = true;
    launch(kernels.LaunchDenseForward(first, stream, pass));
    DenseLayer second = Layer(m, hidden, a.hidden1, hidden, a.w2, a.hidden2);
    second.bias = field.b2;
    second.relu = true;
    launch(kernels.LaunchDenseForward(second, stream, pass));
  }

  void Logits(std::int64_t m, const PassArrays& a, float* logits, const PassRange& pass) {
    DenseLayer last = Layer(m, config.hidden_width, a.hidden2, kFieldOutputWidth, a.w3, logits);
    last.bias = field.b3;
    launch(kernels.LaunchDenseForward(last, stream, pass));
    launch(kernels.LaunchEmptyRule(a.sq_dist_m2, m, config.empty_radius_m, logits, stream, pass));
  }

  /// All passes over the marched samples of `rays` rays, then the picture.
  void Picture(const SampleArrays& samples, PassArrays arrays, std::int64_t rays,
               std::int64_t pass_samples, float stop_transmittance, const DeviceRayOutputs& out) {
    const std::int64_t all = rays * config.samples_per_ray;
    for (std::int64_t begin = 0; begin < all; begin += pass_samples) {
      const std::int64_t m = std::min(pass_samples, all - begin);
      const PassRange pass{samples.marched.first + rays, begin};
      if (samples.slots != nullptr) {
        arrays.slots = samples.slots + kGatherWidth * begin;
        arrays.sq_dist_m2 = samples.sq_dist_m2 + kGatherWidth * begin;
      }
      Gather(samples.marched.points_m + 3 * begin, m, arrays, pass);
      float* const logits = samples.logits + kFieldOutputWidth * begin;
      if (packed_field == nullptr) {
        Hidden(m, arrays, pass);
        Logits(m, arrays, logits, pass);
      } else {
        launch(kernels.LaunchFieldBf16(Annular(config), cloud.features, arrays.slots,
                                       arrays.sq_dist_m2, m, packed_field, config.hidden_width,
                                       config.empty_radius_m, logits, stream, pass));
      }
    }
    launch(kernels.LaunchComposite(Composite(samples, rays, stop_transmittance), out.rgb,
                                   out.distance_m, out.opacity, stream));
  }

  CompositeInputs Composite(const SampleArrays& samples, std::int64_t rays,
                            float stop_transmittance) const {
    return {rays,           samples.marched.first, samples.marched.t_m, samples.marched.delta_m,
            samples.logits, config.far_m,          stop_transmittance};
  }

  /// Adds the weight gradients of a pass and writes that of its inputs.
  void FieldBackward(std::int64_t m, const PassArrays& a, const float* logit_grad,
                     const BackwardArrays& back, const DeviceFieldGradients& grad,
                     const PassRange& pass) {
    const int in = FieldInputWidth(config), hidden = config.hidden_width;
    constexpr int kOut = kFieldOutputWidth;
    launch(kernels.LaunchDenseWeightGradient(
        {m, hidden, kOut, kOut, a.hidden2, logit_grad, grad.w3, grad.b3}, back.partial_sums, stream,
        pass));
    DenseLayer third = Layer(m, kOut, logit_grad, hidden, field.w3, back.hidden2_grad);
    third.mask = a.hidden2;
    launch(kernels.LaunchDenseForward(third, stream, pass));
    launch(kernels.LaunchDenseWeightGradient(
        {m, hidden, hidden, hidden, a.hidden1, back.hidden2_grad, grad.w2, grad.b2},
        back.partial_sums, stream, pass));
    DenseLayer second = Layer(m, hidden, back.hidden2_grad, hidden, field.w2, back.hidden1_grad);
    second.mask = a.hidden1;
    launch(kernels.LaunchDenseForward(second, stream, pass));
    launch(kernels.LaunchDenseWeightGradient(
        {m, in, hidden, hidden, a.inputs, back.hidden1_grad, grad.w1, grad.b1}, back.partial_sums,
        stream, pass));
    launch(kernels.LaunchDenseForward(
        Layer(m, hidden, back.hidden1_grad, in, field.w1, back.input_grad), stream, pass));
  }

  void ParticlesBackward(std::int64_t m, const float* points_m, const PassArrays& a,
                         const BackwardArrays& back, const DeviceParticleGradients& grad,
                         const PassRange& pass) {
    const AnnularParameters parameters = Annular(config);
    launch(kernels.LaunchAnnularSumsBackward(parameters, cloud.features, a.slots, a.sq_dist_m2,
                                             a.inputs, back.input_grad, m, back.feature_grad_rows,
                                             back.entry_weights, back.entry_slopes, stream, pass));
    launch(kernels.LaunchParticleGradients(
        cloud.tree,
        {m, parameters.kernel_count, parameters.feature_width, points_m, a.slots,
         back.feature_grad_rows, back.entry_weights, back.entry_slopes},
        back.particles, grad.positions_m, grad.features, stream, pass));
  }
};

}  // namespace

DeviceRenderer::DeviceRenderer(const RendererConfig& config, const CudaRenderKernels& kernels,
                               FieldPrecision serving_precision, std::int64_t pass_samples)
    : config_(config),
      kernels_(&kernels),
      serving_precision_(serving_precision),
      pass_samples_(pass_samples) {
  if (FieldInputWidth(config) > kMaxBf16InputWidth || config.hidden_width > kMaxBf16HiddenWidth) {
    serving_precision_ = FieldPrecision::kFloat32;
  }
  const Status status = ValidateRendererConfig(config);
  INTERLACER_CHECK(status.ok(), status.ToString());
  INTERLACER_CHECK(pass_samples >= 1, "a pass holds samples");
}

std::size_t DeviceRenderer::CloudBytes(std::int64_t particle_count) const {
  return kernels_->LayOutCloudIndex(nullptr, particle_count, config_.feature_width).size_bytes;
}

std::size_t DeviceRenderer::TapeBytes(std::int64_t ray_count) const {
  return CutTape(nullptr, config_, ray_count).size_bytes;
}

std::size_t DeviceRenderer::ServingScratchBytes(std::int64_t particle_count,
                                                std::int64_t ray_count) const {
  return std::max(kernels_->CloudIndexWorkspaceBytes(particle_count),
                  CutServingScratch(nullptr, *kernels_, config_, ray_count, pass_samples_,
                                    serving_precision_ == FieldPrecision::kBfloat16)
                      .size_bytes);
}

std::size_t DeviceRenderer::TrainingScratchBytes(std::int64_t ray_count) const {
  return std::max(
      CutTrainingScratch(nullptr, *kernels_, config_, ray_count, pass_samples_).size_bytes,
      CutBackwardScratch(nullptr, *kernels_, config_, ray_count, pass_samples_).size_bytes);
}

Status DeviceRenderer::SetParticles(const float* positions_m, const float* features,
                                    std::int64_t particle_count, void* cloud, void* scratch,
                                    CudaStream stream) {
  INTERLACER_RETURN_IF_ERROR(CheckCount("particle_count", particle_count, kMaxIndexedParticles));
  particle_count_ = particle_count;
  cloud_ = cloud;
  Launches launch(*kernels_);
  launch(kernels_->LaunchCloudIndex(
      kernels_->LayOutCloudIndex(cloud, particle_count, config_.feature_width), positions_m,
      features, particle_count, config_.feature_width, config_.empty_radius_m, scratch, stream));
  return launch.status();
}

Status DeviceRenderer::Render(const DeviceField& field, const DeviceRays& rays,
                              const DeviceRayOutputs& out, void* scratch, CudaStream stream) const {
  INTERLACER_RETURN_IF_ERROR(CheckRays(cloud_, rays.count, 1));
  if (rays.count == 0) return Status::Ok();
  const bool bf16 = serving_precision_ == FieldPrecision::kBfloat16;
  const ServingScratch s =
      CutServingScratch(scratch, *kernels_, config_, rays.count, pass_samples_, bf16);
  Work work{config_, *kernels_,
            kernels_->LayOutCloudIndex(cloud_, particle_count_, config_.feature_width), field,
            stream};
  if (bf16) {
    work.PackWeights(s.packed_field);
  } else {
    work.TransposeWeights(s.pass);
  }
  for (std::int64_t begin = 0; begin < rays.count; begin += s.batch_rays) {
    const std::int64_t count = std::min(s.batch_rays, rays.count - begin);
    work.March(rays, begin, count, s.march, s.samples.marched);
    work.Picture(s.samples, s.pass, count, s.pass_samples, config_.stop_transmittance,
                 {out.rgb + 3 * begin, out.distance_m + begin, out.opacity + begin});
  }
  return work.launch.status();
}

Status DeviceRenderer::RenderForTraining(const DeviceField& field, const DeviceRays& rays,
                                         const DeviceRayOutputs& out, void* tape_memory,
                                         void* scratch, CudaStream stream) const {
  INTERLACER_RETURN_IF_ERROR(CheckRays(cloud_, rays.count, config_.samples_per_ray));
  if (rays.count == 0) return Status::Ok();
  const Tape tape = CutTape(tape_memory, config_, rays.count);
  const TrainingScratch s =
      CutTrainingScratch(scratch, *kernels_, config_, rays.count, pass_samples_);
  Work work{config_, *kernels_,
            kernels_->LayOutCloudIndex(cloud_, particle_count_, config_.feature_width), field,
            stream};
  work.TransposeWeights(s.pass);
  work.March(rays, 0, rays.count, s.march, tape.samples.marched);
  work.Picture(tape.samples, s.pass, rays.count, pass_samples_, 0.F, out);
  return work.launch.status();
}

Status DeviceRenderer::RenderBackward(const DeviceField& field, const void* tape_memory,
                                      std::int64_t ray_count, const DeviceRayGradients& ray_grad,
                                      const DeviceParticleGradients& particle_grad,
                                      const DeviceFieldGradients& field_grad, void* scratch,
                                      CudaStream stream) const {
  INTERLACER_RETURN_IF_ERROR(CheckRays(cloud_, ray_count, config_.samples_per_ray));
  if (ray_count == 0) return Status::Ok();
  // The tape is only read from here on.
  const SampleArrays samples = CutTape(const_cast<void*>(tape_memory), config_, ray_count).samples;
  const BackwardScratch s =
      CutBackwardScratch(scratch, *kernels_, config_, ray_count, pass_samples_);
  Work work{config_, *kernels_,
            kernels_->LayOutCloudIndex(cloud_, particle_count_, config_.feature_width), field,
            stream};
  work.TransposeWeights(s.pass);
  work.launch(
      kernels_->LaunchCompositeBackward(work.Composite(samples, ray_count, 0.F),
                                        {ray_grad.rgb, ray_grad.distance_m, ray_grad.opacity},
                                        s.back.transmittance, s.back.logit_grad, stream));
  const std::int64_t all = ray_count * config_.samples_per_ray;
  for (std::int64_t begin = 0; begin < all; begin += pass_samples_) {
    const std::int64_t m = std::min(pass_samples_, all - begin);
    const PassRange range{samples.marched.first + ray_count, begin};
    PassArrays arrays = s.pass;
    arrays.slots = samples.slots + kGatherWidth * begin;
    arrays.sq_dist_m2 = samples.sq_dist_m2 + kGatherWidth * begin;
    work.Hidden(m, arrays, range);
    work.FieldBackward(m, arrays, s.back.logit_grad + kFieldOutputWidth * begin, s.back, field_grad,
                       range);
    if (particle_grad.positions_m == nullptr && particle_grad.features == nullptr) continue;
    work.ParticlesBackward(m, samples.marched.points_m + 3 * begin, arrays, s.back, particle_grad,
                           range);
  }
  return work.launch.status();
}

}  // namespace interlacer
