#pragma once

/// Named tolerances of the tests, each with its reason. Relative L2 error unless said otherwise.

namespace interlacer::testing {

/// One float32 operation against float64: sums are added in another order.
inline constexpr double kFloatOpTolerance = 1e-5;
/// A whole float32 model step: sums in another order, through dozens of layers.
inline constexpr double kFloatStepTolerance = 1e-4;
/// One operation on bfloat16 operands: 7 stored mantissa bits.
inline constexpr double kBfloat16OpTolerance = 1e-2;
/// One number rounded to bfloat16: half of the eighth significant bit, relative.
inline constexpr double kBfloat16Rounding = 0x1p-8;
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

/// Sums of a few float32 numbers of order one, or float32 results equal but for their order.
inline constexpr double kFloatSumTolerance = 1e-6;
/// Places within a few metres that pass through float32, in metres.
inline constexpr double kFloatPlaceToleranceM = 1e-6;
/// Sums and products of a few float64 numbers of order one.
inline constexpr double kDoubleSumTolerance = 1e-12;
/// Places through a chain of seven joints in float64, in metres.
inline constexpr double kJointChainToleranceM = 1e-9;
/// A mean of differences of scores in float64.
inline constexpr double kScoreTolerance = 1e-9;
/// Depths that pass through float32 and a plane's 0.1 mm unit, in metres.
inline constexpr double kStoredDepthToleranceM = 2e-4;
/// Deviation of drawn depth noise, relative: 40000 samples, 8 standard errors.
inline constexpr double kDeviationTolerance = 0.03;
/// Gradients of the regularisation of motion in float64 against central differences, which are
/// affected by the smoothing at zero.
inline constexpr double kRegularizationGradientTolerance = 1e-5;
/// Models that are compared differ in their number of parameters by at most this share.
inline constexpr double kComparedSizeTolerance = 0.02;

// Forms of one operation against each other.
/// The field's exponentials and logarithms by two libraries in float32.
inline constexpr double kFieldTolerance = 1e-5;
/// Token features: sine, cosine, exponential and logarithm by two libraries in float32, and sums of
/// twenty weights; six octaves magnify the rounding of a position 32 times.
inline constexpr double kDeviceFeatureTolerance = 2e-5;
/// Token features by polynomials and float32 sums of twenty weights.
inline constexpr double kHostFeatureTolerance = 2e-6;
/// Tokens made in one pass; eight octaves magnify the rounding of a position 128 times.
inline constexpr double kFusedTokenTolerance = 1e-5;
/// GELU by its approximation in float32.
inline constexpr double kGeluTolerance = 1e-4;

// bfloat16: 7 stored mantissa bits.
/// One layer: inputs and weights are rounded, their errors average out over a row.
inline constexpr double kBfloat16LayerTolerance = 5e-3;
/// When the reference rounds where the kernels do, of what a layer adds alone: numbers that lie
/// close to a rounding boundary fall to either side.
inline constexpr double kSameRoundingTolerance = 1e-3;
/// Largest difference of a picture, of 1 and of up to 2 m: operands of three layers, then weighted
/// sums of colours and of distances.
inline constexpr double kBfloat16PictureTolerance = 2e-2;
/// Largest difference of colours where only the field's products are rounded. Seen: 6e-4.
inline constexpr double kBfloat16ColorTolerance = 2e-3;
/// A model step on the host, against float32.
inline constexpr double kBfloat16HostStepTolerance = 5e-2;
/// A model step on a device, against float32 on the host. Seen: up to 5e-3.
inline constexpr double kBfloat16AgainstFloatStepTolerance = 1e-2;
/// A model step on the emulated device, against bfloat16 on the host: both round, at different
/// places. Seen: 2e-3.
inline constexpr double kEmulatedBfloat16StepTolerance = 5e-3;
/// The same on a GPU, twice as much: matrix units add in an order of their own, and the processor
/// beside it may have no bfloat16, so that the host does not round at all.
inline constexpr double kCudaBfloat16StepTolerance = 1e-2;
/// Mean difference of colours after a step, of 1: where a particle moved by a rounding, its samples
/// change. Seen: 9e-5.
inline constexpr double kEmulatedColorTolerance = 5e-4;
/// The same on a GPU, four times as much, for features that differ too.
inline constexpr double kCudaColorTolerance = 2e-3;

/// Message passing's gradients of a training sequence on a GPU: torch's sums are in orders of their
/// own. Seen on an H200: 3e-3 of the scores, whose gradient is below a thousandth of the largest.
inline constexpr double kCudaMessagePassingGradientTolerance = 5e-3;
/// The same run after run: some of torch's operations add in an order that varies.
inline constexpr double kCudaGradientOrderTolerance = 1e-5;

// Statistics of walks; seeds are fixed.
/// Mean number of entries of a row against its reference.
inline constexpr double kMeanEntriesTolerance = 0.05;
/// Mean errors of samplers against a table of references, relative.
inline constexpr double kSamplerErrorTolerance = 0.15;
/// Exponent by which the error of independent walks falls, against one half.
inline constexpr double kErrorSlopeTolerance = 0.05;
/// Bias of a squared estimate, as a share of the sample's variance.
inline constexpr double kSampledBiasTolerance = 0.1;
/// Error without importance weights against its reference, relative.
inline constexpr double kReferenceFloorTolerance = 0.2;

}  // namespace interlacer::testing
