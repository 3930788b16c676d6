#include <open3d/geometry/PointCloud.h>
#include <open3d/io/PointCloudIO.h>

#include "tests/build/parts.h"

namespace interlacer::one_process {

long Open3dPointsReadBack(const char* path, long written) {
  open3d::geometry::PointCloud cloud;
  for (long i = 0; i < written; ++i) cloud.points_.emplace_back(static_cast<double>(i), 0.0, 1.0);
  if (!open3d::io::WritePointCloud(path, cloud)) return -1;

  open3d::geometry::PointCloud read_back;
  if (!open3d::io::ReadPointCloud(path, read_back)) return -1;
  return static_cast<long>(read_back.points_.size());
}

}  // namespace interlacer::one_process
