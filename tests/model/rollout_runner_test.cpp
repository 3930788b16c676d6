/// Units of work, what they cost and what they hand on, with a fake model.

#include "model/rollout_runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/server/still_predictor.h"
#include "tests/support/fake_predictor.h"

namespace interlacer::testing {
namespace {

constexpr std::int64_t kStartNs = 7'000'000'000;
constexpr double kSlowS = 0.02;

/// Writes down what comes; slowly where it is told to.
class Journal final : public RolloutWriter {
 public:
  void NoteStep(double, bool asked_network) override {
    lines.push_back(asked_network ? "computed" : "computed without the network");
  }
  void NoteView(std::int64_t pixel_count, double carry_s, double rows_s) override {
    views.emplace_back(pixel_count, carry_s, rows_s);
  }
  Status AddViews(std::span<const RenderTarget> targets, const FloatImage& color,
                  const DepthImage& depth) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(encode_s));
    for (const RenderTarget& target : targets) lines.push_back("view " + target.name);
    colors.push_back(color);
    depths.push_back(depth);
    return Status::Ok();
  }
  Status AddParticles(const Particles&, const std::vector<std::uint32_t>& selected,
                      bool needs_indices) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(encode_s));
    lines.push_back(std::to_string(selected.size()) + (needs_indices ? " chosen" : " particles"));
    return Status::Ok();
  }
  Status FinishStep(int step, std::int64_t predict_time_ns) override {
    lines.push_back("step " + std::to_string(step));
    predict_times_ns.push_back(predict_time_ns);
    return Status::Ok();
  }

  double encode_s = 0;
  std::vector<std::string> lines;
  std::vector<FloatImage> colors;
  std::vector<DepthImage> depths;
  std::vector<std::int64_t> predict_times_ns;
  std::vector<std::tuple<std::int64_t, double, double>> views;
};

class RolloutRunnerTest : public ::testing::Test {
 protected:
  RolloutRunnerTest() {
    controls_->particles = FakeGrid();
    camera_.width_px = 8;
    camera_.height_px = 40;
  }

  RenderTarget Target(const std::string& name, ViewEncoding encoding) const {
    RenderTarget target;
    target.name = name;
    target.camera = camera_;
    target.encoding = encoding;
    return target;
  }

  Status Begin(const OutputOptions& output) {
    runner_.emplace(&predictor_, FakeActions(8), output, &durations_, &journal_);
    return runner_->Begin(*predictor_.Lift(FakeSceneInput()), kStartNs);
  }

  const std::shared_ptr<FakeControls> controls_ = std::make_shared<FakeControls>();
  FakePredictor predictor_{FakeMetadata(), controls_};
  Camera camera_;
  StageDurations durations_;
  Journal journal_;
  std::optional<RolloutRunner> runner_;
};

