/// `interlacer simulate` over tasks, splits and shards.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/json.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

ProcessResult Simulate(Words arguments) {
  Words words = {"simulate", "--steps", "2",      "--width", "16",
                 "--height", "16",      "--jobs", "1",       "--quiet"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return RunVerb(words);
}

TEST(Simulate, ShardsMergeToTheBytesOfOneProcess) {
  const TempFolder folder;
  const Words mix = {"--task", "all", "--episodes", "5", "--seed", "3"};
  const auto run = [&](Words more) {
    more.insert(more.begin(), mix.begin(), mix.end());
    return Simulate(more);
  };
  const std::string whole = folder.File("one/set"), merged = folder.File("two/set");
  ASSERT_EQ(run({"-o", whole}).exit_code, 0);
  const std::string first = folder.File("part_0"), second = folder.File("part_1");
  ASSERT_EQ(run({"-o", first, "--shard", "0/2"}).exit_code, 0);

  // A part that is missing is named, and nothing is made up for it.
  const ProcessResult early = run({"-o", folder.File("early"), "--merge", first});
  EXPECT_EQ(early.exit_code, 3) << early.err;
  EXPECT_THAT(early.err, HasSubstr("lift_can_000004"));

  ASSERT_EQ(run({"-o", second, "--shard", "1/2"}).exit_code, 0);
  const ProcessResult done = run({"-o", merged, "--merge", first, second});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const auto expected = FilesOf(whole), got = FilesOf(merged);
  EXPECT_GT(expected.size(), 5u * 20u);
  EXPECT_EQ(expected, got);

  const auto dataset = Must(ReadDataset(merged));
  EXPECT_THAT(dataset.splits.at("train"),
              ElementsAre("drop_can_000005", "lift_can_000004", "push_block_000003",
                          "push_block_000007", "sweep_000006"));

  // Parts of another command are not taken.
  const ProcessResult other =
      run({"-o", folder.File("other"), "--depth-noise", "0.01", "--merge", first, second});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_THAT(other.err, HasSubstr("--depth-noise"));
}

// fm-37
TEST(Simulate, APartThatCannotBeReadIsNamedAndLeavesNothing) {
  const TempFolder folder;
  const std::string part = folder.File("part"), out = folder.File("set");
  ASSERT_EQ(Simulate({"-o", part, "--seed", "8"}).exit_code, 0);
  const std::string loop = part + "/push_block_000008/loop";
  fs::create_symlink("loop", loop);
  const ProcessResult merged = Simulate({"-o", out, "--seed", "8", "--merge", part});
  EXPECT_EQ(merged.exit_code, 3) << merged.err;
  EXPECT_THAT(merged.err, HasSubstr(loop));
  EXPECT_TRUE(fs::is_empty(out));
}

TEST(Simulate, ResumptionKeepsNoEpisodeOfAnotherCommand) {
  const TempFolder folder;
  const std::string out = folder.File("set"), part = folder.File("part");
  ASSERT_EQ(Simulate({"-o", out, "--seed", "8"}).exit_code, 0);
  const auto before = FilesOf(out);
  const Words other = {"-o", out, "--seed", "8", "--depth-noise", "0.01", "--resume"};
  const ProcessResult made = Simulate(other);
  EXPECT_EQ(made.exit_code, 2) << made.err;
  EXPECT_THAT(made.err, HasSubstr("--depth-noise"));

  ASSERT_EQ(Simulate({"-o", part, "--seed", "8", "--depth-noise", "0.01"}).exit_code, 0);
  Words merge = other;
  merge.insert(merge.end(), {"--merge", part});
  const ProcessResult merged = Simulate(merge);
  EXPECT_EQ(merged.exit_code, 2) << merged.err;
  EXPECT_TRUE(FilesOf(out) == before);

  // One that does not say how it was made stays.
  const fs::path file = out + "/push_block_000008/manifest.json";
  auto manifest = nlohmann::ordered_json::parse(before.at("push_block_000008/manifest.json"));
  manifest["source"].erase("command");
  std::ofstream(file) << manifest.dump(2);
  const ProcessResult kept = Simulate(other);
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
}

TEST(Simulate, TwoCommandsAtOnceIntoOneFolderAreBothListed) {
  const TempFolder folder;
  const std::string out = folder.File("set");
  ASSERT_EQ(Simulate({"-o", out, "--seed", "8"}).exit_code, 0);
  const auto hash = FilesOf(out).at("dataset.json");
  const auto time = fs::last_write_time(out + "/dataset.json");
  ASSERT_EQ(Simulate({"-o", out, "--seed", "8", "--resume"}).exit_code, 0);
  EXPECT_EQ(fs::last_write_time(out + "/dataset.json"), time) << "nothing new, no new file";
  // The second waits for the first, which is at dataset.json.
  const int lock = open((out + "/.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  ChildProcess waiting(Interlacer({"simulate", "--steps", "2", "--width", "16", "--height", "16",
                                   "-o", out, "--seed", "9", "--resume", "--quiet"}));
  ASSERT_TRUE(Eventually([&] {
    return fs::exists(out + "/push_block_000009/manifest.json") || !waiting.IsRunning();
  }));
  EXPECT_EQ(FilesOf(out).at("dataset.json"), hash);
  EXPECT_TRUE(waiting.IsRunning());
  close(lock);
  EXPECT_EQ(waiting.Wait().exit_code, 0);
  EXPECT_EQ(Must(ReadDataset(out)).splits.at("train").size(), 2u);
}

