#include "evaluation/view_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/json.h"
#include "evaluation/metric_definitions.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

std::optional<double> ScoreNamed(const std::vector<ViewScore>& scores, std::string_view metric) {
  for (const ViewScore& score : scores) {
    if (score.metric == metric) return score.value;
  }
  return std::nullopt;
}

class PictureScores : public ::testing::Test {
 protected:
  void SetUp() override {
    const RgbdView view = SyntheticView(SyntheticCamera(true));
    truth_ = {view.camera, view.color, view.depth};
    for (std::size_t i = 0; i < view.depth.pixels_m.size(); ++i) {
      shows_object_.push_back(view.color.pixels[3 * i + 1] == 200);
    }
  }

  std::vector<ViewScore> Score(const RgbImage& picture, const MaskSources& masks) const {
    const SubjectView views[] = {{kKinematicSubject, &picture, nullptr},
                                 {kSplat, nullptr, nullptr}};
    auto scores = ScorePictures(views, truth_, kSyntheticWorkspace, masks);
    EXPECT_TRUE(scores.ok()) << scores.status().ToString();
    return *std::move(scores);
  }

  TrueFrame truth_;
  std::vector<std::uint8_t> shows_object_;
};

TEST_F(PictureScores, MasksSeeTheirPartOfThePicture) {
  RgbImage picture = truth_.color;
  for (std::size_t i = 0; i < shows_object_.size(); ++i) {
    if (shows_object_[i] != 0) picture.pixels[3 * i] += 30;
  }
  const auto scores = Score(picture, {&truth_.color, &shows_object_});
  EXPECT_EQ(scores.size(), kPictureMetrics.size());  // of the one that has a picture
  EXPECT_LT(*ScoreNamed(scores, kSsimObjects), *ScoreNamed(scores, kSsim));
  EXPECT_LT(*ScoreNamed(scores, kPsnrObjects), *ScoreNamed(scores, kPsnr));
  EXPECT_FALSE(ScoreNamed(scores, kSsimMoving));  // nothing differs from the newest frame

  // By hand: the object's pixels, 30 off in one of three channels, among those grown by 5 px.
  double wrong = 0, grown = 0;
  const int w = truth_.color.width_px, h = truth_.color.height_px;
  for (int v = 5; v < h - 5; ++v) {
    for (int u = 5; u < w - 5; ++u) {
      bool is_near = false;
      for (int dv = -5; dv <= 5; ++dv) {
        for (int du = -5; du <= 5; ++du) is_near |= shows_object_[(v + dv) * w + u + du] != 0;
      }
      grown += is_near;
      wrong += shows_object_[v * w + u];
    }
  }
  EXPECT_NEAR(*ScoreNamed(scores, kPsnrObjects),
              10 * std::log10(255. * 255. / (900 * wrong / (3 * grown))),
              testing::kGoldenScoreTolerance);
}

TEST_F(PictureScores, WhatIsNotKnownHasAReason) {
  RgbImage picture = truth_.color;
  picture.pixels[3 * (30 * 80 + 40)] ^= 64;
  for (const ViewScore& score : Score(picture, {})) {
    const bool needs_more = score.metric == kSsimMoving || score.metric == kPsnrMoving ||
                            score.metric == kSsimObjects || score.metric == kPsnrObjects ||
                            score.metric == kSsimCarried || score.metric == kPsnrCarried;
    EXPECT_EQ(score.value.has_value(), !needs_more) << score.metric;
    EXPECT_EQ(score.reason.empty(), !needs_more) << score.metric;
  }
}

TEST_F(PictureScores, CarriedPixelsAreThoseOfTheMaskAndNoOthers) {
  const int w = truth_.color.width_px;
  std::vector<std::uint8_t> carried(shows_object_.size(), 0);
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = static_cast<int>(i) % w < w / 2;
  RgbImage picture = truth_.color;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    // The half that was not carried is wrong, one pixel of the other half too.
    if (carried[i] == 0) picture.pixels[3 * i] ^= 64;
  }
  const std::size_t at = static_cast<std::size_t>(20 * w + 10);
  picture.pixels[3 * at] = static_cast<std::uint8_t>(picture.pixels[3 * at] ^ 8);
  MaskSources masks;
  masks.carried = &carried;
  const auto scores = Score(picture, masks);
  const int count = (w / 2 - 5) * (truth_.color.height_px - 10);
  EXPECT_NEAR(*ScoreNamed(scores, kPsnrCarried), 10 * std::log10(255. * 255. * 3 * count / 64),
              testing::kGoldenScoreTolerance);
  EXPECT_GT(*ScoreNamed(scores, kSsimCarried), *ScoreNamed(scores, kSsim));
}

TEST_F(PictureScores, AnObjectOfFewPixelsHasNoScore) {
  std::vector<std::uint8_t> nothing(shows_object_.size(), 0);
  EXPECT_FALSE(ScoreNamed(Score(truth_.color, {nullptr, &nothing}), kSsimObjects));
}

TEST(MetricDefinitions, EveryMetricHasOneAndObjectsAndSpreadsShareTheirs) {
  const auto definitions = MetricDefinitions();
  EXPECT_EQ(definitions.size(), kMetrics.size() + 2);
  EXPECT_TRUE(definitions.contains(ObjectMetric("NAME")));
  EXPECT_FALSE(definitions.contains("mde_m_v1"));
}

}  // namespace
}  // namespace interlacer
