/// Every list lies in one vector or more and is sorted by exchanges of lanes (bitonic merges),
/// so lane permutations bound it; a list is loaded and stored once. Intrinsics come in their masked
/// forms, which leave no lane of a result undefined.

#include <immintrin.h>

#include "knn/kernels/walk_rows.h"

namespace interlacer::avx512 {
namespace {

constexpr int kDegree = 3;
constexpr __mmask16 kAll = 0xFFFF;

__m512i Padding() { return _mm512_set1_epi32(static_cast<int>(kEndOfList)); }
/// Neighbouring lanes beyond the first or the last vector.
__m512i NoNodes() { return _mm512_set1_epi32(-1); }
__m512i NoCodes() { return _mm512_setzero_si512(); }

template <int kCount>
__m512i Shifted(__m512i low, __m512i high) {
  return _mm512_maskz_alignr_epi32(kAll, high, low, kCount);
}

/// Lanes whose number has the bit `kDistance`; they keep the larger word of an exchange.
template <int kDistance>
constexpr __mmask16 UpperLanes() {
  return kDistance == 1 ? 0xAAAA : kDistance == 2 ? 0xCCCC : kDistance == 4 ? 0xF0F0 : 0xFF00;
}

/// The word of the lane whose number differs in the bit `kDistance`.
template <int kDistance>
__m512i Partner(__m512i v) {
  if constexpr (kDistance == 1) return _mm512_maskz_shuffle_epi32(kAll, v, _MM_PERM_CDAB);
  if constexpr (kDistance == 2) return _mm512_maskz_shuffle_epi32(kAll, v, _MM_PERM_BADC);
  if constexpr (kDistance == 4) return _mm512_maskz_shuffle_i32x4(kAll, v, v, 0xB1);
  return _mm512_maskz_shuffle_i32x4(kAll, v, v, 0x4E);
}

/// Smaller words to the lanes outside `upper`, larger ones to `upper`.
__m512i Exchange(__m512i v, __m512i partner, __mmask16 upper) {
  return _mm512_mask_max_epu32(_mm512_maskz_min_epu32(kAll, v, partner), upper, v, partner);
}

template <int kDistance>
__m512i Exchange(__m512i v) {
  return Exchange(v, Partner<kDistance>(v), UpperLanes<kDistance>());
}

/// Sorts words that rise and then fall.
__m512i SortBitonic(__m512i v) { return Exchange<1>(Exchange<2>(Exchange<4>(Exchange<8>(v)))); }

__m512i Reversed(__m512i v) {
  const __m512i from = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_maskz_permutexvar_epi32(kAll, from, v);
}

/// Two sorted vectors become the lower and the upper half of their sorted union.
void MergeSorted(__m512i& a, __m512i& b) {
  const __m512i falling = Reversed(b);
  b = SortBitonic(_mm512_maskz_max_epu32(kAll, a, falling));
  a = SortBitonic(_mm512_maskz_min_epu32(kAll, a, falling));
}

/// Sorts by merging sorted runs of 1, 2, 4 and 8 words; a mirrored partner makes a pair of runs
/// rise and fall.
__m512i Sort(__m512i v) {
  v = Exchange<1>(v);
  v = Exchange(v, _mm512_maskz_shuffle_epi32(kAll, v, _MM_PERM_ABCD), UpperLanes<2>());
  v = Exchange<1>(v);
  const __m512i in_eights = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  v = Exchange(v, _mm512_maskz_permutexvar_epi32(kAll, in_eights, v), UpperLanes<4>());
  v = Exchange<1>(Exchange<2>(v));
  v = Exchange(v, Reversed(v), UpperLanes<8>());
  return Exchange<1>(Exchange<2>(Exchange<4>(v)));
}

__m512i Nodes(__m512i words) { return _mm512_maskz_srli_epi32(kAll, words, 8); }
__m512i Codes(__m512i words) {
  return _mm512_maskz_and_epi32(kAll, words, _mm512_set1_epi32(0xFF));
}

/// Adds the codes of the lane `kCount` further on where it has the same node.
template <int kCount>
__m512i AddFollowing(__m512i nodes, __m512i next_nodes, __m512i codes, __m512i next_codes) {
  const __mmask16 same = _mm512_cmpeq_epi32_mask(nodes, Shifted<kCount>(nodes, next_nodes));
  return _mm512_mask_add_epi32(codes, same, codes, Shifted<kCount>(codes, next_codes));
}

/// First lanes of runs of one node, padding left out.
__mmask16 FirstOfRuns(__m512i before, __m512i nodes) {
  const __mmask16 real = _mm512_cmplt_epu32_mask(nodes, _mm512_set1_epi32(kEndOfList >> 8));
  return _mm512_mask_cmpneq_epi32_mask(real, nodes, Shifted<15>(before, nodes));
}

/// Sixteen sorted words with each node once, its codes added; padding behind.
__m512i MergeRuns(__m512i words) {
  const __m512i nodes = Nodes(words);
  __m512i codes = Codes(words);
  codes = AddFollowing<1>(nodes, NoNodes(), codes, NoCodes());
  codes = AddFollowing<2>(nodes, NoNodes(), codes, NoCodes());
  codes = AddFollowing<4>(nodes, NoNodes(), codes, NoCodes());
  codes = AddFollowing<8>(nodes, NoNodes(), codes, NoCodes());
  const __m512i merged =
      _mm512_maskz_or_epi32(kAll, _mm512_maskz_slli_epi32(kAll, nodes, 8), codes);
  return _mm512_mask_compress_epi32(Padding(), FirstOfRuns(NoNodes(), nodes), merged);
}

/// Inserts a word into a sorted vector; the largest word drops out.
__m512i Inserted(__m512i words, std::uint32_t word) {
  const __m512i all = _mm512_set1_epi32(static_cast<int>(word));
  const unsigned before = _mm512_cmplt_epu32_mask(words, all);  // ones, then zeros
  return _mm512_mask_expand_epi32(all, static_cast<__mmask16>(~(before + 1)), words);
}

/// Adds the codes of every run of one node to its first lane, in `kCount` vectors of sorted words.
template <int kDistance, int kCount>
void AddFollowing(const __m512i (&nodes)[kCount], __m512i (&codes)[kCount]) {
  for (int v = 0; v < kCount; ++v) {
    const bool last = v + 1 == kCount;
    codes[v] = AddFollowing<kDistance>(nodes[v], last ? NoNodes() : nodes[v + 1], codes[v],
                                       last ? NoCodes() : codes[v + 1]);
  }
}

/// Writes an entry for every node of sorted words, of which at most four are of one node; returns
/// the place behind the last entry.
template <int kCount>
std::uint32_t* WriteEntries(const __m512i (&words)[kCount], std::uint32_t* to) {
  __m512i nodes[kCount], codes[kCount];
  for (int v = 0; v < kCount; ++v) {
    nodes[v] = Nodes(words[v]);
    codes[v] = Codes(words[v]);
  }
  AddFollowing<1>(nodes, codes);
  AddFollowing<2>(nodes, codes);
  for (int v = 0; v < kCount; ++v) {
    const __mmask16 first = FirstOfRuns(v == 0 ? NoNodes() : nodes[v - 1], nodes[v]);
    const __m512i entries =
        _mm512_maskz_or_epi32(kAll, nodes[v], _mm512_maskz_slli_epi32(kAll, codes[v], 24));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(first, entries));
    to += __builtin_popcount(first);
  }
  return to;
}

void MergeTwoHops(const WalkGraphView& graph, std::int64_t begin, std::int64_t end,
                  std::uint32_t* two_hops) {
  constexpr int k1 = kOnePath[1], k2 = kOnePath[2], k3 = kOnePath[3];
  const __m512i codes =
      _mm512_setr_epi32(k3, k3, k3, k3, k3, k3, k3, k3, k3, k2, k2, k2, k1, 0, 0, 0);
  const auto row_of = [&](std::int64_t node) { return graph.neighbors + kDegree * node; };
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t* own = row_of(i);
    __m512i nodes = _mm512_set1_epi32(static_cast<int>(kEndOfList >> 8));
    nodes = _mm512_mask_expandloadu_epi32(nodes, 0x0007, row_of(own[0]));
    nodes = _mm512_mask_expandloadu_epi32(nodes, 0x0038, row_of(own[1]));
    nodes = _mm512_mask_expandloadu_epi32(nodes, 0x01C0, row_of(own[2]));
    nodes = _mm512_mask_expandloadu_epi32(nodes, 0x0E00, own);
    nodes = _mm512_mask_set1_epi32(nodes, 0x1000, static_cast<int>(i));
    const __m512i words =
        _mm512_maskz_or_epi32(kAll, _mm512_maskz_slli_epi32(kAll, nodes, 8), codes);
    _mm512_storeu_si512(two_hops + i * kTwoHopStride, MergeRuns(Sort(words)));
  }
}

