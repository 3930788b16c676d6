#include "model/attention/files/attention_files.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>

#include "model/attention/catalog/catalog.h"
#include "model/files/tensor_file.h"
#include "model/graph/walk_bounds.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::AttentionRun;

TensorFile FileOf(const AttentionInputs& inputs) {
  TensorFile file;
  file.tensors = {{"q", inputs.q},
                  {"k", inputs.k},
                  {"v", inputs.v},
                  {"key_mask", inputs.key_mask},
                  {"graph.offsets", inputs.graph.offsets},
                  {"graph.neighbors", inputs.graph.neighbors},
                  {"grid", at::tensor(inputs.grid, at::kLong)},
                  {"positions", inputs.positions},
                  {"segments", inputs.segments},
                  {"tree.parents", inputs.tree.parents},
                  {"tree.weights", inputs.tree.weights},
                  {"mask", inputs.mask},
                  {"gates", inputs.gates}};
  return file;
}

class AttentionFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    inputs_ = AllScenes({})[1].inputs;
    ASSERT_TRUE(WriteTensorFile(input_, FileOf(inputs_)).ok());
  }

  TempFolder folder_;
  std::string input_ = folder_.File("input.safetensors");
  std::string output_ = folder_.File("output.safetensors");
  AttentionInputs inputs_;
};

TEST_F(AttentionFiles, ARunIsThatOfTheLibrary) {
  for (const char* name : {"softmax", "toeplitz_nd", "grf_sym", "tree_any", "flt_gm", "packing"}) {
    AttentionRun run{name, {}, "dense", input_, output_, false};
    run.options = nlohmann::json::object();
    const auto result = attention::RunAttentionFile(run);
    ASSERT_TRUE(result.ok()) << name << result.status().ToString();
    const auto made = attention::Attention::Make(*attention::FindMechanism(name).value(),
                                                 nlohmann::json::object());
    const TensorFile file = ReadTensorFile(output_).value();
    EXPECT_TRUE(
        AreEqual(file.tensors.at("out"), made->Run(inputs_, attention::Way::kDense).value()))
        << name;
    const auto initial = made->InitialParameters(inputs_).value();
    for (const auto& [parameter, tensor] : initial) {
      EXPECT_TRUE(AreEqual(file.tensors.at("parameters." + parameter), tensor));
    }
    EXPECT_EQ(file.metadata.at("mechanism"), name);
  }
}

TEST_F(AttentionFiles, ParametersMasksAndGradientsGoInAndOut) {
  TensorFile file = FileOf(inputs_);
  file.tensors["parameters.lambda"] = at::tensor({0.5, 2.0}, at::kDouble);
  file.tensors["grad_out"] = Normals(inputs_.v.sizes(), 3);
  file.tensors["graph.weights"] = at::ones(inputs_.graph.neighbors.sizes(), at::kDouble);
  ASSERT_TRUE(WriteTensorFile(input_, file).ok());
  AttentionRun run{"gdk", nlohmann::json::object(), "fastmult", input_, output_, true};
  const auto result = Must(attention::RunAttentionFile(run));
  const TensorFile fast = ReadTensorFile(output_).value();
  EXPECT_TRUE(AreEqual(fast.tensors.at("parameters.lambda"), file.tensors["parameters.lambda"]));
  EXPECT_EQ(fast.tensors.at("mask").sizes(), (std::vector<std::int64_t>{2, 12, 12}));
  run.way = "dense";
  ASSERT_TRUE(attention::RunAttentionFile(run).ok());
  const TensorFile dense = ReadTensorFile(output_).value();
  EXPECT_EQ(dense.tensors.size(), fast.tensors.size());
  for (const auto& [name, tensor] : dense.tensors) {
    EXPECT_LT(RelativeL2(fast.tensors.at(name), tensor), 1e-9) << name;
  }
  EXPECT_GT(dense.tensors.at("grad.parameters.lambda").abs().min().item<double>(), 0);
  EXPECT_GT(dense.tensors.at("grad.graph.weights").abs().max().item<double>(), 0);
  EXPECT_EQ(dense.tensors.count("grad.positions"), 0u);  // not read
}

