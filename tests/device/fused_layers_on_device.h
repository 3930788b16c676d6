#pragma once

/// Layers of a block for the tests of the fused kernels, on the host and packed on the device, with
/// their updates in float64, rounded where the kernels round.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/kernels/bfloat16.h"
#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/fused_linear_cuda.h"
#include "tests/device/device_array.h"
#include "tests/model/kernels/fused_reference.h"
#include "tests/support/bfloat16_rounding.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

inline constexpr std::uint64_t kFusedSeed = 36;
inline constexpr LinearAttentionEpsilons kLinearEpsilons;

/// Rounds float64 to bfloat16, as the kernels round operands of products.
inline std::vector<double> Rounded(std::vector<double> values) {
  for (double& x : values) x = RoundedToBfloat16(static_cast<float>(x));
  return values;
}

inline Layer RoundedLayer(Layer layer) {
  for (float& w : layer.weight) w = RoundedToBfloat16(w);
  return layer;
}

inline double PhiOf(double x) { return (x > 0 ? x : 0) + kLinearEpsilons.feature; }

/// The layers of a block on the host.
struct Layers {
  int width, hidden;
  std::vector<float> scale, bias, ffn_scale, ffn_bias;
  Layer query, key, value, out, first, second;

  explicit Layers(int width_, int hidden_)
      : width(width_),
        hidden(hidden_),
        scale(RandomNormal<float>(width, kFusedSeed, 1)),
        bias(RandomNormal<float>(width, kFusedSeed, 2)),
        ffn_scale(RandomNormal<float>(width, kFusedSeed, 3)),
        ffn_bias(RandomNormal<float>(width, kFusedSeed, 4)),
        query(RandomLayer(width, width, 10)),
        key(RandomLayer(width, width, 20)),
        value(RandomLayer(width, width, 30)),
        out(RandomLayer(width, width, 40)),
        first(RandomLayer(width, hidden, 50)),
        second(RandomLayer(hidden, width, 60)) {}
};

/// A layer's parameters on the device.
struct DeviceLayer {
  DeviceLayer(const CheckedStream& stream, const Layer& layer)
      : in(layer.in), out(layer.out), weight(stream, layer.weight), bias(stream, layer.bias) {}
  DenseWeight dense() const { return {weight.get(), in, out}; }
  int in, out;
  DeviceArray<float> weight, bias;
};

struct DeviceLayers {
  explicit DeviceLayers(const Layers& l)
      : width(l.width),
        hidden(l.hidden),
        scale(stream, l.scale),
        bias(stream, l.bias),
        ffn_scale(stream, l.ffn_scale),
        ffn_bias(stream, l.ffn_bias),
        query(stream, l.query),
        key(stream, l.key),
        value(stream, l.value),
        out(stream, l.out),
        first(stream, l.first),
        second(stream, l.second),
        packed_pair(stream, 2 * width * hidden),
        packed_query_out(stream, 2 * width * width),
        packed_key(stream, width * width),
        packed_value(stream, width * width),
        packed_projections(stream, 3 * width * width),
        packed_out(stream, width * width) {
    cudaStream_t s = stream.get();
    EXPECT_EQ(LaunchPackDensePair(first.dense(), second.dense(), kDensePiece, packed_pair.get(), s),
              0);
    EXPECT_EQ(LaunchPackDensePair(query.dense(), out.dense(), LinearPiece(width),
                                  packed_query_out.get(), s),
              0);
    EXPECT_EQ(LaunchPackTransposedDense(key.dense(), packed_key.get(), s), 0);
    EXPECT_EQ(LaunchPackTransposedDense(value.dense(), packed_value.get(), s), 0);
    EXPECT_EQ(LaunchPackProjections(query.dense(), key.dense(), value.dense(),
                                    packed_projections.get(), s),
              0);
    EXPECT_EQ(LaunchPackDenseByInputs(out.dense(), packed_out.get(), s), 0);
  }
  FeedForwardLayers feed_forward() const {
    return {{ffn_scale.get(), ffn_bias.get()},
            packed_pair.get(),
            first.bias.get(),
            second.bias.get(),
            hidden};
  }
  LinearLayers linear() const {
    return {{scale.get(), bias.get()}, packed_query_out.get(), packed_key.get(), packed_value.get(),
            query.bias.get(),          key.bias.get(),         value.bias.get(), out.bias.get()};
  }
  GrfProjections projections() const {
    return {{scale.get(), bias.get()},
            packed_projections.get(),
            query.bias.get(),
            key.bias.get(),
            value.bias.get()};
  }
  OutputLayer output() const { return {packed_out.get(), out.bias.get()}; }

  int width, hidden;
  CheckedStream stream;
  DeviceArray<float> scale, bias, ffn_scale, ffn_bias;
  DeviceLayer query, key, value, out, first, second;
  DeviceArray<std::uint16_t> packed_pair, packed_query_out, packed_key, packed_value,
      packed_projections, packed_out;
};

inline std::vector<double> FeedForwardUpdate(const Layers& l, const std::vector<float>& h) {
  std::vector<double> hidden = DenseReference(
      Rounded(NormReference(h, l.width, l.ffn_scale, l.ffn_bias)), RoundedLayer(l.first));
  for (double& x : hidden) x = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  return DenseReference(Rounded(hidden), RoundedLayer(l.second));
}

/// Compares the update of the rows of a range with the expected one; other rows must not change.
inline void ExpectAdded(const std::vector<float>& before, const std::vector<float>& after,
                        int width, const RowRange& rows, const std::vector<double>& update,
                        double tolerance) {
  std::vector<double> got, expected;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / width);
    if (row >= rows.begin && row < rows.end) {
      got.push_back(static_cast<double>(after[i]) - before[i]);
      expected.push_back(update[i]);
    } else {
      ASSERT_EQ(after[i], before[i]) << "row " << row;
    }
  }
  EXPECT_LE(RelativeL2(got, expected), tolerance);
}

}  // namespace interlacer::testing
