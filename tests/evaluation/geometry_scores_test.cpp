#include "evaluation/geometry_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "robots/nearest_point.h"
#include "tests/support/clouds.h"
#include "tests/support/must.h"
#include "tests/support/painted_plane.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

const Box kWorkspace{{-1, -1, -0.1}, {1, 1, 1}};

TrueFrame PlaneFrame() {
  const testing::PaintedPlane plane{64, 48, 1, 0.0001};
  TrueFrame truth;
  truth.camera = testing::PlaneCamera(plane, 0);
  DepthImage16 depth;
  testing::RenderPlane(plane, truth.camera, &truth.color, &depth);
  truth.depth = DepthToMeters(depth);
  return truth;
}

std::vector<float> PointsOfPlane(const TrueFrame& truth, double lift_m) {
  std::vector<float> points_m;
  for (int v = 0; v < truth.camera.height_px; ++v) {
    for (int u = 0; u < truth.camera.width_px; ++u) {
      const float z = truth.depth.pixels_m[static_cast<std::size_t>(v) * truth.camera.width_px + u];
      const Vec3d p = Unproject(truth.camera, u, v, z);
      for (const double x : {p[0], p[1], p[2] + lift_m}) points_m.push_back(static_cast<float>(x));
    }
  }
  return points_m;
}

std::optional<double> ValueOf(const std::vector<ViewScore>& scores, std::string_view subject,
                              std::string_view metric) {
  const auto it = std::find_if(scores.begin(), scores.end(), [&](const ViewScore& s) {
    return s.subject == subject && s.metric == metric;
  });
  return it == scores.end() ? std::nullopt : it->value;
}

TEST(NearestPoint, EqualsBruteForce) {
  const auto cloud = testing::SheetCloud(500, 3);
  const auto queries = testing::SheetCloud(100, 4);
  const NearestPoint nearest(cloud);
  for (std::size_t q = 0; q < queries.size(); q += 3) {
    double best_m = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < cloud.size(); i += 3) {
      best_m = std::min(
          best_m, std::hypot(double{cloud[i]} - queries[q], double{cloud[i + 1]} - queries[q + 1],
                             double{cloud[i + 2]} - queries[q + 2]));
    }
    EXPECT_NEAR(nearest.DistanceM({queries[q], queries[q + 1], queries[q + 2]}), best_m, 1e-12);
  }
}

TEST(NearestPoint, CoincidentAndSinglePoints) {
  const std::vector<float> same{1, 2, 3, 1, 2, 3, 1, 2, 3};
  EXPECT_EQ(NearestPoint(same).DistanceM({1, 2, 3}), 0);
  EXPECT_EQ(NearestPoint(std::span(same).first(3)).DistanceM({1, 2, 5}), 2);
}

TEST(ScoreGeometry, ALiftedPlaneIsWrongByItsLift) {
  const TrueFrame truth = PlaneFrame();
  const std::vector<float> particles_m = PointsOfPlane(truth, 0.05);
  const DepthImage z_buffer = truth.depth;
  DepthImage shallow = truth.depth;
  for (float& z : shallow.pixels_m) z -= 0.03f;
  const SubjectView views[] = {{kModelSubject, nullptr, &shallow},
                               {kCopyLast, nullptr, &truth.depth}};
  // All lifted particles lie in front of the z-buffer.
  const std::vector<float> still_m = PointsOfPlane(truth, 0);
  const SubjectParticles particles[] = {{kModelSubject, particles_m, &z_buffer},
                                        {kCopyLast, still_m, &z_buffer}};
  const auto scores = Must(ScoreGeometry(views, particles, truth, kWorkspace));
  EXPECT_NEAR(*ValueOf(scores, kModelSubject, kDepthAbs), 0.03, testing::kStoredDepthToleranceM);
  EXPECT_EQ(*ValueOf(scores, kCopyLast, kDepthAbs), 0);
  EXPECT_NEAR(*ValueOf(scores, kCopyLast, kChamferHalf), 0, testing::kStoredDepthToleranceM);
  // Nearest points of parallel planes lie a lift apart; at the rim and between samples farther.
  const double chamfer_m = *ValueOf(scores, kModelSubject, kChamferHalf);
  EXPECT_GT(chamfer_m, 0.05 - testing::kStoredDepthToleranceM);
  EXPECT_LT(chamfer_m, 0.06);
}

TEST(ScoreGeometry, HiddenParticlesDoNotCount) {
  const TrueFrame truth = PlaneFrame();
  std::vector<float> particles_m = PointsOfPlane(truth, 0);
  const std::vector<float> hidden_m = PointsOfPlane(truth, -0.2);
  particles_m.insert(particles_m.end(), hidden_m.begin(), hidden_m.end());
  const SubjectParticles particles[] = {{kKinematicSubject, particles_m, &truth.depth}};
  const auto scores = ScoreGeometry({}, particles, truth, kWorkspace);
  EXPECT_NEAR(*ValueOf(*scores, kKinematicSubject, kChamferHalf), 0,
              testing::kStoredDepthToleranceM);
}

TEST(ScoreGeometry, NothingInsideTheWorkspaceIsNoScore) {
  const TrueFrame truth = PlaneFrame();
  const SubjectView views[] = {{kModelSubject, nullptr, &truth.depth},
                               {kCopyLast, nullptr, &truth.depth}};
  const SubjectParticles particles[] = {{kModelSubject, {}, &truth.depth},
                                        {kCopyLast, {}, &truth.depth}};
  const auto scores = Must(ScoreGeometry(views, particles, truth, {{5, 5, 5}, {6, 6, 6}}));
  EXPECT_EQ(scores.size(), 4u);
  for (const ViewScore& score : scores) {
    EXPECT_FALSE(score.value) << score.metric;
    EXPECT_FALSE(score.reason.empty());
  }
}

}  // namespace
}  // namespace interlacer
