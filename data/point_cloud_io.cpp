#include "data/point_cloud_io.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "common/file_io.h"

#if INTERLACER_WITH_OPEN3D
#include <open3d/geometry/PointCloud.h>
#include <open3d/io/PointCloudIO.h>
#include <open3d/utility/Logging.h>
#endif

namespace interlacer {

#if INTERLACER_WITH_OPEN3D

namespace {

constexpr double kMaxCode = 255.0;

void QuietOpen3D() { open3d::utility::SetVerbosityLevel(open3d::utility::VerbosityLevel::Error); }

std::uint8_t ToCode(double channel) {
  return static_cast<std::uint8_t>(std::lround(kMaxCode * std::clamp(channel, 0.0, 1.0)));
}

open3d::geometry::PointCloud ToOpen3D(const PointCloud& cloud) {
  open3d::geometry::PointCloud result;
  for (std::size_t i = 0; i + 2 < cloud.positions_m.size(); i += 3) {
    const float* p = cloud.positions_m.data() + i;
    result.points_.emplace_back(p[0], p[1], p[2]);
  }
  for (std::size_t i = 0; i + 2 < cloud.colors_rgb8.size(); i += 3) {
    const std::uint8_t* c = cloud.colors_rgb8.data() + i;
    result.colors_.emplace_back(c[0] / kMaxCode, c[1] / kMaxCode, c[2] / kMaxCode);
  }
  return result;
}

PointCloud FromOpen3D(const open3d::geometry::PointCloud& cloud) {
  PointCloud result;
  for (const auto& p : cloud.points_) {
    for (int i = 0; i < 3; ++i) result.positions_m.push_back(static_cast<float>(p[i]));
  }
  for (const auto& c : cloud.colors_) {
    for (int i = 0; i < 3; ++i) result.colors_rgb8.push_back(ToCode(c[i]));
  }
  return result;
}

}  // namespace

Status WritePointCloud(const std::string& path, const PointCloud& cloud) {
  const bool colored = !cloud.colors_rgb8.empty();
  if (cloud.positions_m.size() % 3 != 0 ||
      (colored && cloud.colors_rgb8.size() != cloud.positions_m.size())) {
    return Mismatch(reason::SHAPE_MISMATCH, "colors_rgb8",
                    std::to_string(cloud.positions_m.size()) + " numbers or none",
                    std::to_string(cloud.colors_rgb8.size()));
  }
  QuietOpen3D();
  const std::string temporary = path + ".partial.ply";
  bool written = false;
  try {
    written = open3d::io::WritePointCloudToPLY(temporary, ToOpen3D(cloud),
                                               open3d::io::WritePointCloudOption{});
  } catch (const std::exception&) {
    written = false;
  }
  std::error_code error;
  if (written) std::filesystem::rename(temporary, path, error);
  if (!written || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return FailedPrecondition(reason::FILE_UNWRITABLE, "cannot write " + path).WithField(path);
  }
  return Status::Ok();
}

StatusOr<PointCloud> ReadPointCloud(const std::string& path) {
  INTERLACER_RETURN_IF_ERROR(FileSizeBytes(path).status());
  QuietOpen3D();
  open3d::geometry::PointCloud cloud;
  bool read = false;
  try {
    read = open3d::io::ReadPointCloud(path, cloud);
  } catch (const std::exception&) {
    read = false;
  }
  if (!read || cloud.IsEmpty()) {
    return Mismatch(reason::FILE_UNREADABLE, path, "a point cloud", "no points");
  }
  return FromOpen3D(cloud);
}

#else

Status WritePointCloud(const std::string&, const PointCloud&) {
  return Unimplemented(reason::FEATURE_NOT_BUILT, "built without Open3D (INTERLACER_WITH_OPEN3D)");
}

StatusOr<PointCloud> ReadPointCloud(const std::string&) {
  return Unimplemented(reason::FEATURE_NOT_BUILT, "built without Open3D (INTERLACER_WITH_OPEN3D)");
}

#endif

}  // namespace interlacer
