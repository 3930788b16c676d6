#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/sha256.h"
#include "data/dataset.h"
#include "data/episode_reader.h"
#include "data/episode_writer.h"
#include "data/manifest.h"
#include "data/validate.h"
#include "robots/robot_folder.h"
#include "tests/data/synthetic_scene.h"
#include "tests/robots/small_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

class EpisodeTest : public ::testing::Test {
 protected:
  EpisodeTest() : episode_(folder_.File("synthetic_000001")) { WriteSyntheticEpisode(episode_); }

  void Overwrite(const std::string& file, std::string_view text) {
    ASSERT_TRUE(WriteFileAtomic(episode_ + "/" + file, text).ok());
  }

  TempFolder folder_;
  std::string episode_;
};

TEST_F(EpisodeTest, ReadsBackWhatWasWritten) {
  const auto episode = Must(EpisodeReader::Open(episode_));
  EXPECT_EQ(episode.step_count(), kSyntheticStepCount);
  EXPECT_EQ(episode.FindCamera("right"), 1);
  EXPECT_EQ(episode.FindCamera("top"), std::nullopt);
  const RgbdView expected = SyntheticView(SyntheticCamera(false), 0.04);
  const auto view = Must(episode.ReadView(2, 1));
  EXPECT_EQ(view.color.pixels, expected.color.pixels);
  EXPECT_EQ(view.capture_time_ns, 1'000'000'000);  // step 2 of 0.5 s
  for (std::size_t i = 0; i < expected.depth.pixels_m.size(); ++i) {
    if (std::isnan(expected.depth.pixels_m[i])) {
      ASSERT_TRUE(std::isnan(view.depth.pixels_m[i]));
    } else {
      ASSERT_NEAR(view.depth.pixels_m[i], expected.depth.pixels_m[i], kSyntheticDepthUnitM);
    }
  }
  EXPECT_EQ(episode.actions().row_count, kSyntheticStepCount);
  EXPECT_DOUBLE_EQ(episode.states().values[2 * 3], 0.3);
}

TEST_F(EpisodeTest, ChangedFilesAreFound) {
  const std::string frame = "color/left/000001.png";
  RgbImage other{80, 60, std::vector<std::uint8_t>(3 * 80 * 60, 9)};
  ASSERT_TRUE(WritePngFile(other, episode_ + "/" + frame).ok());
  const auto episode = Must(EpisodeReader::Open(episode_));
  const Status changed = episode.ReadColor(1, 0).status();
  EXPECT_EQ(changed.reason(), "HASH_MISMATCH");
  EXPECT_EQ(changed.field(), frame);
  const auto trusting = Must(EpisodeReader::Open(episode_, {.verify_hashes = false}));
  EXPECT_TRUE(trusting.ReadColor(1, 0).ok());
}

TEST_F(EpisodeTest, ListedPicturesThatAreNoFramesAreCheckedToo) {
  const std::string mask = "truth/mask/left/000000.png";
  const std::string lines =
      *ReadTextFile(episode_ + "/files.sha256") + Sha256Hex("a mask") + "  " + mask + "\n";
  auto manifest = *ReadJsonFile(episode_ + "/" + kManifestFile);
  manifest["files_sha256"] = Sha256Hex(lines);
  Overwrite("files.sha256", lines);
  Overwrite(kManifestFile, manifest.dump());
  const auto missing = Must(ValidateEpisode(episode_));
  ASSERT_EQ(missing.errors.size(), 1u);
  EXPECT_THAT(missing.errors[0].ToString(), HasSubstr(mask));
  fs::create_directories(fs::path(episode_ + "/" + mask).parent_path());
  Overwrite(mask, "a mask");
  EXPECT_TRUE(ValidateEpisode(episode_)->ok());
}

// fm-38
TEST_F(EpisodeTest, BrokenFramesNameTheFile) {
  const auto episode = Must(EpisodeReader::Open(episode_, {.verify_hashes = false}));
  const std::string png = *ReadTextFile(episode_ + "/depth/left/000000.png");
  Overwrite("depth/left/000000.png", png.substr(0, png.size() / 2));
  EXPECT_EQ(episode.ReadDepth(0, 0).status().reason(), "IMAGE_UNDECODABLE");
  EXPECT_EQ(episode.ReadDepth(0, 0).status().field(), "depth/left/000000.png");
  std::string bomb = png;
  for (int at : {16, 17, 20, 21}) bomb[at] = '\x7f';
  Overwrite("depth/left/000000.png", bomb);
  EXPECT_EQ(episode.ReadDepth(0, 0).status().reason(), "IMAGE_SIZE_MISMATCH");
  ASSERT_TRUE(
      WritePngFile(RgbImage{2, 1, {1, 2, 3, 4, 5, 6}}, episode_ + "/color/right/000003.png").ok());
  EXPECT_EQ(episode.ReadColor(3, 1).status().metadata().at("expected"), "80 x 60");
  fs::remove(episode_ + "/color/right/000002.png");
  EXPECT_EQ(episode.ReadColor(2, 1).status().reason(), "FILE_NOT_FOUND");
}

// fm-38
TEST_F(EpisodeTest, TablesMustHaveARowAStep) {
  EXPECT_EQ(EpisodeReader::Open(folder_.File("none")).status().reason(), "FILE_NOT_FOUND");
  std::string manifest = *ReadTextFile(episode_ + "/manifest.json");
  const std::string from = "\"step_count\": 4";
  Overwrite("manifest.json",
            manifest.replace(manifest.find(from), from.size(), "\"step_count\": 5"));
  const Status status = EpisodeReader::Open(episode_).status();
  EXPECT_EQ(status.reason(), "SHAPE_MISMATCH");
  EXPECT_EQ(status.field(), "actions.npy");
  EXPECT_EQ(status.metadata().at("expected"), "[5,2]");
}

TEST_F(EpisodeTest, CsvTablesAreReadByTheirHeader) {
  std::string manifest = *ReadTextFile(episode_ + "/manifest.json");
  const std::string from = "\"actions.npy\"";
  Overwrite("manifest.json", manifest.replace(manifest.find(from), from.size(), "\"actions.csv\""));
  Overwrite("actions.csv", "grip_m,joint_1_rad\n0.5,1\n0.5,2\n0.5,2.5\n0.5,3\n");
  const auto episode = Must(EpisodeReader::Open(episode_, {.verify_hashes = false}));
  EXPECT_EQ(episode.actions().values, (std::vector<double>{1, 0.5, 2, 0.5, 2.5, 0.5, 3, 0.5}));
  Overwrite("actions.csv", "grip_m,wrist_rad\n0.5,1\n0.5,2\n0.5,3\n0.5,3\n");
  const Status unknown = EpisodeReader::Open(episode_, {.verify_hashes = false}).status();
  EXPECT_EQ(unknown.reason(), "ACTION_SHAPE");
  EXPECT_EQ(unknown.field(), "actions.csv");
  EXPECT_NE(unknown.message().find("joint_1_rad"), std::string::npos);
}

TEST_F(EpisodeTest, ManifestErrorsNameFileAndField) {
  std::string manifest = *ReadTextFile(episode_ + "/manifest.json");
  const std::string from = "\"optical\"";
  Overwrite("manifest.json", manifest.replace(manifest.find(from), from.size(), "\"opengl\""));
  EXPECT_EQ(EpisodeReader::Open(episode_).status().field(),
            episode_ + "/manifest.json:cameras[0].axes");
}

class EpisodeRobotTest : public EpisodeTest {
 protected:
  EpisodeRobotTest() {
    const auto encoded = EncodeRobot(testing::SmallRobot());
    INTERLACER_CHECK(encoded.ok() && WriteRobot(testing::SmallRobot(), episode_ + "/robot").ok(),
                     "the robot folder");
    sha256_ = encoded->sha256;
    NameRobot("robot", sha256_);
  }

  void NameRobot(const std::string& folder, const std::string& sha256) {
    auto manifest = ReadManifest(episode_);
    INTERLACER_CHECK(manifest.ok(), manifest.status().ToString());
    manifest->robot = RobotInfo{"small", "", {}, folder, sha256};
    INTERLACER_CHECK(WriteJsonFile(episode_ + "/" + kManifestFile, ManifestToJson(*manifest)).ok(),
                     "manifest");
  }

  std::string sha256_;
};

TEST_F(EpisodeRobotTest, TheRobotComesWithTheEpisode) {
  const auto episode = Must(EpisodeReader::Open(episode_));
  ASSERT_NE(episode.robot(), nullptr);
  EXPECT_EQ(episode.robot()->name, "small");
  EXPECT_EQ(episode.robot()->sha256, sha256_);
}

TEST_F(EpisodeRobotTest, AnotherHashIsRefused) {
  NameRobot("robot", std::string(64, 'a'));
  const Status status = EpisodeReader::Open(episode_).status();
  EXPECT_EQ(status.reason(), "HASH_MISMATCH");
  EXPECT_EQ(status.field(), "robot");
}

TEST_F(EpisodeRobotTest, AMissingFileIsNamed) {
  fs::remove(episode_ + "/robot/surface_points.npy");
  const Status status = EpisodeReader::Open(episode_).status();
  EXPECT_EQ(status.reason(), "FILE_NOT_FOUND");
  EXPECT_NE(status.ToString().find("surface_points.npy"), std::string::npos);
}

TEST_F(EpisodeRobotTest, AFolderOutsideTheEpisodeIsRefused) {
  for (const std::string folder : {"../robot", "/robot", "robot/../../robot"}) {
    auto document = Must(ReadJsonFile(episode_ + "/" + kManifestFile));
    document["robot"]["folder"] = folder;
    Overwrite(kManifestFile, document.dump());
    const Status status = EpisodeReader::Open(episode_).status();
    EXPECT_FALSE(status.ok()) << folder;
    EXPECT_NE(status.field().find("robot.folder"), std::string::npos) << status.ToString();
  }
}

TEST_F(EpisodeRobotTest, TablesOfOtherJointsAreFound) {
  const auto report = Must(ValidateEpisode(episode_));
  const auto found = std::find_if(
      report.findings.begin(), report.findings.end(),
      [](const Finding& finding) { return finding.reason == "ROBOT_COLUMNS_UNKNOWN"; });
  ASSERT_NE(found, report.findings.end());
  EXPECT_EQ(found->field, "states.npy");
  EXPECT_NE(found->message.find("joint_1_rad"), std::string::npos) << found->message;
}

TEST_F(EpisodeTest, ExistingEpisodesAreKeptUnlessAskedFor) {
  EXPECT_EQ(EpisodeWriter::Create(episode_, SyntheticManifest()).status().reason(),
            "OUTPUT_EXISTS");
  {
    const auto writer =
        Must(EpisodeWriter::Create(episode_, SyntheticManifest(), {.overwrite = true}));
    EXPECT_FALSE(writer->Finish().ok());  // no frames
  }
  EXPECT_TRUE(EpisodeReader::Open(episode_).ok());  // the old one is still there
}

TEST_F(EpisodeTest, UnfinishedEpisodesVanish) {
  const std::string other = folder_.File("other");
  {
    const auto writer = Must(EpisodeWriter::Create(other, SyntheticManifest()));
    const RgbdView view = SyntheticView(SyntheticCamera(true));
    EXPECT_TRUE(writer->WriteFrame(0, 0, view.color, ToIntegers(view.depth)).ok());
    EXPECT_EQ(writer->WriteFrame(9, 0, view.color, ToIntegers(view.depth)).reason(),
              "STEP_INVALID");
    DepthImage16 millimetres = ToIntegers(view.depth);
    millimetres.unit_m = 0.001;
    EXPECT_EQ(writer->WriteFrame(1, 0, view.color, millimetres).reason(), "DEPTH_UNIT_MISSING");
    EXPECT_EQ(writer->WriteFrame(1, 0, {1, 1, {0, 0, 0}}, ToIntegers(view.depth)).reason(),
              "IMAGE_SIZE_MISMATCH");
    EXPECT_TRUE(fs::exists(folder_.File(".other.partial")));
    EXPECT_EQ(ListEpisodes(folder_.path())->size(), 1u);  // dots are not listed
  }
  EXPECT_FALSE(fs::exists(folder_.File(".other.partial")));
  EXPECT_FALSE(fs::exists(other));
}

TEST_F(EpisodeTest, PosesAndTimesOfAMovingCamera) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.kind = EpisodeKind::kMovingCamera;
  manifest.actions.reset();
  manifest.states.reset();
  manifest.cameras.resize(1);
  manifest.step_count = 2;
  const std::string path = folder_.File("moving");
  auto writer = Must(EpisodeWriter::Create(path, manifest));
  const RgbdView view = SyntheticView(SyntheticCamera(true));
  std::vector<Transform> poses(2, view.camera.world_from_camera);
  poses[1].translation_m[0] += 0.25;
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(writer->WriteFrame(step, 0, view.color, ToIntegers(view.depth)).ok());
  }
  EXPECT_EQ(writer->WritePoses(0, std::span(poses).first(1)).reason(), "SHAPE_MISMATCH");
  ASSERT_TRUE(writer->WritePoses(0, poses).ok());
  const std::int64_t times_ns[] = {5, 500'000'005};
  ASSERT_TRUE(writer->WriteCaptureTimes(times_ns).ok());
  ASSERT_TRUE(writer->Finish().ok());
  const auto episode = Must(EpisodeReader::Open(path));
  EXPECT_EQ(episode.CaptureTimeNs(1, 0), 500'000'005);
  EXPECT_NEAR(episode.CameraAt(1, 0).world_from_camera.translation_m[0], poses[1].translation_m[0],
              1e-12);
}