void MergeThreeHops(const WalkGraphView& graph, const std::uint32_t* two_hops, std::int64_t begin,
                    std::int64_t end, std::int32_t* row_sizes, std::uint32_t* entries) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int32_t* own = graph.neighbors + kDegree * i;
    __m512i a = _mm512_loadu_si512(two_hops + own[0] * kTwoHopStride);
    __m512i b = _mm512_loadu_si512(two_hops + own[1] * kTwoHopStride);
    __m512i c = _mm512_loadu_si512(two_hops + own[2] * kTwoHopStride);
    c = Inserted(c, static_cast<std::uint32_t>(i) << 8 | kOnePath[0]);
    std::uint32_t* const row = entries;
    const __m512i falling = Reversed(b);
    const __m512i larger = _mm512_maskz_max_epu32(kAll, a, falling);
    a = SortBitonic(_mm512_maskz_min_epu32(kAll, a, falling));
    const bool fits_one_vector = _mm512_cmplt_epu32_mask(larger, Padding()) == 0;
    if (fits_one_vector) {
      MergeSorted(a, c);
      entries = WriteEntries({a, c}, entries);
    } else {
      b = SortBitonic(larger);
      MergeSorted(b, c);
      MergeSorted(a, b);
      entries = WriteEntries({a, b, c}, entries);
    }
    row_sizes[i - begin] = static_cast<std::int32_t>(entries - row);
  }
}

}  // namespace

WalkRowKernels GetWalkRowKernels() { return {MergeTwoHops, MergeThreeHops}; }

}  // namespace interlacer::avx512
