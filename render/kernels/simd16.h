#pragma once

/// Sixteen float lanes, whatever the machine: one AVX-512 register, two AVX2 or four SSE ones.
///
/// Only kernel bodies include this. Everything is in an anonymous namespace, because each kernel
/// file is compiled with its own instruction set and must not share code with another.
/// Exp16 and Log16 follow Cephes: relative error below 3e-7 over the range stated there.

#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INTERLACER_LANES inline __attribute__((always_inline))

namespace interlacer {
namespace {

#if defined(__AVX512F__)
constexpr int kPartLanes = 16;
#elif defined(__AVX2__)
constexpr int kPartLanes = 8;
#else
constexpr int kPartLanes = 4;
#endif

/// One machine register. GCC splits wider vector types badly, so wider ones are pairs.
typedef float FloatPart __attribute__((vector_size(4 * kPartLanes)));       // NOLINT
typedef std::int32_t IntPart __attribute__((vector_size(4 * kPartLanes)));  // NOLINT

template <typename Half>
struct Pair {
  Half lo, hi;
};

#if defined(__AVX512F__)
using F16 = FloatPart;
#elif defined(__AVX2__)
using F16 = Pair<FloatPart>;
#else
using F16 = Pair<Pair<FloatPart> >;
#endif

#define INTERLACER_PAIR_OPERATOR(op)                                    \
  template <typename Half>                                              \
  INTERLACER_LANES Pair<Half> operator op(Pair<Half> a, Pair<Half> b) { \
    return {a.lo op b.lo, a.hi op b.hi};                                \
  }                                                                     \
  template <typename Half>                                              \
  INTERLACER_LANES Pair<Half> operator op(Pair<Half> a, float b) {      \
    return {a.lo op b, a.hi op b};                                      \
  }
INTERLACER_PAIR_OPERATOR(+)
INTERLACER_PAIR_OPERATOR(-)
INTERLACER_PAIR_OPERATOR(*)
INTERLACER_PAIR_OPERATOR(/)
#undef INTERLACER_PAIR_OPERATOR

template <typename Half>
INTERLACER_LANES Pair<Half>& operator+=(Pair<Half>& a, Pair<Half> b) {
  return a = a + b;
}
/// x - a lane by lane; the scalar stands first.
INTERLACER_LANES FloatPart Minus(float x, FloatPart a) { return x - a; }
template <typename Half>
INTERLACER_LANES Pair<Half> Minus(float x, Pair<Half> a) {
  return {Minus(x, a.lo), Minus(x, a.hi)};
}

// Register by register: GCC copies a pair through the stack.
INTERLACER_LANES void Load(const float* source, FloatPart& v) {
  std::memcpy(&v, source, sizeof(v));
}
template <typename Half>
INTERLACER_LANES void Load(const float* source, Pair<Half>& v) {
  Load(source, v.lo);
  Load(source + sizeof(Half) / sizeof(float), v.hi);
}
INTERLACER_LANES void Store(float* target, FloatPart v) { std::memcpy(target, &v, sizeof(v)); }
template <typename Half>
INTERLACER_LANES void Store(float* target, Pair<Half> v) {
  Store(target, v.lo);
  Store(target + sizeof(Half) / sizeof(float), v.hi);
}
INTERLACER_LANES F16 Load16(const float* source) {
  F16 v;
  Load(source, v);
  return v;
}
INTERLACER_LANES void Store16(float* target, F16 v) { Store(target, v); }
INTERLACER_LANES F16 Zero16() { return F16{}; }

// Operations on one register that need intrinsics.

INTERLACER_LANES FloatPart Max(FloatPart a, FloatPart b) {
#if defined(__AVX512F__)
  // maskz with a full mask: the plain form makes GCC 12 warn of an uninitialised operand.
  return _mm512_maskz_max_ps(0xffff, a, b);
#elif defined(__AVX2__)
  return _mm256_max_ps(a, b);
#elif defined(__SSE2__)
  return _mm_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}

INTERLACER_LANES FloatPart Sqrt(FloatPart a) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(0xffff, a);
#elif defined(__AVX2__)
  return _mm256_sqrt_ps(a);
#elif defined(__SSE2__)
  return _mm_sqrt_ps(a);
#else
  for (int i = 0; i < kPartLanes; ++i) a[i] = std::sqrt(a[i]);
  return a;
#endif
}

/// Bit i set where a[i] <= bound.
INTERLACER_LANES std::uint32_t AtMostMask(FloatPart a, float bound) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(a, _mm512_set1_ps(bound), _CMP_LE_OQ);
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(
      _mm256_movemask_ps(_mm256_cmp_ps(a, _mm256_set1_ps(bound), _CMP_LE_OQ)));
#elif defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmple_ps(a, _mm_set1_ps(bound))));
#else
  std::uint32_t mask = 0;
  for (int i = 0; i < kPartLanes; ++i) mask |= static_cast<std::uint32_t>(a[i] <= bound) << i;
  return mask;
#endif
}

