/// Part of grid_knn_body.h for instruction sets with vectors: the searches of up to eight queries
/// of one row of cells at once, a query a lane. No include guard on purpose.
///
/// A candidate is one 64-bit key a lane: the bits of the squared distance above the index. A
/// squared distance is never negative, so keys order by (squared distance, index), and minima and
/// maxima keep the best few without a branch.

constexpr int kLanes = 8;
/// Queries of one batch lie in at most this many neighbouring cells of a row.
constexpr std::int32_t kMaxBatchCells = 6;

__m256i LaneNumbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }

#if defined(__AVX512F__)

struct Keys {
  __m512i keys;
};

Keys SameKey(std::int64_t key) { return {_mm512_set1_epi64(key)}; }

Keys MakeKeys(__m256 sq_dist, std::int32_t index) {
  const __m512i to_odd_words = _mm512_setr_epi32(0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7);
  return {_mm512_mask_permutexvar_epi32(_mm512_set1_epi32(index), 0xAAAA, to_odd_words,
                                        _mm512_castsi256_si512(_mm256_castps_si256(sq_dist)))};
}

/// Leaves the smaller key of every lane in `a` and the larger one in `b`.
void Order(Keys& a, Keys& b) {
  const __m512i smaller = _mm512_maskz_min_epu64(0xFF, a.keys, b.keys);
  b.keys = _mm512_maskz_max_epu64(0xFF, a.keys, b.keys);
  a.keys = smaller;
}

void KeepSmaller(Keys& a, Keys b) { a.keys = _mm512_maskz_min_epu64(0xFF, a.keys, b.keys); }

void Store(Keys a, std::uint64_t* by_lane) { _mm512_storeu_si512(by_lane, a.keys); }

#else

/// Lanes 0, 1, 4, 5 and 2, 3, 6, 7, as the unpacking instructions leave them.
struct Keys {
  __m256i outer;
  __m256i inner;
};

Keys SameKey(std::int64_t key) { return {_mm256_set1_epi64x(key), _mm256_set1_epi64x(key)}; }

Keys MakeKeys(__m256 sq_dist, std::int32_t index) {
  const __m256i high = _mm256_castps_si256(sq_dist);
  const __m256i low = _mm256_set1_epi32(index);
  return {_mm256_unpacklo_epi32(low, high), _mm256_unpackhi_epi32(low, high)};
}

void OrderHalves(__m256i& a, __m256i& b) {
  const __m256i swap = _mm256_cmpgt_epi64(a, b);
  const __m256i smaller = _mm256_blendv_epi8(a, b, swap);
  b = _mm256_blendv_epi8(b, a, swap);
  a = smaller;
}

/// Leaves the smaller key of every lane in `a` and the larger one in `b`.
void Order(Keys& a, Keys& b) {
  OrderHalves(a.outer, b.outer);
  OrderHalves(a.inner, b.inner);
}

void KeepSmaller(Keys& a, Keys b) {
  a.outer = _mm256_blendv_epi8(a.outer, b.outer, _mm256_cmpgt_epi64(a.outer, b.outer));
  a.inner = _mm256_blendv_epi8(a.inner, b.inner, _mm256_cmpgt_epi64(a.inner, b.inner));
}

void Store(Keys a, std::uint64_t* by_lane) {
  auto* const to = reinterpret_cast<__m256i*>(by_lane);
  _mm256_storeu_si256(to, _mm256_permute2x128_si256(a.outer, a.inner, 0x20));
  _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(a.outer, a.inner, 0x31));
}

#endif

/// No candidate: beyond every real one, an infinite distance included.
constexpr std::int64_t kNoKey = (std::int64_t{0x7F800000} << 32) | INT_MAX;

/// Queries at the sorted places [begin, begin + count) and their best candidates so far, nearest
/// first. Lanes past `count` hold nothing and are not read.
template <int kDegree>
struct Batch {
  const CellSortedCloud& cloud;
  std::int64_t begin;
  int count;
  __m256 x, y, z;
  Keys best[kDegree];

  Batch(const CellSortedCloud& sorted, std::int64_t first, int lanes)
      : cloud(sorted), begin(first), count(lanes) {
    const __m256i live = _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), LaneNumbers());
    x = _mm256_maskload_ps(cloud.x_m + begin, live);
    y = _mm256_maskload_ps(cloud.y_m + begin, live);
    z = _mm256_maskload_ps(cloud.z_m + begin, live);
    for (Keys& b : best) b = SameKey(kNoKey);
  }

  __m256 SquaredDistances(std::int64_t p) const {
    const __m256 dx = _mm256_sub_ps(_mm256_broadcast_ss(cloud.x_m + p), x);
    const __m256 dy = _mm256_sub_ps(_mm256_broadcast_ss(cloud.y_m + p), y);
    const __m256 dz = _mm256_sub_ps(_mm256_broadcast_ss(cloud.z_m + p), z);
    return _mm256_fmadd_ps(dz, dz, _mm256_fmadd_ps(dy, dy, _mm256_mul_ps(dx, dx)));
  }

  void Insert(Keys candidate) {
    for (int r = 0; r + 1 < kDegree; ++r) Order(best[r], candidate);
    KeepSmaller(best[kDegree - 1], candidate);
  }

  void Scan(std::int64_t from, std::int64_t to) {
    for (std::int64_t p = from; p < to; ++p) Insert(MakeKeys(SquaredDistances(p), cloud.index[p]));
  }

  /// The queries as candidates of each other; a query is no candidate of its own.
  void ScanSelves() {
    const __m256 beyond_infinity = _mm256_castsi256_ps(_mm256_set1_epi32(INT_MAX));
    for (int lane = 0; lane < count; ++lane) {
      const __m256 is_self =
          _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_set1_epi32(lane), LaneNumbers()));
      const __m256 sq_dist = SquaredDistances(begin + lane);
      Insert(
          MakeKeys(_mm256_blendv_ps(sq_dist, beyond_infinity, is_self), cloud.index[begin + lane]));
    }
  }

  /// Bit mask of the lanes whose result no point outside the searched block can change.
  unsigned DoneLanes(const CellGrid& grid, const CellBlock& block) const {
    std::uint64_t worst[kLanes];
    Store(best[kDegree - 1], worst);
    unsigned done = 0;
    for (int lane = 0; lane < count; ++lane) {
      const std::int64_t p = begin + lane;
      const float query_m[3] = {cloud.x_m[p], cloud.y_m[p], cloud.z_m[p]};
      const auto sq_dist = __builtin_bit_cast(float, static_cast<std::uint32_t>(worst[lane] >> 32));
      const bool is_done = SearchIsDone(SearchedRadius(grid, block, query_m), sq_dist);
      done |= static_cast<unsigned>(is_done) << lane;
    }
    return done;
  }
};

