#pragma once

/// Private to the device renderer: the layout of its arrays in the memory that callers give it.
/// Every layout is a pure function of the configuration and sizes; without memory only the size is
/// computed.

#include <algorithm>
#include <cstdint>

#include "common/kernels/workspace.h"
#include "render/kernels/cuda_render_kernels.h"
#include "render/renderer.h"

namespace interlacer {

/// Samples of all rays: their positions, the logits of the field and, on a tape, their neighbours.
struct SampleArrays {
  MarchedSamples marched;
  float* logits;         // [m,4]
  std::uint32_t* slots;  // [m,16] of a tape, else null
  float* sq_dist_m2;
};

inline SampleArrays CutSamples(WorkspaceCutter& cutter, std::int64_t rays, std::int64_t samples) {
  SampleArrays a{};
  a.marched.first = cutter.Take<std::int32_t>(rays + 1);
  a.marched.points_m = cutter.Take<float>(3 * samples);
  a.marched.t_m = cutter.Take<float>(samples);
  a.marched.delta_m = cutter.Take<float>(samples);
  a.logits = cutter.Take<float>(kFieldOutputWidth * samples);
  return a;
}

struct Tape {
  SampleArrays samples;
  std::size_t size_bytes;
};

inline Tape CutTape(void* memory, const RendererConfig& config, std::int64_t rays) {
  const std::int64_t samples = rays * config.samples_per_ray;
  WorkspaceCutter cutter(memory);
  Tape tape;
  tape.samples = CutSamples(cutter, rays, samples);
  tape.samples.slots = cutter.Take<std::uint32_t>(kGatherWidth * samples);
  tape.samples.sq_dist_m2 = cutter.Take<float>(kGatherWidth * samples);
  tape.size_bytes = cutter.size_bytes();
  return tape;
}

/// Arrays of one pass, from neighbours to the hidden layers of the field.
struct PassArrays {
  std::uint32_t* slots;  // [m,16]
  float* sq_dist_m2;     // [m,16]
  float* inputs;         // [m, input width]
  float* hidden1;        // [m, hidden width]
  float* hidden2;
  float *w1, *w2, *w3;  // [in, out]: transposed weights
};

inline PassArrays CutPass(WorkspaceCutter& cutter, const RendererConfig& config, std::int64_t m) {
  const std::int64_t in = FieldInputWidth(config), hidden = config.hidden_width;
  PassArrays a;
  a.slots = cutter.Take<std::uint32_t>(kGatherWidth * m);
  a.sq_dist_m2 = cutter.Take<float>(kGatherWidth * m);
  a.inputs = cutter.Take<float>(in * m);
  a.hidden1 = cutter.Take<float>(hidden * m);
  a.hidden2 = cutter.Take<float>(hidden * m);
  a.w1 = cutter.Take<float>(in * hidden);
  a.w2 = cutter.Take<float>(hidden * hidden);
  a.w3 = cutter.Take<float>(hidden * kFieldOutputWidth);
  return a;
}

/// Arrays of the backward pass beside those of PassArrays.
struct BackwardArrays {
  float* transmittance;  // [all samples]
  float* logit_grad;     // [all samples, 4]
  float* hidden2_grad;   // [m, hidden width]
  float* hidden1_grad;
  float* input_grad;         // [m, input width]
  float* feature_grad_rows;  // [m, kernels, feature width]
  float* entry_weights;      // [m,16,kernels]
  float* entry_slopes;       // [m,16]
  char* partial_sums;
  char* particles;
};

inline BackwardArrays CutBackward(WorkspaceCutter& cutter, const CudaRenderKernels& kernels,
                                  const RendererConfig& config, std::int64_t all, std::int64_t m) {
  const int in = FieldInputWidth(config), hidden = config.hidden_width;
  const std::int64_t rings = static_cast<std::int64_t>(config.kernel_radii_m.size());
  BackwardArrays a;
  a.transmittance = cutter.Take<float>(all);
  a.logit_grad = cutter.Take<float>(kFieldOutputWidth * all);
  a.hidden2_grad = cutter.Take<float>(hidden * m);
  a.hidden1_grad = cutter.Take<float>(hidden * m);
  a.input_grad = cutter.Take<float>(in * m);
  a.feature_grad_rows = cutter.Take<float>(rings * config.feature_width * m);
  a.entry_weights = cutter.Take<float>(kGatherWidth * rings * m);
  a.entry_slopes = cutter.Take<float>(kGatherWidth * m);
  a.partial_sums =
      cutter.Take<char>(static_cast<std::int64_t>(kernels.DenseWeightGradientWorkspaceBytes(
          std::max(in, hidden), std::max(hidden, kFieldOutputWidth))));
  a.particles =
      cutter.Take<char>(static_cast<std::int64_t>(kernels.ParticleGradientWorkspaceBytes(m)));
  return a;
}

/// Passes of one marched batch of rays in serving: bounds the arrays that grow with the rays.
inline constexpr std::int64_t kPassesPerBatch = 64;

struct ServingScratch {
  std::int64_t batch_rays;
  std::int64_t pass_samples;
  char* march;
  SampleArrays samples;
  PassArrays pass;     // in bfloat16 neighbours only
  char* packed_field;  // in bfloat16, else null
  std::size_t size_bytes;
};

/// Passes of bfloat16 keep activations on the chip, so that this many times more samples fit into
/// the memory of a float32 pass.
inline constexpr std::int64_t kBf16PassFactor = 8;

inline ServingScratch CutServingScratch(void* memory, const CudaRenderKernels& kernels,
                                        const RendererConfig& config, std::int64_t rays,
                                        std::int64_t pass_samples, bool bf16) {
  const std::int64_t per_ray = config.samples_per_ray;
  WorkspaceCutter cutter(memory);
  ServingScratch s{};
  s.batch_rays =
      std::min(rays, std::max<std::int64_t>(kPassesPerBatch * pass_samples / per_ray, 1));
  s.pass_samples =
      std::min(bf16 ? kBf16PassFactor * pass_samples : pass_samples, s.batch_rays * per_ray);
  s.march = cutter.Take<char>(
      static_cast<std::int64_t>(kernels.MarchWorkspaceBytes(s.batch_rays, config.samples_per_ray)));
  s.samples = CutSamples(cutter, s.batch_rays, s.batch_rays * per_ray);
  if (bf16) {
    s.pass.slots = cutter.Take<std::uint32_t>(kGatherWidth * s.pass_samples);
    s.pass.sq_dist_m2 = cutter.Take<float>(kGatherWidth * s.pass_samples);
    s.packed_field = cutter.Take<char>(static_cast<std::int64_t>(
        kernels.PackedFieldBytes(FieldInputWidth(config), config.hidden_width)));
  } else {
    s.pass = CutPass(cutter, config, s.pass_samples);
  }
  s.size_bytes = cutter.size_bytes();
  return s;
}

struct TrainingScratch {
  char* march;
  PassArrays pass;
  std::size_t size_bytes;
};

inline TrainingScratch CutTrainingScratch(void* memory, const CudaRenderKernels& kernels,
                                          const RendererConfig& config, std::int64_t rays,
                                          std::int64_t pass_samples) {
  WorkspaceCutter cutter(memory);
  TrainingScratch s;
  s.march = cutter.Take<char>(
      static_cast<std::int64_t>(kernels.MarchWorkspaceBytes(rays, config.samples_per_ray)));
  s.pass = CutPass(cutter, config, std::min(pass_samples, rays * config.samples_per_ray));
  s.size_bytes = cutter.size_bytes();
  return s;
}

struct BackwardScratch {
  PassArrays pass;
  BackwardArrays back;
  std::size_t size_bytes;
};

inline BackwardScratch CutBackwardScratch(void* memory, const CudaRenderKernels& kernels,
                                          const RendererConfig& config, std::int64_t rays,
                                          std::int64_t pass_samples) {
  const std::int64_t all = rays * config.samples_per_ray;
  WorkspaceCutter cutter(memory);
  BackwardScratch s;
  s.pass = CutPass(cutter, config, std::min(pass_samples, all));
  s.back = CutBackward(cutter, kernels, config, all, std::min(pass_samples, all));
  s.size_bytes = cutter.size_bytes();
  return s;
}

}  // namespace interlacer
