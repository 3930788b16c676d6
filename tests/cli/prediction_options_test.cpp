/// Options of the verbs that predict: a checkpoint that fits by itself, joints by name.

#include "cli/prediction_options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/shipped_models.h"
#include "robots/robot_folder.h"
#include "tests/robots/small_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer::cli {
namespace {

class ActionTable : public ::testing::Test {
 protected:
  StatusOr<ActionSequence> Read(const std::string& text, const Robot* robot) {
    const std::string path = folder_.File("actions.csv");
    std::ofstream(path) << text;
    return ReadActionTable(path, robot, metadata_);
  }
  Status Refusal(const std::string& text) { return Read(text, &robot_).status(); }

  const TempFolder folder_;
  const Robot robot_ = testing::SmallRobot();
  ModelMetadata metadata_;
};

TEST_F(ActionTable, ColumnsAreFoundByNameWithOrWithoutUnit) {
  const auto actions = Must(Read("grip_m,turn,roll_rad\n0.01,1,2\n0.02,0.5,-2\n", &robot_));
  EXPECT_EQ(actions.kind, ActionKind::kJointPositions);
  EXPECT_EQ(actions.row_count, 2);
  EXPECT_EQ(actions.column_count, 3);
  EXPECT_EQ(actions.values, (std::vector<float>{1, 2, 0.01f, 0.5f, -2, 0.02f}));
}

TEST_F(ActionTable, WithoutARobotFolderTheModelsColumnsAreTheNames) {
  metadata_.robot_model_name = "two joints";
  metadata_.action_columns = {{"turn_rad", ActionUnit::kRadians, -1, 1, 0},
                              {"grip_m", ActionUnit::kMeters, 0, 1, 0}};
  const auto actions = Must(Read("grip,turn_rad\n0.5,-1\n", nullptr));
  EXPECT_EQ(actions.values, (std::vector<float>{-1, 0.5f}));
  const Status unknown = Read("grip,twist\n0.5,-1\n", nullptr).status();
  EXPECT_THAT(unknown.message(), HasSubstr("two joints"));
}

TEST_F(ActionTable, NamesTheFileAndWhatIsWrong) {
  const Status unknown = Refusal("grip,turn,spin\n0,0,0\n");
  EXPECT_EQ(unknown.reason(), reason::ACTION_SHAPE);
  EXPECT_THAT(unknown.field(), HasSubstr("actions.csv"));
  EXPECT_THAT(unknown.message(), HasSubstr("'spin'"));
  EXPECT_THAT(unknown.message(), HasSubstr("turn, roll, grip"));
  EXPECT_THAT(Refusal("grip,turn\n0,0\n").message(), HasSubstr("'roll'"));
  EXPECT_THAT(Refusal("grip,turn,turn_rad\n0,0,0\n").message(), HasSubstr("again"));
  EXPECT_EQ(Refusal("grip,turn,roll\n").reason(), reason::ACTION_SHAPE);
  EXPECT_FALSE(Refusal("grip,turn,roll\n0,0\n").ok());
  EXPECT_FALSE(Refusal("").ok());
  EXPECT_FALSE(ReadActionTable("/no/such/file.csv", &robot_, metadata_).ok());
}

TEST(PictureSizeOption, IsAWordOrTwoNumbers) {
  EXPECT_EQ(ParsePictureSize("model")->of, PictureSize::Of::kModel);
  EXPECT_EQ(ParsePictureSize("recorded")->of, PictureSize::Of::kRecorded);
  const PictureSize given = *ParsePictureSize("320x240");
  EXPECT_EQ(given.of, PictureSize::Of::kGiven);
  EXPECT_EQ(given.width_px, 320);
  EXPECT_EQ(given.height_px, 240);
  for (const char* const bad : {"", "320", "320x", "x240", "0x240", "320x-1", "320x240x3", "3.5x2",
                                "320x240 ", "1000000x2", "as recorded"}) {
    const Status refused = ParsePictureSize(bad).status();
    EXPECT_EQ(refused.reason(), reason::ARGUMENT_INVALID) << bad;
    EXPECT_THAT(refused.message(), HasSubstr("WIDTHxHEIGHT")) << bad;
  }
}

TEST(RobotOption, ReadsTheFolderOrNamesWhatItLacks) {
  const TempFolder folder;
  EXPECT_EQ(*ReadRobotOption(""), nullptr);
  ASSERT_TRUE(WriteRobot(testing::SmallRobot(), folder.File("robot")).ok());
  const auto robot = Must(ReadRobotOption(folder.File("robot")));
  EXPECT_EQ(robot->name, "small");
  std::filesystem::remove(folder.File("robot") + "/" + kRobotFile);
  EXPECT_THAT(ReadRobotOption(folder.File("robot")).status().ToString(), HasSubstr(kRobotFile));
}

TEST(ShippedModels, AreChosenByTheRobot) {
  EpisodeManifest manifest;
  EXPECT_EQ(ShippedModelFor(manifest), "paper");
  manifest.states.emplace();
  EXPECT_EQ(ShippedModelFor(manifest), "small");
  EpisodeManifest described;
  described.robot.emplace();
  EXPECT_EQ(ShippedModelFor(described), "small");
}

TEST(ShippedModels, AreFoundFromTheProgramUpward) {
  for (const char* const name : {"paper", "small"}) {
    const auto found = Must(FindShippedModel(name));
    EXPECT_TRUE(std::filesystem::exists(found + "/weights.safetensors"));
  }
  const Status absent = FindShippedModel("no_such_model").status();
  EXPECT_EQ(absent.reason(), reason::FILE_NOT_FOUND);
  EXPECT_THAT(absent.message(), HasSubstr("--model"));
}

TEST(ShippedModels, AreNotTakenInPlaceOfWhatWasNamed) {
  const VerbContext context({}, "", {});
  BackendOptions options;
  options.server = "host:1";
  const auto chosen = Must(WithShippedModel(options, "/no/such/episode", context));
  EXPECT_TRUE(chosen.model_dir.empty());
  options = {};
  EXPECT_FALSE(WithShippedModel(options, "/no/such/episode", context).ok());
}

}  // namespace
}  // namespace interlacer::cli
