/// Every configuration of experiments/layers trains, and is served as it predicts locally.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

std::vector<std::string> LayerFiles() {
  std::vector<std::string> names;
  const std::string folder = std::string(INTERLACER_SOURCE_DIR) + "/experiments/layers";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::json ReadLayers(const std::string& name) {
  return *ReadJsonFile(std::string(INTERLACER_SOURCE_DIR) + "/experiments/layers/" + name +
                       ".json");
}

/// The configuration at the size of the tiny run, with fewer updates.
std::string WriteTiny(const std::string& name, const std::string& path) {
  auto config =
      *ReadJsonFile(std::string(INTERLACER_SOURCE_DIR) + "/experiments/layers/" + name + ".json");
  std::ifstream tiny(WriteTinyRunConfig(path, 2));
  auto patch = nlohmann::json::parse(tiny);
  for (const char* key : {"base", "name"}) patch["model"].erase(key);
  patch["model"]["network"] = {{"width", 32}, {"block_count", 1}};
  if (config["model"]["network"].contains("local")) {
    patch["model"]["network"]["local"] = {{"key_width", 16}};
  }
  // From first weights, all of which have to learn.
  patch["training"].update({{"track_weight", 0},
                            {"video_weight", 1},
                            {"freeze_appearance", false},
                            {"moving_sequence_share", 0}});
  config.merge_patch(patch);
  std::ofstream(path) << config;
  return path;
}

std::string VariantOf(const std::string& name) {
  const auto network = ReadLayers(name)["model"]["network"];
  const auto library = [](const nlohmann::json& layer) {
    return "library:" + layer["mechanism"]["name"].get<std::string>();
  };
  return network.contains("local") ? library(network["local"]) + "+linear_relu"
                                   : "grf_exact+" + library(network["global"]);
}

class LayersTest : public ::testing::TestWithParam<std::string> {};

TEST_P(LayersTest, TrainsAndServes) {
  const TempFolder folder;
  const std::string episodes = folder.File("episodes"), run = folder.File("run");
  const ProcessResult simulated = RunVerb({"simulate", "-o", episodes, "--seed", "5", "--steps",
                                           "4", "--width", "64", "--height", "48", "--quiet"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  const ProcessResult trained =
      RunVerb({"train", "--config", WriteTiny(GetParam(), folder.File("run.json")), "--data",
               episodes, "--output", run, "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  ServerProcess server(run + "/checkpoint");
  const Words request{"predict", episodes + "/push_block_000005", "--steps", "2"};
  Words local = request, remote = request;
  local.insert(local.end(), {"-o", folder.File("local"), "--model", run + "/checkpoint"});
  remote.insert(remote.end(), {"-o", folder.File("remote"), "--server", server.address()});
  const ProcessResult here = RunVerb(local), there = RunVerb(remote);
  ASSERT_EQ(here.exit_code, 0) << here.err;
  ASSERT_EQ(there.exit_code, 0) << there.err;
  auto mine = FilesOf(folder.File("local")), theirs = FilesOf(folder.File("remote"));
  const std::string last = "particles/step_002.npy";
  ASSERT_EQ(mine.count(last), 1u);
  EXPECT_NE(mine[last], mine["particles/step_000.npy"]);
  EXPECT_TRUE(mine[last] == theirs[last]);
  EXPECT_EQ(nlohmann::json::parse(mine["prediction.json"])["model"]["variant"],
            VariantOf(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Shipped, LayersTest, ::testing::ValuesIn(LayerFiles()),
                         [](const auto& test) { return test.param; });

TEST(LayerFilesTest, CoverBothPlaces) { EXPECT_GE(LayerFiles().size(), 6u); }

}  // namespace
}  // namespace interlacer::testing
