#include "evaluation/comparison.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/json.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kShortNames{
    {{"l2_moved", kL2Moved},
     {"l2_static", kL2Static},
     {"ssim", kSsim},
     {"ssim_moving", kSsimMoving},
     {"ssim_objects", kSsimObjects},
     {"ssim_workspace", kSsimWorkspace},
     {"psnr", kPsnr},
     {"depth", kDepthAbs},
     {"chamfer", kChamferHalf}}};

Status CheckEqual(std::string_view reason, const std::string& what, const std::string& a,
                  const std::string& b) {
  return a == b ? Status::Ok() : Mismatch(reason, what, a, b);
}

std::string EpisodeHashes(const Results& results) {
  std::map<std::string, std::string> hashes;
  for (const ResultEpisode& episode : results.episodes) {
    hashes[episode.id] = episode.manifest_sha256;
  }
  std::string out;
  for (const auto& [id, sha256] : hashes) out += id + ":" + sha256.substr(0, 12) + " ";
  return out;
}

std::string SizeText(const Results& r) {
  return std::to_string(r.image_width_px) + "x" + std::to_string(r.image_height_px);
}

/// Metrics that only one of them has are no difference, because later versions add metrics.
Status CheckDefinitions(const Results& a, const Results& b) {
  for (const auto& [metric, definition] : a.metrics.items()) {
    if (!b.metrics.contains(metric)) continue;
    // The order of parameters has no meaning.
    INTERLACER_RETURN_IF_ERROR(CheckEqual(reason::SCHEMA_INVALID, "definition of " + metric,
                                          nlohmann::json(definition).dump(),
                                          nlohmann::json(b.metrics[metric]).dump()));
  }
  return Status::Ok();
}

std::string NamesText(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text.empty() ? "none named" : text;
}

Status CheckPlan(const Results& a, const Results& b) {
  if (!a.plan || !b.plan) return Status::Ok();
  const auto start_text = [](const ResultPlan& plan) {
    return plan.start_step < 0 ? "spread over the episode" : std::to_string(plan.start_step);
  };
  INTERLACER_RETURN_IF_ERROR(CheckEqual(reason::SHAPE_MISMATCH, "windows",
                                        std::to_string(a.plan->window_count),
                                        std::to_string(b.plan->window_count)));
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual(reason::SHAPE_MISMATCH, "start step", start_text(*a.plan), start_text(*b.plan)));
  INTERLACER_RETURN_IF_ERROR(CheckEqual(reason::SHAPE_MISMATCH, "cameras",
                                        NamesText(a.plan->input_cameras),
                                        NamesText(b.plan->input_cameras)));
  return CheckEqual(reason::SHAPE_MISMATCH, "target cameras", NamesText(a.plan->target_cameras),
                    NamesText(b.plan->target_cameras));
}

std::string Trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// In the order of the episodes.
std::vector<double> ValuesOf(const std::map<std::string, double>& means) {
  std::vector<double> values;
  for (const auto& [episode, mean] : means) values.push_back(mean);
  return values;
}

std::set<ValuePlace> Common(const std::set<ValuePlace>& a, const std::set<ValuePlace>& b) {
  std::set<ValuePlace> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
  return both;
}

Status BadRule(const std::string& text) {
  std::string known;
  for (const auto& [short_name, metric] : kShortNames) {
    known += (known.empty() ? "" : ", ") + std::string(short_name);
  }
  return Mismatch(reason::ARGUMENT_INVALID, "--fail-if", "METRIC[@STEP] < NUMBER with " + known,
                  text);
}

}  // namespace

Status CheckEqualSettings(const Results& a, const Results& b) {
  INTERLACER_RETURN_IF_ERROR(CheckDefinitions(a, b));
  INTERLACER_RETURN_IF_ERROR(CheckEqual(
      reason::SHAPE_MISMATCH, "steps", std::to_string(a.step_count), std::to_string(b.step_count)));
  INTERLACER_RETURN_IF_ERROR(CheckPlan(a, b));
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual(reason::SHAPE_MISMATCH, "image size", SizeText(a), SizeText(b)));
  INTERLACER_RETURN_IF_ERROR(CheckEqual(reason::SHAPE_MISMATCH, "step duration",
                                        std::to_string(a.step_duration_s),
                                        std::to_string(b.step_duration_s)));
  const auto robot_text = [](const Results& results) {
    return results.robot_sha256.empty() ? "that of the episodes" : results.robot_sha256;
  };
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual(reason::HASH_MISMATCH, "robot", robot_text(a), robot_text(b)));
  return CheckEqual(reason::SCHEMA_INVALID, "target background", a.target_background,
                    b.target_background);
}

Status CheckComparable(const Results& a, const Results& b) {
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual(reason::HASH_MISMATCH, "dataset hash", a.dataset_sha256, b.dataset_sha256));
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual(reason::HASH_MISMATCH, "episodes", EpisodeHashes(a), EpisodeHashes(b)));
  return CheckEqualSettings(a, b);
}

std::vector<VariantScore> CompareVariants(const std::vector<Variant>& variants,
                                          std::string_view metric, int step) {
  const auto filter_of = [&](const Variant& variant) {
    return ValueFilter{variant.subject, metric, step, "", {}};
  };
  std::vector<VariantScore> scores;
  std::set<ValuePlace> reference;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const ValueFilter filter = filter_of(variants[i]);
    VariantScore score;
    score.mean = EstimateMean(ValuesOf(EpisodeMeans(*variants[i].results, filter)));
    const std::set<ValuePlace> own = PlacesOf(*variants[i].results, filter);
    if (i == 0) {
      reference = own;
    } else {
      const std::set<ValuePlace> both = Common(own, reference);
      const auto mine = EpisodeMeans(*variants[i].results, filter, &both);
      const auto theirs = EpisodeMeans(*variants[0].results, filter_of(variants[0]), &both);
      const auto paired = ComparePaired(ValuesOf(mine), ValuesOf(theirs));
      if (paired.ok()) score.difference = *paired;
      score.left_out_count = static_cast<int>(own.size() + reference.size() - 2 * both.size());
    }
    scores.push_back(std::move(score));
  }
  return scores;
}

