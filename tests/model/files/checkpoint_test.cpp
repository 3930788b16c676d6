#include "model/files/checkpoint.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "common/file_io.h"
#include "common/json.h"
#include "common/sha256.h"
#include "model/files/checkpoint_export.h"
#include "robots/robot_folder.h"
#include "tests/robots/small_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tiny_model.h"

namespace interlacer::testing {
namespace {

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WorldModel model(TinyConfig());
    InitializeWeights(&model, 1);
    ASSERT_TRUE(SaveCheckpoint(dir_, model, {{"trained_step_count", "3"}}).ok());
  }

  std::string Weights() const { return dir_ + "/weights.safetensors"; }

  /// Rewrites the weights after `change`, then expects a refusal that holds `texts`.
  void ExpectRefused(const std::function<void(NamedTensors*)>& change,
                     const std::vector<std::string>& texts) const {
    TensorFile file = *ReadTensorFile(Weights());
    change(&file.tensors);
    ASSERT_TRUE(WriteTensorFile(Weights(), file).ok());
    const Status loaded = LoadCheckpoint(dir_, {}).status();
    EXPECT_EQ(loaded.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(loaded.reason(), "CHECKPOINT_INVALID");
    EXPECT_THAT(loaded.ToString(), HasSubstr(Weights()));
    for (const std::string& text : texts) {
      EXPECT_THAT(loaded.ToString(), HasSubstr(text));
    }
  }

  const TempFolder folder_;
  const std::string dir_ = folder_.File("checkpoint");
};

TEST_F(CheckpointTest, RoundTrip) {
  const auto loaded = Must(LoadCheckpoint(dir_, {}));
  WorldModel original(TinyConfig());
  InitializeWeights(&original, 1);
  const auto expected = original.named_parameters();
  for (const auto& item : loaded.model->named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), expected[item.key()])) << item.key();
  }
  EXPECT_EQ(ConfigToJson(loaded.model->config()), ConfigToJson(TinyConfig()));
  EXPECT_EQ(loaded.metadata.at("trained_step_count"), "3");
  EXPECT_EQ(loaded.weights_sha256, *Sha256OfFile(Weights()));
  EXPECT_EQ(loaded.config_sha256, *Sha256OfFile(dir_ + "/config.json"));
}

TEST_F(CheckpointTest, ExportedWeightsAreRoundedToFloat16) {
  const std::string exported_dir = dir_ + "/exported";
  const auto hashes = Must(ExportCheckpoint(dir_, exported_dir));
  const auto original = LoadCheckpoint(dir_, {}), exported = LoadCheckpoint(exported_dir, {});
  ASSERT_TRUE(exported.ok()) << exported.status().ToString();
  const auto expected = original->model->named_parameters();
  for (const auto& item : exported->model->named_parameters()) {
    EXPECT_EQ(item.value().scalar_type(), at::kFloat) << item.key();
    EXPECT_TRUE(at::equal(item.value(), expected[item.key()].to(at::kHalf).to(at::kFloat)))
        << item.key();
  }
  EXPECT_EQ(ConfigToJson(exported->model->config()), ConfigToJson(TinyConfig()));
  EXPECT_EQ(exported->metadata.at("trained_step_count"), "3");
  EXPECT_EQ(exported->metadata.at(kExportedFromKey), original->weights_sha256);
  EXPECT_EQ(hashes.from_sha256, original->weights_sha256);
  EXPECT_EQ(hashes.to_sha256, exported->weights_sha256);
  EXPECT_LT(std::filesystem::file_size(exported_dir + "/weights.safetensors"),
            std::filesystem::file_size(Weights()) * 2 / 3);
}

