#pragma once

/// The newest frames of a scene as they were sent, whose pixels a rollout carries to where they
/// are.
///
/// Frames keep their own size; those of a camera with a lens are rectified. Every pixel whose depth
/// was measured is carried. What then lies outside the workspace or the depth range is white and
/// far, as the field and true frames show it (PaintOutsideWhite), so a robot that reaches in from
/// outside has its colours; pixels without depth keep their colour in their own camera. Of a robot,
/// pixels near its surface at the measured joints follow their link exactly (robots/attachment.h).
/// Every other pixel moves as its three nearest particles do that belong to no link, weighed by the
/// inverse of their squared distance at step 0; where these have not moved by a bit, neither has
/// it. Where lifting makes no particle of a pixel, outside, nothing but a link moves it.
///   particles_m [n,3] float32, world frame, metres   links [links] world_from_link
/// Gaps between the pixels of a link show its known surface (render/surface_shell.h). Narrow holes
/// take the colours of their surroundings (render/narrow_holes.h). A view of a recorded camera at
/// another size is drawn at the frame's size and resized as frames are. Deterministic. Threads:
/// const methods may run together. Errors: broken invariants only for frames that lifting takes;
/// Render: those of ObservedRenderer.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/scene.h"
#include "common/status.h"
#include "data/unproject.h"
#include "render/observed_renderer.h"
#include "render/surface_shell.h"
#include "robots/attachment.h"

namespace interlacer {

/// Where what moves a scene's pixels is at one step.
struct SceneMotion {
  std::span<const float> particles_m;
  std::span<const Transform> links;  ///< empty for a scene without a robot
};

/// Whose links pixels and particles are attached to.
struct ObservedRobot {
  const Robot* robot = nullptr;
  AttachOptions attach;
  std::span<const std::int32_t> particle_links;  ///< [n] of step 0
};

class ObservedScene {
 public:
  /// `start` is step 0. Without a robot nothing is attached.
  static StatusOr<ObservedScene> Make(std::span<const RgbdView> views, const LiftRegion& region,
                                      const SceneMotion& start, const ObservedRobot& robot = {});

  /// [n,3] where the pixels of renderer() are at a step.
  std::vector<float> PositionsAt(const SceneMotion& now) const;

  /// `positions_m` of PositionsAt and the links of the same step.
  StatusOr<ObservedPicture> Render(const Camera& camera, std::span<const float> positions_m,
                                   std::span<const Transform> links) const;

  const ObservedRenderer& renderer() const { return renderer_; }
  /// As ObservedRenderer::DrawBy.
  void DrawBy(std::shared_ptr<const SurfelDrawer> drawer) { renderer_.DrawBy(std::move(drawer)); }

 private:
  ObservedScene(const LiftRegion& region, std::vector<Camera> cameras, ObservedRenderer renderer)
      : region_(region), cameras_(std::move(cameras)), renderer_(std::move(renderer)) {}

  LiftRegion region_;
  std::vector<Camera> cameras_;  ///< of the frames
  ObservedRenderer renderer_;
  SurfaceShell shell_;
  std::vector<float> start_particles_m_;
  std::vector<Transform> start_links_;
  std::vector<std::int32_t> links_;      ///< [n]
  std::vector<std::int32_t> neighbors_;  ///< [n,3] particles, kNoParticle where there are fewer
  std::vector<float> weights_;           ///< [n,3], sum 1, or 0 for a pixel that nothing moves
};

/// A picture at another size: colour and coverage by area average, colour weighed by coverage;
/// depth of the nearest pixel centre.
ObservedPicture ResizedPicture(const ObservedPicture& picture, int width_px, int height_px);

/// Pixels (row * width + column) of rows [row_begin,row_end) that need the field: those covered by
/// less than one half, and with `needs_depth` those without a depth.
std::vector<std::int64_t> FieldPixels(const ObservedPicture& picture, int row_begin, int row_end,
                                      bool needs_depth);

/// The picture's rows with the field's values at `pixels`. Below half of coverage a pixel's colour
/// fades into the field's, which is all that is seen where nothing lands; its depth is the field's.
/// `field_rgb` [k,3], `field_depth_m` [k] along z.
void BlendRows(const ObservedPicture& picture, int row_begin, int row_end,
               std::span<const std::int64_t> pixels, std::span<const float> field_rgb,
               std::span<const float> field_depth_m, FloatImage* color, DepthImage* depth);

}  // namespace interlacer
