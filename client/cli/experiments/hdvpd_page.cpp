#include "client/cli/experiments/hdvpd_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "client/cli/evaluation/html.h"
#include "client/cli/evaluation/score_text.h"
#include "client/cli/evaluation/svg.h"
#include "client/cli/evaluation/view_scores.h"
#include "client/cli/experiments/hdvpd_published.h"
#include "client/cli/experiments/hdvpd_strips.h"

namespace interlacer {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kDecimals = 4;
constexpr std::size_t kWantedSeeds = 3;

double FigureStep(int step) { return step - 1; }

std::string GapText(const PairedDifference& gap) {
  return SignedText(gap.difference.mean, kDecimals) + " " + IntervalText(gap.difference, kDecimals);
}

void AddPoint(double x, const MeanEstimate* mean, ChartSeries* series) {
  series->x.push_back(x);
  series->y.push_back(mean != nullptr ? mean->mean : kNan);
  const bool has_interval = mean != nullptr && mean->interval;
  series->low.push_back(has_interval ? mean->interval->low : kNan);
  series->high.push_back(has_interval ? mean->interval->high : kNan);
}

bool HasValues(const ChartSeries& series) {
  return std::any_of(series.y.begin(), series.y.end(), [](double y) { return std::isfinite(y); });
}

std::string FigureHtml(const ChartSpec& spec) {
  return "<figure>" + LineChartSvg(spec) + "</figure>";
}

std::string ChartsHtml(const std::string& figures) {
  return figures.empty() ? "" : "<div class=\"charts\">" + figures + "</div>";
}

class PageBuilder {
 public:
  explicit PageBuilder(const StudyPageInput& in) : in_(in), study_(*in.study) {}

  std::string Build() {
    std::string body = Warnings() + Headline() + MainFigure() + Relations() + Frames() +
                       FurtherScores() + Geometry() + StillArms() + Tasks() + Ablations() +
                       Training() + Tables() + Provenance();
    return PageHtml("Variants of the world model on " + study_.setup().dataset_name, Verdict(),
                    body);
  }

 private:
  std::string Verdict() const {
    std::string text;
    for (const auto& [a, b] : ComparedPairs(study_)) {
      const auto gap =
          study_.Difference(a.subject, b.subject, kSsim, kAllSteps, EpisodeGroup::kMoving);
      if (!gap) continue;
      const MeanEstimate& d = gap->difference;
      const bool is_open = !d.interval || d.interval->Contains(0);
      text += text.empty() ? "" : " ";
      text += a.name;
      text += is_open
                  ? " and " + b.name + " do not differ in SSIM beyond chance: "
                  : std::string(d.mean > 0 ? " is above " : " is below ") + b.name + " in SSIM by ";
      text += is_open
                  ? GapText(*gap)
                  : ScoreText(std::abs(d.mean), kDecimals) + " (difference " + GapText(*gap) + ")";
      text += ".";
    }
    if (text.empty()) return "There is no pair of variants to compare.";
    return text + " Means over " + std::to_string(study_.step_count()) + " steps, " +
           std::to_string(study_.EpisodeCount(EpisodeGroup::kMoving)) + " episodes and " +
           std::to_string(SeedCount()) + (SeedCount() == 1 ? " seed" : " seeds") +
           ", 95 % intervals over episodes.";
  }

  std::size_t SeedCount() const { return study_.runs().size() / study_.variants().size(); }

  std::string Warnings() const {
    std::string out;
    const auto warn = [&](const std::string& text) {
      out += "<p class=\"warning\">" + EscapeHtml(text) + "</p>\n";
    };
    if (SeedCount() < kWantedSeeds) {
      warn("Only " + std::to_string(SeedCount()) + " of the 3 seeds that a comparison needs.");
    }
    for (const TrainedRun& run : study_.runs()) {
      if (run.has_diverged) warn("Run " + run.name() + " diverged and takes no part.");
    }
    return out;
  }