/// The queries of one batch, from sorted place `begin` on: their cells, all of one row, and their
/// number.
struct BatchExtent {
  CellBlock cells;
  int count;
};

BatchExtent ExtentOfBatch(const CellGrid& grid, const CellSortedCloud& cloud, std::int64_t begin,
                          std::int64_t end) {
  BatchExtent extent;
  const float first_m[3] = {cloud.x_m[begin], cloud.y_m[begin], cloud.z_m[begin]};
  for (int axis = 0; axis < 3; ++axis) {
    extent.cells.low[axis] = extent.cells.high[axis] = CellOnAxis(grid, axis, first_m[axis]);
  }
  const std::int32_t* row =
      cloud.cell_begin + CellIndex(grid, 0, extent.cells.low[1], extent.cells.low[2]);
  const std::int64_t wanted = begin + kLanes < end ? begin + kLanes : end;
  const std::int32_t past_last = extent.cells.low[0] + kMaxBatchCells < grid.cells[0]
                                     ? extent.cells.low[0] + kMaxBatchCells
                                     : grid.cells[0];
  std::int32_t next_x = extent.cells.low[0] + 1;
  while (row[next_x] < wanted && next_x < past_last) ++next_x;
  extent.cells.high[0] = next_x - 1;
  extent.count = static_cast<int>((row[next_x] < wanted ? row[next_x] : wanted) - begin);
  return extent;
}

/// The cells of a block and those next to it, cut at the border.
CellBlock Widened(const CellGrid& grid, const CellBlock& cells) {
  CellBlock block;
  for (int axis = 0; axis < 3; ++axis) {
    block.low[axis] = cells.low[axis] > 0 ? cells.low[axis] - 1 : 0;
    block.high[axis] =
        cells.high[axis] < grid.cells[axis] - 1 ? cells.high[axis] + 1 : cells.high[axis];
  }
  return block;
}

/// Searches a batch's own cells and those next to them; returns the lanes that are done.
template <int kDegree>
unsigned SearchAround(const CellGrid& grid, const CellBlock& own, Batch<kDegree>& batch) {
  const CellBlock block = Widened(grid, own);
  for (std::int32_t z = block.low[2]; z <= block.high[2]; ++z) {
    for (std::int32_t y = block.low[1]; y <= block.high[1]; ++y) {
      const std::int32_t* row = batch.cloud.cell_begin + CellIndex(grid, 0, y, z);
      const std::int64_t from = row[block.low[0]], to = row[block.high[0] + 1];
      if (y == own.low[1] && z == own.low[2]) {
        batch.Scan(from, batch.begin);
        batch.ScanSelves();
        batch.Scan(batch.begin + batch.count, to);
      } else {
        batch.Scan(from, to);
      }
    }
  }
  return batch.DoneLanes(grid, block);
}

/// The neighbours of the points at sorted places [begin, end); a query that its batch leaves undone
/// is searched alone.
/// Bound: arithmetic; every point of the batch's cells and of those next to them is compared with
/// all its queries.
/// Layout: points are sorted by cell, so that the candidates of a row of cells are one range; a
/// candidate is broadcast to all lanes and inserted without branches.
template <int kDegree>
void FindNeighborsInBatches(const CellGrid& grid, const CellSortedCloud& cloud, std::int64_t begin,
                            std::int64_t end, float* best_sq_dist, std::int32_t* best_index,
                            std::int32_t* neighbors) {
  while (begin < end) {
    const BatchExtent extent = ExtentOfBatch(grid, cloud, begin, end);
    Batch<kDegree> batch(cloud, begin, extent.count);
    const unsigned done = SearchAround(grid, extent.cells, batch);
    std::uint64_t found[kDegree][kLanes];
    for (int r = 0; r < kDegree; ++r) Store(batch.best[r], found[r]);
    for (int lane = 0; lane < extent.count; ++lane) {
      if ((done >> lane & 1) == 0) {
        FindNeighborsOf(grid, cloud, kDegree, begin + lane, best_sq_dist, best_index, neighbors);
        continue;
      }
      std::int32_t* row = neighbors + std::int64_t{cloud.index[begin + lane]} * kDegree;
      for (int r = 0; r < kDegree; ++r) row[r] = static_cast<std::int32_t>(found[r][lane]);
    }
    begin += extent.count;
  }
}
