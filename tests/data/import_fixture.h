#pragma once

/// Tiny recordings in foreign formats, made in a temporary folder.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "data/episode_reader.h"
#include "data/importers/importers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {

inline bool HasFinding(const std::vector<Finding>& findings, std::string_view reason,
                       std::string_view words = "") {
  for (const Finding& finding : findings) {
    if (finding.reason == reason && finding.message.find(words) != std::string::npos) return true;
  }
  return false;
}

/// A recording of one format, which the test writes, and the episode that is made of it.
class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest(std::string format, const std::string& source) : format_(std::move(format)) {
    options_.source_dir = folder_.File(source);
    options_.episode_dir = folder_.File("episode");
  }
  /// Brings the recording to the disk.
  virtual void Write() {}

  StatusOr<ImportReport> Import() {
    Write();
    return ImportRecording(format_, options_);
  }
  EpisodeReader Imported() {
    Must(Import());
    return Must(EpisodeReader::Open(options_.episode_dir));
  }
  /// The import fails with this reason and both words in its message, and leaves no new episode.
  void ExpectRefused(std::string_view reason, const std::string& word, const std::string& other) {
    const bool has_episode = std::filesystem::exists(options_.episode_dir);
    const Status status = Import().status();
    const std::string text = status.ToString();
    EXPECT_EQ(status.reason(), reason) << text;
    EXPECT_NE(text.find(word), std::string::npos) << text;
    EXPECT_NE(text.find(other), std::string::npos) << text;
    EXPECT_EQ(std::filesystem::exists(options_.episode_dir), has_episode);
  }

  const std::string format_;
  TempFolder folder_;
  ImportOptions options_;
};

inline constexpr char kIdentityRows[] = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";

/// The status has this reason and these words in its message.
inline void ExpectSays(const Status& status, std::string_view reason, std::string_view words) {
  EXPECT_EQ(status.reason(), reason) << status.ToString();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.ToString();
}

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() {
    options_.source_dir = folder_.File("source");
    options_.episode_dir = folder_.File("imported");
    options_.intrinsics = "20,20,7.5,5.5";
    std::filesystem::create_directories(options_.source_dir);
  }

  void WriteText(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(options_.source_dir + "/" + name, text).ok());
  }

  /// 16 x 12 pixels; depth grows to the right, `first` at pixel 0.
  void WriteFrame(const std::string& color, const std::string& depth, std::uint16_t first) {
    const RgbImage image{16, 12, std::vector<std::uint8_t>(3 * 16 * 12, 90)};
    DepthImage16 raw{16, 12, 1, {}};
    for (int i = 0; i < 16 * 12; ++i) raw.pixels.push_back(first + 8 * (i % 16));
    for (const std::string& name : {color, depth}) {
      std::filesystem::create_directories(
          std::filesystem::path(options_.source_dir + "/" + name).parent_path());
    }
    ASSERT_TRUE(WritePngFile(image, options_.source_dir + "/" + color).ok());
    ASSERT_TRUE(WritePngFile(raw, options_.source_dir + "/" + depth).ok());
  }

  float DepthAtFirstPixel(int step, int camera) {
    const auto episode = EpisodeReader::Open(options_.episode_dir);
    return episode->ReadDepth(step, camera)->pixels_m[0];
  }

  TempFolder folder_;
  ImportOptions options_;
};

}  // namespace interlacer
