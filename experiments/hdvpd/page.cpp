#include "experiments/hdvpd/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "evaluation/html.h"
#include "evaluation/score_chart.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/charts.h"
#include "experiments/hdvpd/strips.h"
#include "experiments/hdvpd/tables.h"
#include "experiments/hdvpd/training_table.h"

namespace interlacer {
namespace {

constexpr std::size_t kWantedSeeds = 5;
/// From here on drawing one run alone is rarer than the tail of an interval.
constexpr std::size_t kRunsToResample = 4;

class PageBuilder {
 public:
  explicit PageBuilder(const StudyPageInput& in) : in_(in), study_(*in.study) {}

  std::string Build() {
    std::string body = Warnings() + Headline() + Claims() + Primary() + MainFigure() + Relations() +
                       Frames() + FurtherScores() + Geometry() + StillArms() + TasksHtml(study_) +
                       AblationsHtml(study_) + PlannedTraining() + TrainingHtml(study_) +
                       ScoreTablesHtml(study_) + Provenance();
    return PageHtml("Variants of the world model on " + study_.setup().dataset_name, Verdict(),
                    body);
  }

 private:
  std::string Verdict() const {
    std::string text;
    for (const Claim& claim : in_.claims) {
      if (!claim.is_primary) continue;
      text += (text.empty() ? "" : " ") + claim.a.name + " better than " + claim.b.name + " in " +
              MetricLabel(claim.metric) + ": " + ClaimVerdictText(claim) + ".";
    }
    if (!text.empty()) return text;
    for (const auto& [a, b] : ComparedPairs(study_)) {
      const auto gap =
          study_.Difference(a.subject, b.subject, kSsim, kAllSteps, EpisodeGroup::kMoving);
      if (!gap) continue;
      const double mean = gap->difference.mean;
      const std::optional<Interval>& judge =
          gap->over_runs ? gap->over_runs : gap->difference.interval;
      const bool is_few = !gap->over_runs && gap->difference.n < kFewestToDecide;
      const bool is_open = is_few || !judge || judge->Contains(0);
      text += text.empty() ? "" : " ";
      text += is_open ? "Between " + a.name + " and " + b.name +
                            " no difference in SSIM is shown: " + GapText(*gap, kStudyDecimals)
                      : a.name + (mean > 0 ? " is above " : " is below ") + b.name +
                            " in SSIM by " + ScoreText(std::abs(mean), kStudyDecimals) +
                            " (difference " + GapText(*gap, kStudyDecimals) + ")";
      if (gap->over_runs) text += ", " + StudentText(*gap->over_runs);
      if (gap->run_count > 1) {
        text += ", above in " + std::to_string(gap->runs_above) + " of " +
                std::to_string(gap->run_count) + " runs";
      }
      text += ".";
    }
    if (text.empty()) return "There is no pair of variants to compare.";
    return text + " Means over " + std::to_string(study_.step_count()) + " steps, " +
           std::to_string(study_.EpisodeCount(EpisodeGroup::kMoving)) + " episodes and " +
           std::to_string(SeedCount()) + (SeedCount() == 1 ? " seed" : " seeds") +
           (SeedCount() == 1 ? ", 95 % intervals over episodes, which leave out how much another "
                               "training run would differ."
            : SeedCount() < kRunsToResample
                ? ", 95 % intervals over runs and episodes; of so few runs their "
                  "bounds are about the extreme ones."
                : ", 95 % intervals over runs and episodes.");
  }

  static std::string StudentText(const Interval& interval) {
    return "over the seeds alone " + IntervalText(interval, kStudyDecimals) + " by Student" +
           (interval.Contains(0) ? ", which includes 0" : "");
  }

