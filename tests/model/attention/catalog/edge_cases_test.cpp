// Every mechanism on few tokens, none, equal ones and bad ones.

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "model/attention/catalog/catalog.h"
#include "model/attention/masks/walk_features.h"
#include "tests/model/attention/catalog/scenes.h"
#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::MechanismInfo;
using attention::Way;

bool NeedsOtherScene(const Status& status) {
  return status.field() == "grid" || status.field() == "positions";
}

template <typename See>
void ForEdgeCases(const std::vector<Scene>& scenes, const See& see) {
  for (const MechanismInfo& mechanism : Catalog()) {
    for (const nlohmann::json& options : OptionVariants(mechanism)) {
      const Attention made = Attention::Make(mechanism, options).value();
      for (Scene scene : scenes) {
        scene.inputs = WithClassTokens(scene.inputs, options);
        if (NeedsOtherScene(made.Run(scene.inputs, Way::kDense).status())) continue;
        see(made, options, scene);
      }
    }
  }
}

TEST(AttentionEdgeCases, OneAndTwoTokens) {
  ForEdgeCases(
      TinyScenes({}), [](const Attention& made, const nlohmann::json& options, const Scene& scene) {
        const auto dense = made.Run(scene.inputs, Way::kDense);
        ASSERT_TRUE(dense.ok()) << made.mechanism().name << options << dense.status().ToString();
        for (const Way way : made.Ways()) {
          const auto out = made.Run(scene.inputs, way);
          ASSERT_TRUE(out.ok()) << out.status().ToString();
          EXPECT_TRUE(at::isfinite(*out).all().item<bool>());
          EXPECT_LT(RelativeL2(*out, *dense), kDoubleOpTolerance)
              << CaseText(made.mechanism().name, options, scene.name, way);
        }
      });
}

TEST(AttentionEdgeCases, EmptyBatchesAndSequences) {
  ForEdgeCases(AllScenes({}), [](const Attention& made, const nlohmann::json&, const Scene& scene) {
    AttentionInputs empty = scene.inputs;
    for (torch::Tensor* tensor : {&empty.q, &empty.k, &empty.v, &empty.key_mask, &empty.gates}) {
      if (tensor->defined()) *tensor = tensor->slice(0, 0, 0);
    }
    for (const Way way : made.Ways()) {
      const auto out = made.Run(empty, way);
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      EXPECT_EQ(out->sizes(), empty.v.sizes());
    }
  });
  for (const MechanismInfo& mechanism : Catalog()) {
    AttentionInputs none;
    none.q = none.k = at::zeros({2, 2, 0, 3}, at::kDouble);
    none.v = at::zeros({2, 2, 0, 4}, at::kDouble);
    none.grid = {0};
    none.positions = at::zeros({0, 1}, at::kDouble);
    none.segments = none.tree.parents = at::zeros({0}, at::kLong);
    none.graph = {at::zeros({1}, at::kLong), at::zeros({0}, at::kLong), {}};
    none.mask = at::zeros({0, 0}, at::kDouble);
    none.gates = at::zeros({2, 2, 0}, at::kDouble);
    const auto out = Attention::Make(mechanism, nlohmann::json::object())->Run(none);
    ASSERT_TRUE(out.ok()) << mechanism.name << out.status().ToString();
    EXPECT_EQ(out->sizes(), none.v.sizes());
    const auto mask = Attention::Make(mechanism, nlohmann::json::object())->DenseMask(none);
    EXPECT_TRUE(mask.ok()) << mechanism.name << mask.status().ToString();
  }
}

TEST(AttentionEdgeCases, NoHeadsHaveNoParameters) {
  for (const MechanismInfo& mechanism : Catalog()) {
    AttentionInputs none = AllScenes({})[1].inputs;
    for (torch::Tensor* tensor : {&none.q, &none.k, &none.v}) *tensor = tensor->slice(1, 0, 0);
    none.mask = none.mask.slice(0, 0, 0);
    none.gates = none.gates.slice(1, 0, 0);
    const Attention made = Attention::Make(mechanism, nlohmann::json::object()).value();
    const auto out = made.Run(none);
    if (NeedsOtherScene(out.status())) continue;
    ASSERT_TRUE(out.ok()) << mechanism.name << out.status().ToString();
    EXPECT_EQ(out->sizes(), none.v.sizes());
    const auto parameters = made.InitialParameters(none);
    ASSERT_TRUE(parameters.ok()) << mechanism.name << parameters.status().ToString();
    EXPECT_TRUE(parameters->empty()) << mechanism.name;
    EXPECT_TRUE(made.DenseMask(none).ok()) << mechanism.name;
    EXPECT_TRUE(made.LargestPositionLogits(none).ok()) << mechanism.name;
  }
}

