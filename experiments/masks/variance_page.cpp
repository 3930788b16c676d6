#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/score_chart.h"
#include "evaluation/score_text.h"
#include "evaluation/statistics.h"
#include "experiments/masks/graphs.h"
#include "experiments/masks/pages.h"

namespace interlacer {
namespace {

using attention::EstimateForm;

constexpr int kVariedHops = 7;
constexpr double kDecay = 0.5;
constexpr int kVariedWalks = 16;
/// Variance is to fall as 1 / n.
constexpr double kSlopeTolerance = 0.1;
constexpr int kDecimals = 5;

/// Squares of errors off the diagonal over those of the mask, one number a draw. Off the diagonal
/// estimates have no bias: the mean is the variance.
StatusOr<std::vector<double>> SquaredErrors(const attention::WalkSetting& walks, EstimateForm form,
                                            std::uint32_t draws, const MaskRun& run) {
  INTERLACER_ASSIGN_OR_RETURN(const auto exact, attention::ExactMask(walks, form));
  const auto n = static_cast<std::size_t>(walks.graph.size());
  double scale = 0;
  for (std::size_t at = 0; at < exact.size(); ++at) {
    if (at / n != at % n) scale += exact[at] * exact[at];
  }
  std::vector<double> errors;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    if (draw % 64 == 0) INTERLACER_RETURN_IF_ERROR(run.Step(walks.sampler + " walks"));
    INTERLACER_ASSIGN_OR_RETURN(const auto estimate, attention::EstimateMask(walks, form, draw));
    double sum = 0;
    for (std::size_t at = 0; at < exact.size(); ++at) {
      const double error = estimate[at] - exact[at];
      if (at / n != at % n) sum += error * error;
    }
    errors.push_back(sum / scale);
  }
  return errors;
}

attention::WalkSetting SymmetricSetting(const attention::EdgeLists& graph, double halt) {
  attention::WalkSetting walks;
  walks.graph = graph;
  walks.walks = kVariedWalks;
  walks.max_hops = kVariedHops;
  walks.halt_probability = halt;
  for (int t = 0; t <= kVariedHops; ++t) walks.f.push_back(std::pow(kDecay, t));
  return walks;
}

/// The asymmetric estimate of the same mask: coefficients f * f, convolved, of twice the hops.
attention::WalkSetting AsymmetricSetting(attention::WalkSetting walks) {
  std::vector<double> alpha(2 * walks.f.size() - 1, 0);
  for (std::size_t a = 0; a < walks.f.size(); ++a) {
    for (std::size_t b = 0; b < walks.f.size(); ++b) alpha[a + b] += walks.f[a] * walks.f[b];
  }
  walks.f = alpha;
  walks.max_hops *= 2;
  return walks;
}

MaskClaim SmallerClaim(const std::string& text, const std::string& source,
                       const std::optional<MeanEstimate>& a, const std::optional<MeanEstimate>& b) {
  MaskClaim claim{.text = text, .source = source, .paper = "smaller"};
  claim.ours = MeanText(a, kDecimals) + " against " + MeanText(b, kDecimals);
  if (a && b) claim.value = a->mean / b->mean;
  claim.rule = "95 % intervals do not overlap";
  claim.verdict = JudgeSmaller(a, b);
  return claim;
}

class VarianceMaker {
 public:
  explicit VarianceMaker(const MaskRun& run) : run_(run), draws_(run.is_quick ? 24 : 400) {
    page_.name = "variance";
    page_.title = "Variance of mask estimates";
    page_.notes = {
        "Estimates of a mask with f_t = 2^-t up to 7 hops and weights 1 / sqrt(d_i d_j); 16 walks "
        "a "
        "node unless said otherwise. Variance: squares of errors of the entries off the diagonal, "
        "over those of the mask, mean over " +
        std::to_string(draws_) +
        " draws with a 95 % bootstrap interval. Asymmetric: the coefficients of the same mask, f * "
        "f, up to 14 hops, with as many walks."};
    page_.points.columns = {"graph", "form",     "sampler", "halt_probability",
                            "walks", "variance", "low",     "high"};
    table_.caption = "Variance over the squares of the mask's entries";
    table_.header = {"graph", "form", "sampler", "halting", "walks", "variance"};
  }

  StatusOr<MaskPage> Make() {
    INTERLACER_RETURN_IF_ERROR(CompareSamplers());
    INTERLACER_RETURN_IF_ERROR(CompareForms());
    INTERLACER_RETURN_IF_ERROR(FitWalks());
    page_.tables = {table_};
    return page_;
  }

