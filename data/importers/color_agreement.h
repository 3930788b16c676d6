#pragma once

/// Tests depths by colours: what two views see of one point has the same colour in both, wherever
/// depth, its unit and the poses are right. Unlike distances of surfaces it tells scaled depths of
/// a plane that both cameras see from one height.

#include <optional>

#include "common/scene.h"

namespace interlacer {

/// Correlation of the brightness of pixels of `b` with the pixels of `a` that they fall on; points
/// hidden from `a` are left out. Nothing where too few points are shared or their brightness hardly
/// varies. Pure function, thread-safe.
std::optional<double> ColorCorrelation(const RgbdView& a, const RgbdView& b);

}  // namespace interlacer
