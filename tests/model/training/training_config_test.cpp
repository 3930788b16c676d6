#include "model/training/training_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "common/file_io.h"
#include "common/json.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

TEST(TrainingConfig, AveragingIsWrittenWhereItIsOn) {
  RunConfig run = PresetRunConfig("paper").value();
  EXPECT_EQ(RunConfigToJson(run).find("average_decay"), std::string::npos);
  run.training.average_decay = 0.5;
  EXPECT_EQ(ParseRunConfigJson(RunConfigToJson(run)).value().training, run.training);
}

TEST(TrainingConfig, RoundingToTf32IsWrittenWhereItIsOn) {
  RunConfig run = PresetRunConfig("paper").value();
  EXPECT_EQ(RunConfigToJson(run).find("tf32"), std::string::npos);
  run.training.tf32 = true;
  EXPECT_EQ(ParseRunConfigJson(RunConfigToJson(run)).value().training, run.training);
}

TEST(TrainingConfig, PresetsRoundTripThroughJson) {
  for (const auto name : PresetNames()) {
    const RunConfig run = PresetRunConfig(name).value();
    const RunConfig back = ParseRunConfigJson(RunConfigToJson(run)).value();
    EXPECT_EQ(back.training, run.training) << name;
    EXPECT_EQ(ConfigToJson(back.model), ConfigToJson(run.model)) << name;
  }
}

/// So that scripts/train-checkpoint can go on from each stage to the next. The guess may begin at
/// any stage and then stays.
TEST(TrainingConfig, StagesOfShippedCheckpointsTrainTheModelThatIsShipped) {
  for (const std::string name : {"small", "paper"}) {
    const std::string folder = INTERLACER_SOURCE_DIR "/checkpoints/" + name;
    InterlacerConfig expected = Must(ParseConfigJson(Must(ReadTextFile(folder + "/config.json"))));
    const bool has_guess = expected.network.contact_guess;
    const int seen = std::exchange(expected.lifting.contact_point_count, 0);
    std::map<int, std::filesystem::path> stages;
    for (const auto& file : std::filesystem::directory_iterator(folder + "/stages")) {
      stages[std::stoi(file.path().filename())] = file.path();
    }
    EXPECT_GE(stages.size(), 8u) << name;
    expected.network.contact_guess = false;
    for (const auto& [number, path] : stages) {
      const RunConfig run = Must(ParseRunConfigJson(Must(ReadTextFile(path))));
      expected.network.contact_guess |= run.model.network.contact_guess;
      expected.lifting.contact_point_count =
          std::max(expected.lifting.contact_point_count, run.model.lifting.contact_point_count);
      EXPECT_EQ(ConfigToJson(run.model), ConfigToJson(expected)) << path;
    }
    EXPECT_EQ(expected.network.contact_guess, has_guess) << name;
    // What scripts/train-checkpoint sets in the export.
    if (name == "small") expected.lifting.contact_point_count = 32768;
    EXPECT_EQ(expected.lifting.contact_point_count, seen) << name;
  }
}

TEST(TrainingConfig, SupervisionBesideVideoIsWrittenWhereItIsOn) {
  RunConfig run = PresetRunConfig("paper").value();
  for (const char* key : {"video_weight", "depth_weight", "track_weight", "moving_sequence_share",
                          "random_background", "min_particle_share", "random_yaw", "random_colors",
                          "freeze_appearance"}) {
    EXPECT_EQ(RunConfigToJson(run).find(key), std::string::npos) << key;
  }
  TrainingConfig& training = run.training;
  training.rollout_steps = {{0, 1}};
  training.video_weight = 0;
  training.depth_weight = 0.1;
  training.track_weight = 2;
  training.moving_sequence_share = 0.5;
  training.random_background = training.random_yaw = training.freeze_appearance = true;
  training.random_colors = true;
  training.reconstruction_weight = 0;
  training.min_particle_share = 0.25;
  EXPECT_EQ(ParseRunConfigJson(RunConfigToJson(run)).value().training, training);
}

TEST(TrainingConfig, RandomColorsAreRefusedWhereViewsAreRendered) {
  TrainingConfig training;
  training.random_colors = true;
  EXPECT_EQ(ValidateTrainingConfig(training).field(), "training.random_colors");
  training.video_weight = training.reconstruction_weight = 0;
  training.track_weight = 1;
  EXPECT_TRUE(ValidateTrainingConfig(training).ok());
}

TEST(TrainingConfig, AStoppingRuleIsWrittenWhereItIsOn) {
  RunConfig run = PresetRunConfig("paper").value();
  EXPECT_EQ(RunConfigToJson(run).find("stop_when_flat"), std::string::npos);
  run.training.stop_when_flat = {3, 0.25};
  EXPECT_EQ(ParseRunConfigJson(RunConfigToJson(run)).value().training, run.training);
}

TEST(TrainingConfig, PaperNumbers) {
  const TrainingConfig c = PresetRunConfig("paper").value().training;
  EXPECT_EQ(c.batch_size, 16);
  EXPECT_EQ(ValueAt(c.rollout_steps, 0), 6);
  EXPECT_EQ(c.rays_per_step, 128);
  EXPECT_DOUBLE_EQ(ValueAt(c.learning_rate, 999), 3e-4);
  EXPECT_DOUBLE_EQ(ValueAt(c.learning_rate, 1000), 1e-4);
}

