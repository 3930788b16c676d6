#include "data/point_cloud_io.h"

#include <gtest/gtest.h>

#include "common/file_io.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

TEST(PointCloudIoTest, PlyRoundTripKeepsPositionsAndColours) {
  const TempFolder folder;
  const std::string path = folder.File("cloud.ply");
  const PointCloud cloud{{0.1f, -2, 3, 4, 5, 1e-6f}, {0, 128, 255, 1, 2, 3}};
  const Status written = WritePointCloud(path, cloud);
  if (written.code() == StatusCode::kUnimplemented) GTEST_SKIP() << written.message();
  ASSERT_TRUE(written.ok()) << written.ToString();
  const auto read = ReadPointCloud(path);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->positions_m, cloud.positions_m);
  EXPECT_EQ(read->colors_rgb8, cloud.colors_rgb8);
}

TEST(PointCloudIoTest, ErrorsNameThePath) {
#if !INTERLACER_WITH_OPEN3D
  GTEST_SKIP() << "built without Open3D";
#endif
  const TempFolder folder;
  EXPECT_EQ(ReadPointCloud(folder.File("absent.ply")).status().reason(), "FILE_NOT_FOUND");
  ASSERT_TRUE(WriteFileAtomic(folder.File("text.ply"), std::string_view("no cloud")).ok());
  EXPECT_EQ(ReadPointCloud(folder.File("text.ply")).status().reason(), "FILE_UNREADABLE");
  EXPECT_EQ(WritePointCloud(folder.File("no/such/folder.ply"), {{0, 0, 0}, {}}).reason(),
            "FILE_UNWRITABLE");
  EXPECT_EQ(WritePointCloud(folder.File("a.ply"), {{0, 0, 0}, {1}}).reason(), "SHAPE_MISMATCH");
}

}  // namespace
}  // namespace interlacer
