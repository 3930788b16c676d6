#pragma once

/// The renderer of render/renderer.h on a CUDA device: same picture, same gradients, device memory.
///
/// Contract of its calls: common/kernels/cuda.h. Nothing is read back either, so a call can be
/// captured in a CUDA graph and replayed on other values at the same addresses. Memory is the
/// caller's, on boundaries of 256 bytes, and may hold anything before:
///   cloud    CloudBytes(n)             written by SetParticles, read by all that follows
///   tape     TapeBytes(rays)           written by RenderForTraining, read by RenderBackward
///   scratch  ServingScratchBytes(n, rays), TrainingScratchBytes(rays)
///                                      one call's own; free again when its work is done
/// Rays are processed in passes, so that scratch does not grow with the samples that turn out to
/// lie near particles; none are ever left out.
///   positions_m [n,3]   features [n,feature_width]   field weights as radiance_field.h has them
/// Values are not validated: they must be finite, directions unit, jitter in [0,1).
/// Determinism: no float atomics; equal calls give equal bits, pictures also without skipping.
/// Threads: const methods may run together, each with its own scratch and tape.
/// Errors: OUT_OF_RANGE ARGUMENT_INVALID beyond 2^24
/// particles, 2^31 - 1 rays or training samples; FAILED_PRECONDITION before SetParticles; INTERNAL
/// for what the CUDA runtime reports.
/// Source: grf-masking, App. C.3; hd-vpd; vpd.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "common/status.h"
#include "render/renderer.h"

namespace interlacer {

struct CudaRenderKernels;

/// FieldWeights and FieldGradients, on the device.
struct DeviceField {
  const float *w1, *b1, *w2, *b2, *w3, *b3;
};
struct DeviceFieldGradients {
  float *w1, *b1, *w2, *b2, *w3, *b3;
};

struct DeviceRays {
  std::int64_t count = 0;
  const float* origins_m = nullptr;   ///< [r,3]
  const float* directions = nullptr;  ///< [r,3], unit
  const float* jitter = nullptr;      ///< [r,samples] in [0,1), or null: 1/2
};
/// Results of rays: [r,3], [r], [r].
struct DeviceRayOutputs {
  float *rgb, *distance_m, *opacity;
};
/// Gradients of DeviceRayOutputs; null means zero.
struct DeviceRayGradients {
  const float *rgb, *distance_m, *opacity;
};
/// Gradients [n,3] and [n,feature_width], in the caller's particle order; null: not wanted.
struct DeviceParticleGradients {
  float *positions_m, *features;
};

/// Operands of the field's products in Render; their sums, and all of training, are float32.
/// kBfloat16 is for fields of at most 128 inputs and 128 hidden units; wider ones stay in float32.
enum class FieldPrecision { kFloat32, kBfloat16 };

class DeviceRenderer {
 public:
  /// Samples whose neighbours and activations scratch holds at once.
  static constexpr std::int64_t kDefaultPassSamples = 131072;

  /// The config must be valid; pass_samples >= 1. The kernels must outlive the renderer.
  DeviceRenderer(const RendererConfig& config, const CudaRenderKernels& kernels,
                 FieldPrecision serving_precision = FieldPrecision::kFloat32,
                 std::int64_t pass_samples = kDefaultPassSamples);

  const RendererConfig& config() const { return config_; }
  std::size_t CloudBytes(std::int64_t particle_count) const;
  std::size_t TapeBytes(std::int64_t ray_count) const;
  /// Scratch of SetParticles and Render.
  std::size_t ServingScratchBytes(std::int64_t particle_count, std::int64_t ray_count) const;
  /// Scratch of RenderForTraining and RenderBackward.
  std::size_t TrainingScratchBytes(std::int64_t ray_count) const;

  /// Copies and indexes a cloud into `cloud`, which later calls read. 0 particles are an all-white
  /// scene.
  Status SetParticles(const float* positions_m, const float* features, std::int64_t particle_count,
                      void* cloud, void* scratch, CudaStream stream);
  Status Render(const DeviceField& field, const DeviceRays& rays, const DeviceRayOutputs& out,
                void* scratch, CudaStream stream) const;
  /// As Render with stop_transmittance 0, writing the tape.
  Status RenderForTraining(const DeviceField& field, const DeviceRays& rays,
                           const DeviceRayOutputs& out, void* tape, void* scratch,
                           CudaStream stream) const;
  /// Adds gradients to those given. The cloud and the field must hold what the forward pass saw;
  /// neighbour indices are constants.
  Status RenderBackward(const DeviceField& field, const void* tape, std::int64_t ray_count,
                        const DeviceRayGradients& ray_grad,
                        const DeviceParticleGradients& particle_grad,
                        const DeviceFieldGradients& field_grad, void* scratch,
                        CudaStream stream) const;

 private:
  RendererConfig config_;
  const CudaRenderKernels* kernels_;
  FieldPrecision serving_precision_;
  std::int64_t pass_samples_;
  std::int64_t particle_count_ = 0;
  void* cloud_ = nullptr;
};

}  // namespace interlacer
