/// An episode that was exported to MCAP and imported again under manifests, stamps and names that
/// could be taken for something else.

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/file_io.h"
#include "data/episode_record.h"
#include "data/episode_writer.h"
#include "data/exporters/mcap_export.h"
#include "data/importers/bag_index.h"
#include "data/manifest.h"
#include "data/mcap/mcap_writer.h"
#include "tests/data/import_fixture.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

using ::testing::Contains;

/// Exports the synthetic episode as `change` makes it and imports it again.
class ExportedEpisodeTest : public RecordingTest {
 protected:
  ExportedEpisodeTest() : RecordingTest("ros2", "exported.mcap") {
    WriteSyntheticEpisode(original_);
  }
  /// The same frames under another manifest.
  StatusOr<ImportReport> Return(EpisodeManifest manifest,
                                const std::vector<std::int64_t>& capture_times_ns = {}) {
    const std::string changed = folder_.File("changed");
    const auto frames = EpisodeReader::Open(original_);
    manifest.actions = manifest.states = std::nullopt;
    manifest.kind = EpisodeKind::kMovingCamera;
    auto writer = EpisodeWriter::Create(changed, manifest, {.overwrite = true});
    for (int step = 0; step < manifest.step_count; ++step) {
      for (int camera = 0; camera < 2; ++camera) {
        DepthImage16 depth = *frames->ReadRawDepth(step, camera);
        depth.unit_m = manifest.cameras[static_cast<std::size_t>(camera)].depth_unit_m;
        EXPECT_TRUE(
            (*writer)->WriteFrame(step, camera, *frames->ReadColor(step, camera), depth).ok());
      }
    }
    if (!capture_times_ns.empty()) {
      EXPECT_TRUE((*writer)->WriteCaptureTimes(capture_times_ns).ok());
    }
    EXPECT_TRUE((*writer)->WriteExtra(kTruthFile, kTruth).ok());
    EXPECT_TRUE((*writer)->WriteExtra("notes.txt", kTruth).ok());
    EXPECT_TRUE((*writer)->Finish().ok());
    const auto left_out = Must(ExportEpisodeAsMcap(changed, options_.source_dir));
    EXPECT_THAT(left_out, ElementsAre("notes.txt"));
    options_.overwrite = true;
    return Import();
  }
  EpisodeManifest Imported() const { return *ReadManifest(options_.episode_dir); }
  StatusOr<std::string> ImportedTruth() const {
    return ReadTextFile(options_.episode_dir + "/" + kTruthFile);
  }
  /// Imports again what `change` makes of the exported file.
  StatusOr<ImportReport> ReturnChanged(const std::function<void(std::string* bytes)>& change) {
    std::string bytes = *ReadTextFile(options_.source_dir);
    change(&bytes);
    std::ofstream(options_.source_dir, std::ios::binary) << bytes;
    return Import();
  }

  static constexpr char kTruthFile[] = "truth/notes.txt";
  static constexpr std::array<std::uint8_t, 4> kTruth = {'t', 'r', 'u', 'e'};
  const std::string original_ = folder_.File("synthetic");
};

TEST_F(ExportedEpisodeTest, StepsThatDriftAndCamerasThatLagAreKept) {
  const auto times_ns = [](std::int64_t step_ns, std::int64_t lag_ns) {
    std::vector<std::int64_t> times;
    for (int step = 0; step < kSyntheticStepCount; ++step) {
      times.insert(times.end(), {step * step_ns, step * step_ns + lag_ns});
    }
    return times;
  };
  for (const auto& times : {times_ns(520'000'000, 0), times_ns(500'000'000, 300'000'000)}) {
    Must(Return(SyntheticManifest(), times));
    EXPECT_EQ(Imported().step_count, kSyntheticStepCount);
    EXPECT_EQ(Imported().step_duration_s, 0.5);
    const auto episode = EpisodeReader::Open(options_.episode_dir);
    EXPECT_EQ(episode->CaptureTimeNs(3, 1), times.back());
  }
}

