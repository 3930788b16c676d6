#include "robots/nearest_point.h"

#include <gtest/gtest.h>

#include <limits>

#include "common/transforms.h"
#include "tests/support/clouds.h"

namespace interlacer {
namespace {

TEST(NearestPoint, IsThatOfEveryPoint) {
  const testing::Cloud cloud = testing::CubeCloud(300, 5), queries = testing::CubeCloud(100, 6);
  const NearestPoint nearest(cloud);
  for (std::size_t q = 0; q < queries.size(); q += 3) {
    const Vec3d query_m{queries[q], queries[q + 1], queries[q + 2]};
    double best_m = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t i = 0; i < cloud.size() / 3; ++i) {
      const Vec3d point_m{cloud[3 * i], cloud[3 * i + 1], cloud[3 * i + 2]};
      const double distance_m = DistanceM(query_m, point_m);
      if (distance_m >= best_m) continue;
      best_m = distance_m;
      best = i;
    }
    EXPECT_EQ(nearest.NearestTo(query_m).index, best) << q;
    EXPECT_DOUBLE_EQ(nearest.DistanceM(query_m), best_m) << q;
    const NearestPoint::Found within = nearest.NearestTo(query_m, 1.001 * best_m);
    EXPECT_EQ(within.index, best) << q;
    EXPECT_DOUBLE_EQ(within.distance_m, best_m) << q;
    EXPECT_EQ(nearest.NearestTo(query_m, 0.999 * best_m).distance_m,
              std::numeric_limits<double>::infinity())
        << q;
  }
}

TEST(NearestPoint, OfOneAndOfCoincidentPoints) {
  for (const int n : {1, 7}) {
    const testing::Cloud cloud = testing::CoincidentCloud(n);
    const NearestPoint nearest(cloud);
    const Vec3d point_m{cloud[0], cloud[1], cloud[2]};
    EXPECT_EQ(nearest.NearestTo({0, 0, 0}).position_m, point_m);
    EXPECT_EQ(nearest.DistanceM(point_m), 0);
  }
}

}  // namespace
}  // namespace interlacer