 private:
  /// What several comparisons ask for is measured and listed once.
  StatusOr<std::optional<MeanEstimate>> Measure(const std::string& graph, EstimateForm form,
                                                const attention::WalkSetting& walks) {
    const std::string name = form == EstimateForm::kSymmetric ? "symmetric" : "asymmetric";
    std::vector<std::string> row{graph, name, walks.sampler, FigureText(walks.halt_probability),
                                 std::to_string(walks.walks)};
    std::optional<MeanEstimate>& mean = measured_[row];
    if (mean) return mean;
    INTERLACER_ASSIGN_OR_RETURN(const auto errors, SquaredErrors(walks, form, draws_, run_));
    mean = EstimateMean(errors);
    page_.points.rows.push_back({graph, name, walks.sampler, walks.halt_probability, walks.walks,
                                 mean->mean, mean->interval->low, mean->interval->high});
    row.push_back(MeanText(mean, kDecimals));
    table_.rows.push_back(std::move(row));
    return mean;
  }

  Status CompareSamplers() {
    for (const double halt : {0.1, 0.5}) {
      std::map<std::string, std::optional<MeanEstimate>> by_sampler;
      attention::WalkSetting walks = SymmetricSetting(GridGraph(6), halt);
      for (const char* sampler : {"iid", "antithetic", "repelling", "repelling_per_prefix"}) {
        walks.sampler = sampler;
        INTERLACER_ASSIGN_OR_RETURN(by_sampler[sampler],
                                    Measure("grid 6 x 6", EstimateForm::kSymmetric, walks));
      }
      const std::string where = ", halting " + FigureText(halt);
      page_.claims.push_back(SmallerClaim(
          "repelling walks have less variance than independent "
          "ones" +
              where,
          "repelling-walks; grf-masking, App. C.3", by_sampler["repelling"], by_sampler["iid"]));
      page_.claims.push_back(
          SmallerClaim("antithetic halting has less variance than independent "
                       "walks" +
                           where,
                       "quasi-monte-carlo-grf", by_sampler["antithetic"], by_sampler["iid"]));
      page_.claims.push_back(
          SmallerClaim("walks that repel by their whole past have less variance "
                       "than those that repel by place" +
                           where,
                       "ours", by_sampler["repelling_per_prefix"], by_sampler["repelling"]));
      page_.claims.back().paper = "-";
    }
    return Status::Ok();
  }

  Status CompareForms() {
    const std::pair<std::string, attention::EdgeLists> graphs[] = {
        {"grid 6 x 6", GridGraph(6)},
        {"ring of 36", CirculantGraph(36, 1)},
        {"random graph of 36", RandomGraph(36, 90, 5)},
        {"binary tree of 36", TreeGraph(RandomBinaryTree(36, 5))}};
    for (const auto& [name, graph] : graphs) {
      for (const double halt : {0.1, 0.5}) {
        const attention::WalkSetting walks = SymmetricSetting(graph, halt);
        INTERLACER_ASSIGN_OR_RETURN(const auto symmetric,
                                    Measure(name, EstimateForm::kSymmetric, walks));
        INTERLACER_ASSIGN_OR_RETURN(const auto asymmetric, Measure(name, EstimateForm::kAsymmetric,
                                                                   AsymmetricSetting(walks)));
        page_.claims.push_back(
            SmallerClaim(name + ", halting " + FigureText(halt) +
                             ": symmetric features have less variance than asymmetric ones",
                         "grf-masking, App. D (believed there)", symmetric, asymmetric));
      }
    }
    return Status::Ok();
  }

  Status FitWalks() {
    ChartSpec chart;
    chart.title = "Variance against the number of walks";
    chart.x_label = "log2 of walks";
    chart.y_label = "log10 of variance";
    chart.alt_text = "Variance of the symmetric estimate against the number of walks";
    for (const char* sampler : {"iid", "antithetic", "repelling"}) {
      ChartSeries line{sampler, {}, {}, {}, {}, chart.series.size()};
      std::vector<double> counts, variances;
      for (int n = 4; n <= (run_.is_quick ? 16 : 256); n *= 2) {
        attention::WalkSetting walks = SymmetricSetting(GridGraph(6), 0.1);
        walks.sampler = sampler;
        walks.walks = n;
        INTERLACER_ASSIGN_OR_RETURN(const auto mean,
                                    Measure("grid 6 x 6", EstimateForm::kSymmetric, walks));
        counts.push_back(n);
        variances.push_back(mean->mean);
        line.x.push_back(std::log2(n));
        line.y.push_back(std::log10(mean->mean));
      }
      chart.series.push_back(line);
      if (sampler != std::string("iid")) continue;
      page_.claims.push_back(
          WithinRange({.text = "variance of independent walks falls as 1 / n: exponent of n",
                       .source = "grf-masking, App. C.2",
                       .paper = "falls, without a number"},
                      LogSlope(counts, variances), -1 - kSlopeTolerance, -1 + kSlopeTolerance));
    }
    page_.charts = {chart};
    return Status::Ok();
  }

  const MaskRun& run_;
  const std::uint32_t draws_;
  MaskPage page_;
  HtmlTable table_;
  std::map<std::vector<std::string>, std::optional<MeanEstimate>> measured_;
};

}  // namespace

StatusOr<MaskPage> VariancePage(const MaskRun& run) { return VarianceMaker(run).Make(); }

}  // namespace interlacer