TEST(AttentionEdgeCases, EqualTokensAndGraphsWithoutEdges) {
  ForEdgeCases(
      AllScenes({}), [](const Attention& made, const nlohmann::json& options, const Scene& scene) {
        AttentionInputs equal = scene.inputs;
        equal.q = at::ones_like(equal.q);
        equal.k = at::ones_like(equal.k);
        equal.positions = at::ones_like(equal.positions);
        equal.graph = UndirectedInput(equal.positions.size(0), {});
        const torch::Tensor dense = made.Run(equal, Way::kDense).value();
        EXPECT_TRUE(at::isfinite(dense).all().item<bool>()) << made.mechanism().name << options;
        for (const Way way : made.Ways()) {
          EXPECT_LT(RelativeL2(made.Run(equal, way).value(), dense), kDoubleOpTolerance)
              << CaseText(made.mechanism().name, options, scene.name, way);
        }
      });
}

TEST(AttentionEdgeCases, ZeroQueriesAndKeysStayFinite) {
  ForEdgeCases(AllScenes({}),
               [](const Attention& made, const nlohmann::json& options, const Scene& scene) {
                 AttentionInputs zero = scene.inputs;
                 zero.q = at::zeros_like(zero.q);
                 zero.k = at::zeros_like(zero.k);
                 for (const Way way : made.Ways()) {
                   EXPECT_TRUE(at::isfinite(made.Run(zero, way).value()).all().item<bool>())
                       << CaseText(made.mechanism().name, options, scene.name, way);
                 }
               });
}

/// exp of such a logit is infinite, and no edge of weight 0 makes it a number again.
TEST(AttentionEdgeCases, LargeLogitsBetweenTokensWithoutAnEdgeStayFinite) {
  AttentionInputs inputs = AllScenes({})[0].inputs;  // a ring of 12
  inputs.q = inputs.q.clone();
  inputs.k = inputs.k.clone();
  inputs.q.select(2, 0).fill_(60);
  inputs.k.select(2, 6).fill_(60);
  for (const char* name : {"gkat_dynamic", "gkat0", "gat", "gat_mask"}) {
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), nlohmann::json::object()).value();
    const torch::Tensor dense = made.Run(inputs, Way::kDense).value();
    EXPECT_TRUE(at::isfinite(dense).all().item<bool>()) << name;
    for (const Way way : made.Ways()) {
      EXPECT_LT(RelativeL2(made.Run(inputs, way).value(), dense), kDoubleOpTolerance)
          << name << WayName(way);
    }
  }
}

TEST(AttentionEdgeCases, NumbersThatAreNoneAreRefused) {
  ForEdgeCases(AllScenes({}), [](const Attention& made, const nlohmann::json&, const Scene& scene) {
    for (const char* name : {"q", "k", "v"}) {
      AttentionInputs bad = scene.inputs;
      torch::Tensor& tensor = name[0] == 'q' ? bad.q : name[0] == 'k' ? bad.k : bad.v;
      tensor = tensor.clone();
      tensor[0][0][0][0] = std::numeric_limits<double>::quiet_NaN();
      const auto out = made.Run(bad);
      ASSERT_FALSE(out.ok());
      EXPECT_EQ(out.status().reason(), reason::NOT_FINITE);
      EXPECT_EQ(out.status().field(), name);
    }
  });
}