/// a where mask > 0, else 0.
INTERLACER_LANES FloatPart WherePositive(FloatPart mask, FloatPart a) {
  return mask > 0.f ? a : FloatPart{};
}

INTERLACER_LANES FloatPart Exp(FloatPart argument) {
  const FloatPart x = Max(argument, FloatPart{} - 87.f);
  // n = round(x / ln 2) by the float's own rounding at 1.5 * 2^23.
  const FloatPart shifted = x * 1.44269504088896341f + 12582912.f;
  const FloatPart n = shifted - 12582912.f;
  const FloatPart r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  FloatPart p = FloatPart{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.f;
  IntPart power;
  std::memcpy(&power, &shifted, sizeof(power));
  power = (power << 23) + (127 << 23);
  FloatPart scale;
  std::memcpy(&scale, &power, sizeof(scale));
  return argument < -87.f ? FloatPart{} : p * scale;
}

INTERLACER_LANES FloatPart Log(FloatPart x) {
  IntPart bits;
  std::memcpy(&bits, &x, sizeof(bits));
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const IntPart offset = bits - 0x3f3504f3;
  const IntPart mantissa = (offset & 0x7fffff) + 0x3f3504f3;
  const FloatPart e = __builtin_convertvector(offset >> 23, FloatPart);
  FloatPart m;
  std::memcpy(&m, &mantissa, sizeof(m));
  m = m - 1.f;
  const FloatPart z = m * m;
  FloatPart p = FloatPart{} + 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * z;
  p = p - e * 2.12194440e-4f - z * 0.5f;
  return (m + p) + e * 0.693359375f;
}

// The operations on pairs of registers.

template <typename Half>
INTERLACER_LANES Pair<Half> Max(Pair<Half> a, Pair<Half> b) {
  return {Max(a.lo, b.lo), Max(a.hi, b.hi)};
}
template <typename Half>
INTERLACER_LANES Pair<Half> Sqrt(Pair<Half> a) {
  return {Sqrt(a.lo), Sqrt(a.hi)};
}
template <typename Half>
INTERLACER_LANES std::uint32_t AtMostMask(Pair<Half> a, float bound) {
  constexpr int kHalfLanes = sizeof(Half) / sizeof(float);
  return AtMostMask(a.lo, bound) | (AtMostMask(a.hi, bound) << kHalfLanes);
}
template <typename Half>
INTERLACER_LANES Pair<Half> WherePositive(Pair<Half> mask, Pair<Half> a) {
  return {WherePositive(mask.lo, a.lo), WherePositive(mask.hi, a.hi)};
}
template <typename Half>
INTERLACER_LANES Pair<Half> Exp(Pair<Half> a) {
  return {Exp(a.lo), Exp(a.hi)};
}
template <typename Half>
INTERLACER_LANES Pair<Half> Log(Pair<Half> a) {
  return {Log(a.lo), Log(a.hi)};
}

// Names by which the kernels call them.

INTERLACER_LANES F16 Max16(F16 a, F16 b) { return Max(a, b); }
INTERLACER_LANES F16 Sqrt16(F16 a) { return Sqrt(a); }
INTERLACER_LANES std::uint32_t AtMostMask16(F16 a, float bound) { return AtMostMask(a, bound); }
INTERLACER_LANES F16 WherePositive16(F16 mask, F16 a) { return WherePositive(mask, a); }
/// e^x for x <= 88; 0 below -87.
INTERLACER_LANES F16 Exp16(F16 x) { return Exp(x); }
/// ln x for normal positive x.
INTERLACER_LANES F16 Log16(F16 x) { return Log(x); }

INTERLACER_LANES float SumLanes(FloatPart v) {
  float lane[kPartLanes];
  std::memcpy(lane, &v, sizeof(v));
  for (int half = kPartLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  }
  return lane[0];
}
template <typename Half>
INTERLACER_LANES float SumLanes(Pair<Half> v) {
  return SumLanes(v.lo + v.hi);
}

}  // namespace
}  // namespace interlacer
