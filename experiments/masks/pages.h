#pragma once

/// The pages of the experiments on masks, by name.
///
///   flops          counted operations and time of softmax, linear and masked attention
///   concentration  how often an entry of a mask estimate is far from its mean, beside the bound
///   sparsity       entries of a feature, beside the bound that does not depend on the graph's size
///   complexity     time and memory of every mechanism against the number of tokens
///   overtaking     the number of tokens from which on fast ways are faster than dense ones
///   variance       samplers of walks; asymmetric against symmetric features
///   gkat_cost      GKAT against its dense form and other layers on graphs, at the table's sizes
/// Errors: NOT_FOUND ARGUMENT_INVALID at "pages"; CANCELLED when stopped; those of
/// model/attention/files/mask_measurements.h. Measurements: one page at a time.
/// Source: grf-masking, Fig. 3, Thm 3.1, Lemma 3.2 and App. D; gkat, Table 3; flt, Sec. 4.1.2.

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/status.h"
#include "experiments/masks/page.h"

namespace interlacer {

struct MaskRun {
  bool is_quick = false;
  std::int64_t longest = std::int64_t{1} << 17;  ///< number of tokens
  double limit_s = 0.5;                          ///< of a run; after a longer one the series ends
  std::int64_t most_bytes = std::int64_t{4} << 30;  ///< expected more: the series ends
  std::stop_token stop;
  std::function<void(const std::string& note)> progress = [](const std::string&) {};

  /// The note, or CANCELLED.
  Status Step(const std::string& note) const;
};

std::vector<std::string> MaskPageNames();
StatusOr<MaskPage> MakeMaskPage(const std::string& name, const MaskRun& run);

// One file each.
StatusOr<MaskPage> FlopsPage(const MaskRun& run);
StatusOr<MaskPage> ConcentrationPage(const MaskRun& run);
StatusOr<MaskPage> SparsityPage(const MaskRun& run);
StatusOr<MaskPage> ComplexityPage(const MaskRun& run);
StatusOr<MaskPage> OvertakingPage(const MaskRun& run);
StatusOr<MaskPage> VariancePage(const MaskRun& run);
StatusOr<MaskPage> GkatCostPage(const MaskRun& run);

}  // namespace interlacer