  /// Seeds of the variant with the fewest runs.
  std::size_t SeedCount() const {
    std::map<std::string, std::size_t> counts;
    for (const TrainedRun& run : study_.runs()) ++counts[run.variant];
    const auto fewest = std::min_element(counts.begin(), counts.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
    return fewest->second;
  }

  std::string Warnings() const {
    std::string out;
    const auto warn = [&](const std::string& text) {
      out += "<p class=\"warning\">" + EscapeHtml(text) + "</p>\n";
    };
    if (SeedCount() < kWantedSeeds) {
      warn("Only " + std::to_string(SeedCount()) + " of the 5 seeds that a comparison needs.");
    }
    for (const TrainedRun& run : study_.runs()) {
      if (run.has_diverged) warn("Run " + run.name() + " diverged and takes no part.");
    }
    for (const std::string& run : in_.left_out) {
      warn("The training of run " + run +
           " stopped with a loss that is not finite; it takes no "
           "part, nor does its seed in pairs.");
    }
    for (const std::string& line : FailureLines(study_.failures())) warn("Failed: " + line);
    if (!study_.failures().empty()) {
      warn("What failed is left out, by every run, so that figures compare; " +
           std::string(kRerunHint) + ".");
    }
    return out;
  }

  /// Of a planned study its primary claims, else SSIM.
  std::string Headline() const {
    std::vector<HeadlineFigure> figures;
    for (const Claim& claim : in_.claims) {
      if (!claim.is_primary || !claim.difference) continue;
      const int decimals = MetricDecimals(claim.metric);
      figures.push_back({SignedText(claim.difference->difference.mean, decimals),
                         claim.a.name + " - " + claim.b.name + ", " + MetricHeading(claim.metric),
                         claim.over_runs ? IntervalText(*claim.over_runs, decimals) : "one run"});
    }
    if (in_.plan != nullptr) return HeadlineHtml(figures);
    const NamedSubject first = FigureSubjects(study_).front();
    const auto ssim = study_.Mean(first.subject, kSsim, kAllSteps, EpisodeGroup::kMoving);
    if (ssim) {
      figures.push_back({ScoreText(ssim->mean, 3), "SSIM of " + first.name + ", mean of all steps",
                         IntervalText(*ssim, 3)});
    }
    for (const auto& [a, b] : ComparedPairs(study_)) {
      const auto gap =
          study_.Difference(a.subject, b.subject, kSsim, kAllSteps, EpisodeGroup::kMoving);
      if (!gap) continue;
      figures.push_back({SignedText(gap->difference.mean, kStudyDecimals), a.name + " - " + b.name,
                         IntervalText(gap->difference, kStudyDecimals)});
    }
    const auto count = [&](Outcome outcome) {
      return std::count_if(in_.relations.begin(), in_.relations.end(),
                           [&](const Relation& r) { return r.outcome == outcome; });
    };
    figures.push_back({std::to_string(count(Outcome::kReproduced)) + " of " +
                           std::to_string(in_.relations.size()),
                       "relations reproduced",
                       std::to_string(count(Outcome::kNotReproduced)) + " not, " +
                           std::to_string(count(Outcome::kNotTestable)) + " not testable here"});
    return HeadlineHtml(figures);
  }

  /// The claims of a planned study; a page of runs without a plan decides nothing.
  std::string Claims() const {
    if (in_.claims.empty()) return "";
    HtmlTable table;
    table.is_numeric = false;
    table.header = {"claim",       "metric",     "difference, over seeds and episodes",
                    "episodes",    "over seeds", "share of oracle - copy",
                    "runs for it", "verdict"};
    for (const Claim& claim : in_.claims) {
      const int decimals = MetricDecimals(claim.metric);
      table.rows.push_back(
          {claim.a.name + " better than " + claim.b.name + (claim.is_primary ? ", primary" : ""),
           MetricHeading(claim.metric), DifferenceText(claim), CountText(claim),
           claim.over_runs ? IntervalText(*claim.over_runs, decimals) : "–",
           ScoreText(claim.share, 2), RunsForIt(claim), ClaimVerdictText(claim)});
    }
    return SectionHtml(
        "What holds",
        TableHtml(table) +
            ParagraphHtml(
                "Means over the rollout's steps. A claim holds when both intervals of the paired "
                "difference lie on its side of zero, does not hold when both lie on the other, and "
                "is undecided otherwise. Over seeds: Student's interval of the runs' means, "
                "corrected for the number of primary claims (Bonferroni). Over seeds and episodes: "
                "bootstrap of both, 95 %. The protocol, docs/study.md, lists what was done "
                "otherwise than it says."));
  }

  static std::string RunsForIt(const Claim& claim) {
    if (!claim.difference) return "–";
    const PairedDifference& gap = *claim.difference;
    return std::to_string(claim.metric == kL2Moved ? gap.runs_below : gap.runs_above) + " of " +
           std::to_string(gap.run_count);
  }

  /// The metric that decides, where it is not the one of the main figure.
  std::string Primary() const {
    if (in_.plan == nullptr || in_.plan->primary_metric == kSsim) return "";
    const std::string& metric = in_.plan->primary_metric;
    return SectionHtml(
        MetricLabel(metric) + " by rollout step",
        ChartsHtml(MetricChart(study_, metric, EpisodeGroup::kMoving) + GapChart(study_, metric)));
  }

  std::string PlannedTraining() const {
    if (in_.plan == nullptr) return "";
    return SearchHtml(*in_.plan, in_.cells_dir) + TrainingCostHtml(study_);
  }

  std::string MainFigure() const {
    return SectionHtml(
        "SSIM by rollout step",
        ChartsHtml(MetricChart(study_, kSsim, EpisodeGroup::kMoving) + PublishedChart() +
                   GapChart(study_, kSsim) + GapChart(study_, kSsimMoving)) +
            ParagraphHtml("Episodes in which the arms move. Lines are means over seeds and "
                          "episodes, bands are 95 % bootstrap intervals over runs and episodes."));
  }

  std::string Relations() const {
    if (in_.relations.empty()) return "";
    HtmlTable table;
    table.is_numeric = false;
    table.header = {"relation", "outcome", "our numbers"};
    for (const Relation& r : in_.relations) {
      table.rows.push_back({r.id + ": " + r.text, std::string(OutcomeText(r.outcome)), r.numbers});
    }
    return SectionHtml("What the published comparison says, and what came out", TableHtml(table));
  }

  std::string Frames() {
    const std::string strips = StudyStripsHtml(study_, &images_);
    return strips.empty() ? "" : SectionHtml("Frames", strips);
  }

  std::string FurtherScores() const {
    constexpr std::array kShown{kSsimMoving, kSsimObjects, kSsimWorkspace, kPsnr};
    const std::string charts = MetricCharts(study_, kShown, EpisodeGroup::kMoving);
    return charts.empty() ? "" : SectionHtml("Further scores", charts);
  }

  std::string Geometry() const {
    const std::string charts = MetricCharts(study_, kGeometryMetrics, EpisodeGroup::kMoving);
    if (charts.empty()) return "";
    return SectionHtml(
        "Geometry",
        charts + ParagraphHtml(
                     "In metres, smaller is better. Particles are set against the true rigid "
                     "motion of what they were lifted from. Objects that move are those that truly "
                     "are 1 cm or more from their start at some step of the rollout; they count at "
                     "every step, before they move too. Copy last frame leaves every particle "
                     "where it is, kinematic moves those of the robot by its commanded joints."));
  }

  std::string StillArms() const {
    constexpr std::array kShown{kSsim, kL2Static};
    const std::string charts = MetricCharts(study_, kShown, EpisodeGroup::kStill);
    if (charts.empty()) return "";
    return SectionHtml("Arms that stand still",
                       charts + ParagraphHtml("The same scenes with arms that hold their first "
                                              "pose: a model that invents motion loses here."));
  }

  std::string Provenance() const {
    const StudySetup& setup = study_.setup();
    HtmlTable table{"", {}, {}, false};
    table.rows = {{"data set", setup.dataset_name + ", split " + setup.split},
                  {"data set hash", setup.dataset_sha256.empty() ? "none" : setup.dataset_sha256},
                  {"true frames", setup.target_background},
                  {"image size", std::to_string(study_.image_width_px()) + " x " +
                                     std::to_string(study_.image_height_px()) + " pixels"},
                  {"rollouts of an episode",
                   std::to_string(setup.plan.window_count) + ", one where the arms hold still"},
                  {"seed of the particles", std::to_string(setup.plan.seed)}};
    for (const TrainedRun& run : study_.runs()) {
      const RunFacts& facts = study_.facts(run);
      table.rows.push_back({run.name(), facts.attention_variant + ", " +
                                            std::to_string(facts.particle_count) +
                                            " particles, weights " + run.weights_sha256 +
                                            ", evaluated on " + facts.device});
    }
    table.rows.push_back({"this page", in_.created_time});
    table.rows.push_back({"command of this page", in_.command});
    const std::string how =
        "SSIM is ssim_wang_rgb_v1: Gaussian window of 11 px, sigma 1.5, 8-bit RGB, population "
        "covariances, windows inside the image only. Views and rollouts of one episode are "
        "averaged first, "
        "then the seeds; intervals are percentile bootstrap over runs and episodes, 10,000 draws, "
        "seed 0; differences are paired over seeds and episodes. Variants differ in the local "
        "layer, "
        "its sizes and the learning rate alone: one configuration, equal seeds and order of data. "
        "Published figures: GRF "
        "masking paper, Fig. 5 and App. C.3, recordings that are not public.";
    return SectionHtml("How it was computed", ParagraphHtml(how) + TableHtml(table));
  }

  const StudyPageInput& in_;
  const Study& study_;
  ImageEmbedder images_;
};

}  // namespace

std::string StudyPageHtml(const StudyPageInput& input) { return PageBuilder(input).Build(); }

}  // namespace interlacer
