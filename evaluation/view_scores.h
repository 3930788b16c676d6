#pragma once

/// Scores of predicted views of one camera at one step against the true frame.
///
/// Metrics of pictures (definitions in render/image_metrics.h): ssim_wang_rgb_v1 and psnr_rgb8_v1,
/// whole and over the masks `@moving`, `@objects`, `@workspace` and `@carried`; of geometry:
/// evaluation/geometry_scores.h; of particles: evaluation/tracked_particles.h. Subjects:
/// evaluation/subjects.h. A score that does not exist is null with a reason. Pure functions,
/// thread-safe. Errors: INVALID_ARGUMENT IMAGE_SIZE_MISMATCH.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/prediction.h"
#include "common/status.h"
#include "evaluation/prediction_task.h"
#include "evaluation/subjects.h"
#include "render/particle_preview.h"

namespace interlacer {

inline constexpr std::string_view kL2Moved = "l2_moved_m";
inline constexpr std::string_view kL2Static = "l2_static_m";
inline constexpr std::string_view kL2StillObjects = "l2_still_objects_m";
inline constexpr std::string_view kL2MovedBefore = "l2_moved_m@before_contact";
inline constexpr std::string_view kL2MovedTouched = "l2_moved_m@in_contact";
inline constexpr std::string_view kL2MovedAfter = "l2_moved_m@after_contact";
inline constexpr std::string_view kL2Robot = "l2_robot_m";
inline constexpr std::string_view kDepthAbs = "depth_abs_m_v1";
inline constexpr std::string_view kChamferHalf = "chamfer_half_m_v1";
inline constexpr std::string_view kSsim = "ssim_wang_rgb_v1";
inline constexpr std::string_view kPsnr = "psnr_rgb8_v1";
inline constexpr std::string_view kSsimMoving = "ssim_wang_rgb_v1@moving";
inline constexpr std::string_view kPsnrMoving = "psnr_rgb8_v1@moving";
inline constexpr std::string_view kSsimObjects = "ssim_wang_rgb_v1@objects";
inline constexpr std::string_view kPsnrObjects = "psnr_rgb8_v1@objects";
inline constexpr std::string_view kSsimWorkspace = "ssim_wang_rgb_v1@workspace";
inline constexpr std::string_view kPsnrWorkspace = "psnr_rgb8_v1@workspace";
inline constexpr std::string_view kSsimCarried = "ssim_wang_rgb_v1@carried";
inline constexpr std::string_view kPsnrCarried = "psnr_rgb8_v1@carried";

/// In the order of tables. Beside them there is one metric an object, ObjectMetric of its name.
inline constexpr std::array kGeometryMetrics{kL2Moved,       kL2Static,       kL2StillObjects,
                                             kL2MovedBefore, kL2MovedTouched, kL2MovedAfter,
                                             kL2Robot,       kDepthAbs,       kChamferHalf};
inline constexpr std::array kPictureMetrics{
    kSsim,        kPsnr,          kSsimMoving,    kPsnrMoving,  kSsimObjects,
    kPsnrObjects, kSsimWorkspace, kPsnrWorkspace, kSsimCarried, kPsnrCarried};
inline constexpr auto kMetrics = [] {
  std::array<std::string_view, kGeometryMetrics.size() + kPictureMetrics.size()> all;
  std::size_t i = 0;
  for (const std::string_view metric : kGeometryMetrics) all[i++] = metric;
  for (const std::string_view metric : kPictureMetrics) all[i++] = metric;
  return all;
}();

inline constexpr std::string_view kObjectMetricPrefix = "l2_m@object:";
/// "l2_m@object:NAME".
std::string ObjectMetric(std::string_view object_name);

struct ViewScore {
  std::string subject;
  std::string metric;
  std::optional<double> value;
  std::string reason;  ///< why there is no value
};

/// What one subject shows; a null part has no score.
struct SubjectView {
  std::string_view subject;
  const RgbImage* color = nullptr;
  const DepthImage* depth = nullptr;
};

/// What the masks of pictures are made of.
struct MaskSources {
  /// The frame that `@moving` compares with; null where the camera was not observed.
  const RgbImage* newest_observed = nullptr;
  /// Pixels that truly show an object, of the truth's size; null where that is not known.
  const std::vector<std::uint8_t>* shows_object = nullptr;
  /// Pixels that observed pixels reach (CarriedPixels::Reached), of the truth's size; null where
  /// things move and in cameras that were observed.
  const std::vector<std::uint8_t>* carried = nullptr;
};

/// Picture scores of all subjects with a picture.
StatusOr<std::vector<ViewScore>> ScorePictures(std::span<const SubjectView> subjects,
                                               const TrueFrame& truth, const Box& workspace,
                                               const MaskSources& masks);

/// The predicted particles as discs; nothing when the step carries none.
StatusOr<std::optional<ParticlePreview>> SplatView(const PredictedStep& step, const Camera& camera);

}  // namespace interlacer
