#pragma once

/// Pictures of a World from its cameras, without a display.
///
///   color [h,w,3] uint8, row 0 on top · depth z along the optical axis in 0.1 mm, 0 beyond the
///   room or 6.5 m · mask [h,w] labels of data/sim/simulated_view.h
/// Pixel (u,v) shows the ray through image coordinates (u,v) of the camera of the scene: centre of
/// the picture at ((w-1)/2, (h-1)/2). One sample a pixel, one shadow-casting light.
/// Deterministic on one machine. Errors: INTERNAL when no OSMesa context can be had.
/// Threads: an OpenGL context belongs to the thread that created it; use and destroy it there, one
/// renderer per thread.

#include <memory>

#include "common/status.h"
#include "data/sim/simulated_view.h"
#include "data/sim/world.h"

namespace interlacer::sim {

class OffscreenRenderer {
 public:
  /// `world` must outlive the renderer; its textures and meshes are uploaded here.
  static StatusOr<OffscreenRenderer> Create(const World& world, int width_px, int height_px);
  OffscreenRenderer(OffscreenRenderer&&) noexcept;
  OffscreenRenderer& operator=(OffscreenRenderer&&) noexcept;
  ~OffscreenRenderer();

  /// The present state of the world from its camera number `camera`.
  SimulatedView Render(int camera);

 private:
  struct State;
  explicit OffscreenRenderer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace interlacer::sim
