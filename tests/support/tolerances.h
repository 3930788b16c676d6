#pragma once

/// Named tolerances of the tests, each with its reason. Relative L2 error unless said otherwise.

namespace interlacer::testing {

/// A few operations in float64.
inline constexpr double kRounding = 1e-12;
/// One float32 operation against float64: sums are added in another order.
inline constexpr double kFloatOpTolerance = 1e-5;
/// A whole float32 model step: the same, through dozens of layers.
inline constexpr double kFloatStepTolerance = 1e-4;
/// One operation on bfloat16 operands: 7 stored mantissa bits.
inline constexpr double kBf16OpTolerance = 1e-2;
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
/// Least cosine between a float32 gradient and its float64 reference: direction, not only size.
inline constexpr double kMinGradientCosine = 0.9999;
/// Largest difference of a float32 picture from its float64 reference: front-to-back sums.
inline constexpr double kPictureTolerance = 1e-4;
/// Image scores in float64 against published ones of twelve digits.
inline constexpr double kGoldenScoreTolerance = 1e-11;

}  // namespace interlacer::testing
