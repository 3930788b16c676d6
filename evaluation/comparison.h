#pragma once

/// Compares variants of a model, or a model and its baselines, episode by episode.
///
/// The first variant is the reference; differences are variant - reference over the episodes that
/// both have. Pure functions, thread-safe. Errors: INVALID_ARGUMENT HASH_MISMATCH, SHAPE_MISMATCH
/// or SCHEMA_INVALID naming what makes two results incomparable; ARGUMENT_INVALID for a rule that
/// does not parse.

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "evaluation/results.h"
#include "evaluation/statistics.h"
#include "evaluation/view_scores.h"

namespace interlacer {

struct Variant {
  std::string name;
  const Results* results = nullptr;
  std::string subject;     ///< in these results
  std::string frames_dir;  ///< where its pictures lie; may be empty
};

/// Equal definitions of metrics, steps, plans, image sizes, step durations and backgrounds;
/// otherwise the first difference. A setting that one of them lacks is no difference.
Status CheckEqualSettings(const Results& a, const Results& b);

/// Equal settings and data, so that numbers can be compared; otherwise the first difference.
Status CheckComparable(const Results& a, const Results& b);

struct VariantScore {
  std::optional<MeanEstimate> mean;
  /// Difference to the reference over the values that both have; nothing for the reference itself.
  std::optional<PairedDifference> difference;
  /// Values that only one of both has, which the difference leaves out.
  int left_out_count = 0;
};

/// Scores of every variant for one metric, at one step or (step < 0) over all steps. A value of one
/// is paired with that of the same episode, start, camera and step of the other.
std::vector<VariantScore> CompareVariants(const std::vector<Variant>& variants,
                                          std::string_view metric, int step);

inline constexpr std::array kMotionMetrics{kL2Moved, kSsim, kSsimMoving, kSsimObjects};
/// What a variant wins in a metric over `kinematic`, where all but the robot stands still, as a
/// share of what true motion of everything wins over it (subject oracle_motion of the same
/// results): ratio of means over episodes, of values that all of them have. With `l2_moved_m` it is
/// the share of the way that objects go which was predicted. Absent where one of them was not
/// scored, and where EstimateRatio is. Both differences are between pictures drawn alike, the
/// variant's where its results hold kinematic_field; without it the share also says how holes are
/// filled, most of all in small pictures.
std::optional<RatioEstimate> ShareOfMotion(const Variant& variant, std::string_view metric,
                                           int step);

/// The baselines that these results hold, as variants.
std::vector<Variant> BaselineVariants(const Results& results, const std::string& frames_dir);

nlohmann::ordered_json ComparisonToJson(const std::vector<Variant>& variants);

/// "ssim@8 < -0.01": the difference of a variant to the first in a metric (l2_moved, l2_static,
/// ssim, ssim_moving, ssim_objects, ssim_workspace, psnr, depth, chamfer) at a step, or over all
/// steps without "@".
struct FailRule {
  std::string text;
  std::string metric;
  int step = -1;
  bool is_below = true;
  double threshold = 0;
};
StatusOr<FailRule> ParseFailRule(const std::string& text);
/// Names of the variants that break the rule. NOT_FOUND when one of them has no such numbers.
StatusOr<std::vector<std::string>> VariantsThatBreak(const FailRule& rule,
                                                     const std::vector<Variant>& variants);

}  // namespace interlacer
