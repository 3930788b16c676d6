#pragma once

/// Sixteen float lanes, whatever the machine: one AVX-512 register, two AVX2 or four SSE ones.
///
/// Only kernel bodies include this. Everything is in an anonymous namespace, because each kernel
/// file is compiled with its own instruction set and must not share code with another.
/// Exp16 and Log16 follow Cephes: relative error below 3e-7 over the float range used here.

#include <cstdint>
#include <cstring>
#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#else
#include <cmath>
#endif

namespace interlacer {
namespace {

typedef float F16 __attribute__((vector_size(64)));         // NOLINT(modernize-use-using)
typedef std::int32_t I16 __attribute__((vector_size(64)));  // NOLINT(modernize-use-using)

#define INTERLACER_LANES inline __attribute__((always_inline))

INTERLACER_LANES F16 Load16(const float* source) {
  F16 v;
  std::memcpy(&v, source, sizeof(v));
  return v;
}
INTERLACER_LANES void Store16(float* target, const F16& v) { std::memcpy(target, &v, sizeof(v)); }
INTERLACER_LANES F16 Splat16(float x) { return F16{} + x; }
INTERLACER_LANES I16 Bits16(const F16& v) {
  I16 bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}
INTERLACER_LANES F16 FromBits16(const I16& bits) {
  F16 v;
  std::memcpy(&v, &bits, sizeof(v));
  return v;
}

#if defined(__AVX512F__)

// The maskz forms with a full mask: the plain ones make GCC 12 warn of an uninitialised operand.
INTERLACER_LANES F16 Max16(const F16& a, const F16& b) { return _mm512_maskz_max_ps(0xffff, a, b); }
INTERLACER_LANES F16 Sqrt16(const F16& a) { return _mm512_maskz_sqrt_ps(0xffff, a); }
/// Bit i set where a[i] <= bound.
INTERLACER_LANES std::uint32_t AtMostMask16(const F16& a, float bound) {
  return _mm512_cmp_ps_mask(a, _mm512_set1_ps(bound), _CMP_LE_OQ);
}

#else

INTERLACER_LANES F16 Max16(const F16& a, const F16& b) { return a > b ? a : b; }

#if defined(__AVX2__)

INTERLACER_LANES F16 Sqrt16(const F16& a) {
  float lane[16];
  Store16(lane, a);
  _mm256_storeu_ps(lane, _mm256_sqrt_ps(_mm256_loadu_ps(lane)));
  _mm256_storeu_ps(lane + 8, _mm256_sqrt_ps(_mm256_loadu_ps(lane + 8)));
  return Load16(lane);
}
INTERLACER_LANES std::uint32_t AtMostMask16(const F16& a, float bound) {
  float lane[16];
  Store16(lane, a);
  const __m256 limit = _mm256_set1_ps(bound);
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(lane), limit, _CMP_LE_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(lane + 8), limit, _CMP_LE_OQ));
  return static_cast<std::uint32_t>(low) | (static_cast<std::uint32_t>(high) << 8);
}

#else

INTERLACER_LANES F16 Sqrt16(const F16& a) {
  F16 root;
  for (int i = 0; i < 16; ++i) root[i] = std::sqrt(a[i]);
  return root;
}
INTERLACER_LANES std::uint32_t AtMostMask16(const F16& a, float bound) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) mask |= static_cast<std::uint32_t>(a[i] <= bound) << i;
  return mask;
}

#endif
#endif

/// e^x for x <= 88; below -87 the result is 0.
INTERLACER_LANES F16 Exp16(const F16& argument) {
  const F16 x = Max16(argument, Splat16(-87.f));
  // n = round(x / ln 2) by the float's own rounding at 1.5 * 2^23.
  const F16 shifted = x * 1.44269504088896341f + 12582912.f;
  const F16 n = shifted - 12582912.f;
  const F16 r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  F16 p = Splat16(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.f;
  const I16 exponent = (Bits16(shifted) << 23) + (127 << 23);
  const F16 power = FromBits16(exponent);
  return argument < -87.f ? F16{} : p * power;
}

/// ln x for normal positive x.
INTERLACER_LANES F16 Log16(const F16& x) {
  const I16 bits = Bits16(x);
  // Mantissa in [sqrt(1/2), sqrt(2)).
  const I16 offset = bits - 0x3f3504f3;
  const I16 exponent = offset >> 23;
  const F16 m = FromBits16((offset & 0x7fffff) + 0x3f3504f3) - 1.f;
  const F16 e = __builtin_convertvector(exponent, F16);
  const F16 z = m * m;
  F16 p = Splat16(7.0376836292e-2f);
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

}  // namespace
}  // namespace interlacer
