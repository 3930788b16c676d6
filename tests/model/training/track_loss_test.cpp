/// The distance to true tracks, beside a slow twin, and what a data set knows of them.

#include "model/training/track_loss.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "model/clouds.h"
#include "model/training/sample_source.h"
#include "tests/evaluation/moving_block.h"
#include "tests/model/training/trainer_fixture.h"

namespace interlacer {
namespace {

constexpr double kTrackTolerance = 1e-6;
/// Of gradients below 0.1: the loss smooths the distance by 0.1 mm, the slow twin does not.
constexpr double kTrackGradientTolerance = 5e-6;

/// Particles of two steps: every third moves 4 cm a step, every fifth is of unknown motion.
struct Problem {
  explicit Problem(int count) {
    RandomSequence random(3, RandomStream::kDataGeneration);
    for (int i = 0; i < 3 * count; ++i) start_m.push_back(random.Uniform());
    for (int step = 1; step <= 2; ++step) {
      std::vector<float> at_m = start_m, wrong_m = start_m;
      for (int i = 0; i < count; ++i) {
        if (i % 3 == 0) at_m[3 * i] += 0.04f * static_cast<float>(step);
        // Both parts of the loss: 0 to 2 cm off.
        for (int axis = 0; axis < 3; ++axis) {
          wrong_m[3 * i + axis] = at_m[3 * i + axis] + 0.012f * random.Uniform();
        }
      }
      tracks.positions_m.push_back(at_m);
      predicted_m.push_back(wrong_m);
    }
    for (int i = 0; i < count; ++i) tracks.is_known.push_back(i % 5 == 0 ? 0 : 1);
  }
  TrueTracks tracks;
  std::vector<float> start_m;
  std::vector<std::vector<float>> predicted_m;
};

/// By its definition, in float64, with the gradient.
double SlowLoss(const Problem& problem, int step, std::vector<double>* gradient) {
  const std::vector<float>& truth = problem.tracks.positions_m[step - 1];
  const std::vector<float>& got = problem.predicted_m[step - 1];
  double sums[2] = {}, counts[2] = {};
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < problem.tracks.is_known.size(); ++i) {
      if (!problem.tracks.is_known[i]) continue;
      const int group = i % 3 == 0 ? 1 : 0;
      if (pass == 0) {
        counts[group] += 1;
        continue;
      }
      double d[3], sq = 0;
      for (int axis = 0; axis < 3; ++axis) {
        d[axis] = double{got[3 * i + axis]} - truth[3 * i + axis];
        sq += d[axis] * d[axis];
      }
      const double distance = std::sqrt(sq), k = kTrackHuberM;
      sums[group] += distance < k ? sq / (2 * k) : distance - k / 2;
      for (int axis = 0; axis < 3; ++axis) {
        (*gradient)[3 * i + axis] =
            0.5 / counts[group] * (distance < k ? d[axis] / k : d[axis] / distance);
      }
    }
  }
  double loss = 0;
  for (int group = 0; group < 2; ++group) {
    if (counts[group] > 0) loss += 0.5 * sums[group] / counts[group];
  }
  return loss;
}

TEST(TrackLoss, ValuesAndGradientsFollowTheSlowTwin) {
  const Problem problem(40);
  const TrackLoss loss(problem.tracks, problem.start_m, torch::kCPU);
  for (int step = 1; step <= 2; ++step) {
    torch::Tensor at_m = RowsOf3(problem.predicted_m[step - 1], torch::kCPU).requires_grad_(true);
    const torch::Tensor value = loss.At(step, at_m);
    value.backward();
    std::vector<double> gradient(3 * 40, 0.0);
    EXPECT_NEAR(value.item<double>(), SlowLoss(problem, step, &gradient), kTrackTolerance);
    for (int i = 0; i < 120; ++i) {
      EXPECT_NEAR(at_m.grad().reshape({-1})[i].item<double>(), gradient[i],
                  kTrackGradientTolerance);
    }
  }
}

