#pragma once

/// Scores of one predicted view and its baselines against the true frame.
///
/// Metrics of pictures (definitions in render/image_metrics.h): ssim_wang_rgb_v1, also over the
/// masks `@moving` and `@workspace`, psnr_rgb8_v1; of geometry: evaluation/geometry_scores.h.
/// Subjects: the model's view; `copy_last`, the newest observed frame of the same camera;
/// `reconstruction`, the model's view at step 0; `splat`, a plain z-buffer picture of the very
/// particles that the model predicted. A score that does not exist is null with a reason. Pure
/// functions, thread-safe. Errors: INVALID_ARGUMENT IMAGE_SIZE_MISMATCH.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/prediction.h"
#include "common/status.h"
#include "evaluation/prediction_task.h"
#include "render/particle_preview.h"

namespace interlacer {

inline constexpr std::string_view kSsim = "ssim_wang_rgb_v1";
inline constexpr std::string_view kSsimMoving = "ssim_wang_rgb_v1@moving";
inline constexpr std::string_view kSsimWorkspace = "ssim_wang_rgb_v1@workspace";
inline constexpr std::string_view kPsnr = "psnr_rgb8_v1";
inline constexpr std::string_view kDepthAbs = "depth_abs_m_v1";
inline constexpr std::string_view kChamferHalf = "chamfer_half_m_v1";
inline constexpr std::string_view kTracked = "mde_m_v1";
inline constexpr std::string_view kTrackedMoving = "mde_m_v1@moving";
inline constexpr std::array kPictureMetrics{kSsim, kSsimMoving, kSsimWorkspace, kPsnr};
inline constexpr std::array kGeometryMetrics{kDepthAbs, kChamferHalf, kTracked, kTrackedMoving};
inline constexpr std::array kMetrics{kSsim,     kSsimMoving,  kSsimWorkspace, kPsnr,
                                     kDepthAbs, kChamferHalf, kTracked,       kTrackedMoving};

inline constexpr std::string_view kModel = "model";
inline constexpr std::string_view kCopyLast = "copy_last";
inline constexpr std::string_view kReconstruction = "reconstruction";
inline constexpr std::string_view kSplat = "splat";
inline constexpr std::array kSubjects{kModel, kCopyLast, kReconstruction, kSplat};

struct ViewScore {
  std::string_view subject;
  std::string_view metric;
  std::optional<double> value;
  std::string reason;  ///< why there is no value
};

/// Pictures of one camera at one step; absent ones have no score.
struct ScoredView {
  const RgbImage* model = nullptr;
  const RgbImage* reconstruction = nullptr;
  std::optional<RgbImage> copy_last;
  std::optional<RgbImage> splat;
};

/// Scores of all subjects; `newest_observed` is the frame that `@moving` compares with.
StatusOr<std::vector<ViewScore>> ScoreView(const ScoredView& view, const TrueFrame& truth,
                                           const RgbImage* newest_observed, const Box& workspace);

/// The predicted particles as discs; nothing when the step carries none.
StatusOr<std::optional<ParticlePreview>> SplatView(const PredictedStep& step, const Camera& camera);

}  // namespace interlacer
