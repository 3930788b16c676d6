#include "model/attention/masks/drawn_walks.h"

#include <ATen/Functions.h>

#include <map>
#include <utility>

#include "common/check.h"
#include "common/random.h"

namespace interlacer::attention {
namespace {

constexpr std::int64_t kNoHop = -1;

/// The entry of a row that a number in [0,1) falls on.
std::int64_t EntryAt(const SparsePattern& pattern, const double* hops, std::int64_t row,
                     double lot) {
  std::int64_t entry = kNoHop;
  for (std::int64_t e = pattern.offsets[row]; e < pattern.offsets[row + 1]; ++e) {
    if (hops[e] == 0) continue;
    // Sums of rows round to less than 1: the last one takes what is left.
    entry = e;
    lot -= hops[e];
    if (lot < 0) break;
  }
  return entry;
}

WalkTerms TermsOfMatrix(const SparsePattern& pattern, const double* hops,
                        const WalkSamplerOptions& options, std::size_t load_count) {
  const auto width = static_cast<std::size_t>(options.max_hops) + 1;
  std::vector<std::int64_t> offsets{0}, indices;
  std::vector<double> loads;
  for (std::int64_t root = 0; root < pattern.rows; ++root) {
    RandomSequence random(options.seed, RandomStream::kWalks, static_cast<std::uint32_t>(root),
                          options.ensemble);
    std::map<std::int64_t, std::vector<double>> row;
    for (int walk = 0; walk < options.walk_count; ++walk) {
      std::int64_t at = root;
      for (std::size_t t = 0;; ++t) {
        row.try_emplace(at, width, 0.0).first->second[t] += 1.0 / options.walk_count;
        if (t + 1 == width) break;
        const std::int64_t entry = EntryAt(pattern, hops, at, random.Uniform());
        if (entry == kNoHop) break;
        at = pattern.indices[entry];
      }
    }
    RequireLoads(load_count + loads.size() + row.size() * width, options.max_hops);
    for (const auto& [node, of_node] : row) {
      indices.push_back(node);
      loads.insert(loads.end(), of_node.begin(), of_node.end());
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const auto entry_count = static_cast<std::int64_t>(indices.size());
  return {MakePattern(pattern.rows, pattern.columns, std::move(offsets), std::move(indices)),
          at::tensor(loads, at::kDouble).reshape({1, entry_count, options.max_hops + 1})};
}

}  // namespace

WalkTerms DrawnTerms(const SparsePattern& pattern, const torch::Tensor& hops_in,
                     const WalkSamplerOptions& options, const std::vector<std::uint64_t>& seeds) {
  const torch::Tensor hops = hops_in.detach().to(at::kDouble).contiguous();
  INTERLACER_CHECK(hops.size(0) == static_cast<std::int64_t>(seeds.size()), "a seed a matrix");
  RequireVisits(options);
  std::vector<WalkTerms> terms;
  std::size_t load_count = 0;
  for (std::size_t g = 0; g < seeds.size(); ++g) {
    WalkSamplerOptions of_matrix = options;
    of_matrix.seed = seeds[g];
    terms.push_back(TermsOfMatrix(
        pattern,
        hops.const_data_ptr<double>() + static_cast<std::int64_t>(g) * pattern.entry_count(),
        of_matrix, load_count));
    load_count += static_cast<std::size_t>(terms.back().loads.numel());
  }
  return OfHeads(terms);
}

}  // namespace interlacer::attention