/// Finite inputs whose scores, sums or angles are beyond the type's range give an error, no NaN.
TEST(AttentionEdgeCases, NumbersThatOverflowAreAnError) {
  int refused = 0;
  for (const MechanismInfo& mechanism : Catalog()) {
    const Attention made = Attention::Make(mechanism, nlohmann::json::object()).value();
    for (AttentionInputs inputs : {AllScenes({})[0].inputs, AllScenes({})[1].inputs}) {
      inputs.q = inputs.q * 1e200;
      inputs.k = inputs.k * 1e200;
      inputs.positions = inputs.positions * 1e307;
      inputs.graph.weights = at::full({inputs.graph.neighbors.size(0)}, 1e308, at::kDouble);
      for (const Way way : made.Ways()) {
        const auto out = made.Run(inputs, way);
        if (out.ok()) {
          EXPECT_TRUE(at::isfinite(*out).all().item<bool>()) << mechanism.name << WayName(way);
        } else if (!NeedsOtherScene(out.status())) {
          const std::string field = out.status().field();
          EXPECT_TRUE(field == "out" || field == "parameters.lambda")
              << mechanism.name << out.status().ToString();
          refused += field == "out" ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(refused, 100);
  AttentionInputs steep = AllScenes({})[0].inputs;
  steep.graph.weights = at::full({steep.graph.neighbors.size(0)}, 1e308, at::kDouble);
  const Attention still =
      Attention::Make(*attention::FindMechanism("gdk").value(), {{"lambda", 0}}).value();
  EXPECT_EQ(still.Run(steep, Way::kFastmult).status().field(), "parameters.lambda");
}

TEST(AttentionEdgeCases, ClassTokensDoNotStandBesideCausal) {
  for (const char* name : {"toeplitz_1d", "toeplitz_nd", "flt_gm", "factor", "spe_sine"}) {
    const MechanismInfo& mechanism = *attention::FindMechanism(name).value();
    const auto both = Attention::Make(mechanism, {{"causal", true}, {"class_tokens", 1}});
    EXPECT_EQ(both.status().field(), "options.class_tokens") << name;
    EXPECT_TRUE(Attention::Make(mechanism, {{"causal", true}}).ok()) << name;
    EXPECT_TRUE(Attention::Make(mechanism, {{"class_tokens", 1}}).ok()) << name;
  }
}

TEST(AttentionEdgeCases, FeaturesInPairsAreEven) {
  const auto field_of = [](const char* name, const nlohmann::json& options) {
    return Attention::Make(*attention::FindMechanism(name).value(), options).status().field();
  };
  EXPECT_EQ(field_of("rfa_gaussian", {{"features", 5}}), "options.features");
  EXPECT_EQ(field_of("favor_pos", {{"features", 5}, {"hyperbolic", true}}), "options.features");
  const Attention odd =
      Attention::Make(*attention::FindMechanism("favor_pos").value(), {{"features", 5}}).value();
  const auto parameters = odd.InitialParameters(AllScenes({})[0].inputs).value();
  EXPECT_EQ(parameters.at("omega").size(1), 5);
}

TEST(AttentionEdgeCases, WhatAMechanismNeedsMustBeThere) {
  for (const MechanismInfo& mechanism : Catalog()) {
    const Attention made = Attention::Make(mechanism, nlohmann::json::object()).value();
    AttentionInputs bare;
    bare.q = bare.k = bare.v = Normals({1, 1, 4, 2}, 1);
    const auto out = made.Run(bare);
    if (mechanism.inputs.empty()) {
      EXPECT_TRUE(out.ok()) << mechanism.name << out.status().ToString();
    } else {
      EXPECT_EQ(out.status().field(), mechanism.inputs[0]) << mechanism.name;
    }
    bare.parameters["nothing"] = bare.q;
    EXPECT_FALSE(made.Run(bare).ok()) << mechanism.name;
  }
}

TEST(AttentionEdgeCases, InputsAreChecked) {
  const auto refused = [](const char* mechanism, const auto& spoil) {
    AttentionInputs inputs = AllScenes({})[1].inputs;
    spoil(inputs);
    return Attention::Make(*attention::FindMechanism(mechanism).value(), nlohmann::json::object())
        ->Run(inputs)
        .status();
  };
  const auto longs = [](std::vector<std::int64_t> numbers) {
    return at::tensor(numbers, at::kLong);
  };
  using Inputs = AttentionInputs;
  EXPECT_EQ(refused("softmax", [](Inputs& x) { x.k = x.k.slice(2, 1); }).field(), "k");
  EXPECT_EQ(refused("softmax", [](Inputs& x) { x.v = x.v.to(at::kFloat); }).field(), "v");
  EXPECT_EQ(refused("softmax", [](Inputs& x) { x.q = x.q[0]; }).field(), "q");
  EXPECT_EQ(refused("softmax", [](Inputs& x) { x.q = x.q.to(at::kLong); }).field(), "q");
  EXPECT_EQ(refused("softmax", [](Inputs& x) { x.key_mask = x.key_mask * 0.5; }).field(),
            "key_mask");
  EXPECT_EQ(refused("toeplitz_nd", [](Inputs& x) { x.grid = {3, 5}; }).field(), "grid");
  EXPECT_EQ(refused("toeplitz_nd", [](Inputs& x) { x.grid = {1 << 30, 1 << 30}; }).field(), "grid");
  EXPECT_EQ(refused("toeplitz_1d", [](Inputs&) {}).field(), "grid");
  EXPECT_EQ(refused("gdk_hypercube", [](Inputs&) {}).field(), "grid");
  EXPECT_EQ(refused("flt_gauss3d", [](Inputs&) {}).field(), "positions");
  EXPECT_EQ(refused("packing", [](Inputs& x) { x.segments = x.segments - 9; }).field(), "segments");
  EXPECT_EQ(refused("rfa_gated", [](Inputs& x) { x.gates = x.gates * 3; }).field(), "gates");
  EXPECT_EQ(refused("tree_any",
                    [&](Inputs& x) {
                      x.tree.parents = longs({1, 2, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1});
                    })
                .field(),
            "tree.parents");
  EXPECT_EQ(refused("tree_affine",
                    [&](Inputs& x) { x.parameters["slope"] = at::full({2}, 1e6, at::kDouble); })
                .field(),
            "parameters.slope");
  EXPECT_EQ(refused("tree_affine",
                    [&](Inputs& x) { x.parameters["slope"] = at::zeros({3}, at::kDouble); })
                .field(),
            "parameters.slope");
  EXPECT_EQ(refused("gdk",
                    [&](Inputs& x) {
                      x.graph.offsets = longs({0, 1});
                    })
                .field(),
            "graph.offsets");
  EXPECT_EQ(refused("gdk", [&](Inputs& x) { x.graph.neighbors = x.graph.neighbors + 100; }).field(),
            "graph.neighbors");
  EXPECT_EQ(refused("gdk", [&](Inputs& x) { x.graph.weights = Normals({3}, 1); }).field(),
            "graph.weights");
  EXPECT_EQ(
      refused("gdk",
              [&](Inputs& x) { x.graph.weights = Normals(x.graph.neighbors.sizes(), 1).abs(); })
          .field(),
      "graph");
  EXPECT_EQ(refused("softmax_masked", [](Inputs& x) { x.mask = x.mask - 1; }).field(), "mask");
}

/// Degrees have roots and masks are >= 0 where no weight is negative; what needs neither takes all.
TEST(AttentionEdgeCases, NegativeWeightsAreRefusedWhereTheyDoHarm) {
  AttentionInputs inputs = AllScenes({})[1].inputs;
  inputs.graph.weights = at::full(inputs.graph.neighbors.sizes(), -0.5, at::kDouble);
  using Options = nlohmann::json;
  const auto status_of = [&](const char* mechanism, const Options& options) {
    return Attention::Make(*attention::FindMechanism(mechanism).value(), options)
        ->Run(inputs)
        .status();
  };
  const std::pair<const char*, Options> refused[] = {
      {"fastmult", Options::object()},     {"malpha_dense", {{"positive", "coefficients"}}},
      {"named_kernel", Options::object()}, {"gdk", Options::object()},
      {"heat", Options::object()},         {"gat_mask", Options::object()},
      {"grf_sym", Options::object()},      {"grf_asym", Options::object()},
      {"grf_exact", Options::object()},    {"rwgnk", Options::object()},
      {"gkat0", Options::object()},        {"gkat", Options::object()},
      {"gkat_dynamic", Options::object()}, {"gcn", Options::object()},
      {"sgc", Options::object()},          {"smooth_a", Options::object()},
      {"smooth_b", {{"normalise", false}}}};
  for (const auto& [mechanism, options] : refused) {
    const Status status = status_of(mechanism, options);
    EXPECT_EQ(status.field(), "graph.weights") << mechanism << status.ToString();
    EXPECT_EQ(status.reason(), reason::SCHEMA_INVALID) << mechanism;
  }
  const std::pair<const char*, Options> taken[] = {
      {"malpha_dense", Options::object()}, {"spd_bias", Options::object()},
      {"centrality", Options::object()},   {"jlt", Options::object()},
      {"grf_sym", {{"positive", "mask"}}}, {"grf_asym", {{"positive", "mask"}}},
      {"grf_adhoc", Options::object()},    {"gat", Options::object()},
      {"smooth_a", {{"normalise", false}}}};
  for (const auto& [mechanism, options] : taken) {
    EXPECT_TRUE(status_of(mechanism, options).ok())
        << mechanism << status_of(mechanism, options).ToString();
  }
}

/// Phi Phi^T is a power series of W alone where W is its own transpose; what takes directed graphs
/// is named.
TEST(AttentionEdgeCases, SquaresOfSeriesAreOfUndirectedGraphs) {
  using Options = nlohmann::json;
  const std::tuple<const char*, Options, const char*> refused[] = {
      {"grf_sym", Options::object(), "grf_asym"},
      {"grf_sym", {{"independent_qk_walks", true}}, "grf_asym"},
      {"grf_sym", {{"positive", "mask"}}, "grf_asym"},
      {"malpha_dense", {{"param", "f"}}, "param alpha"},
      {"malpha_dense", {{"param", "f"}, {"positive", "coefficients"}}, "param alpha"},
      {"jlt", Options::object(), "malpha_dense"},
      {"jlt", {{"abs", false}}, "malpha_dense"}};
  const auto status_of = [](const char* mechanism, const Options& options,
                            const AttentionInputs& inputs) {
    return Attention::Make(*attention::FindMechanism(mechanism).value(), options)
        ->Run(inputs)
        .status();
  };
  for (const Scene& scene : DirectedScenes({})) {
    for (const auto& [mechanism, options, other] : refused) {
      const Status status = status_of(mechanism, options, scene.inputs);
      EXPECT_EQ(status.field(), "graph") << mechanism << scene.name << status.ToString();
      EXPECT_EQ(status.reason(), reason::SCHEMA_INVALID) << mechanism;
      EXPECT_NE(status.message().find(other), std::string::npos) << status.ToString();
    }
    for (const char* mechanism : {"grf_asym", "grf_exact", "malpha_dense", "smooth_b", "rwgnk"}) {
      EXPECT_TRUE(status_of(mechanism, Options::object(), scene.inputs).ok()) << mechanism;
    }
  }
  for (const auto& [mechanism, options, other] : refused) {
    const Status status = status_of(mechanism, options, AllScenes({})[1].inputs);
    EXPECT_TRUE(status.ok()) << mechanism << status.ToString();
  }
}

/// A grid of D sides has up to 2^D times as many offsets as tokens.
TEST(AttentionEdgeCases, GridsOfTooManyOffsetsAreRefusedBeforeTheyAreMade) {
  const auto field_of = [](const char* mechanism, const std::vector<std::int64_t>& grid) {
    std::int64_t n = 1;
    for (const std::int64_t side : grid) n *= side;
    AttentionInputs inputs;
    inputs.q = inputs.k = inputs.v = at::zeros({1, 1, n, 1}, at::kDouble);
    inputs.grid = grid;
    const Attention made =
        Attention::Make(*attention::FindMechanism(mechanism).value(), nlohmann::json::object())
            .value();
    const auto parameters = made.InitialParameters(inputs);
    return parameters.ok() ? made.Run(inputs).status().field() : parameters.status().field();
  };
  EXPECT_EQ(field_of("toeplitz_nd", std::vector<std::int64_t>(20, 2)), "grid");
  EXPECT_EQ(field_of("toeplitz_nd", std::vector<std::int64_t>(8, 6)), "grid");
  EXPECT_EQ(field_of("toeplitz_1d", {2, 2}), "grid");
  EXPECT_EQ(field_of("tanh_distance", std::vector<std::int64_t>(20, 2)), "grid");
  EXPECT_EQ(field_of("factor", std::vector<std::int64_t>(20, 2)), "grid");
  EXPECT_EQ(field_of("tanh_distance", std::vector<std::int64_t>(9, 2)), "");
  AttentionInputs none;
  none.q = none.k = none.v = at::zeros({1, 1, 0, 1}, at::kDouble);
  none.grid = {0};
  const auto empty =
      Attention::Make(*attention::FindMechanism("toeplitz_nd").value(), nlohmann::json::object())
          ->InitialParameters(none);
  ASSERT_TRUE(empty.ok()) << empty.status().ToString();
  EXPECT_EQ(empty->at("b").numel(), 0);
}

TEST(AttentionEdgeCases, GridsWithoutTokensHaveParameters) {
  for (const char* offsets : {"free", "l1_distance", "decay"}) {
    for (const std::vector<std::int64_t>& grid :
         {std::vector<std::int64_t>{0}, {0, 0}, {0, 0, 0}, {5, 0}}) {
      AttentionInputs none;
      none.q = none.k = none.v = at::zeros({1, 1, 0, 1}, at::kDouble);
      none.grid = grid;
      const Attention made =
          Attention::Make(*attention::FindMechanism("toeplitz_nd").value(), {{"offsets", offsets}})
              .value();
      const auto parameters = made.InitialParameters(none);
      EXPECT_TRUE(parameters.ok()) << offsets << parameters.status().ToString();
      EXPECT_TRUE(made.Run(none).ok()) << offsets << made.Run(none).status().ToString();
    }
  }
}

/// Training may take the base of a decay below 0, where powers of it would have both signs.
TEST(AttentionEdgeCases, ADecayIsThatOfItsBaseWithoutASign) {
  AttentionInputs inputs = AllScenes({})[1].inputs;
  for (const char* positivity : {"abs", "exp", "softplus", "none"}) {
    const Attention made = Attention::Make(*attention::FindMechanism("toeplitz_nd").value(),
                                           {{"offsets", "decay"}, {"positivity", positivity}})
                               .value();
    const auto mask_of = [&](double gamma) {
      inputs.parameters["gamma"] = at::full({2}, gamma, at::kDouble);
      return made.DenseMask(inputs).value();
    };
    const torch::Tensor mask = mask_of(-0.5);
    EXPECT_TRUE(AreEqual(mask, mask_of(0.5))) << positivity;
    // A given base keeps its meaning: tokens 0 and 5 of the 3 x 4 grid are two steps apart.
    EXPECT_EQ(mask[0][0][1].item<double>(), 0.5) << positivity;
    EXPECT_EQ(mask[0][0][5].item<double>(), 0.25) << positivity;
  }
}

/// What is below the rounding of one head's transform are entries of another.
TEST(AttentionEdgeCases, OffsetsOfAHeadDoNotLoseThoseOfAnother) {
  AttentionInputs inputs = AllScenes({})[0].inputs;
  const Attention made =
      Attention::Make(*attention::FindMechanism("toeplitz_1d").value(), nlohmann::json::object())
          .value();
  torch::Tensor b = made.InitialParameters(inputs).value().at("b");
  b = b + 0.1 * Normals(b.sizes(), 4);
  b.select(0, 0).mul_(1e20);
  inputs.parameters["b"] = b;
  const torch::Tensor v = inputs.v.detach().clone().requires_grad_();
  const torch::Tensor dense = made.Run(inputs, Way::kDense).value();
  EXPECT_LT(RelativeL2(made.Run(inputs, Way::kFastmult).value(), dense), kDoubleOpTolerance);
  inputs.v = v;
  const torch::Tensor with_gradient = made.Run(inputs, Way::kFastmult).value();
  EXPECT_TRUE(with_gradient.requires_grad());
  EXPECT_LT(RelativeL2(with_gradient.detach(), dense), kDoubleOpTolerance);
}

/// exp of such numbers is infinite.
TEST(AttentionEdgeCases, LargeNumbersHaveOnesBeforeSoftplus) {
  const AttentionInputs inputs = AllScenes({})[3].inputs;
  const auto before = [&](const char* name, const nlohmann::json& options, const char* parameter) {
    return Attention::Make(*attention::FindMechanism(name).value(), options)
        ->InitialParameters(inputs)
        .value()
        .at(parameter)[0];
  };
  for (const double width : {1e-3, 0.5, 900.0}) {
    const torch::Tensor widths =
        at::softplus(before("flt_gauss3d", {{"width", width}, {"terms", 2}}, "width"));
    EXPECT_NEAR(widths[0].item<double>(), width, 1e-8 * width);
    EXPECT_NEAR(widths[1].item<double>(), 2 * width, 2e-8 * width);
  }
  const torch::Tensor powers =
      at::softplus(before("grf_sym", {{"decay", 2}, {"hops", 12}, {"positive", "softplus"}}, "f"));
  for (int hops = 0; hops <= 12; ++hops) {
    EXPECT_NEAR(powers[hops].item<double>(), std::pow(2, hops), 1e-8 * std::pow(2, hops));
  }
}

/// MKL transforms seven axes at once.
TEST(AttentionEdgeCases, GridsOfManySidesHaveTheirFastWay) {
  for (const auto& [name, sides] : std::initializer_list<std::pair<const char*, std::size_t>>{
           {"toeplitz_nd", 8}, {"tanh_distance", 9}, {"factor", 8}}) {
    AttentionInputs inputs;
    inputs.grid = std::vector<std::int64_t>(sides, 2);
    inputs.grid.back() = 3;
    const std::int64_t n = std::int64_t{3} << (sides - 1);
    inputs.q = Normals({1, 2, n, 2}, 1);
    inputs.k = Normals({1, 2, n, 2}, 2);
    inputs.v = Normals({1, 2, n, 2}, 3);
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), nlohmann::json::object()).value();
    inputs.parameters = made.InitialParameters(inputs).value();
    for (auto& entry : inputs.parameters) {
      if (entry.first != "b") continue;
      entry.second = 0.1 * Normals(entry.second.sizes(), 4);
    }
    const torch::Tensor dense = made.Run(inputs, Way::kDense).value();
    for (const Way way : made.Ways()) {
      const auto out = made.Run(inputs, way);
      ASSERT_TRUE(out.ok()) << name << out.status().ToString();
      EXPECT_LT(RelativeL2(*out, dense), kDoubleOpTolerance) << name << WayName(way);
    }
  }
}

/// Sizes that are products of options have limits of their own: nothing is made before.
TEST(AttentionEdgeCases, OptionsThatAskForTooManyNumbersAreRefused) {
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  const auto field_of = [&](const char* name, const nlohmann::json& options) {
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), options).value();
    return made.Run(inputs).status().field();
  };
  const nlohmann::json walks{{"walks", 100000}, {"hops", 1000}};
  EXPECT_EQ(field_of("flt_gm", {{"terms", 4096}, {"frequencies", 65536}}), "options.frequencies");
  EXPECT_EQ(field_of("softmax_pos", {{"rank", 4096}, {"mask_features", 65536}}),
            "options.mask_features");
  EXPECT_EQ(field_of("spe_conv", {{"taps", 4096}, {"realizations", 65536}}),
            "options.realizations");
  EXPECT_EQ(field_of("spe_sine", {{"sines", 4096}, {"realizations", 65536}}),
            "options.realizations");
  for (const char* name : {"grf_sym", "grf_asym", "grf_adhoc", "smooth_a"}) {
    EXPECT_EQ(field_of(name, walks), "options.walks") << name;
  }
  EXPECT_EQ(field_of("grf_sym", {{"walks", 100000}, {"hops", 1000}, {"length_law", "power"}}),
            "options.walks");
  const AttentionInputs first = AllScenes({})[0].inputs;
  EXPECT_TRUE(Attention::Make(*attention::FindMechanism("grf_sym").value(), {{"walks", 1000}})
                  ->Run(first)
                  .ok());
}

