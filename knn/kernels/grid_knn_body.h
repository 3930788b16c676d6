/// Body of grid_knn.h; the including file sets INTERLACER_KERNEL_NAMESPACE and is compiled for one
/// instruction set. No include guard on purpose. Everything but the entry point is in an anonymous
/// namespace, so that no code of one instruction set is linked into another.
///
/// Bound: arithmetic; a candidate is 16 bytes, six operations for its squared distance, and the
/// comparisons with the worst one kept. Queries in the order of cells meet the same cells again, in
/// the cache.
/// Sizes: 16, 8 or one candidate at a time; a vector in which none is better is passed over whole.
/// With vectors, up to four neighbours are searched for eight queries at once (grid_knn_batch.h);
/// what that leaves undone comes here.
/// Layout: points are sorted by cell, so that a row of cells along x is one range of each array.

#include <climits>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "knn/kernels/grid_knn.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

/// One query and its best candidates so far, sorted by (squared distance, index).
struct Search {
  const CellSortedCloud& cloud;
  float query_m[3];
  std::int32_t self;
  int count;
  float* sq_dist;
  std::int32_t* index;

  float worst_sq_dist() const { return sq_dist[count - 1]; }
  std::int32_t worst_index() const { return index[count - 1]; }

  void Reset() {
    for (int r = 0; r < count; ++r) {
      sq_dist[r] = __builtin_inff();
      index[r] = INT_MAX;
    }
  }

  void Insert(float d, std::int32_t i) {
    if (d > worst_sq_dist() || (d == worst_sq_dist() && i >= worst_index())) return;
    int r = count - 1;
    for (; r > 0 && (d < sq_dist[r - 1] || (d == sq_dist[r - 1] && i < index[r - 1])); --r) {
      sq_dist[r] = sq_dist[r - 1];
      index[r] = index[r - 1];
    }
    sq_dist[r] = d;
    index[r] = i;
  }
};

#if defined(__AVX512F__)

/// Compares the query with the sorted places [begin, end), 16 at a time; a candidate that beats the
/// worst kept one, by distance or on a tie by index, is inserted.
void Scan(Search& s, std::int64_t begin, std::int64_t end) {
  const __m512 qx = _mm512_set1_ps(s.query_m[0]);
  const __m512 qy = _mm512_set1_ps(s.query_m[1]);
  const __m512 qz = _mm512_set1_ps(s.query_m[2]);
  const __m512i self = _mm512_set1_epi32(s.self);
  for (std::int64_t p = begin; p < end; p += 16) {
    const __mmask16 live = end - p >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << (end - p)) - 1u);
    const __m512 dx = _mm512_sub_ps(_mm512_maskz_loadu_ps(live, s.cloud.x_m + p), qx);
    const __m512 dy = _mm512_sub_ps(_mm512_maskz_loadu_ps(live, s.cloud.y_m + p), qy);
    const __m512 dz = _mm512_sub_ps(_mm512_maskz_loadu_ps(live, s.cloud.z_m + p), qz);
    const __m512i index = _mm512_maskz_loadu_epi32(live, s.cloud.index + p);
    const __m512 d = _mm512_fmadd_ps(dz, dz, _mm512_fmadd_ps(dy, dy, _mm512_mul_ps(dx, dx)));
    const __m512 worst = _mm512_set1_ps(s.worst_sq_dist());
    const __mmask16 nearer = _mm512_cmp_ps_mask(d, worst, _CMP_LT_OQ);
    const __mmask16 tied = _mm512_cmp_ps_mask(d, worst, _CMP_EQ_OQ) &
                           _mm512_cmplt_epi32_mask(index, _mm512_set1_epi32(s.worst_index()));
    unsigned hits = (nearer | tied) & live & _mm512_cmpneq_epi32_mask(index, self);
    if (hits == 0) continue;
    float lane_d[16];
    _mm512_storeu_ps(lane_d, d);
    for (; hits != 0; hits &= hits - 1) {
      const int lane = __builtin_ctz(hits);
      s.Insert(lane_d[lane], s.cloud.index[p + lane]);
    }
  }
}

#elif defined(__AVX2__)

/// As the 16-lane form, 8 at a time; the last few candidates one by one.
void Scan(Search& s, std::int64_t begin, std::int64_t end) {
  const __m256 qx = _mm256_set1_ps(s.query_m[0]);
  const __m256 qy = _mm256_set1_ps(s.query_m[1]);
  const __m256 qz = _mm256_set1_ps(s.query_m[2]);
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (std::int64_t p = begin; p < end; p += 8) {
    const int left = end - p < 8 ? static_cast<int>(end - p) : 8;
    const __m256i live = _mm256_cmpgt_epi32(_mm256_set1_epi32(left), lanes);
    const __m256 dx = _mm256_sub_ps(_mm256_maskload_ps(s.cloud.x_m + p, live), qx);
    const __m256 dy = _mm256_sub_ps(_mm256_maskload_ps(s.cloud.y_m + p, live), qy);
    const __m256 dz = _mm256_sub_ps(_mm256_maskload_ps(s.cloud.z_m + p, live), qz);
    const __m256i index = _mm256_maskload_epi32(s.cloud.index + p, live);
    const __m256 d = _mm256_fmadd_ps(dz, dz, _mm256_fmadd_ps(dy, dy, _mm256_mul_ps(dx, dx)));
    const __m256 worst = _mm256_set1_ps(s.worst_sq_dist());
    const __m256 nearer = _mm256_cmp_ps(d, worst, _CMP_LT_OQ);
    const __m256i lower = _mm256_cmpgt_epi32(_mm256_set1_epi32(s.worst_index()), index);
    const __m256 tied =
        _mm256_and_ps(_mm256_cmp_ps(d, worst, _CMP_EQ_OQ), _mm256_castsi256_ps(lower));
    const __m256i is_self = _mm256_cmpeq_epi32(index, _mm256_set1_epi32(s.self));
    const __m256 wanted = _mm256_castsi256_ps(_mm256_andnot_si256(is_self, live));
    unsigned hits = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_and_ps(wanted, _mm256_or_ps(nearer, tied))));
    if (hits == 0) continue;
    float lane_d[8];
    _mm256_storeu_ps(lane_d, d);
    for (; hits != 0; hits &= hits - 1) {
      const int lane = __builtin_ctz(hits);
      s.Insert(lane_d[lane], s.cloud.index[p + lane]);
    }
  }
}

