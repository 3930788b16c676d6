#include "data/view_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "common/transforms.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

/// Views on a circle around the origin, `step_rad` apart, 1 m away; far_m is 2.
EpisodeManifest Orbit(int view_count, double step_rad) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.kind = EpisodeKind::kStaticViews;
  const EpisodeCamera first = manifest.cameras[0];
  manifest.cameras.clear();
  for (int i = 0; i < view_count; ++i) {
    EpisodeCamera camera = first;
    camera.name = "view_" + std::to_string(i);
    const double angle_rad = step_rad * i;
    camera.camera.world_from_camera =
        LookAt({std::cos(angle_rad), std::sin(angle_rad), 0.4}, {0, 0, 0});
    camera.far_m = 2;
    manifest.cameras.push_back(camera);
  }
  return manifest;
}

TEST(ViewChoiceTest, InputsDifferAndTheHeldOutViewLiesBetween) {
  const auto choices = Must(ListViewChoices(Orbit(60, 0.02)));
  const ViewChoice& choice = choices.front();
  EXPECT_EQ(choice.first, 0);
  // Angle and baseline over half the range are both 0.02 a view: 0.3 after about 8 of them.
  EXPECT_GE(choice.second, 7);
  EXPECT_LE(choice.second, 9);
  ASSERT_TRUE(choice.held_out.has_value());
  EXPECT_NEAR(*choice.held_out, 0.5 * choice.second, 0.5);
}

TEST(ViewChoiceTest, SlowRecordingsGiveTheirEnds) {
  const auto choices = Must(ListViewChoices(Orbit(5, 0.001)));
  EXPECT_EQ(choices.front().first, 0);
  EXPECT_EQ(choices.front().second, 4);
  EXPECT_EQ(choices.front().held_out, 2);
}

TEST(ViewChoiceTest, NoPairTwiceAndFirstViewsAreSpread) {
  ViewChoiceOptions options;
  options.max_first_views = 10;
  const auto choices = Must(ListViewChoices(Orbit(400, 0.01), options));
  EXPECT_EQ(choices.size(), 10u);
  EXPECT_EQ(choices.back().first, 399);
  std::set<std::pair<int, int>> pairs;
  for (const ViewChoice& choice : choices) {
    EXPECT_TRUE(pairs.insert(std::minmax({choice.first, choice.second})).second);
    EXPECT_NE(choice.held_out, choice.first);
    EXPECT_NE(choice.held_out, choice.second);
  }
}

TEST(ViewChoiceTest, GivenTargetsAreSeenAndNoInputs) {
  ViewChoiceOptions options;
  options.targets = {30, 2};
  const auto choices = Must(ListViewChoices(Orbit(60, 0.02), options));
  for (const ViewChoice& choice : choices) {
    for (const int view : {choice.first, choice.second}) {
      EXPECT_NE(view, 30);
      EXPECT_NE(view, 2);
      EXPECT_LE(std::abs(view - 30), 30);  // 0.6 rad
    }
  }
}

TEST(ViewChoiceTest, TwoViewsHaveNoneBetween) {
  const auto choices = Must(ListViewChoices(Orbit(2, 0.1)));
  EXPECT_EQ(choices.size(), 1u);
  EXPECT_FALSE(choices.front().held_out.has_value());
}

TEST(ViewChoiceTest, ViewsApartNameTheOption) {
  for (const auto& manifest : {Orbit(1, 0), Orbit(3, 2.0)}) {
    const Status status = ListViewChoices(manifest).status();
    EXPECT_EQ(status.reason(), reason::CAMERA_MISSING);
    EXPECT_NE(status.message().find("--cameras"), std::string::npos);
  }
}

TEST(SpreadIndices, FirstAndLastAreAmongThem) {
  EXPECT_EQ(SpreadIndices(10, 4), (std::vector<std::size_t>{0, 3, 6, 9}));
  EXPECT_EQ(SpreadIndices(3, 8), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(SpreadIndices(5, 1), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(SpreadIndices(0, 3).empty());
}

}  // namespace
}  // namespace interlacer