TEST(Schedule, AValueHoldsFromItsLastChange) {
  const Schedule<int> schedule{{0, 3}, {5, 3}, {8, 4}, {9, 4}};
  for (const std::int64_t step : {0, 5, 7}) EXPECT_EQ(HoldsFrom(schedule, step), 0) << step;
  for (const std::int64_t step : {8, 9, 100}) EXPECT_EQ(HoldsFrom(schedule, step), 8) << step;
}

TEST(TrainingConfig, OverridesSingleSettingsOfThePreset) {
  const RunConfig run =
      ParseRunConfigJson(R"({"preset": "small", "training": {"step_count": 7}})").value();
  EXPECT_EQ(run.training.step_count, 7);
  EXPECT_EQ(run.training.batch_size, PresetRunConfig("small").value().training.batch_size);
}

void ExpectRefused(const char* json, const std::string& field) {
  const Status status = ParseRunConfigJson(json).status();
  ASSERT_FALSE(status.ok()) << json;
  EXPECT_EQ(status.reason(), reason::CONFIG_INVALID) << status.ToString();
  EXPECT_NE(status.ToString().find(field), std::string::npos) << status.ToString();
}

TEST(TrainingConfig, RefusesWhatItDoesNotKnow) {
  ExpectRefused(R"({"training": {"step_cont": 7}})", "step_cont");
  ExpectRefused(R"({"preset": "huge"})", "huge");
  ExpectRefused(R"({"model": {"network": {"width": -1}}})", "model.network.width: expected 1..");
  ExpectRefused(R"({"training": {"batch_size": 0}})", "batch_size");
  ExpectRefused(R"({"training": {"average_decay": 1}})", "average_decay");
  ExpectRefused(R"({"training": {"video_weight": 0}})", "video_weight: expected > 0 without a");
  ExpectRefused(R"({"training": {"depth_weight": -1}})", "depth_weight");
  ExpectRefused(R"({"training": {"track_weight": "much"}})", "track_weight");
  ExpectRefused(R"({"training": {"moving_sequence_share": 1.5}})", "moving_sequence_share");
  ExpectRefused(R"({"training": {"min_particle_share": 0}})", "min_particle_share");
  ExpectRefused(R"({"preset": "small", "training": {"freeze_appearance": true}})",
                "appearance_step_count");
  ExpectRefused(R"({"training": {"batch_size": "two"}})", "batch_size");
  ExpectRefused(R"({"training": {"learning_rate": [{"from_step": 5, "value": 1e-3}]}})",
                "learning_rate: expected a list that starts at from_step 0 and ascends, got "
                "from_step 5");
  ExpectRefused(R"({"training": {"rollout_steps": []}})", "got an empty list");
  ExpectRefused(R"({"training": {"displacement_weight": [{"from_step": 0, "value": -1}]}})",
                "displacement_weight");
  ExpectRefused(R"({"training": {"appearance_step_count": -1}})", "appearance_step_count");
  // Nothing would learn from step 10 to step 20.
  ExpectRefused(R"({"training": {"appearance_step_count": 10, "reconstruction_weight": 1,
                    "rollout_steps": [{"from_step": 0, "value": 0}, {"from_step": 20, "value": 1}]}})",
                "rollout_steps");
  ExpectRefused(R"({"training": {"appearance_step_count": 10, "reconstruction_weight": 1,
                    "rollout_steps": [{"from_step": 0, "value": 0}, {"from_step": 10, "value": 1},
                                      {"from_step": 20, "value": 0}]}})",
                "rollout_steps");
  ExpectRefused(R"({"training": {"stretch_weight": [{"from_step": 0, "value": -1}]}})",
                "stretch_weight");
  ExpectRefused(R"({"training": {"feature_change_weight": []}})", "feature_change_weight");
  ExpectRefused(R"({"training": {"reconstruction_jitter_m": [{"from_step": 0, "value": -0.01}]}})",
                "reconstruction_jitter_m");
  ExpectRefused(R"({"training": {"displacement_weight": [{"from_step": 1, "value": 1}]}})",
                "displacement_weight");
  ExpectRefused(R"({"training": {"rollout_steps": []}})", "rollout_steps");
  ExpectRefused(R"({"training": {"stop_when_flat": {"window": -1}}})", "stop_when_flat.window");
  ExpectRefused(R"({"training": {"stop_when_flat": {"min_improvement": 1}}})",
                "stop_when_flat.min_improvement");
  ExpectRefused(R"({"training": {"validation_sample_count": 0, "stop_when_flat": {"window": 2}}})",
                "validation_sample_count");
  ExpectRefused("{", "the configuration is not valid JSON");
}

TEST(TrainingConfig, ErrorsNameTheFileOnce) {
  const auto refusal = [](const char* text) {
    return ParseRunConfigJson(text, "/runs/my.json").status();
  };
  EXPECT_EQ(refusal("{").field(), "/runs/my.json");
  EXPECT_TRUE(refusal("{").message().starts_with("/runs/my.json is not valid JSON"));
  EXPECT_TRUE(refusal(R"({"training": {"batch_size": 0}})")
                  .ToString()
                  .ends_with("/runs/my.json:training.batch_size: expected > 0, got 0"));
}

}  // namespace
}  // namespace interlacer
