#pragma once

/// Named tolerances of the tests, each with its reason. Relative L2 error unless said otherwise.

namespace interlacer::testing {

/// One float32 operation against float64: sums are added in another order.
inline constexpr double kFloatOpTolerance = 1e-5;
/// A whole float32 model step: the same, through dozens of layers.
inline constexpr double kFloatStepTolerance = 1e-4;
/// The same formula twice in float64.
inline constexpr double kDoubleOpTolerance = 1e-10;
/// Analytic against central-difference gradients in float64: the difference quotient's own error.
inline constexpr double kDoubleGradientTolerance = 1e-6;
/// float32 gradients against float64.
inline constexpr double kFloatGradientTolerance = 1e-3;
/// Squared distances of another library: it expands |a - b|^2 into three terms.
inline constexpr double kForeignDistanceTolerance = 1e-5;
/// A statistical test of an unbiased estimate, in standard errors; seeds are fixed.
inline constexpr double kMaxStandardErrors = 4;
/// Walk loads that are exact in real arithmetic, in float64 and float32.
inline constexpr double kExactLoadTolerance = 1e-12;
inline constexpr double kExactFloatLoadTolerance = 1e-6;

}  // namespace interlacer::testing