  std::string Headline() const {
    std::vector<HeadlineFigure> figures;
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
      figures.push_back({SignedText(gap->difference.mean, kDecimals), a.name + " - " + b.name,
                         IntervalText(gap->difference, kDecimals)});
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

  std::string StepLabel() const {
    char text[96];
    std::snprintf(text, sizeof text, "rollout step (%.3g s each; 0 is the first predicted frame)",
                  study_.step_duration_s());
    return text;
  }

  void MarkTraining(ChartSpec* spec) const {
    const auto& schedule =
        study_.runs().front().training.value("rollout_steps", nlohmann::json::array());
    if (schedule.empty()) return;
    spec->marker_x = FigureStep(schedule.back().value("value", 0));
    spec->marker_label = "trained up to here";
  }

  std::string MetricChart(std::string_view metric, EpisodeGroup group) const {
    ChartSpec spec;
    spec.title = MetricLabel(metric);
    spec.x_label = StepLabel();
    spec.y_label = MetricUnit(metric);
    spec.alt_text = spec.title + " against rollout step with 95 % bands";
    for (const NamedSubject& subject : FigureSubjects(study_)) {
      ChartSeries series{subject.name, {}, {}, {}, {}, subject.style};
      for (int step = 1; step <= study_.step_count(); ++step) {
        const auto mean = study_.Mean(subject.subject, metric, step, group);
        AddPoint(FigureStep(step), mean ? &*mean : nullptr, &series);
      }
      if (HasValues(series)) spec.series.push_back(std::move(series));
    }
    if (spec.series.empty()) return "";
    MarkTraining(&spec);
    return FigureHtml(spec);
  }

  std::string MetricCharts(std::span<const std::string_view> metrics, EpisodeGroup group) const {
    std::string figures;
    for (const std::string_view metric : metrics) figures += MetricChart(metric, group);
    return ChartsHtml(figures);
  }

  static std::string PublishedChart() {
    ChartSpec spec;
    spec.title = "SSIM, published (other data)";
    spec.x_label = "rollout step";
    spec.y_label = "SSIM";
    spec.alt_text = "Published SSIM of the three variants against rollout step";
    for (std::size_t i = 0; i < kPublished.size(); ++i) {
      ChartSeries series{VariantLabel(kPublished[i].variant), {}, {}, {}, {}, i};
      for (int step = 0; step < kPublishedSteps; ++step) {
        series.x.push_back(step);
        series.y.push_back(kPublished[i].ssim[static_cast<std::size_t>(step)]);
      }
      spec.series.push_back(std::move(series));
    }
    return FigureHtml(spec);
  }

  std::string GapChart(std::string_view metric) const {
    ChartSpec spec;
    spec.title = MetricLabel(metric) + ": paired differences";
    spec.x_label = StepLabel();
    spec.y_label = "difference in " + MetricUnit(metric);
    spec.alt_text = spec.title + " against rollout step with 95 % bands";
    spec.reference_y = 0;
    for (const auto& [a, b] : ComparedPairs(study_)) {
      ChartSeries ours{a.name + " - " + b.name, {}, {}, {}, {}, b.style};
      ChartSeries published{"published", {}, {}, {}, {}, b.style + 2};
      for (int step = 1; step <= study_.step_count(); ++step) {
        const auto gap =
            study_.Difference(a.subject, b.subject, metric, step, EpisodeGroup::kMoving);
        AddPoint(FigureStep(step), gap ? &gap->difference : nullptr, &ours);
        const auto known = PublishedGap(a.subject.variant, b.subject.variant, step - 1);
        if (metric != kSsim || !known) continue;
        published.x.push_back(FigureStep(step));
        published.y.push_back(*known);
      }
      if (HasValues(ours)) spec.series.push_back(std::move(ours));
      published.name += " " + a.name + " - " + b.name;
      if (HasValues(published)) spec.series.push_back(std::move(published));
    }
    return spec.series.empty() ? "" : FigureHtml(spec);
  }

  std::string MainFigure() const {
    return SectionHtml(
        "SSIM by rollout step",
        ChartsHtml(MetricChart(kSsim, EpisodeGroup::kMoving) + PublishedChart() + GapChart(kSsim) +
                   GapChart(kSsimMoving)) +
            ParagraphHtml("Episodes in which the arms move. Lines are means over seeds and "
                          "episodes, bands are 95 % bootstrap intervals over episodes."));
  }

  std::string Relations() const {
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
    constexpr std::array kShown{kSsimMoving, kSsimWorkspace, kPsnr};
    const std::string charts = MetricCharts(kShown, EpisodeGroup::kMoving);
    return charts.empty() ? "" : SectionHtml("Further scores", charts);
  }

  std::string Geometry() const {
    const std::string charts = MetricCharts(kGeometryMetrics, EpisodeGroup::kMoving);
    if (charts.empty()) return "";
    return SectionHtml(
        "Geometry",
        charts + ParagraphHtml(
                     "In metres, smaller is better. Tracked particles are those of the objects, "
                     "the table and the room, set against the true rigid motion of what they were "
                     "lifted from; those that move are truly 1 cm or more from their start. Copy "
                     "last frame leaves every particle where it is."));
  }

  std::string StillArms() const {
    constexpr std::array kShown{kSsim, kTracked};
    const std::string charts = MetricCharts(kShown, EpisodeGroup::kStill);
    if (charts.empty()) return "";
    return SectionHtml("Arms that stand still",
                       charts + ParagraphHtml("The same scenes with arms that hold their first "
                                              "pose: a model that invents motion loses here."));
  }

  std::string Tasks() const {
    HtmlTable table;
    table.caption = "Mean over all steps: SSIM, and paired differences with 95 % interval";
    table.header = {"task", "episodes"};
    const std::vector<NamedSubject> subjects = FigureSubjects(study_);
    const auto pairs = ComparedPairs(study_);
    for (std::size_t i = 0; i < study_.variants().size(); ++i) {
      table.header.push_back(subjects[i].name);
    }
    table.header.push_back(SubjectLabel(kCopyLast));
    for (const auto& [a, b] : pairs) table.header.push_back(a.name + " - " + b.name);
    for (const std::string& task : study_.tasks()) {
      const std::size_t count =
          study_.Values(subjects[0].subject, kSsim, kAllSteps, EpisodeGroup::kMoving, task).size();
      std::vector<std::string> row{task, std::to_string(count)};
      for (std::size_t i = 0; i <= study_.variants().size(); ++i) {
        const auto mean =
            study_.Mean(subjects[i].subject, kSsim, kAllSteps, EpisodeGroup::kMoving, task);
        row.push_back(mean ? ScoreText(mean->mean, kDecimals) : ScoreText({}, kDecimals));
      }
      for (const auto& [a, b] : pairs) {
        const auto gap =
            study_.Difference(a.subject, b.subject, kSsim, kAllSteps, EpisodeGroup::kMoving, task);
        row.push_back(gap ? GapText(*gap) : ScoreText({}, kDecimals));
      }
      table.rows.push_back(std::move(row));
    }
    return table.rows.empty() ? "" : SectionHtml("By task", TableHtml(table));
  }

  std::string Ablations() const {
    HtmlTable table;
    const std::string variant = study_.variants().front();
    table.caption = VariantLabel(variant) + ", mean over all steps with 95 % interval";
    table.header = {"", MetricLabel(kSsim), MetricLabel(kSsimMoving)};
    const auto add = [&](const std::string& name, Condition condition) {
      std::vector<std::string> row{name};
      bool has_value = false;
      for (const std::string_view metric : {kSsim, kSsimMoving}) {
        const auto mean = study_.Mean({variant, std::string(kModel), condition}, metric, kAllSteps,
                                      EpisodeGroup::kMoving);
        has_value = has_value || mean;
        row.push_back(mean ? ScoreText(mean->mean, kDecimals) + " " + IntervalText(*mean, kDecimals)
                           : ScoreText({}, kDecimals));
      }
      if (has_value) table.rows.push_back(std::move(row));
    };
    add("as recorded", Condition::kRecorded);
    add("actions of another episode", Condition::kShuffledActions);
    add("half of the particles", Condition::kHalfParticles);
    add("a quarter of the particles", Condition::kQuarterParticles);
    add("true frames encoded and rendered", Condition::kOracleRender);
    return table.rows.size() < 2 ? "" : SectionHtml("What the scores rest on", TableHtml(table));
  }

  std::string LossChart() const {
    ChartSpec spec;
    spec.title = "Validation loss of predicted steps";
    spec.x_label = "training step";
    spec.y_label = "mean squared colour error";
    spec.alt_text = "Validation loss of every run against training step";
    const std::vector<std::string> variants = study_.variants();
    for (const TrainedRun& run : study_.runs()) {
      const auto style = std::find(variants.begin(), variants.end(), run.variant);
      ChartSeries series{VariantLabel(run.variant) + ", seed " + std::to_string(run.seed),
                         {},
                         {},
                         {},
                         {},
                         static_cast<std::size_t>(style - variants.begin())};
      for (const LoggedLoss& loss : run.validations) {
        series.x.push_back(static_cast<double>(loss.step));
        series.y.push_back(loss.prediction_loss);
      }
      if (HasValues(series)) spec.series.push_back(std::move(series));
    }
    return spec.series.empty() ? "" : ChartsHtml(FigureHtml(spec));
  }

  std::string Training() const {
    HtmlTable table;
    table.header = {
        "run",      "parameters", "training steps", "steps a second", "last validation loss",
        "mean SSIM"};
    for (const TrainedRun& run : study_.runs()) {
      table.rows.push_back(
          {run.name(), std::to_string(study_.facts(run).parameter_count),
           std::to_string(run.steps_done), ScoreText(run.steps_per_s, 3),
           ScoreText(run.LastValidationLoss(), 5),
           ScoreText(study_.RunMean(run, kModel, kSsim, kAllSteps, EpisodeGroup::kMoving),
                     kDecimals)});
    }
    HtmlTable speed;
    speed.caption = "Training steps a second, median of the seeds";
    speed.header = {"variant", "ours", "published"};
    for (const std::string& variant : study_.variants()) {
      const PublishedVariant* const published = FindPublished(variant);
      const double steps_per_s = TrainingStepsPerS(study_, variant);
      speed.rows.push_back(
          {VariantLabel(variant),
           ScoreText(steps_per_s > 0 ? std::optional<double>(steps_per_s) : std::nullopt, 3),
           ScoreText(
               published ? std::optional<double>(published->training_steps_per_s) : std::nullopt,
               3)});
    }
    return SectionHtml(
        "Training",
        LossChart() + TableHtml(table) + TableHtml(speed) +
            ParagraphHtml("Speeds are medians over the second half of each log; they compare only "
                          "if the runs had the machine to themselves."));
  }

  std::string Tables() const {
    std::string tables;
    const std::vector<NamedSubject> subjects = FigureSubjects(study_);
    for (const std::string_view metric : kMetrics) {
      HtmlTable table;
      table.caption = MetricLabel(metric) + ": mean and 95 % interval";
      table.header = {"step"};
      for (const NamedSubject& subject : subjects) table.header.push_back(subject.name);
      for (int step = 1; step <= study_.step_count(); ++step) {
        std::vector<std::string> row{std::to_string(step - 1)};
        bool has_value = false;
        for (const NamedSubject& subject : subjects) {
          const auto mean = study_.Mean(subject.subject, metric, step, EpisodeGroup::kMoving);
          has_value = has_value || mean;
          const int decimals = MetricDecimals(metric);
          row.push_back(mean ? ScoreText(mean->mean, decimals) + " " + IntervalText(*mean, decimals)
                             : ScoreText({}, decimals));
        }
        if (has_value) table.rows.push_back(std::move(row));
      }
      if (!table.rows.empty()) tables += TableHtml(table);
    }
    return tables.empty() ? "" : SectionHtml("The numbers", tables);
  }

  std::string Provenance() const {
    const StudySetup& setup = study_.setup();
    HtmlTable table{"", {}, {}, false};
    table.rows = {{"data set", setup.dataset_name + ", split " + setup.split},
                  {"data set hash", setup.dataset_sha256.empty() ? "none" : setup.dataset_sha256},
                  {"true frames", setup.target_background},
                  {"image size", std::to_string(study_.image_width_px()) + " x " +
                                     std::to_string(study_.image_height_px()) + " pixels"},
                  {"rollouts of an episode", std::to_string(setup.plan.window_count)},
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
        "averaged "
        "first, then the seeds; intervals are percentile bootstrap over episodes, 10,000 draws, "
        "seed 0; differences are paired over episodes. Variants differ in the local layer alone: "
        "one configuration, one schedule, equal seeds and order of data. Published figures: GRF "
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