#else

/// Compares the query with the sorted places [begin, end) one by one.
void Scan(Search& s, std::int64_t begin, std::int64_t end) {
  for (std::int64_t p = begin; p < end; ++p) {
    if (s.cloud.index[p] == s.self) continue;
    const float dx = s.cloud.x_m[p] - s.query_m[0];
    const float dy = s.cloud.y_m[p] - s.query_m[1];
    const float dz = s.cloud.z_m[p] - s.query_m[2];
    s.Insert(__builtin_fmaf(dz, dz, __builtin_fmaf(dy, dy, dx * dx)), s.cloud.index[p]);
  }
}

#endif

void ScanCells(Search& s, const CellGrid& grid, std::int32_t x_low, std::int32_t x_high,
               std::int32_t y, std::int32_t z) {
  const std::int32_t* begin = s.cloud.cell_begin + CellIndex(grid, 0, y, z);
  Scan(s, begin[x_low], begin[x_high + 1]);
}

/// The cells of `block` that are not in `inner`, row by row; returns the number of rows met.
std::int64_t ScanShell(Search& s, const CellGrid& grid, const CellBlock& block,
                       const CellBlock& inner) {
  for (std::int32_t z = block.low[2]; z <= block.high[2]; ++z) {
    for (std::int32_t y = block.low[1]; y <= block.high[1]; ++y) {
      const bool new_row =
          z < inner.low[2] || z > inner.high[2] || y < inner.low[1] || y > inner.high[1];
      if (new_row) {
        ScanCells(s, grid, block.low[0], block.high[0], y, z);
        continue;
      }
      if (block.low[0] < inner.low[0]) {
        ScanCells(s, grid, block.low[0], inner.low[0] - 1, y, z);
      }
      if (block.high[0] > inner.high[0]) {
        ScanCells(s, grid, inner.high[0] + 1, block.high[0], y, z);
      }
    }
  }
  return static_cast<std::int64_t>(block.high[2] - block.low[2] + 1) *
         (block.high[1] - block.low[1] + 1);
}

/// After this many rows of cells a search stops growing rings and scans every point.
std::int64_t RowBudget(std::int64_t n) { return 64 + n / 32; }

void FindNeighbors(Search& s, const CellGrid& grid) {
  s.Reset();
  std::int32_t center[3];
  for (int axis = 0; axis < 3; ++axis) center[axis] = CellOnAxis(grid, axis, s.query_m[axis]);
  CellBlock inner = {{0, 0, INT_MAX}, {-1, -1, -1}};  // holds no cell
  std::int64_t rows_met = 0;
  for (std::int32_t ring = 1; rows_met <= RowBudget(s.cloud.n); ++ring) {
    const CellBlock block = BlockAround(grid, center, ring);
    rows_met += ScanShell(s, grid, block, inner);
    if (SearchIsDone(SearchedRadius(grid, block, s.query_m), s.worst_sq_dist())) return;
    inner = block;
  }
  s.Reset();
  Scan(s, 0, s.cloud.n);
}

void FindNeighborsOf(const CellGrid& grid, const CellSortedCloud& cloud, int out_degree,
                     std::int64_t place, float* best_sq_dist, std::int32_t* best_index,
                     std::int32_t* neighbors) {
  const std::int32_t self = cloud.index[place];
  Search s{cloud,        {cloud.x_m[place], cloud.y_m[place], cloud.z_m[place]},
           self,         out_degree,
           best_sq_dist, best_index};
  FindNeighbors(s, grid);
  std::int32_t* row = neighbors + static_cast<std::int64_t>(self) * out_degree;
  for (int r = 0; r < out_degree; ++r) row[r] = best_index[r];
}

#if defined(__AVX2__)
#include "knn/kernels/grid_knn_batch.h"
#endif

}  // namespace

void GridNeighbors(const CellGrid& grid, const CellSortedCloud& cloud, int out_degree,
                   std::int64_t begin, std::int64_t end, float* best_sq_dist,
                   std::int32_t* best_index, std::int32_t* neighbors) {
#if defined(__AVX2__)
  switch (out_degree) {
    case 1:
      return FindNeighborsInBatches<1>(grid, cloud, begin, end, best_sq_dist, best_index,
                                       neighbors);
    case 2:
      return FindNeighborsInBatches<2>(grid, cloud, begin, end, best_sq_dist, best_index,
                                       neighbors);
    case 3:
      return FindNeighborsInBatches<3>(grid, cloud, begin, end, best_sq_dist, best_index,
                                       neighbors);
    case 4:
      return FindNeighborsInBatches<4>(grid, cloud, begin, end, best_sq_dist, best_index,
                                       neighbors);
    default:
      break;
  }
#endif
  for (std::int64_t p = begin; p < end; ++p) {
    FindNeighborsOf(grid, cloud, out_degree, p, best_sq_dist, best_index, neighbors);
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