TEST_F(AttentionFiles, AStepDrawsAnew) {
  TensorFile file = FileOf(inputs_);
  const auto omega_at = [&](std::int64_t step) {
    file.tensors["step"] = at::full({1}, step, at::kLong);
    EXPECT_TRUE(WriteTensorFile(input_, file).ok());
    const AttentionRun run{"favor_pos", {{"redraw_every", 10}}, "", input_, output_, false};
    EXPECT_TRUE(attention::RunAttentionFile(run).ok());
    return ReadTensorFile(output_)->tensors.at("parameters.omega");
  };
  EXPECT_TRUE(AreEqual(omega_at(10), omega_at(19)));
  EXPECT_FALSE(AreEqual(omega_at(9), omega_at(10)));
  file.tensors["step"] = at::full({1}, -1, at::kLong);
  ASSERT_TRUE(WriteTensorFile(input_, file).ok());
  const AttentionRun run{"softmax", nlohmann::json::object(), "", input_, output_, false};
  EXPECT_EQ(attention::RunAttentionFile(run).status().field(), "step");
}

TEST_F(AttentionFiles, TheWayThatWasUsedIsWritten) {
  const std::pair<const char*, const char*> ways[] = {
      {"softmax", "dense"}, {"gat", "pairs"}, {"linear_relu", "features"}, {"gcn", "pairs"}};
  for (const auto& [mechanism, way] : ways) {
    for (const char* asked : {"", "auto"}) {
      const auto result = Must(attention::RunAttentionFile(
          {mechanism, nlohmann::json::object(), asked, input_, output_, false}));
      EXPECT_EQ(result.at("way"), way) << mechanism;
    }
    EXPECT_EQ(ReadTensorFile(output_)->metadata.at("way"), way) << mechanism;
  }
}

TEST_F(AttentionFiles, TheLargestLogitOfPlacesIsReported) {
  AttentionRun run{"flt_gm", nlohmann::json::object(), "", input_, output_, false, true};
  const auto result = Must(attention::RunAttentionFile(run));
  const auto made =
      attention::Attention::Make(*attention::FindMechanism("flt_gm").value(), run.options);
  const torch::Tensor largest = made->LargestPositionLogits(inputs_).value();
  const auto reported = result.at("largest_position_logit").get<std::vector<double>>();
  ASSERT_EQ(reported.size(), 2u);
  EXPECT_TRUE(AreEqual(at::tensor(reported, at::kDouble), largest));
  run.with_largest_logit = false;
  EXPECT_FALSE(attention::RunAttentionFile(run)->contains("largest_position_logit"));
}

TEST_F(AttentionFiles, BadRunsAreRefusedByName) {
  const auto field_of = [&](const AttentionRun& run) {
    const auto result = attention::RunAttentionFile(run);
    EXPECT_FALSE(result.ok());
    return result.status().field();
  };
  const nlohmann::json none = nlohmann::json::object();
  EXPECT_EQ(field_of({"nothing", none, "", input_, output_, false}), "mechanism");
  EXPECT_EQ(field_of({"grf_sym", {{"walks", 0}}, "", input_, output_, false}), "options.walks");
  EXPECT_EQ(field_of({"grf_sym", none, "quick", input_, output_, false}), "way");
  EXPECT_EQ(field_of({"softmax", none, "pairs", input_, output_, false}), "way");
  EXPECT_EQ(field_of({"softmax", none, "", input_ + "x", output_, false}), input_ + "x");
  EXPECT_EQ(field_of({"softmax", none, "", input_, output_, true}), "mask");
  EXPECT_EQ(field_of({"softmax", none, "", input_, output_, false, true}), "largest_logit");
  TensorFile file = FileOf(inputs_);
  file.tensors["colour"] = inputs_.q;
  ASSERT_TRUE(WriteTensorFile(input_, file).ok());
  EXPECT_EQ(field_of({"softmax", none, "", input_, output_, false}), "colour");
  file.tensors.erase("colour");
  file.tensors["grad_out"] = inputs_.q.slice(3, 1);
  ASSERT_TRUE(WriteTensorFile(input_, file).ok());
  EXPECT_EQ(field_of({"softmax", none, "", input_, output_, false}), "grad_out");
  file.tensors["q"] = inputs_.segments;
  ASSERT_TRUE(WriteTensorFile(input_, file).ok());
  EXPECT_EQ(field_of({"softmax", none, "", input_, output_, false}), "q");
  EXPECT_FALSE(std::filesystem::exists(output_));
}