TEST_F(CheckpointTest, AnExportMayTrustAGuessMoreAndSeeMorePoints) {
  const GuessSettings settings{.more_trust = 2, .contact_point_count = 4096};
  const Status without = ExportCheckpoint(dir_, dir_ + "/none", settings).status();
  EXPECT_EQ(without.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(without.field(), "network.contact_guess");

  InterlacerConfig config = TinyExactConfig();
  config.network.contact_guess = true;
  WorldModel model(config);
  InitializeWeights(&model, 1);
  const std::string from = dir_ + "/guessing", to = dir_ + "/exported";
  ASSERT_TRUE(SaveCheckpoint(from, model, {}).ok());
  ASSERT_TRUE(ExportCheckpoint(from, to, settings).ok());
  const auto exported = Must(LoadCheckpoint(to, {}));
  const auto expected = model.named_parameters();
  for (const auto& item : exported.model->named_parameters()) {
    const double more = item.key() == "head.trust.bias" ? 2 : 0;
    EXPECT_TRUE(at::equal(item.value(), (expected[item.key()] + more).to(at::kHalf).to(at::kFloat)))
        << item.key();
  }
  config.lifting.contact_point_count = 4096;
  EXPECT_EQ(ConfigToJson(exported.model->config()), ConfigToJson(config));

  for (const double trust : {std::nan(""), 1e300, -101.0}) {
    const Status refused = ExportCheckpoint(from, dir_ + "/none", {.more_trust = trust}).status();
    EXPECT_EQ(refused.field(), "more_trust") << trust;
  }
  for (const int count : {-1, 262145}) {
    const Status refused =
        ExportCheckpoint(from, dir_ + "/none", {.contact_point_count = count}).status();
    EXPECT_EQ(refused.field(), "lifting.contact_point_count") << count;
  }
}

TEST_F(CheckpointTest, WeightsMayBeBfloat16) {
  TensorFile file = *ReadTensorFile(Weights());
  NamedTensors rounded;
  for (auto& [name, tensor] : file.tensors) rounded[name] = tensor = tensor.to(at::kBFloat16);
  ASSERT_TRUE(WriteTensorFile(Weights(), file).ok());
  const auto loaded = Must(LoadCheckpoint(dir_, {}));
  for (const auto& item : loaded.model->named_parameters()) {
    EXPECT_TRUE(at::equal(item.value(), rounded[item.key()].to(at::kFloat))) << item.key();
  }
}

TEST_F(CheckpointTest, ExportRefusesWhatFloat16DoesNotReach) {
  TensorFile file = *ReadTensorFile(Weights());
  file.tensors["head.position.bias"][1] = 7e4;
  ASSERT_TRUE(WriteTensorFile(Weights(), file).ok());
  const Status hashes = ExportCheckpoint(dir_, dir_ + "/exported").status();
  EXPECT_EQ(hashes.reason(), "CHECKPOINT_INVALID");
  EXPECT_EQ(hashes.field(), "head.position.bias");
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/exported"));
}

// fm-24
TEST_F(CheckpointTest, MissingTensor) {
  ExpectRefused([](NamedTensors* t) { t->erase("head.position.bias"); },
                {"head.position.bias", "no such tensor"});
}

TEST_F(CheckpointTest, UnknownTensor) {
  ExpectRefused([](NamedTensors* t) { (*t)["head.extra"] = at::zeros({2}); },
                {"head.extra", "[2]"});
}

// fm-24
TEST_F(CheckpointTest, WrongShape) {
  ExpectRefused([](NamedTensors* t) { (*t)["head.position.bias"] = at::zeros({4}); },
                {"head.position.bias", "[3]", "[4]"});
}

TEST_F(CheckpointTest, WrongType) {
  ExpectRefused([](NamedTensors* t) { (*t)["head.position.bias"] = at::zeros({3}, at::kDouble); },
                {"head.position.bias", "Float", "Double"});
}

// fm-24
TEST_F(CheckpointTest, NotFinite) {
  ExpectRefused(
      [](NamedTensors* t) {
        (*t)["head.position.bias"] = at::full({3}, std::numeric_limits<float>::quiet_NaN());
      },
      {"head.position.bias", "finite"});
}

// fm-24
TEST_F(CheckpointTest, AbsentFiles) {
  EXPECT_EQ(LoadCheckpoint(dir_ + "_absent", {}).status().reason(), "FILE_NOT_FOUND");
  std::filesystem::remove(Weights());
  EXPECT_EQ(LoadCheckpoint(dir_, {}).status().reason(), "FILE_NOT_FOUND");
}

/// A checkpoint of a model that was made with the small robot.
class RobotCheckpointTest : public CheckpointTest {
 protected:
  void SetUp() override {
    CheckpointTest::SetUp();
    const std::string folder = dir_ + "_robot";
    ASSERT_TRUE(WriteRobot(SmallRobot(), folder).ok());
    sha256_ = ReadRobot(folder)->sha256;
    WorldModel model(TinyConfig());
    InitializeWeights(&model, 1);
    ASSERT_TRUE(SaveCheckpoint(dir_, model, {}, StoredWeights::kFloat32, folder).ok());
    std::filesystem::remove_all(folder);
  }
  std::string sha256_;
};

TEST_F(RobotCheckpointTest, HoldsItAndKeepsItWhenExported) {
  const std::string exported = dir_ + "/exported";
  ASSERT_TRUE(ExportCheckpoint(dir_, exported).ok());
  for (const std::string& dir : {dir_, exported}) {
    const auto loaded = Must(LoadCheckpoint(dir, {}));
    ASSERT_NE(loaded.robot, nullptr);
    EXPECT_EQ(loaded.robot->name, "small");
    EXPECT_EQ(loaded.robot->sha256, sha256_);
    EXPECT_EQ(loaded.metadata.at(kRobotSha256Key), sha256_);
  }
}

TEST_F(RobotCheckpointTest, AMissingFolderIsAnError) {
  std::filesystem::remove_all(dir_ + "/robot");
  const Status status = LoadCheckpoint(dir_, {}).status();
  EXPECT_EQ(status.reason(), "FILE_NOT_FOUND");
  EXPECT_THAT(status.ToString(), HasSubstr("robot/robot.json"));
}

TEST_F(RobotCheckpointTest, AnotherRobotThanTheWeightsNameIsAnError) {
  Robot other = SmallRobot();
  other.name = "other";
  ASSERT_TRUE(WriteRobot(other, dir_ + "/robot").ok());
  const Status status = LoadCheckpoint(dir_, {}).status();
  EXPECT_EQ(status.reason(), "HASH_MISMATCH");
  EXPECT_THAT(status.field(), HasSubstr("/robot"));
}

TEST_F(CheckpointTest, AFolderThatWasPutThereLaterIsRead) {
  EXPECT_EQ(LoadCheckpoint(dir_, {})->robot, nullptr);
  ASSERT_TRUE(WriteRobot(SmallRobot(), dir_ + "/robot").ok());
  EXPECT_EQ(LoadCheckpoint(dir_, {})->robot->name, "small");
}

TEST_F(CheckpointTest, ConfigOfAnotherModel) {
  InterlacerConfig wider = TinyConfig();
  wider.network.width = 64;
  ASSERT_TRUE(WriteJsonFile(dir_ + "/config.json", ConfigToJson(wider)).ok());
  EXPECT_EQ(LoadCheckpoint(dir_, {}).status().reason(), "CHECKPOINT_INVALID");
}

/// Training may put another folder in the place of the one that is read.
TEST_F(CheckpointTest, TheHashIsThatOfTheWeightsThatWereLoaded) {
  constexpr int kLoads = 50;
  const std::string first = dir_ + "/first", second = dir_ + "/second";
  std::filesystem::copy_file(Weights(), first);
  TensorFile other = *ReadTensorFile(Weights());
  other.tensors["head.position.bias"].add_(1);
  ASSERT_TRUE(WriteTensorFile(second, other).ok());
  const std::string first_sha256 = *Sha256OfFile(first);
  const float first_bias = ReadTensorFile(first)->tensors["head.position.bias"][0].item<float>();
  std::jthread replacing([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      const std::string link = dir_ + "/link";
      std::filesystem::create_hard_link(i % 2 == 0 ? second : first, link);
      std::filesystem::rename(link, Weights());
    }
  });
  for (int i = 0; i < kLoads; ++i) {
    const auto loaded = Must(LoadCheckpoint(dir_, {}));
    const torch::Tensor bias = loaded.model->named_parameters()["head.position.bias"];
    ASSERT_EQ(loaded.weights_sha256 == first_sha256, bias[0].item<float>() == first_bias);
  }
}