TEST_F(ExportedEpisodeTest, EachCameraKeepsItsUnitAndItsRange) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.cameras[0].depth_unit_m = 0.00025;
  manifest.cameras[1].near_m = 0.3;
  ASSERT_TRUE(Return(manifest).ok());
  EXPECT_EQ(Imported().cameras[0].depth_unit_m, 0.00025);
  EXPECT_EQ(Imported().cameras[1].depth_unit_m, kSyntheticDepthUnitM);
  EXPECT_EQ(Imported().cameras[0].near_m, manifest.cameras[0].near_m);
  EXPECT_EQ(Imported().cameras[1].near_m, 0.3);
}

TEST_F(ExportedEpisodeTest, AWorldNamedLikeACameraOrWithASlashIsFound) {
  for (const char* name : {"left_optical_frame", "/map", ""}) {
    EpisodeManifest manifest = SyntheticManifest();
    manifest.world_frame_name = name;
    Must(Return(manifest));
    EXPECT_EQ(Imported().world_frame_name, name);
    EXPECT_EQ(Imported().workspace.min_m, manifest.workspace.min_m);
    EXPECT_EQ(EpisodeReader::Open(options_.episode_dir)->CameraAt(0, 0),
              EpisodeReader::Open(original_)->CameraAt(0, 0));
  }
}

TEST_F(ExportedEpisodeTest, AStepThatTheStampsContradictIsLeftOut) {
  EpisodeManifest manifest = SyntheticManifest();
  std::vector<std::int64_t> times_ns;
  for (int step = 0; step < kSyntheticStepCount; ++step) {
    times_ns.insert(times_ns.end(), 2, step * 500'000'000);
  }
  for (const double step_s : {1e300, 1e-300, 3.0}) {
    manifest.step_duration_s = step_s;
    const auto report = Must(Return(manifest, times_ns));
    EXPECT_TRUE(HasFinding(report.validation.findings, "EPISODE_RECORD_INVALID"));
    EXPECT_EQ(Imported().step_count, kSyntheticStepCount);
    EXPECT_EQ(Imported().step_duration_s, 0.5);
  }
}

TEST_F(ExportedEpisodeTest, CamerasThatGoByAnotherNameAreFound) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  options_.bag.color = {{"right", "/right/color"}, {"other", "/left/color"}};
  const auto report = Must(Import());
  EXPECT_TRUE(HasFinding(report.validation.findings, "CAMERA_MISSING"));
  EXPECT_EQ(Imported().cameras.size(), 2u);
  EXPECT_EQ(Imported().workspace.min_m, SyntheticManifest().workspace.min_m);
  EXPECT_EQ(Imported().cameras[1].far_m, SyntheticManifest().cameras[0].far_m);
  // What the import did beside is said.
  EXPECT_GT(Imported().source.notes.size(), SyntheticManifest().source.notes.size());
}

TEST_F(ExportedEpisodeTest, TruthComesBackWithItsSteps) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  EXPECT_EQ(*ImportedTruth(), "true");
  options_.frame_stride = 2;
  const auto report = Must(Import());
  EXPECT_FALSE(ImportedTruth().ok());
  EXPECT_THAT(report.choices, Contains(HasSubstr("left out: truth, since steps")));
}

TEST_F(ExportedEpisodeTest, ADamagedFileIsLeftOutAndSaid) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  const auto report = Must(ReturnChanged([](std::string* bytes) {
    bytes->replace(bytes->find("true", bytes->find(kTruthFile)), 4, "fals");
  }));
  EXPECT_FALSE(ImportedTruth().ok());
  EXPECT_THAT(report.choices, Contains(HasSubstr("truth/notes.txt is damaged")));
  EXPECT_EQ(Imported().workspace.min_m, SyntheticManifest().workspace.min_m);
}

TEST_F(ExportedEpisodeTest, AFileThatIsMissingIsSaidOnTheTerminalAndInTheManifest) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  const auto report = Must(ReturnChanged([](std::string* bytes) {
    const std::size_t in_record = bytes->find(kTruthFile);
    bytes->replace(bytes->find(kTruthFile, in_record + 1), 5, "other");
  }));
  EXPECT_FALSE(ImportedTruth().ok());
  EXPECT_THAT(report.choices, Contains(HasSubstr("truth/notes.txt is not in the recording")));
  EXPECT_THAT(Imported().source.notes, Contains(HasSubstr("with changes")));
}

