#include "experiments/learning/page.h"

#include <cmath>
#include <functional>
#include <utility>

#include "common/number_text.h"
#include "evaluation/html.h"
#include "evaluation/score_chart.h"
#include "evaluation/score_text.h"

namespace interlacer {
namespace {

constexpr int kPercentDecimals = 1;
constexpr int kLossDecimals = 3;
constexpr double kPercent = 100;
constexpr char kTrivialName[] = "most frequent class";

/// One number of every run.
std::vector<double> Of(const NetworkRuns& network,
                       const std::function<double(const LearningResult&)>& number) {
  std::vector<double> values;
  for (const LearningResult& run : network.runs) values.push_back(number(run));
  return values;
}

MeanEstimate TestPercent(const NetworkRuns& network) {
  return OverSeeds(Of(network, [](const auto& run) { return kPercent * run.test.score; }));
}

MeanEstimate TrivialPercent(const LearningStudy& study) {
  std::vector<double> values;
  for (const LearningScore& score : study.trivial) values.push_back(kPercent * score.score);
  return OverSeeds(values);
}

double SecondsOf(const LearningResult& run) {
  double seconds = 0;
  for (const EpochRecord& epoch : run.epochs) seconds += epoch.seconds;
  return seconds;
}

double MeanOf(const std::vector<double>& values) { return OverSeeds(values).mean; }

HtmlTable ResultTable(const LearningStudy& study) {
  HtmlTable table;
  table.caption =
      "Test split with the weights of the best validation epoch: mean over seeds and Student's 95 "
      "% "
      "interval.";
  table.header = {"network",      "parameters", "accuracy, %",
                  "published, %", "test loss",  "train loss at the end",
                  "best epoch",   "s a run"};
  for (const NetworkRuns& network : study.networks) {
    table.rows.push_back(
        {network.name, std::to_string(network.runs.front().parameter_count),
         MeanText(TestPercent(network), kPercentDecimals),
         ScoreText(network.published ? std::optional(kPercent * *network.published) : std::nullopt,
                   kPercentDecimals),
         MeanText(OverSeeds(Of(network, [](const auto& run) { return run.test.loss; })),
                  kLossDecimals),
         ScoreText(
             MeanOf(Of(network, [](const auto& run) { return run.epochs.back().train.loss; })),
             kLossDecimals),
         ScoreText(MeanOf(Of(network,
                             [](const auto& run) { return static_cast<double>(run.best_epoch); })),
                   0),
         ScoreText(MeanOf(Of(network, SecondsOf)), 0)});
  }
  std::vector<double> losses;
  for (const LearningScore& score : study.trivial) losses.push_back(score.loss);
  table.rows.push_back({kTrivialName, "0", MeanText(TrivialPercent(study), kPercentDecimals), "–",
                        MeanText(OverSeeds(losses), kLossDecimals), "–", "–", "–"});
  return table;
}

HtmlTable ClaimTable(const std::vector<LearningClaim>& claims) {
  HtmlTable table;
  table.is_numeric = false;
  table.header = {"claim", "difference of test accuracy, points", "verdict"};
  for (const LearningClaim& claim : claims) {
    MeanEstimate points = claim.difference;
    points.mean *= kPercent;
    if (points.interval) {
      points.interval = Interval{kPercent * points.interval->low, kPercent * points.interval->high};
    }
    table.rows.push_back({claim.better + " is more accurate than " + claim.other,
                          MeanText(points, kPercentDecimals),
                          std::string(VerdictText(claim.verdict))});
  }
  return table;
}

/// Mean over the runs that came so far, with the interval.
ChartSpec EpochChart(const LearningStudy& study, const std::string& title,
                     const std::string& y_label,
                     const std::function<double(const EpochRecord&)>& number) {
  ChartSpec chart;
  chart.title = title;
  chart.x_label = "epoch";
  chart.y_label = y_label;
  chart.alt_text = title + " of every network";
  for (std::size_t n = 0; n < study.networks.size(); ++n) {
    ChartSeries series;
    series.name = study.networks[n].name;
    series.style = n;
    for (std::size_t e = 0;; ++e) {
      std::vector<double> values;
      for (const LearningResult& run : study.networks[n].runs) {
        if (e < run.epochs.size()) values.push_back(number(run.epochs[e]));
      }
      if (values.empty()) break;
      const MeanEstimate mean = OverSeeds(values);
      AddPoint(static_cast<double>(e + 1), &mean, &series);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string ChartsOf(const LearningStudy& study) {
  ChartSpec accuracy =
      EpochChart(study, "Validation accuracy", "accuracy, %",
                 [](const auto& epoch) { return kPercent * epoch.validation.score; });
  accuracy.reference_y = TrivialPercent(study).mean;
  DistributionSpec tests;
  tests.title = "Test accuracy of every run";
  tests.value_label = "accuracy, %";
  tests.alt_text = "Test accuracy of every run by network";
  for (const NetworkRuns& network : study.networks) {
    tests.groups.push_back(
        {network.name, Of(network, [](const auto& run) { return kPercent * run.test.score; })});
  }
  tests.reference_value = TrivialPercent(study).mean;
  return ChartsHtml(
      FigureHtml(LineChartSvg(accuracy)) + FigureHtml(DistributionSvg(tests)) +
      FigureHtml(LineChartSvg(EpochChart(study, "Training loss", "cross entropy, nats",
                                         [](const auto& epoch) { return epoch.train.loss; }))) +
      FigureHtml(
          LineChartSvg(EpochChart(study, "Validation loss", "cross entropy, nats",
                                  [](const auto& epoch) { return epoch.validation.loss; }))));
}

/// "2048 of 4096, ..." of the plan, as people read it.
std::string PlanText(const LearningStudy& study) {
  const MotifSettings& data = study.plan.data;
  const LearningConfig& training = study.plan.training;
  std::string seeds;
  for (const std::int64_t seed : study.plan.seeds) {
    seeds += (seeds.empty() ? "" : ", ") + std::to_string(seed);
  }
  return "Motif " + data.motif + "; " + std::to_string(data.train_count) + " training, " +
         std::to_string(data.validation_count) + " validation and " +
         std::to_string(data.test_count) + " test graphs, drawn anew for every seed (" + seeds +
         "; data " + std::to_string(data.seed) + " + seed), the same for all networks. " +
         std::to_string(training.epoch_count) + " epochs in batches of " +
         std::to_string(training.batch_size) +
         ", the same order for all networks. The test split is read once, with the weights of the "
         "first epoch of least validation loss. The dashed line is the training split's most "
         "frequent class.";
}

std::string VerdictLine(const LearningStudy& study) {
  std::string text;
  for (const NetworkRuns& network : study.networks) {
    text += network.name + " " + MeanText(TestPercent(network), kPercentDecimals) + ", ";
  }
  return text + kTrivialName + " " + MeanText(TrivialPercent(study), kPercentDecimals) +
         " % of test graphs right.";
}

nlohmann::ordered_json ToJson(const LearningScore& score) {
  const auto number = [](double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  return {{"loss", number(score.loss)}, {"accuracy", number(score.score)}};
}

nlohmann::ordered_json EstimateToJson(const MeanEstimate& estimate) {
  nlohmann::ordered_json json{{"mean", estimate.mean}, {"n", estimate.n}};
  if (estimate.interval) json["interval"] = {estimate.interval->low, estimate.interval->high};
  return json;
}

}  // namespace

std::string LearningPageHtml(const LearningStudy& study) {
  const std::vector<LearningClaim> claims = CheckClaims(study);
  const std::string body =
      SectionHtml("Results", TableHtml(ResultTable(study))) +
      (claims.empty() ? "" : SectionHtml("Claims", TableHtml(ClaimTable(claims)))) +
      SectionHtml("Epochs and runs", ChartsOf(study)) +
      SectionHtml("How it was made", ParagraphHtml(PlanText(study)) +
                                         ParagraphHtml(study.created_time + ": " + study.command));
  return PageHtml("Networks compared: " + study.plan.name, VerdictLine(study), body);
}

nlohmann::ordered_json LearningToJson(const LearningStudy& study) {
  nlohmann::ordered_json json{
      {"schema", "interlacer.learning/1"}, {"name", study.plan.name},
      {"command", study.command},          {"created_time", study.created_time},
      {"data", ToJson(study.plan.data)},   {"training", TrainingToJson(study.plan.training)},
      {"seeds", study.plan.seeds}};
  for (std::size_t i = 0; i < study.networks.size(); ++i) {
    const NetworkRuns& network = study.networks[i];
    nlohmann::ordered_json entry{
        {"name", network.name},
        {"network", ToJson(study.plan.networks[i].network)},
        {"parameters", network.runs.front().parameter_count},
        {"test_accuracy",
         EstimateToJson(OverSeeds(Of(network, [](const auto& run) { return run.test.score; })))}};
    if (network.published) entry["published_accuracy"] = *network.published;
    for (const LearningResult& run : network.runs) {
      entry["runs"].push_back({{"test", ToJson(run.test)},
                               {"best_epoch", run.best_epoch},
                               {"epochs", run.epochs.size()},
                               {"seconds", SecondsOf(run)}});
    }
    json["networks"].push_back(std::move(entry));
  }
  for (const LearningScore& score : study.trivial) json["trivial"].push_back(ToJson(score));
  json["claims"] = nlohmann::ordered_json::array();
  for (const LearningClaim& claim : CheckClaims(study)) {
    json["claims"].push_back({{"better", claim.better},
                              {"other", claim.other},
                              {"difference", EstimateToJson(claim.difference)},
                              {"verdict", VerdictText(claim.verdict)}});
  }
  return json;
}

std::string EpochsToCsv(const LearningStudy& study) {
  std::string csv =
      "network,seed,epoch,train_loss,train_accuracy,validation_loss,validation_accuracy,"
      "learning_rate,seconds\n";
  for (const NetworkRuns& network : study.networks) {
    for (std::size_t i = 0; i < network.runs.size(); ++i) {
      for (const EpochRecord& epoch : network.runs[i].epochs) {
        csv += network.name + "," + std::to_string(study.plan.seeds[i]) + "," +
               std::to_string(epoch.epoch);
        for (const double value : {epoch.train.loss, epoch.train.score, epoch.validation.loss,
                                   epoch.validation.score, epoch.learning_rate, epoch.seconds}) {
          csv += "," + NumberText(value);
        }
        csv += "\n";
      }
    }
  }
  return csv;
}

std::string LearningText(const LearningStudy& study) {
  std::string text = VerdictLine(study) + "\n";
  for (const auto& row : ClaimTable(CheckClaims(study)).rows) {
    text += row[2] + ": " + row[0] + " (" + row[1] + " points)\n";
  }
  return text;
}

}  // namespace interlacer