std::optional<RatioEstimate> ShareOfMotion(const Variant& variant, std::string_view metric,
                                           int step) {
  const Results& results = *variant.results;
  const auto filter_of = [&](std::string_view subject) {
    return ValueFilter{subject, metric, step, "", {}};
  };
  std::string_view alike = kKinematicField;
  std::set<ValuePlace> places = PlacesOf(results, filter_of(alike));
  if (places.empty()) places = PlacesOf(results, filter_of(alike = kKinematicSubject));
  for (const std::string_view subject :
       {std::string_view(variant.subject), kKinematicSubject, kOracleMotion}) {
    places = Common(places, PlacesOf(results, filter_of(subject)));
  }
  const auto means = [&](std::string_view subject) {
    return ValuesOf(EpisodeMeans(results, filter_of(subject), &places));
  };
  const std::vector<double> variants = means(variant.subject), still_alike = means(alike),
                            still = means(kKinematicSubject), moved = means(kOracleMotion);
  std::vector<Fraction> episodes;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    episodes.push_back({variants[i] - still_alike[i], moved[i] - still[i]});
  }
  return EstimateRatio(episodes);
}

std::vector<Variant> BaselineVariants(const Results& results, const std::string& frames_dir) {
  std::vector<Variant> variants;
  for (const std::string& subject : BaselinesOf(results)) {
    variants.push_back({SubjectLabel(subject), &results, subject, frames_dir});
  }
  return variants;
}

Json ComparisonToJson(const std::vector<Variant>& variants) {
  Json out = {{"schema", "interlacer.comparison"}, {"schema_version", 1}};
  for (const Variant& variant : variants) {
    out["variants"].push_back(
        {{"name", variant.name},
         {"subject", variant.subject},
         {"weights_sha256", variant.results->model.value("weights_sha256", "")},
         {"command", variant.results->command}});
  }
  out["metrics"] = variants[0].results->metrics;
  out["reference"] = variants[0].name;
  std::vector<int> steps{-1};
  for (const int step : StepsOf(*variants[0].results)) steps.push_back(step);
  for (const std::string& metric : MetricsOf(*variants[0].results)) {
    for (const int step : steps) {
      const std::vector<VariantScore> scores = CompareVariants(variants, metric, step);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        if (!scores[i].mean) continue;
        Json entry = {{"metric", metric},
                      {"step", step < 0 ? Json("all") : Json(step)},
                      {"variant", variants[i].name},
                      {"score", ToJson(*scores[i].mean)}};
        if (const auto& d = scores[i].difference) {
          entry["difference"] = ToJson(d->difference);
          entry["wins"] = d->wins;
          entry["losses"] = d->losses;
          entry["ties"] = d->ties;
          entry["left_out"] = scores[i].left_out_count;
        }
        out["comparisons"].push_back(std::move(entry));
      }
    }
  }
  for (const Variant& variant : variants) {
    if (variant.subject != kModelSubject) continue;
    for (const std::string_view metric : kMotionMetrics) {
      for (const int step : steps) {
        const std::optional<RatioEstimate> share = ShareOfMotion(variant, metric, step);
        if (!share) continue;
        out["shares_of_motion"].push_back({{"metric", metric},
                                           {"step", step < 0 ? Json("all") : Json(step)},
                                           {"variant", variant.name},
                                           {"share", ToJson(*share)}});
      }
    }
  }
  return out;
}

StatusOr<FailRule> ParseFailRule(const std::string& text) {
  FailRule rule;
  rule.text = text;
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string::npos) return BadRule(text);
  rule.is_below = text[sign] == '<';
  std::string name = Trimmed(text.substr(0, sign));
  const std::string number = Trimmed(text.substr(sign + 1));
  char* end = nullptr;
  rule.threshold = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !std::isfinite(rule.threshold)) return BadRule(text);
  if (const std::size_t at = name.find('@'); at != std::string::npos) {
    const std::string step = name.substr(at + 1);
    const long value = std::strtol(step.c_str(), &end, 10);
    if (step.empty() || *end != '\0' || value < 0 || value > INT_MAX) return BadRule(text);
    rule.step = static_cast<int>(value);
    name = name.substr(0, at);
  }
  for (const auto& [short_name, metric] : kShortNames) {
    if (name == short_name) rule.metric = metric;
  }
  if (rule.metric.empty()) return BadRule(text);
  return rule;
}

StatusOr<std::vector<std::string>> VariantsThatBreak(const FailRule& rule,
                                                     const std::vector<Variant>& variants) {
  const std::vector<VariantScore> scores = CompareVariants(variants, rule.metric, rule.step);
  std::vector<std::string> names;
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (!scores[i].difference) {
      return NotFound(reason::ARGUMENT_INVALID, variants[i].name + " and " + variants[0].name +
                                                    " have no common value of the rule " +
                                                    rule.text)
          .WithField("--fail-if");
    }
    const double difference = scores[i].difference->difference.mean;
    if (rule.is_below ? difference < rule.threshold : difference > rule.threshold) {
      names.push_back(variants[i].name);
    }
  }
  return names;
}

}  // namespace interlacer
