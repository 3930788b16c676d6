#pragma once

/// Surfaces of simple shapes as triangles that look outwards, centred on the origin, z their axis.
///
/// Round shapes are cut into 64 pieces around and 32 along: at most 0.25 % of the radius inside the
/// true surface. Metres. Pure functions, thread-safe.

#include "robots/surface_sampler.h"

namespace interlacer {

TriangleStream BoxSurface(const Vec3d& half_sides_m);
/// With both lids.
TriangleStream CylinderSurface(double radius_m, double half_length_m);
/// A cylinder of `half_length_m` with half balls on its ends.
TriangleStream CapsuleSurface(double radius_m, double half_length_m);
TriangleStream EllipsoidSurface(const Vec3d& radii_m);

/// Every triangle scaled along the axes and then moved; where the scale mirrors, the corners are
/// swapped so that normals still look outwards.
TriangleStream Moved(TriangleStream triangles, const Transform& link_from_shape,
                     const Vec3d& scale = {1, 1, 1});

}  // namespace interlacer