/// grf-masking, Thm 3.1: a ring of 20 tokens with W = 1/2, whose loads are 2 with halts of 1/2.
TEST_F(AttentionFiles, WalksForAnErrorAreThoseOfTheory) {
  TensorFile file;
  for (const char* name : {"q", "k", "v"}) file.tensors[name] = Normals({1, 2, 20, 2}, 1);
  const attention::GraphInput ring = UndirectedInput(20, RingEdges(20));
  file.tensors["graph.offsets"] = ring.offsets;
  file.tensors["graph.neighbors"] = ring.neighbors;
  file.tensors["parameters.f"] =
      at::tensor({1.0, 0.3, 0.1, 0.5, 0.1, 0.1}, at::kDouble).reshape({2, 3});
  const std::string path = folder_.File("ring.safetensors");
  ASSERT_TRUE(WriteTensorFile(path, file).ok());
  const nlohmann::json options{{"hops", 2}, {"halt_probability", 0.5}, {"walks", 4}};
  const auto bound = Must(attention::BoundWalks({options, path, 1.0, 0.05}));
  EXPECT_NEAR(bound.at("largest_step_load").get<double>(), 2, kDoubleSumTolerance);
  // 1 + 2 (0.3) + 4 (0.1), the larger of the heads.
  EXPECT_NEAR(bound.at("load_norm").get<double>(), 2, kDoubleSumTolerance);
  EXPECT_EQ(bound.at("walks"), WalksForBound(1.0, 0.05, 2));
  // Three nodes of a walk of two hops, and seven by the lemma.
  EXPECT_EQ(bound.at("entries"), 4 * 3);
  const auto entries = [&](int hops, double halts) -> std::int64_t {
    TensorFile of_hops = file;
    of_hops.tensors["parameters.f"] = at::ones({2, hops + 1}, at::kDouble);
    EXPECT_TRUE(WriteTensorFile(path, of_hops).ok());
    const nlohmann::json of{{"hops", hops}, {"halt_probability", halts}, {"walks", 4}};
    return Must(attention::BoundWalks({of, path, 1.0, 0.05})).at("entries").get<std::int64_t>();
  };
  EXPECT_EQ(entries(9, 0.5), 4 * 7);
  for (const double halts : {1e-9, 1e-17}) EXPECT_EQ(entries(9, halts), 4 * 10) << halts;
  ASSERT_TRUE(WriteTensorFile(path, file).ok());
  EXPECT_TRUE(attention::BoundWalks({options, path, 1e-9, 0.05})->at("walks").is_null());
  // Walks that do not halt visit all that their hops allow, sixteen of them by default.
  EXPECT_EQ(attention::BoundWalks({{{"hops", 2}, {"halt_probability", 0}}, path})->at("entries"),
            16 * 3);
  // Loads are over the share of walks of as many hops: 1, 2/3, 1/3 and 1, 1/2, 1/3.
  for (const auto& [law, load_norm] : {std::pair{"uniform", 1 + 0.3 * 3 / 2 + 0.1 * 3},
                                       std::pair{"power", 1 + 0.3 * 2 + 0.1 * 3}}) {
    nlohmann::json of_law = options;
    of_law["length_law"] = law;
    const auto of_lengths = Must(attention::BoundWalks({of_law, path, 1.0, 0.05}));
    EXPECT_NEAR(of_lengths.at("largest_step_load").get<double>(), 2, kDoubleSumTolerance) << law;
    EXPECT_NEAR(of_lengths.at("load_norm").get<double>(), load_norm, kDoubleSumTolerance) << law;
    EXPECT_EQ(of_lengths.at("walks"), WalksForBound(1.0, 0.05, load_norm)) << law;
  }
  for (const double wrong : {0.0, -1.0}) {
    EXPECT_EQ(attention::BoundWalks({options, path, wrong, 0.05}).status().field(), "error");
    EXPECT_EQ(attention::BoundWalks({options, path, 1, wrong}).status().field(), "probability");
  }
  EXPECT_EQ(attention::BoundWalks({nlohmann::json::object(), path}).status().field(),
            "parameters.f");
}