TEST(TrackLoss, WhatMovesAndWhatStandsStillWeighTheSameWhateverTheirNumbers) {
  TrueTracks tracks{{std::vector<float>(3 * 10, 0.f)}, std::vector<std::uint8_t>(10, 1)};
  const std::vector<float> start_m(3 * 10, 0.f);
  tracks.positions_m[0][0] = 0.5f;  // one of ten
  const TrackLoss loss(tracks, start_m, torch::kCPU);
  const double moving_missed = loss.At(1, torch::zeros({10, 3})).item<double>();
  torch::Tensor others = torch::full({10, 3}, 0.f);
  others.select(1, 0).fill_(0.5f);
  EXPECT_NEAR(loss.At(1, others).item<double>(), moving_missed, kTrackTolerance);
}

TEST(TrackLoss, ExactPredictionsHaveNoLossAndFiniteGradients) {
  const Problem problem(6);
  const TrackLoss loss(problem.tracks, problem.start_m, torch::kCPU);
  torch::Tensor at_m = RowsOf3(problem.tracks.positions_m[0], torch::kCPU).requires_grad_(true);
  const torch::Tensor value = loss.At(1, at_m);
  value.backward();
  EXPECT_EQ(value.item<double>(), 0);
  EXPECT_EQ(at_m.grad().abs().max().item<double>(), 0);
}

TEST(TrackLoss, NothingIsKnownWithoutTracksOrOfArmsAlone) {
  EXPECT_FALSE(TrackLoss({}, {}, torch::kCPU).is_known());
  EXPECT_FALSE(TrackLoss({{{0, 0, 0}}, {0}}, {0, 0, 0}, torch::kCPU).is_known());
}

class TracksOfADataset : public testing::TrainerFixture {
 protected:
  TrainingSample Draw(bool is_robot, SampleRequest request) {
    const std::string dir = root_ + "/block";
    testing::WriteMovingBlock(dir, {.is_robot = is_robot});
    TrainOptions options = testing::TinyRun(dir, root_ + "/unused", 1);
    options.config.model.robot_motion = RobotMotion::kLearned;
    request.with_tracks = true;
    request.particle_count = 400;
    return MakeDatasetSource(options.config.model, options.datasets, 7)
        .value()
        ->Draw(request)
        .value();
  }
};

TEST_F(TracksOfADataset, ObjectsGoAlongAndTheRestStays) {
  const TrainingSample sample = Draw(false, {.rollout_steps = 2});
  ASSERT_EQ(sample.tracks.positions_m.size(), 2u);
  EXPECT_EQ(std::count(sample.tracks.is_known.begin(), sample.tracks.is_known.end(), 1), 400);
  int moving = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    const float* start = sample.newer.positions_m.data() + 3 * i;
    const bool moves = sample.tracks.positions_m[0][3 * i] != start[0];
    moving += moves ? 1 : 0;
    for (int step = 1; step <= 2; ++step) {
      const float* now = sample.tracks.positions_m[step - 1].data() + 3 * i;
      EXPECT_NEAR(now[0] - start[0], moves ? step * testing::kBlockStepM : 0, 1e-6);
      EXPECT_EQ(now[1], start[1]);
      EXPECT_EQ(now[2], start[2]);
    }
    // The block stands on the table; its lowest pixels are as low as the table's.
    if (moves) {
      EXPECT_LT(std::abs(start[1]), 0.11f);
    } else {
      EXPECT_LT(start[2], 0.02f);
    }
  }
  EXPECT_GT(moving, 20);
}

TEST_F(TracksOfADataset, PicturesAreReadWhereTheyAreWanted) {
  const TrainingSample sample = Draw(false, {.rollout_steps = 1, .with_views = false});
  EXPECT_TRUE(sample.target_steps.empty());
  EXPECT_EQ(sample.step_count, 1);
}

TEST_F(TracksOfADataset, AWindowInWhichAnObjectMovesCanBeAskedFor) {
  const TrainingSample sample = Draw(false, {.rollout_steps = 1, .moving_share = 1});
  EXPECT_TRUE(TrackLoss(sample.tracks, sample.newer.positions_m, torch::kCPU).is_known());
}

}  // namespace
}  // namespace interlacer
