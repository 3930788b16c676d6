#include "evaluation/view_scores.h"

#include <utility>

#include "render/image_metrics.h"

namespace interlacer {
namespace {

struct Masks {
  std::optional<PixelMask> moving;
  PixelMask workspace;
};

void AddMasked(std::string_view subject, std::string_view metric,
               const std::optional<double>& value, std::vector<ViewScore>* scores) {
  scores->push_back({subject, metric, value,
                     value ? "" : "fewer than " + std::to_string(kMinMaskedPixels) + " pixels"});
}

Status AddScores(std::string_view subject, const RgbImage& image, const TrueFrame& truth,
                 const Masks& masks, std::vector<ViewScore>* scores) {
  INTERLACER_ASSIGN_OR_RETURN(const SsimMap map, ComputeSsimMap(image, truth.color));
  INTERLACER_ASSIGN_OR_RETURN(const double ssim, SsimWangRgbV1(image, truth.color));
  scores->push_back({subject, kSsim, ssim, ""});
  if (masks.moving) {
    INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> moving, MaskedSsim(map, *masks.moving));
    AddMasked(subject, kSsimMoving, moving, scores);
  } else {
    scores->push_back({subject, kSsimMoving, std::nullopt, "no earlier frame of this camera"});
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> inside, MaskedSsim(map, masks.workspace));
  AddMasked(subject, kSsimWorkspace, inside, scores);
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> psnr, PsnrRgb8V1(image, truth.color));
  scores->push_back({subject, kPsnr, psnr, psnr ? "" : "equal images"});
  return Status::Ok();
}

}  // namespace

StatusOr<std::vector<ViewScore>> ScoreView(const ScoredView& view, const TrueFrame& truth,
                                           const RgbImage* newest_observed, const Box& workspace) {
  Masks masks;
  INTERLACER_ASSIGN_OR_RETURN(masks.workspace, WorkspaceMask(truth.camera, truth.depth, workspace));
  if (newest_observed != nullptr) {
    INTERLACER_ASSIGN_OR_RETURN(masks.moving, MovingMask(truth.color, *newest_observed));
  }
  std::vector<ViewScore> scores;
  const std::pair<std::string_view, const RgbImage*> pictures[] = {
      {kModel, view.model},
      {kCopyLast, view.copy_last ? &*view.copy_last : nullptr},
      {kReconstruction, view.reconstruction},
      {kSplat, view.splat ? &*view.splat : nullptr}};
  for (const auto& [subject, picture] : pictures) {
    if (picture == nullptr) continue;
    INTERLACER_RETURN_IF_ERROR(AddScores(subject, *picture, truth, masks, &scores));
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