TEST_F(CheckpointTest, ErrorsOfAWholeFileNameItOnce) {
  ASSERT_TRUE(WriteFileAtomic(Weights(), std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}")).ok());
  Status status = LoadCheckpoint(dir_, {}).status();
  EXPECT_EQ(status.field(), Weights());
  EXPECT_TRUE(status.message().starts_with(Weights() + ": expected a header")) << status.message();
  ASSERT_TRUE(WriteFileAtomic(dir_ + "/config.json", std::string("{")).ok());
  status = LoadCheckpoint(dir_, {}).status();
  EXPECT_EQ(status.field(), dir_ + "/config.json");
  EXPECT_TRUE(status.message().starts_with(dir_ + "/config.json is not valid JSON"))
      << status.message();
}

TEST_F(CheckpointTest, ARobotFolderThatCannotBeReachedIsAnError) {
  std::filesystem::create_symlink("robot", dir_ + "/robot");  // to itself
  const Status status = LoadCheckpoint(dir_, {}).status();
  EXPECT_EQ(status.reason(), reason::FILE_UNREADABLE);
  EXPECT_EQ(status.field(), dir_ + "/robot/robot.json");
}

TEST_F(CheckpointTest, BrokenConfig) {
  ASSERT_TRUE(WriteFileAtomic(dir_ + "/config.json", std::string("{\"widht\": 1}")).ok());
  const Status status = LoadCheckpoint(dir_, {}).status();
  EXPECT_EQ(status.reason(), "CHECKPOINT_INVALID");
  EXPECT_THAT(status.ToString(), HasSubstr(dir_ + "/config.json"));
}

}  // namespace
}  // namespace interlacer::testing
