#include "data/training_windows.h"

#include <gtest/gtest.h>

#include <set>

#include "common/transforms.h"
#include "tests/data/synthetic_scene.h"

namespace interlacer {
namespace {

EpisodeManifest StaticManifest(int view_count, double spacing_m) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.kind = EpisodeKind::kStaticViews;
  manifest.step_count = 1;
  manifest.actions.reset();
  manifest.states.reset();
  const EpisodeCamera first = manifest.cameras[0];
  manifest.cameras.clear();
  for (int i = 0; i < view_count; ++i) {
    EpisodeCamera camera = first;
    camera.name = "view_" + std::to_string(i);
    camera.camera.world_from_camera = LookAt({spacing_m * i, -1, 0.5}, {spacing_m * i, 0, 0});
    manifest.cameras.push_back(camera);
  }
  return manifest;
}

TEST(TrainingWindowsTest, RunOverTheEpisode) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.step_count = 10;
  WindowOptions options;
  options.rollout_step_count = 3;
  const auto windows = ListTrainingWindows(manifest, options);
  ASSERT_TRUE(windows.ok());
  ASSERT_EQ(windows->size(), 6u);  // newest step 1 ... 6
  EXPECT_EQ(windows->front().older_step, 0);
  EXPECT_EQ(windows->back().newest_step, 6);
  EXPECT_EQ(windows->back().target_steps, (std::vector<int>{6, 7, 8, 9}));
  EXPECT_EQ(windows->back().input_cameras, (std::vector<int>{0, 1}));
}

TEST(TrainingWindowsTest, StrideSpreadsAllSteps) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.step_count = 16;
  WindowOptions options;
  options.rollout_step_count = 2;
  options.stride = 5;
  const auto windows = ListTrainingWindows(manifest, options);
  ASSERT_EQ(windows->size(), 1u);
  EXPECT_EQ(windows->front().older_step, 0);
  EXPECT_EQ(windows->front().target_steps, (std::vector<int>{5, 10, 15}));
}

TEST(TrainingWindowsTest, ShortEpisodesGiveNone) {
  WindowOptions options;
  options.rollout_step_count = 6;
  EXPECT_TRUE(ListTrainingWindows(SyntheticManifest(), options)->empty());
}

TEST(TrainingWindowsTest, ManipulationNeedsTheModelsCameras) {
  WindowOptions options;
  options.camera_names = {"left", "top"};
  EXPECT_EQ(ListTrainingWindows(SyntheticManifest(), options).status().reason(), "CAMERA_UNKNOWN");
}

TEST(TrainingWindowsTest, AMovingCameraMayBeAlone) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.kind = EpisodeKind::kMovingCamera;
  manifest.cameras.resize(1);
  manifest.cameras[0].name = "camera";
  WindowOptions options;
  options.rollout_step_count = 1;
  const auto windows = ListTrainingWindows(manifest, options);
  ASSERT_EQ(windows->size(), 2u);
  EXPECT_EQ(windows->front().input_cameras, (std::vector<int>{0}));
}

TEST(TrainingWindowsTest, StaticViewsTakePairsAndAThirdView) {
  const EpisodeManifest manifest = StaticManifest(6, 0.2);  // reach: 0.3 * 2 m
  WindowOptions options;
  options.rollout_step_count = 1;
  const auto windows = ListTrainingWindows(manifest, options);
  ASSERT_FALSE(windows->empty());
  std::set<int> targets;
  for (const TrainingWindow& window : *windows) {
    ASSERT_EQ(window.input_cameras.size(), 2u);
    ASSERT_EQ(window.target_cameras.size(), 3u);
    EXPECT_NE(window.input_cameras[0], window.input_cameras[1]);
    EXPECT_LE(std::abs(window.input_cameras[0] - window.input_cameras[1]), 3);
    EXPECT_EQ(std::set<int>(window.target_cameras.begin(), window.target_cameras.end()).size(), 3u);
    EXPECT_EQ(window.older_step, window.newest_step);
    EXPECT_EQ(window.target_steps, (std::vector<int>{0, 0}));
    targets.insert(window.target_cameras[2]);
  }
  EXPECT_EQ(targets.size(), 6u);  // every view gets its turn
}

TEST(TrainingWindowsTest, ViewsFarApartMakeNoWindow) {
  WindowOptions options;
  EXPECT_TRUE(ListTrainingWindows(StaticManifest(6, 1.0), options)->empty());
}

TEST(WindowStrideTest, MatchesTheModelsStepOrSaysSo) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.step_duration_s = 0.1;
  EXPECT_EQ(*WindowStride(manifest, 0.5, 0.1), 5);
  manifest.step_duration_s = 1.0 / 30;
  EXPECT_EQ(*WindowStride(manifest, 0.5, 0.1), 15);
  manifest.step_duration_s = 2;
  EXPECT_EQ(WindowStride(manifest, 0.5, 0.1).status().reason(), "HISTORY_SPACING");
  EXPECT_EQ(*WindowStride(StaticManifest(2, 1), 0.5, 0.1), 1);
}

}  // namespace
}  // namespace interlacer