TEST(Simulate, TheSplitIsPartOfTheSceneAndOfItsName) {
  const TempFolder folder;
  const std::string out = folder.File("set");
  ASSERT_EQ(Simulate({"-o", out, "--seed", "8"}).exit_code, 0);
  ASSERT_EQ(Simulate({"-o", out, "--seed", "8", "--split", "test", "--resume"}).exit_code, 0);
  const auto dataset = Must(ReadDataset(out));
  EXPECT_THAT(dataset.splits.at("train"), ElementsAre("push_block_000008"));
  EXPECT_THAT(dataset.splits.at("test"), ElementsAre("push_block_test_000008"));
  const auto manifest = Must(ReadManifest(out + "/push_block_test_000008"));
  EXPECT_THAT(manifest.source.command, HasSubstr("--split test"));
  EXPECT_NE(FilesOf(out + "/push_block_test_000008").at("truth/scene.xml"),
            FilesOf(out + "/push_block_000008").at("truth/scene.xml"));
}

TEST(Simulate, AnEpisodeComesBackFromItsExport) {
  const TempFolder folder;
  const std::string out = folder.File("set"), file = folder.File("episode.mcap");
  ASSERT_EQ(Simulate({"-o", out, "--seed", "8"}).exit_code, 0);
  const std::string before = out + "/push_block_000008", after = folder.File("again");
  ASSERT_EQ(RunVerb({"export", "mcap", before, "-o", file}).exit_code, 0);
  const ProcessResult imported = RunVerb({"import", "ros2", file, "-o", after});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const auto files = FilesOf(before), again = FilesOf(after);
  EXPECT_EQ(again.at("manifest.json"), files.at("manifest.json"));
  EXPECT_EQ(again.at("files.sha256"), files.at("files.sha256"));
  EXPECT_TRUE(again == files);
}

TEST(Simulate, OtherRobotsAndOneArmAreEpisodesThatSayTheirCommand) {
  const TempFolder folder;
  const std::string out = folder.File("set");
  const Words panda = {"-o", out, "--seed", "8", "--robot", "panda"};
  ASSERT_EQ(Simulate(panda).exit_code, 0);
  const auto manifest = Must(ReadManifest(out + "/push_block_panda_000008"));
  EXPECT_THAT(manifest.source.command, HasSubstr("--robot panda"));
  EXPECT_EQ(manifest.robot->arms.size(), 2u);
  EXPECT_EQ(manifest.robot->folder, "robot");

  // All tasks of one arm are those that one arm can do.
  const std::string one = folder.File("one");
  ASSERT_EQ(Simulate({"-o", one, "--seed", "8", "--robot", "panda", "--arms", "1", "--task", "all",
                      "--episodes", "3"})
                .exit_code,
            0);
  const auto dataset = Must(ReadDataset(one));
  EXPECT_THAT(dataset.splits.at("train"),
              ElementsAre("drop_can_panda_one_arm_000010", "lift_can_panda_one_arm_000009",
                          "push_block_panda_one_arm_000008"));

  const ProcessResult sweep = Simulate({"-o", folder.File("no"), "--arms", "1", "--task", "sweep"});
  EXPECT_EQ(sweep.exit_code, 2) << sweep.err;
  EXPECT_THAT(sweep.err, HasSubstr("arms"));
  EXPECT_EQ(Simulate({"-o", folder.File("no"), "--robot", "puma"}).exit_code, 2);
  EXPECT_EQ(Simulate({"-o", folder.File("no"), "--arms", "3"}).exit_code, 2);
}

