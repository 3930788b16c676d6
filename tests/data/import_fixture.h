#pragma once

/// Tiny recordings in foreign formats, made in a temporary folder.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "data/episode_reader.h"
#include "data/importers/importers.h"
#include "tests/support/temp_folder.h"

namespace interlacer {

inline constexpr char kIdentityRows[] = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";

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