/// A view of one row is one tile, however slow the machine.
TEST_F(RolloutRunnerTest, EveryUnitIsOneStepOrOneTileOrTheCarryingOfAView) {
  camera_.height_px = 1;
  for (const RenderMode mode : {RenderMode::kField, RenderMode::kObserved}) {
    OutputOptions output;
    output.render_mode = mode;
    output.steps = {0, 2};
    output.include_positions = true;
    output.render_targets = {Target("color", ViewEncoding::kRgb8),
                             Target("depth", ViewEncoding::kDepthF32)};
    journal_ = Journal();
    ASSERT_TRUE(Begin(output).ok());
    std::vector<std::string> units;
    while (!runner_->is_done()) {
      const int steps = controls_->step_count, carries = controls_->carry_count;
      const int tiles = controls_->tile_count;
      ASSERT_TRUE(runner_->RunUnit().ok());
      units.push_back(std::to_string(controls_->step_count - steps) + "+" +
                      std::to_string(controls_->carry_count - carries) + "+" +
                      std::to_string(controls_->tile_count - tiles));
    }
    // Colour and depth of one camera share a tile.
    const std::vector<std::string> of_field = {"0+0+1", "1+0+0", "1+0+0", "0+0+1"};
    const std::vector<std::string> of_observed = {"0+1+0", "0+0+1", "1+0+0",
                                                  "1+0+0", "0+1+0", "0+0+1"};
    EXPECT_EQ(units, mode == RenderMode::kField ? of_field : of_observed);
    EXPECT_EQ(journal_.lines,
              (std::vector<std::string>{"view color", "view depth", "64 particles", "step 0",
                                        "computed", "computed", "view color", "view depth",
                                        "64 particles", "step 2"}));
    EXPECT_EQ(journal_.predict_times_ns,
              (std::vector<std::int64_t>{kStartNs, kStartNs + 1'000'000'000}));
  }
}

/// A tile takes two and a half times kTileS, or longer where the machine is busy.
TEST_F(RolloutRunnerTest, TilesOfASlowFieldShrinkToARowAndMakeTheSamePicture) {
  controls_->unit_s = 2.5 * kTileS;
  camera_.width_px = 64;
  camera_.height_px = 26;
  OutputOptions output;
  output.render_mode = RenderMode::kField;
  output.steps = {0};
  output.render_targets = {Target("color", ViewEncoding::kRgb8),
                           Target("depth", ViewEncoding::kDepthF32)};
  ASSERT_TRUE(Begin(output).ok());
  std::vector<int> rows;
  while (!runner_->is_done()) {
    ASSERT_TRUE(runner_->RunUnit().ok());
    rows.push_back(controls_->tile_row_count);
  }
  ASSERT_GE(rows.size(), 5u);
  EXPECT_EQ(rows[0], 16);
  EXPECT_LE(rows[1], 6);
  EXPECT_LE(rows[2], 2);
  EXPECT_EQ(rows[3], 1);
  EXPECT_EQ(rows[4], 1);
  ASSERT_EQ(journal_.colors.size(), 1u);
  EXPECT_EQ(journal_.colors[0].pixels, FakeColors(camera_, 0, 0, 26).pixels);
  EXPECT_EQ(journal_.depths[0].pixels_m, FakeDepth(camera_, 0, 0, 26).pixels_m);
}

TEST_F(RolloutRunnerTest, SaysWhatCarryingAndRowsOfAViewTook) {
  controls_->unit_s = kSlowS;
  camera_.height_px = 1;
  for (const RenderMode mode : {RenderMode::kField, RenderMode::kObserved}) {
    OutputOptions output;
    output.render_mode = mode;
    output.steps = {0};
    output.render_targets = {Target("color", ViewEncoding::kRgb8)};
    journal_ = Journal();
    durations_ = {};
    ASSERT_TRUE(Begin(output).ok());
    while (!runner_->is_done()) ASSERT_TRUE(runner_->RunUnit().ok());
    ASSERT_EQ(journal_.views.size(), 1u);
    const auto& [pixel_count, carry_s, rows_s] = journal_.views[0];
    EXPECT_EQ(pixel_count, 8);
    EXPECT_GE(rows_s, kSlowS);
    if (mode == RenderMode::kField) {
      EXPECT_EQ(carry_s, 0);
    } else {
      EXPECT_GE(carry_s, kSlowS);
    }
    EXPECT_LE(carry_s + rows_s, durations_.render_s);
  }
}

/// Depth of observed pixels costs rays: it is asked for where a target shows it.
TEST_F(RolloutRunnerTest, ViewsAreDrawnInTheModeAskedForAndDepthOnlyWhereItIsSent) {
  for (const RenderMode mode : {RenderMode::kField, RenderMode::kObserved}) {
    OutputOptions output;
    output.steps = {1};
    output.render_mode = mode;
    output.render_targets = {Target("color", ViewEncoding::kRgb8)};
    const int fields = controls_->field_tile_count, observed = controls_->observed_tile_count;
    ASSERT_TRUE(Begin(output).ok());
    while (!runner_->is_done()) ASSERT_TRUE(runner_->RunUnit().ok());
    const bool is_field = mode == RenderMode::kField;
    EXPECT_EQ(controls_->field_tile_count > fields, is_field);
    EXPECT_EQ(controls_->observed_tile_count > observed, !is_field);
    EXPECT_EQ(std::isnan(journal_.depths.back().pixels_m[0]), !is_field);
    output.render_targets.push_back(Target("depth", ViewEncoding::kDepthF32));
    ASSERT_TRUE(Begin(output).ok());
    while (!runner_->is_done()) ASSERT_TRUE(runner_->RunUnit().ok());
    EXPECT_EQ(journal_.depths.back().pixels_m, FakeDepth(camera_, 1, 0, 40).pixels_m);
  }
}

TEST_F(RolloutRunnerTest, AStepWithoutViewsIsFinishedInTheUnitThatComputesIt) {
  OutputOptions output;
  output.steps = {0, 1};
  output.include_colors = true;
  output.initial_region = Box{{-0.21, -0.21, 0}, {0.01, 1, 1}};
  ASSERT_TRUE(Begin(output).ok());
  EXPECT_EQ(journal_.lines, (std::vector<std::string>{"40 chosen", "step 0"}));
  ASSERT_TRUE(runner_->RunUnit().ok());
  EXPECT_TRUE(runner_->is_done());
  EXPECT_EQ(journal_.lines.back(), "step 1");
  EXPECT_EQ(journal_.lines[3], "40 particles");
}

TEST_F(RolloutRunnerTest, TheWriterHearsWhichStepsAskTheNetwork) {
  StillPredictor still(controls_, /*is_always_still=*/true);
  OutputOptions output;
  output.steps = {1};
  runner_.emplace(&still, FakeActions(8), output, &durations_, &journal_);
  ASSERT_TRUE(runner_->Begin(*still.Lift(FakeSceneInput()), kStartNs).ok());
  ASSERT_TRUE(runner_->RunUnit().ok());
  EXPECT_EQ(journal_.lines, (std::vector<std::string>{"computed without the network", "step 1"}));
}

/// A unit that found no memory is run again, and nothing is done twice.
TEST_F(RolloutRunnerTest, GoesOnAfterAUnitWithoutMemory) {
  OutputOptions output;
  output.steps = {1, 2};
  output.include_positions = true;
  ASSERT_TRUE(Begin(output).ok());
  for (int unit = 0; unit < 2; ++unit) {
    controls_->no_memory_count = 1;
    EXPECT_EQ(runner_->RunUnit().reason(), reason::DEVICE_OUT_OF_MEMORY);
    controls_->no_memory_reads = 1;  // the step is computed, its particles are not read
    EXPECT_EQ(runner_->RunUnit().reason(), reason::DEVICE_OUT_OF_MEMORY);
    ASSERT_TRUE(runner_->RunUnit().ok());
  }
  EXPECT_TRUE(runner_->is_done());
  EXPECT_EQ(journal_.lines, (std::vector<std::string>{"computed", "64 particles", "step 1",
                                                      "computed", "64 particles", "step 2"}));
}

TEST_F(RolloutRunnerTest, ASelectionServesOtherRolloutsOfTheScene) {
  OutputOptions output;
  output.steps = {1};
  output.include_positions = true;
  output.initial_region = Box{{-0.21, -0.21, 0}, {0.01, 1, 1}};
  ASSERT_TRUE(Begin(output).ok());
  ASSERT_TRUE(runner_->RunUnit().ok());
  const RolloutRunner::Selection selected = runner_->selected();
  const int reads = controls_->read_count;
  runner_.emplace(&predictor_, FakeActions(8), output, &durations_, &journal_);
  ASSERT_TRUE(runner_->Begin(*predictor_.Lift(FakeSceneInput()), kStartNs, selected).ok());
  EXPECT_EQ(controls_->read_count, reads) << "the region was looked for again";
  ASSERT_TRUE(runner_->RunUnit().ok());
  EXPECT_EQ(journal_.lines, (std::vector<std::string>{"computed", "40 chosen", "step 1", "computed",
                                                      "40 chosen", "step 1"}));
}

/// What a stage took counts nowhere else.
TEST_F(RolloutRunnerTest, ASlowWriterCountsAsEncodingOnly) {
  journal_.encode_s = kSlowS;
  OutputOptions output;
  output.steps = {1};
  output.include_positions = true;
  output.render_targets = {Target("color", ViewEncoding::kRgb8)};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(Begin(output).ok());
  while (!runner_->is_done()) ASSERT_TRUE(runner_->RunUnit().ok());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  const StageDurations d = runner_->Summary().durations;
  EXPECT_GE(d.encode_s, 2 * kSlowS);
  EXPECT_GT(d.render_s, 0);
  EXPECT_LE(d.lift_s + d.dynamics_s + d.render_s + d.encode_s, passed.count());
}

TEST_F(RolloutRunnerTest, ASlowModelCountsWhereItWorks) {
  controls_->unit_s = kSlowS;
  OutputOptions output;
  output.steps = {2};
  output.render_targets = {Target("color", ViewEncoding::kRgb8)};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(Begin(output).ok());
  while (!runner_->is_done()) ASSERT_TRUE(runner_->RunUnit().ok());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  EXPECT_GE(durations_.dynamics_s, 2 * kSlowS);
  EXPECT_GE(durations_.render_s, 2 * kSlowS) << "carrying and at least one tile";
  EXPECT_LE(durations_.dynamics_s + durations_.render_s + durations_.encode_s, passed.count());
}

/// Of all particles, not only of those that are sent.
TEST_F(RolloutRunnerTest, PositionsThatAreNotFiniteAreNotHandedOn) {
  controls_->particles->positions_m.back() = std::numeric_limits<float>::infinity();
  OutputOptions output;
  output.steps = {0};
  output.include_positions = true;
  output.stride = 64;
  const Status status = Begin(output);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.reason(), reason::PREDICTION_NOT_FINITE);
  EXPECT_EQ(status.metadata().at("step"), "0");
  EXPECT_TRUE(journal_.lines.empty());
}

TEST_F(RolloutRunnerTest, ViewsThatAreNotFiniteAreNotHandedOn) {
  controls_->view_offset = std::numeric_limits<float>::quiet_NaN();
  for (const ViewEncoding encoding : {ViewEncoding::kRgb8, ViewEncoding::kDepthF32}) {
    OutputOptions output;
    output.steps = {1};
    output.render_targets = {Target("top", encoding)};
    ASSERT_TRUE(Begin(output).ok());
    Status status;
    while (status.ok() && !runner_->is_done()) status = runner_->RunUnit();
    EXPECT_EQ(status.reason(), reason::PREDICTION_NOT_FINITE);
    EXPECT_EQ(status.message(), "view \"top\" of step 1 is not finite");
    EXPECT_EQ(status.metadata().at("step"), "1");
  }
  EXPECT_TRUE(journal_.colors.empty());
}

TEST_F(RolloutRunnerTest, TheSummarySaysWhenARolloutIsLongerThanTrainingSaw) {
  OutputOptions output;
  output.steps = {FakeMetadata().trained_step_count};
  ASSERT_TRUE(Begin(output).ok());
  EXPECT_TRUE(runner_->Summary().findings.empty());
  output.steps = {0, FakeMetadata().trained_step_count + 1};
  ASSERT_TRUE(Begin(output).ok());
  const RolloutSummary summary = runner_->Summary();
  ASSERT_EQ(summary.findings.size(), 1u);
  EXPECT_EQ(summary.findings[0].reason, "ROLLOUT_BEYOND_TRAINING");
  EXPECT_EQ(summary.model_name, "fake");
  EXPECT_EQ(summary.computed_step_count, 0);
  EXPECT_EQ(summary.selected_particle_count, 64);
}

TEST_F(RolloutRunnerTest, NothingExtrapolatesWhereNoNetworkIsAsked) {
  StillPredictor still(controls_, /*is_always_still=*/true);
  OutputOptions output;
  output.steps = {FakeMetadata().trained_step_count + 1};
  runner_.emplace(&still, FakeActions(output.steps.back()), output, &durations_, &journal_);
  ASSERT_TRUE(runner_->Begin(*still.Lift(FakeSceneInput()), kStartNs).ok());
  EXPECT_TRUE(runner_->Summary().findings.empty());
}

TEST_F(RolloutRunnerTest, ReadingTheParticlesOfARegionIsCounted) {
  OutputOptions output;
  output.steps = {1};
  ASSERT_TRUE(Begin(output).ok());
  EXPECT_EQ(durations_.encode_s, 0);
  output.initial_region = Box{{-0.21, -0.21, 0}, {0.01, 1, 1}};
  ASSERT_TRUE(Begin(output).ok());
  EXPECT_GT(durations_.encode_s, 0);
}

TEST_F(RolloutRunnerTest, FreesWhatTheRolloutHolds) {
  OutputOptions output;
  output.steps = {1};
  ASSERT_TRUE(Begin(output).ok());
  EXPECT_EQ(controls_->live_rollouts, 1);
  runner_->Free();
  EXPECT_EQ(controls_->live_rollouts, 0);
}

}  // namespace
}  // namespace interlacer::testing