TEST_F(ExportedEpisodeTest, FilesOfASplitRecordingAreFoundInAnyOfThem) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  const EpisodeRecord record =
      *BagIndex::Read(options_.source_dir, std::stop_token())->exported_episode();
  std::string without = *ReadTextFile(options_.source_dir);
  without.replace(without.find(kTruthFile, without.find(kTruthFile) + 1), 5, "other");
  const std::string bag = folder_.File("bag");
  std::filesystem::create_directory(bag);
  options_.source_dir = bag;
  for (const auto& [messages, files] : {std::pair("/0.mcap", "/1.mcap"), {"/1.mcap", "/0.mcap"}}) {
    std::ofstream(bag + messages, std::ios::binary) << without;
    auto writer = McapWriter::Create(bag + files);
    ASSERT_TRUE((*writer)->WriteMetadata({kEpisodeRecordName, MakeEpisodeRecord(record)}).ok());
    ASSERT_TRUE((*writer)->WriteAttachment(kTruthFile, "", kTruth).ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    Must(Import());
    EXPECT_EQ(*ImportedTruth(), "true");
  }
}

TEST_F(ExportedEpisodeTest, OneStepWhoseCamerasLagComesBack) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.step_count = 1;
  Must(Return(manifest, {{5'000'000, 8'000'000}}));
  EXPECT_EQ(Imported().step_count, 1);
  EXPECT_EQ(*ImportedTruth(), "true");
}

TEST_F(ExportedEpisodeTest, ADepthUnitThatIsNotKeptIsSaid) {
  EpisodeManifest manifest = SyntheticManifest();
  manifest.cameras[1].depth_unit_m = 0.002;
  const auto report = Must(Return(manifest));
  EXPECT_THAT(report.choices, Contains(HasSubstr("in units of 0.002 m")));
  EXPECT_THAT(Imported().source.notes, Contains(HasSubstr("with changes")));
}

TEST_F(ExportedEpisodeTest, NoFileLeavesItsFolderOrTakesThePlaceOfAnother) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  options_.bag.world_frame = SyntheticManifest().world_frame_name;
  std::string name = kTruthFile;
  for (const std::string other :
       {"truth/../../xyz", "/truth/file.txt", "truth//note.txt", "truth/.note.txt",
        "truth/note.txt/", "color/left/0.pn", "manifest.json/x"}) {
    ASSERT_EQ(other.size(), name.size());
    const auto report = ReturnChanged([&](std::string* bytes) {
      for (std::size_t at = 0; (at = bytes->find(name, at)) != std::string::npos;) {
        bytes->replace(at, name.size(), other);
      }
    });
    name = other;
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_FALSE(std::filesystem::exists(options_.episode_dir + "/truth"));
    EXPECT_FALSE(std::filesystem::exists(folder_.File("xyz")));
    EXPECT_TRUE(EpisodeReader::Open(options_.episode_dir)->ReadColor(0, 0).ok());
  }
}

TEST_F(ExportedEpisodeTest, ExportsOfTwoEpisodesAreNotOne) {
  ASSERT_TRUE(Return(SyntheticManifest()).ok());
  const std::string bag = folder_.File("bag");
  std::filesystem::create_directory(bag);
  std::filesystem::copy_file(options_.source_dir, bag + "/0.mcap");
  std::filesystem::copy_file(options_.source_dir, bag + "/1.mcap");
  EpisodeManifest other = SyntheticManifest();
  other.episode_id = "another";
  ASSERT_TRUE(Return(other).ok());
  std::filesystem::copy_file(options_.source_dir, bag + "/2.mcap");
  options_.source_dir = bag;
  const Status status = Import().status();
  EXPECT_EQ(status.reason(), reason::ARGUMENT_INVALID);
  EXPECT_NE(status.ToString().find("2.mcap"), std::string::npos) << status.ToString();
}

}  // namespace
}  // namespace interlacer
