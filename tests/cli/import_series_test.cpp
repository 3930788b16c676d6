/// `interlacer import lerobot --episodes`: a data set of several episodes, going on after a stop,
/// and what happens to one that cannot be read.

#include "cli/import_series.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "common/image_codec.h"
#include "common/json.h"
#include "data/dataset.h"
#include "robots/robot_folder.h"
#include "tests/cli/program_support.h"
#include "tests/data/lerobot_writer.h"
#include "tests/robots/one_joint_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kWidth = 32, kHeight = 24, kPixels = kWidth * kHeight, kFrames = 6;

/// A set of version 2.1 with pictures in its tables; depth of episode e is 1000 + 10 e mm.
class ImportSeries : public ::testing::Test {
 protected:
  ImportSeries() {
    EXPECT_TRUE(WriteRobot(OneJointRobot(), folder_.File("robot")).ok());
    WriteText(folder_.File("cameras.json"),
              R"({"schema": "interlacer.calibration", "schema_version": 1, "cameras": [
          {"name": "left", "width_px": 32, "height_px": 24, "fx_px": 30, "fy_px": 30, "cx_px": 16,
           "cy_px": 12, "world_from_camera": {"translation_m": [0, 0, 1.5],
           "rotation_xyzw": [1, 0, 0, 0]}}]})");
  }
  std::string Set(const std::string& name) const { return folder_.File("set/" + name); }
  std::string TableOf(int episode) const {
    char name[64];
    std::snprintf(name, sizeof name, "data/chunk-000/episode_%06d.parquet", episode);
    return Set(name);
  }

  void WriteSet(int episode_count) {
    WriteText(Set("meta/info.json"),
              R"({"codebase_version": "v2.1", "fps": 2, "total_episodes": )" +
                  std::to_string(episode_count) + R"(, "chunks_size": 1000,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "features": {"observation.state": {"dtype": "float32", "shape": [1], "names": ["elbow"]},
          "observation.images.left": {"dtype": "image", "info": null},
          "observation.images.left_depth": {"dtype": "image",
            "info": {"is_depth_map": true, "depth_unit": "mm"}}}})");
    std::string lines;
    for (int episode = 0; episode < episode_count; ++episode) {
      lines += R"({"episode_index": )" + std::to_string(episode) + R"(, "tasks": [], "length": )" +
               std::to_string(kFrames) + "}\n";
      WriteEpisode(episode);
    }
    WriteText(Set("meta/episodes.jsonl"), lines);
  }
  void WriteEpisode(int episode) {
    TableWriter table;
    std::vector<std::int64_t> frames;
    std::vector<double> times_s;
    std::vector<float> states;
    std::vector<std::vector<std::uint8_t>> colors, depths;
    for (int i = 0; i < kFrames; ++i) {
      frames.push_back(i);
      times_s.push_back(0.5 * i);
      states.push_back(0.2F * static_cast<float>(i));
      RgbImage color{kWidth, kHeight, {}};
      for (int k = 0; k < 3 * kPixels; ++k) color.pixels.push_back((7 * k + i) % 251);
      std::vector<std::uint16_t> depth(kPixels, static_cast<std::uint16_t>(1000 + 10 * episode));
      depth[5] = 900;
      colors.push_back(EncodePng(color));
      depths.push_back(EncodePng(DepthImage16{kWidth, kHeight, 0.001, depth}));
    }
    table.Integers("episode_index", std::vector<std::int64_t>(kFrames, episode));
    table.Integers("frame_index", frames);
    table.Numbers("timestamp", times_s);
    table.Lists("observation.state", states, 1, true);
    table.Images("observation.images.left", colors);
    table.Images("observation.images.left_depth", depths);
    table.Write(TableOf(episode));
  }

  Words Import(const Words& more) const {
    Words words = {"import",
                   "lerobot",
                   Set(""),
                   "-o",
                   out_,
                   "--calibration",
                   folder_.File("cameras.json"),
                   "--robot",
                   folder_.File("robot"),
                   "--joint-unit",
                   "rad"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  const TempFolder folder_;
  const std::string out_ = folder_.File("out");
};

TEST_F(ImportSeries, SplitsAreAddedOneAfterTheOther) {
  WriteSet(4);
  const ProcessResult train =
      RunVerb(Import({"--episodes", "0,2-2", "--license", "CC0", "--json"}));
  ASSERT_EQ(train.exit_code, 0) << train.err;
  const auto json = nlohmann::json::parse(train.out);
  EXPECT_EQ(json["episodes"].size(), 2u);
  EXPECT_EQ(json["episodes"][1]["frame_count"], kFrames);
  EXPECT_EQ(json["kept_count"], 0);
  const ProcessResult again = RunVerb(Import({"--episodes", "3", "--split", "val"}));
  EXPECT_EQ(again.exit_code, 8) << again.err;
  EXPECT_THAT(again.err, HasSubstr("--resume"));
  const ProcessResult val =
      RunVerb(Import({"--episodes", "3-", "--split", "val", "--license", "CC0", "--resume"}));
  ASSERT_EQ(val.exit_code, 0) << val.err;
  const auto dataset = Must(ReadDataset(out_));
  EXPECT_EQ(dataset.name, "set");
  EXPECT_EQ(dataset.license, "CC0");
  EXPECT_THAT(dataset.splits.at("train"), ElementsAre("episode_000000", "episode_000002"));
  EXPECT_THAT(dataset.splits.at("val"), ElementsAre("episode_000003"));
  EXPECT_EQ(RunVerb({"validate", out_}).exit_code, 0);

  // Each is what the verb makes of that episode alone.
  const ProcessResult one =
      RunVerb({"import", "lerobot", Set(""), "-o", folder_.File("one"), "--calibration",
               folder_.File("cameras.json"), "--robot", folder_.File("robot"), "--joint-unit",
               "rad", "--license", "CC0", "--episode", "2"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  auto alone = FilesOf(folder_.File("one")), in_set = FilesOf(out_ + "/episode_000002");
  alone.erase("manifest.json");
  in_set.erase("manifest.json");
  EXPECT_GT(alone.size(), 12u);
  EXPECT_EQ(alone, in_set);
}

TEST_F(ImportSeries, GoesOnAfterAStopAndKeepsNothingOfOtherOptions) {
  // More than are done before the signal comes.
  WriteSet(40);
  const Words all = Import({"--episodes", "all"});
  ChildProcess process(Interlacer(all));
  // An episode is of the set once the next one is begun.
  const std::string second = out_ + "/episode_000001/manifest.json";
  EXPECT_TRUE(Eventually([&] { return fs::exists(second) || !process.IsRunning(); }));
  process.Signal(SIGINT);
  const ProcessResult stopped = process.Wait();
  ASSERT_EQ(stopped.exit_code, kInterrupted) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("--resume"));
  EXPECT_FALSE(fs::exists(out_ + "/episode_000039"));
  const auto begun = Must(ReadDataset(out_));
  EXPECT_GE(begun.splits.at("train").size(), 1u);
  const auto kept = FilesOf(out_ + "/episode_000000");

  const ProcessResult other = RunVerb(Import({"--episodes", "all", "--resume", "--far", "3"}));
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("--far"));
  Words resumed = all;
  resumed.push_back("--resume");
  const ProcessResult finished = RunVerb(resumed);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(FilesOf(out_ + "/episode_000000"), kept);
  EXPECT_EQ(ReadDataset(out_)->splits.at("train").size(), 40u);
  EXPECT_EQ(RunVerb({"validate", out_}).exit_code, 0);
}

TEST_F(ImportSeries, AnEpisodeThatFailsIsNamedAndTheRestGoesOn) {
  WriteSet(3);
  WriteText(TableOf(1), "no table");
  const ProcessResult run = RunVerb(Import({"--episodes", "all"}));
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr("episode_000001: "));
  EXPECT_THAT(ReadDataset(out_)->splits.at("train"),
              ElementsAre("episode_000000", "episode_000002"));
  EXPECT_FALSE(fs::exists(out_ + "/episode_000001"));
  WriteEpisode(1);
  const ProcessResult mended = RunVerb(Import({"--episodes", "all", "--resume"}));
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(ReadDataset(out_)->splits.at("train").size(), 3u);

  // What is wrong with the first is wrong with all, or may be.
  WriteText(Set("meta/info.json"), "{}");
  EXPECT_EQ(RunVerb(Import({"--episodes", "all", "--resume"})).exit_code, 3);
  EXPECT_EQ(RunVerb(Import({"--episodes", "0", "--episode", "0"})).exit_code, 2);
  EXPECT_EQ(RunVerb(Import({"--resume"})).exit_code, 2);
}

TEST(EpisodeNumbers, ListsAndRanges) {
  using cli::ParseEpisodeNumbers;
  EXPECT_THAT(*ParseEpisodeNumbers("all", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(*ParseEpisodeNumbers("2,0-1,1", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(*ParseEpisodeNumbers("1-", 4), ElementsAre(1, 2, 3));
  EXPECT_THAT(*ParseEpisodeNumbers("7", 8), ElementsAre(7));
  for (const char* bad : {"", ",", "3", "-1", "2-1", "0-3", "0,,1", "0-1-2", "x", "1 ", "0x1",
                          "99999999999999999999"}) {
    const Status numbers = ParseEpisodeNumbers(bad, 3).status();
    EXPECT_EQ(numbers.reason(), reason::ARGUMENT_INVALID) << bad;
    EXPECT_THAT(numbers.ToString(), HasSubstr("0 to 2"));
  }
  EXPECT_FALSE(ParseEpisodeNumbers("all", 0).ok());
}

}  // namespace
}  // namespace interlacer::testing
