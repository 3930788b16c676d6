#include "evaluation/view_scores.h"

#include <utility>

#include "render/image_metrics.h"

namespace interlacer {
namespace {

constexpr char kEqualImages[] = "equal images";

/// A part of the picture with the names of its metrics.
struct ScoredPart {
  std::string_view ssim, psnr;
  std::optional<PixelMask> mask;
  std::string absence;  ///< why there is no mask
};

std::string TooFewPixels() { return "fewer than " + std::to_string(kMinMaskedPixels) + " pixels"; }

Status AddScores(const SubjectView& view, const TrueFrame& truth, std::span<const ScoredPart> parts,
                 std::vector<ViewScore>* scores) {
  const auto add = [&](std::string_view metric, const std::optional<double>& value,
                       const std::string& reason) {
    scores->push_back({std::string(view.subject), std::string(metric), value, value ? "" : reason});
  };
  INTERLACER_ASSIGN_OR_RETURN(const SsimMap map, ComputeSsimMap(*view.color, truth.color));
  add(kSsim, MeanSsim(map), "");
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> psnr,
                              PsnrRgb8V1(*view.color, truth.color));
  add(kPsnr, psnr, kEqualImages);
  for (const ScoredPart& part : parts) {
    if (!part.mask) {
      add(part.ssim, {}, part.absence);
      add(part.psnr, {}, part.absence);
      continue;
    }
    INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> ssim, MaskedSsim(map, *part.mask));
    add(part.ssim, ssim, TooFewPixels());
    INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> masked,
                                MaskedPsnr(*view.color, truth.color, *part.mask));
    add(part.psnr, masked, ssim ? kEqualImages : TooFewPixels());
  }
  return Status::Ok();
}

}  // namespace

std::string ObjectMetric(std::string_view object_name) {
  return std::string(kObjectMetricPrefix).append(object_name);
}

StatusOr<std::vector<ViewScore>> ScorePictures(std::span<const SubjectView> subjects,
                                               const TrueFrame& truth, const Box& workspace,
                                               const MaskSources& masks) {
  std::vector<ScoredPart> parts{
      {kSsimMoving, kPsnrMoving, {}, "no earlier frame of this camera"},
      {kSsimObjects, kPsnrObjects, {}, "what the pixels show is not known"},
      {kSsimWorkspace, kPsnrWorkspace, {}, ""},
      {kSsimCarried, kPsnrCarried, {}, "not a held-out camera of a still scene"}};
  if (masks.newest_observed != nullptr) {
    INTERLACER_ASSIGN_OR_RETURN(parts[0].mask, MovingMask(truth.color, *masks.newest_observed));
  }
  if (masks.shows_object != nullptr) {
    parts[1].mask = ObjectsMask(truth.color.width_px, truth.color.height_px, *masks.shows_object);
  }
  INTERLACER_ASSIGN_OR_RETURN(parts[2].mask, WorkspaceMask(truth.camera, truth.depth, workspace));
  if (masks.carried != nullptr) {
    parts[3].mask = {truth.color.width_px, truth.color.height_px, *masks.carried};
  }
  std::vector<ViewScore> scores;
  for (const SubjectView& view : subjects) {
    if (view.color == nullptr) continue;
    INTERLACER_RETURN_IF_ERROR(AddScores(view, truth, parts, &scores));
  }
  return scores;
}

StatusOr<std::optional<ParticlePreview>> SplatView(const PredictedStep& step,
                                                   const Camera& camera) {
  if (step.positions_m.empty() || step.colors_rgb8.size() != step.positions_m.size()) {
    return std::optional<ParticlePreview>();
  }
  INTERLACER_ASSIGN_OR_RETURN(ParticlePreview preview,
                              RenderParticlePreview(camera, step.positions_m, step.colors_rgb8));
  return std::optional<ParticlePreview>(std::move(preview));
}

}  // namespace interlacer