TEST_F(EpisodeTest, DatasetsCheckSplitsAndHashes) {
  const auto episode = EpisodeReader::Open(episode_);
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.splits["val"] = {"synthetic_000001"};
  dataset.manifest_sha256["synthetic_000001"] = *episode->ManifestSha256();
  ASSERT_TRUE(WriteDataset(folder_.path(), dataset).ok());
  EXPECT_EQ(ListEpisodes(folder_.path(), "val")->size(), 1u);
  EXPECT_TRUE(ListEpisodes(folder_.path(), "train")->empty());
  EXPECT_EQ(ListEpisodes(folder_.path(), "dev").status().reason(), "ARGUMENT_INVALID");
  EXPECT_EQ(ListEpisodes(episode_, "train")->front(), episode_);

  dataset.splits["train"] = {"synthetic_000001"};
  ASSERT_TRUE(WriteDataset(folder_.path(), dataset).ok());
  EXPECT_EQ(ReadDataset(folder_.path()).status().reason(), "SCHEMA_INVALID");  // in two splits
  dataset.splits.erase("train");
  dataset.manifest_sha256["synthetic_000001"] = std::string(64, '0');
  ASSERT_TRUE(WriteDataset(folder_.path(), dataset).ok());
  EXPECT_EQ(ListEpisodes(folder_.path(), "val").status().reason(), "HASH_MISMATCH");
  std::map<std::string, Status> damaged;
  EXPECT_EQ(ListEpisodes(folder_.path(), "val", &damaged)->size(), 1u);
  EXPECT_EQ(damaged.at(episode_).reason(), "HASH_MISMATCH");
}

}  // namespace
}  // namespace interlacer