TEST(Simulate, OtherTasksGoBesideAll) {
  const TempFolder folder;
  const std::string out = folder.File("set");
  const Words beside = {"-o", out, "--seed", "3", "--task", "all,grasp_can", "--episodes", "5"};
  Words fifth = beside;
  fifth.insert(fifth.end(), {"--shard", "4/5"});
  const ProcessResult made = Simulate(fifth);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(Must(ReadDataset(out)).splits.at("train"), ElementsAre("grasp_can_000007"));
}

TEST(Simulate, AShardWithoutEpisodesListsNone) {
  const TempFolder folder;
  const ProcessResult made =
      Simulate({"-o", folder.File("set"), "--episodes", "1", "--shard", "1/2", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(nlohmann::json::parse(made.out)["episodes"], nlohmann::json::array());
}

TEST(Simulate, TheCommandSaysTheNoiseToTheLastDigit) {
  const TempFolder folder;
  const std::string out = folder.File("set");
  const auto with_noise = [&](const std::string& noise_m) {
    return Simulate({"-o", out, "--seed", "8", "--resume", "--depth-noise", noise_m}).exit_code;
  };
  ASSERT_EQ(with_noise("0.00123456789"), 0);
  EXPECT_THAT(Must(ReadManifest(out + "/push_block_000008")).source.command,
              HasSubstr("--depth-noise 0.00123456789"));
  EXPECT_EQ(with_noise("0.00123456789"), 0);
  EXPECT_EQ(with_noise("0.00123456788"), 2);
}

TEST(Simulate, OtherMotionsOfASceneAreEpisodesThatRepeat) {
  const TempFolder folder;
  const std::string both = folder.File("a/set"), one = folder.File("b/set");
  ASSERT_EQ(Simulate({"-o", both, "--seed", "8", "--motions", "2"}).exit_code, 0);
  const auto dataset = Must(ReadDataset(both));
  EXPECT_THAT(dataset.splits.at("train"),
              ElementsAre("push_block_000008_motion_0", "push_block_000008_motion_1"));
  const std::string second = "/push_block_000008_motion_1";
  ASSERT_EQ(Simulate({"-o", one, "--seed", "8", "--motions", "1", "--motion-seed", "1"}).exit_code,
            0);
  EXPECT_EQ(FilesOf(both + second), FilesOf(one + second));

  EXPECT_EQ(Simulate({"-o", both, "--motion-seed", "1", "--force"}).exit_code, 2);
  EXPECT_EQ(Simulate({"-o", both, "--motions", "2", "--still", "--force"}).exit_code, 2);
  const ProcessResult can =
      Simulate({"-o", both, "--task", "lift_can", "--motions", "1", "--force"});
  EXPECT_EQ(can.exit_code, 2) << can.err;
  EXPECT_THAT(can.err, HasSubstr("motion_seed"));
}

TEST(Simulate, BadShardsAndTasksAreUsageErrors) {
  const TempFolder folder;
  const std::string out = folder.File("set");
  for (const char* shard : {"2/2", "-1/2", "1", "a/b", "0/0"}) {
    const ProcessResult result = Simulate({"-o", out, "--shard", shard});
    EXPECT_EQ(result.exit_code, 2) << shard;
    EXPECT_EQ(result.err.find("--shard: expected I/N"), 0u) << result.err;
  }
  EXPECT_EQ(Simulate({"-o", out, "--task", "push_block,dance"}).exit_code, 2);
  const ProcessResult split = Simulate({"-o", out, "--split", "exam"});
  EXPECT_EQ(split.exit_code, 2);
  EXPECT_EQ(split.err.find("--split: expected train, val or test"), 0u) << split.err;
  EXPECT_EQ(Simulate({"-o", out, "--merge", folder.File("nowhere")}).exit_code, 2);
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace interlacer::testing