/// On a circulant of 32 neighbours a walk seldom comes back, so that rows have nearly as many
/// entries as their walks have visits: no more than they are said to have, but for that
/// probability.
TEST_F(AttentionFiles, EntriesOfARowAreBoundedForEveryLawOfLengths) {
  constexpr std::int64_t kTokens = 600, kReach = 16;
  EdgeList edges;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    for (std::int64_t step = 1; step <= kReach; ++step) edges.emplace_back(i, (i + step) % kTokens);
  }
  AttentionInputs inputs;
  inputs.q = inputs.k = inputs.v = Normals({1, 1, kTokens, 1}, 1);
  inputs.graph = UndirectedInput(kTokens, edges);
  TensorFile file;
  for (const char* name : {"q", "k", "v"}) file.tensors[name] = inputs.q;
  file.tensors["graph.offsets"] = inputs.graph.offsets;
  file.tensors["graph.neighbors"] = inputs.graph.neighbors;
  const std::string path = folder_.File("circulant.safetensors");
  ASSERT_TRUE(WriteTensorFile(path, file).ok());
  struct Bound {
    int walks;
    double probability;
    const char* law;
    std::int64_t entries;
  };
  for (const Bound& bound : {Bound{4, 0.05, "geometric", 4 * 7}, Bound{4, 0.05, "uniform", 4 * 65},
                             Bound{4, 0.05, "power", 4 * 65}, Bound{1, 0.15, "geometric", 3},
                             Bound{1, 0.15, "uniform", 56}, Bound{1, 0.15, "power", 6}}) {
    const nlohmann::json options{{"walks", bound.walks},    {"hops", 64},
                                 {"halt_probability", 0.5}, {"decay", 1},
                                 {"length_law", bound.law}, {"sampler", "iid"}};
    EXPECT_EQ(Must(attention::BoundWalks({options, path, 1.0, bound.probability})).at("entries"),
              bound.entries)
        << bound.law << bound.walks;
    // Rows of features are those of the asymmetric mask.
    const auto made =
        attention::Attention::Make(*attention::FindMechanism("grf_asym").value(), options);
    const torch::Tensor entries = (made->DenseMask(inputs).value()[0] != 0).sum(1);
    EXPECT_LE((entries > bound.entries).to(at::kDouble).mean().item<double>(), bound.probability)
        << bound.law << bound.walks;
  }
}

/// Those of a directed graph are no power series, which is what the theory is of.
TEST_F(AttentionFiles, WalksOnDirectedGraphsHaveNoBounds) {
  TensorFile file = FileOf(inputs_);
  file.tensors["graph.offsets"] = at::arange(13, at::kLong);
  file.tensors["graph.neighbors"] = (at::arange(12, at::kLong) + 1).remainder(12);
  ASSERT_TRUE(WriteTensorFile(input_, file).ok());
  const Status status = attention::BoundWalks({nlohmann::json::object(), input_}).status();
  EXPECT_EQ(status.field(), "graph") << status.ToString();
  EXPECT_NE(status.message().find("grf_asym"), std::string::npos) << status.ToString();
}