/// The limit is on numbers, pairs of tokens times hops and one.
TEST(AttentionEdgeCases, EnumeratedWalksOfTooManyNumbersAreRefused) {
  constexpr std::int64_t kTokens = 1100;
  AttentionInputs star;
  star.q = star.k = star.v = at::zeros({1, 1, kTokens, 1}, at::kDouble);
  EdgeList edges;
  for (std::int64_t i = 1; i < kTokens; ++i) edges.emplace_back(0, i);
  star.graph = UndirectedInput(kTokens, edges);
  const auto status_of = [&](int hops) {
    return Attention::Make(*attention::FindMechanism("grf_exact").value(), {{"hops", hops}})
        ->Run(star, Way::kPairs)
        .status();
  };
  // All L^2 pairs are within two hops of each other.
  static_assert(kTokens * kTokens * 65 > attention::kMaxEnumeratedLoads);
  static_assert(kTokens * kTokens * 4 < attention::kMaxEnumeratedLoads);
  EXPECT_EQ(status_of(64).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(status_of(3).ok());
}

TEST(AttentionEdgeCases, WhatIsTooLargeIsRefused) {
  const AttentionInputs inputs = AllScenes({})[1].inputs;
  const auto series = Attention::Make(*attention::FindMechanism("named_kernel").value(),
                                      {{"kernel", "resolvent"}, {"scale", 0.9999}})
                          ->Run(inputs);
  EXPECT_EQ(series.status().field(), "options.scale");
  AttentionInputs path;
  constexpr std::int64_t kPath = 10000;
  path.q = path.k = path.v = Normals({1, 1, kPath, 1}, 1);
  path.tree = PathTree(kPath);
  const MechanismInfo& tree = *attention::FindMechanism("tree_any").value();
  const auto forced = Attention::Make(tree, {{"algorithm", "diameter"}})->Run(path, Way::kFastmult);
  EXPECT_EQ(forced.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(forced.status().field(), "options.algorithm");
  EXPECT_TRUE(Attention::Make(tree, nlohmann::json::object())->Run(path, Way::kFastmult).ok());
}

/// Two hops on a star join all tokens: rows of features share L^3 columns.
TEST(AttentionEdgeCases, TooManyPairsGiveWayToDense) {
  constexpr std::int64_t kTokens = 520;
  AttentionInputs star;
  star.q = star.k = star.v = Normals({1, 1, kTokens, 2}, 1);
  EdgeList edges;
  for (std::int64_t i = 1; i < kTokens; ++i) edges.emplace_back(0, i);
  star.graph = UndirectedInput(kTokens, edges);
  const Attention made =
      Attention::Make(*attention::FindMechanism("gkat0").value(), nlohmann::json::object()).value();
  EXPECT_EQ(made.Run(star, Way::kPairs).status().code(), StatusCode::kResourceExhausted);
  Way used = Way::kPairs;
  const auto out = made.Run(star, std::nullopt, &used);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(used, Way::kDense);
  EXPECT_TRUE(AreEqual(*out, made.Run(star, Way::kDense).value()));
  star.graph = UndirectedInput(kTokens, RingEdges(kTokens));
  ASSERT_TRUE(made.Run(star, std::nullopt, &used).ok());
  EXPECT_EQ(used, Way::kPairs);
}

TEST(AttentionEdgeCases, TensorsOfOtherDevicesAreRefused) {
  for (const MechanismInfo& mechanism : Catalog()) {
    AttentionInputs inputs = AllScenes({})[1].inputs;
    inputs.q = at::empty(inputs.q.sizes(), at::TensorOptions().device(at::kMeta));
    const Status status =
        Attention::Make(mechanism, nlohmann::json::object())->Run(inputs).status();
    EXPECT_EQ(status.field(), "q") << mechanism.name;
    EXPECT_NE(status.message().find("on the CPU"), std::string::npos) << status.ToString();
    EXPECT_NE(status.message().find("on meta"), std::string::npos) << status.ToString();
  }
}

TEST(AttentionEdgeCases, ClassTokensAreFewerThanTokens) {
  const Attention made =
      Attention::Make(*attention::FindMechanism("gdk").value(), {{"class_tokens", 12}}).value();
  EXPECT_EQ(made.Run(AllScenes({})[1].inputs).status().field(), "options.class_tokens");
}

TEST(AttentionEdgeCases, OrdersAreOneOrOneForEachAxis) {
  const auto run = [](const nlohmann::json& order, AttentionInputs inputs) {
    const nlohmann::json options{{"order", order}, {"score", "softmax"}};
    return Attention::Make(*attention::FindMechanism("flt_local_smooth").value(), options)
        ->Run(inputs);
  };
  AttentionInputs inputs = AllScenes({})[1].inputs;
  inputs.parameters["xi"] = Normals({16, 2}, 1);
  AttentionInputs swapped = inputs;
  swapped.positions = swapped.positions.flip(1);
  swapped.parameters["xi"] = swapped.parameters["xi"].flip(1);
  EXPECT_TRUE(AreEqual(run({2, 2}, inputs).value(), run(2, inputs).value()));
  EXPECT_LT(RelativeL2(run({3, 1}, swapped).value(), run({1, 3}, inputs).value()),
            kDoubleOpTolerance);
  EXPECT_GT(RelativeL2(run({3, 1}, inputs).value(), run({1, 3}, inputs).value()), 1e-6);
  EXPECT_EQ(run({1, 2, 3}, inputs).status().field(), "options.order");
  const auto made = Attention::Make(*attention::FindMechanism("flt_local_smooth").value(),
                                    {{"order", nlohmann::json::array()}});
  EXPECT_EQ(made.status().field(), "options.order");
}

TEST(AttentionEdgeCases, WhatIsRedrawnIsOtherEverySoManySteps) {
  for (const char* name : {"grf_sym", "favor_pos", "flt_gm", "spe_conv", "softmax_pos", "jlt"}) {
    const Attention made =
        Attention::Make(*attention::FindMechanism(name).value(), {{"redraw_every", 3}}).value();
    const auto at_step = [&](std::int64_t step) {
      AttentionInputs inputs = AllScenes({})[2].inputs;
      inputs.step = step;
      return made.Run(inputs, Way::kDense).value();
    };
    EXPECT_TRUE(AreEqual(at_step(3), at_step(5))) << name;
    EXPECT_GT(RelativeL2(at_step(2), at_step(3)), 1e-6) << name;
  }
}

TEST(AttentionEdgeCases, WaysThatAMechanismLacksAreRefused) {
  const Attention softmax =
      Attention::Make(*attention::FindMechanism("softmax").value(), nlohmann::json::object())
          .value();
  const auto out = softmax.Run(AllScenes({})[0].inputs, Way::kPairs);
  EXPECT_EQ(out.status().field(), "way");
  EXPECT_EQ(out.status().metadata().at("got"), "pairs");
}

TEST(AttentionEdgeCases, EqualSeedsGiveEqualBitsAndOthersDiffer) {
  ForEdgeCases(
      AllScenes({}), [](const Attention& made, const nlohmann::json& options, const Scene& scene) {
        const Attention again = Attention::Make(made.mechanism(), options).value();
        for (const Way way : made.Ways()) {
          EXPECT_TRUE(
              AreEqual(made.Run(scene.inputs, way).value(), again.Run(scene.inputs, way).value()))
              << CaseText(made.mechanism().name, options, scene.name, way);
        }
      });
  for (const char* name :
       {"favor_pos", "grf_sym", "flt_gm", "spe_conv", "jlt", "learned_features"}) {
    const MechanismInfo& mechanism = *attention::FindMechanism(name).value();
    const AttentionInputs inputs = AllScenes({})[2].inputs;
    const auto run = [&](int seed) {
      return Attention::Make(mechanism, {{"seed", seed}})->Run(inputs, Way::kDense).value();
    };
    EXPECT_GT(RelativeL2(run(1), run(2)), 1e-6) << name;
  }
}

}  // namespace
}  // namespace interlacer::testing
