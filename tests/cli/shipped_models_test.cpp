/// The shipped checkpoints predict what they should: their weights are guarded by the warm-up that
/// is recorded with them, and what `small` predicts is far better than standing still.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "common/file_io.h"
#include "common/json.h"
#include "tests/cli/program_support.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kBadModel = 3;

using ChangeHalf = std::function<std::uint16_t(std::uint16_t)>;

std::uint16_t Zero(std::uint16_t /*half*/) { return 0; }
std::uint16_t Negated(std::uint16_t half) { return half ^ 0x8000; }
std::uint16_t MinusHundred(std::uint16_t /*half*/) { return 0xd640; }

/// A copy of a shipped checkpoint.
class Checkpoint {
 public:
  explicit Checkpoint(const std::string& name) {
    fs::copy(INTERLACER_SOURCE_DIR "/checkpoints/" + name, path_, fs::copy_options::recursive);
  }

  const std::string& path() const { return path_; }
  std::string expected() const { return path_ + "/warmup/expected.json"; }

  /// Changes every float16 value of the tensors with `part` in their names.
  void Change(const std::string& part, const ChangeHalf& change) const {
    const std::string file = path_ + "/weights.safetensors";
    std::string bytes = Must(ReadTextFile(file));
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
    const std::uint64_t data = sizeof(header_bytes) + header_bytes;
    const auto header = nlohmann::json::parse(bytes.substr(sizeof(header_bytes), header_bytes));
    int changed_count = 0;
    for (const auto& [name, tensor] : header.items()) {
      if (name == "__metadata__" || name.find(part) == std::string::npos) continue;
      ASSERT_EQ(tensor.at("dtype"), "F16") << name;
      const auto begin = data + tensor.at("data_offsets").at(0).get<std::uint64_t>();
      const auto end = data + tensor.at("data_offsets").at(1).get<std::uint64_t>();
      for (std::uint64_t i = begin; i < end; i += sizeof(std::uint16_t)) {
        std::uint16_t half = 0;
        std::memcpy(&half, bytes.data() + i, sizeof(half));
        half = change(half);
        std::memcpy(bytes.data() + i, &half, sizeof(half));
      }
      ++changed_count;
    }
    ASSERT_GT(changed_count, 0) << part;
    std::ofstream(file, std::ios::binary) << bytes;
  }

  ProcessResult Record() const {
    return ChildProcess({INTERLACER_SERVER_PROGRAM, "--model", "copy=" + path_, "--record-warm-up"})
        .Wait();
  }

  void ExpectRefused() const {
    const ProcessResult result =
        ChildProcess({INTERLACER_SERVER_PROGRAM, "--model", "copy=" + path_, "--address",
                      "127.0.0.1:0", "--metrics-address", ""})
            .Wait();
    EXPECT_EQ(result.exit_code, kBadModel);
    EXPECT_THAT(result.err, HasSubstr("MODEL_LOAD_FAILED"));
    EXPECT_THAT(result.err, HasSubstr("differ from the stored ones"));
  }

 private:
  const TempFolder folder_;
  const std::string path_ = folder_.File("copy");
};

struct Fault {
  const char* name;
  const char* part;
  ChangeHalf change;
};

class SpoiltWeights : public ::testing::TestWithParam<Fault> {};

// fm-24
TEST_P(SpoiltWeights, DoNotServe) {
  const Checkpoint small("small");
  ASSERT_NO_FATAL_FAILURE(small.Change(GetParam().part, GetParam().change));
  small.ExpectRefused();
}

INSTANTIATE_TEST_SUITE_P(Small, SpoiltWeights,
                         ::testing::Values(Fault{"HeadOfZeros", "head.position.", Zero},
                                           Fault{"HeadReversed", "head.position.", Negated},
                                           Fault{"BlocksOfZeros", "interlacer.block", Zero},
                                           Fault{"LocalLayersOfZeros", ".local", Zero},
                                           Fault{"FieldReversed", "radiance_field.", Negated}),
                         [](const auto& test) { return std::string(test.param.name); });

// fm-24 fm-35
TEST(ShippedModels, PaperPredictsWhatIsStoredWithIt) {
  const Checkpoint paper("paper");
  { ServerProcess server(paper.path()); }
  ASSERT_NO_FATAL_FAILURE(paper.Change("head.position.", Negated));
  paper.ExpectRefused();
}

// fm-24
TEST(ShippedModels, ARecordedWarmUpGuardsTheWeightsItWasRecordedWith) {
  const Checkpoint small("small");
  ASSERT_TRUE(fs::remove(small.expected()));
  const ProcessResult recorded = small.Record();
  ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
  EXPECT_THAT(recorded.err, Not(HasSubstr("other weights may pass")));
  const auto expected = Must(ReadJsonFile(small.expected()));
  EXPECT_EQ(expected["newest_step"], 3) << "the last two of six steps are predicted";
  EXPECT_EQ(expected["samples"].size(), 64u);
  EXPECT_EQ(expected["pixels"].size(), 32u);
  { ServerProcess server(small.path()); }
  ASSERT_NO_FATAL_FAILURE(small.Change("head.position.", Zero));
  small.ExpectRefused();

  ASSERT_NO_FATAL_FAILURE(small.Change("head.trust.weight", Zero));
  ASSERT_NO_FATAL_FAILURE(small.Change("head.trust.bias", MinusHundred));
  const ProcessResult still = small.Record();
  EXPECT_EQ(still.exit_code, 0) << still.err;
  EXPECT_THAT(still.err, HasSubstr("other weights may pass")) << "nothing moves";
  EXPECT_THAT(still.err, HasSubstr("moved=0"));
}

/// Four blocks that are pushed by 4, 12 and 20 cm on average in steps 2 to 4, and in none before.
TEST(ShippedModels, SmallPredictsAPushFarBetterThanStandingStill) {
  const TempFolder folder;
  const std::string episodes = folder.File("episodes"), scores = folder.File("scores");
  const ProcessResult simulated =
      RunVerb({"simulate",   "-o",       episodes,  "--task", "push_block", "--seed", "424246",
               "--episodes", "4",        "--split", "test",   "--steps",    "12",     "--width",
               "64",         "--height", "64",      "--jobs", "1",          "--quiet"});
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  const ProcessResult scored =
      RunVerb({"evaluate", episodes, "--model", INTERLACER_SOURCE_DIR "/checkpoints/small",
               "--start-step", "4", "--steps", "4", "--subjects", "model,kinematic", "--no-frames",
               "-o", scores, "--quiet"});
  ASSERT_EQ(scored.exit_code, 0) << scored.err;
  const auto results = Must(ReadJsonFile(scores + "/results.json"));
  const auto moved_m = [](const nlohmann::json& rows, int step) {
    for (const auto& row : rows) {
      if (row["metric"] == "l2_moved_m" && row["camera"] == "all" && row["step"] == step) {
        return row["mean"].get<double>();
      }
    }
    ADD_FAILURE() << "no l2_moved_m at step " << step;
    return 0.0;
  };
  const auto& still = results["baselines"]["kinematic"];
  const double still_2_m = moved_m(still, 2), still_4_m = moved_m(still, 4);
  EXPECT_GT(still_2_m, 0.03);
  EXPECT_GT(still_4_m, 0.15);
  EXPECT_LT(moved_m(results["aggregates"], 2), 0.4 * still_2_m);
  EXPECT_LT(moved_m(results["aggregates"], 4), 0.3 * still_4_m);
}

}  // namespace
}  // namespace interlacer::testing