TEST(AttentionDescriptions, AreThoseOfTheCatalogue) {
  const auto list = attention::ListMechanisms();
  ASSERT_EQ(list.size(), attention::Catalog().size());
  for (const auto& entry : list) {
    EXPECT_EQ(entry.at("ways")[0], "dense") << entry;
    const auto& fast_ways = entry.at("fast_ways");
    EXPECT_EQ(entry.at("dense_up_to").is_null(), fast_ways.size() == 1) << entry;
    EXPECT_EQ(entry.at("fast_options").empty(), fast_ways == entry.at("ways")) << entry;
    const auto description =
        Must(attention::DescribeMechanism(entry.at("name").get<std::string>()));
    EXPECT_TRUE(description.at("options").is_array());
  }
  EXPECT_EQ(attention::DescribeMechanism("nothing").status().code(), StatusCode::kNotFound);
}

TEST(AttentionTiming, MeasuresEveryMechanism) {
  for (const auto& mechanism : attention::Catalog()) {
    if (mechanism.name == "softmax_masked") continue;  // its mask is an L x L input
    const auto timed =
        attention::TimeMechanism({mechanism.name, nlohmann::json::object(), "", {64, 32}, 1});
    ASSERT_TRUE(timed.ok()) << mechanism.name << timed.status().ToString();
    EXPECT_EQ(timed->at("lengths"), nlohmann::ordered_json({32, 64}));
    EXPECT_GT(timed->at("seconds")[0].get<double>(), 0);
  }
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{32}, std::vector<std::int64_t>{32, 48},
        std::vector<std::int64_t>{1, 2}}) {
    EXPECT_EQ(attention::TimeMechanism({"softmax", nlohmann::json::object(), "", lengths, 1})
                  .status()
                  .field(),
              "lengths");
  }
}

TEST(AttentionTiming, TakesTheWayOfTheMechanismsChoiceAtEachLength) {
  const attention::DenseLengths lengths =
      attention::FindMechanism("linear_causal").value()->dense_up_to.value();
  const auto longest = static_cast<std::int64_t>(lengths.width_8);
  ASSERT_GE(longest, 16);
  for (const char* way : {"", "auto"}) {
    const auto timed = attention::TimeMechanism(
        {"linear_causal", nlohmann::json::object(), way, {longest, 2 * longest}, 1});
    ASSERT_TRUE(timed.ok()) << timed.status().ToString();
    EXPECT_EQ(timed->at("ways"), nlohmann::ordered_json({"dense", "features"}));
  }
}

TEST(AttentionChecks, FindAllWaysEqual) {
  for (const auto& mechanism : attention::Catalog()) {
    const auto result = attention::CheckMechanism({mechanism.name, nlohmann::json::object(), 4, 7});
    ASSERT_TRUE(result.ok()) << mechanism.name << result.status().ToString();
    // What has the dense way alone was not compared.
    const auto made = attention::Attention::Make(mechanism, nlohmann::json::object());
    EXPECT_EQ(result->at("agree").is_null(), made->Ways().size() == 1) << *result;
    EXPECT_TRUE(result->at("agree").is_null() || result->at("agree").get<bool>()) << *result;
  }
}

/// Its fast way gives numbers that are none.
class BrokenMechanism : public attention::Mechanism {
 public:
  std::vector<attention::Way> Ways() const override {
    return {attention::Way::kDense, attention::Way::kFastmult};
  }
  torch::Tensor Run(attention::Way way, const AttentionInputs& inputs) const override {
    return way == attention::Way::kDense ? inputs.v
                                         : inputs.v * std::numeric_limits<double>::quiet_NaN();
  }
};

TEST(AttentionChecks, NumbersThatAreNoneAreAnError) {
  attention::MechanismInfo broken;
  broken.name = "broken";
  broken.make = [](const attention::Options&) { return std::make_unique<const BrokenMechanism>(); };
  const auto result =
      attention::CheckMechanism(broken, {broken.name, nlohmann::json::object(), 3, 7});
  ASSERT_FALSE(result.ok()) << result->dump();
  EXPECT_EQ(result.status().reason(), reason::NOT_FINITE);
  EXPECT_EQ(result.status().field(), "out");
}

}  // namespace
}  // namespace interlacer::testing
