#include "data/sim/episode_export.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "common/npy.h"
#include "data/episode_reader.h"
#include "tests/support/must.h"

namespace interlacer::sim {
namespace {

class EpisodeExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("interlacer_export_" + std::to_string(getpid()));
    SimulateOptions options;
    options.seed = 51;
    options.step_count = 3;
    options.width_px = 64;
    options.height_px = 48;
    episode_ = Must(SimulateEpisode(options));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Folder(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
  SimulatedEpisode episode_;
};

TEST_F(EpisodeExportTest, ReadsBackWhatWasSimulated) {
  const Status written = WriteSimulatedEpisode(episode_, Folder("a"), {.command = "simulate"});
  ASSERT_TRUE(written.ok()) << written.ToString();
  const auto reader = Must(EpisodeReader::Open(Folder("a")));
  const EpisodeManifest& manifest = reader.manifest();
  EXPECT_EQ(manifest.episode_id, "push_block_000051");
  EXPECT_EQ(manifest.step_count, 3);
  EXPECT_EQ(manifest.source.seed, 51u);
  ASSERT_TRUE(manifest.robot.has_value());
  EXPECT_EQ(manifest.robot->arms.size(), 2u);
  ASSERT_EQ(manifest.cameras.size(), 2u);
  for (int step = 0; step < 3; ++step) {
    for (int camera = 0; camera < 2; ++camera) {
      const SimulatedView& view = episode_.steps[step].views[camera];
      EXPECT_EQ((*reader.ReadColor(step, camera)).pixels, view.color.pixels);
      EXPECT_EQ((*reader.ReadRawDepth(step, camera)).pixels, view.depth.pixels);
    }
    for (int c = 0; c < episode_.setup.column_count(); ++c) {
      EXPECT_EQ(reader.actions().values[step * episode_.setup.column_count() + c],
                episode_.steps[step].commanded[c]);
      EXPECT_EQ(reader.states().values[step * episode_.setup.column_count() + c],
                episode_.steps[step].measured[c]);
    }
  }
  const auto bytes = Must(reader.ReadFile("truth/object_poses.npy"));
  const auto poses = Must(ParseNpy(bytes));
  const auto object_count = static_cast<std::int64_t>(episode_.object_names.size());
  EXPECT_EQ(poses.shape, (std::vector<std::int64_t>{3, object_count, 7}));
}

TEST_F(EpisodeExportTest, EqualEpisodesGiveEqualFolders) {
  ASSERT_TRUE(WriteSimulatedEpisode(episode_, Folder("a"), {.command = "simulate"}).ok());
  ASSERT_TRUE(WriteSimulatedEpisode(episode_, Folder("b"), {.command = "simulate"}).ok());
  const StatusOr<EpisodeReader> a = EpisodeReader::Open(Folder("a"));
  const StatusOr<EpisodeReader> b = EpisodeReader::Open(Folder("b"));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a->ManifestSha256(), *b->ManifestSha256());
}

TEST_F(EpisodeExportTest, AnExistingFolderIsKept) {
  ASSERT_TRUE(WriteSimulatedEpisode(episode_, Folder("a"), {.command = "simulate"}).ok());
  const Status again = WriteSimulatedEpisode(episode_, Folder("a"), {.command = "simulate"});
  EXPECT_EQ(again.reason(), reason::OUTPUT_EXISTS);
  EXPECT_TRUE(
      WriteSimulatedEpisode(episode_, Folder("a"), {.command = "simulate", .overwrite = true})
          .ok());
}

}  // namespace
}  // namespace interlacer::sim
