/// Learning on toy sets: graphs, grids and sequences, classes and numbers; stopping and resuming.

#include "model/learning/learner.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/file_io.h"
#include "common/json.h"
#include "common/thread_pool.h"
#include "tests/model/learning/toy_sets.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

LearningOptions ToyOptions(const std::string& folder, const AttentionLayerConfig& layer,
                           std::int64_t epochs) {
  LearningOptions options;
  options.config.network.layers = {layer};
  options.config.epoch_count = epochs;
  options.config.batch_size = 16;
  options.config.learning_rate = {{0, 0.02}};
  options.config.checkpoint_every = 3;
  options.output_dir = folder;
  options.seed = 5;
  return options;
}

struct ToyCase {
  const char* name;
  ToyKind kind;
  const char* mechanism;
  const char* options;
};

class LearnerLearns : public ::testing::TestWithParam<ToyCase> {};

TEST_P(LearnerLearns, AClassThatTheFeaturesShow) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(GetParam().kind, LearningTask::kClassification);
  const auto result = Must(Learn(
      set, ToyOptions(folder.File("run"), ToyLayer(GetParam().mechanism, GetParam().options), 12)));
  EXPECT_GE(result.test.score, 0.95);
  EXPECT_LT(result.test.loss, 0.3);
  EXPECT_GT(result.epochs.front().train.loss, result.epochs.back().train.loss);
  const auto trivial = Must(ScoreOfTrivialPrediction(set));
  EXPECT_NEAR(trivial.score, 0.5, 0.01);
}

TEST_P(LearnerLearns, ANumberThatTheFeaturesShow) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(GetParam().kind, LearningTask::kRegression);
  const auto result = Must(Learn(
      set, ToyOptions(folder.File("run"), ToyLayer(GetParam().mechanism, GetParam().options), 20)));
  const auto trivial = Must(ScoreOfTrivialPrediction(set));
  // Targets are near +-1.3, so their mean errs by about that.
  EXPECT_GT(trivial.score, 0.8);
  EXPECT_LT(result.test.score, 0.3 * trivial.score);
  EXPECT_LT(result.test.loss, 0.1 * trivial.loss);
}

INSTANTIATE_TEST_SUITE_P(Sets, LearnerLearns,
                         ::testing::Values(ToyCase{"graph", ToyKind::kGraph, "gkat0", "{}"},
                                           ToyCase{"grid", ToyKind::kGrid, "toeplitz_nd", "{}"},
                                           ToyCase{"sequence", ToyKind::kSequence, "linear_elu1",
                                                   "{}"}),
                         [](const auto& toy) { return std::string(toy.param.name); });

TEST(Learner, CannotLearnWhatTheFeaturesDoNotShow) {
  SetThreadCount(1);
  /// The same set with the classes of other examples.
  class Shuffled : public ToySet {
   public:
    using ToySet::ToySet;
    Example At(LearningSplit split, std::int64_t index) const override {
      Example example = ToySet::At(split, index);
      example.target = {static_cast<double>((index / 2) % 2)};
      return example;
    }
  };
  const TempFolder folder;
  const Shuffled set(ToyKind::kSequence, LearningTask::kClassification);
  const auto result = Must(Learn(set, ToyOptions(folder.File("run"), ToyLayer("linear_elu1"), 12)));
  EXPECT_LT(result.test.score, 0.8);
}

std::string State(const std::string& run) {
  return ReadTextFile(run + "/checkpoint/state.safetensors").value();
}

/// Without what a clock says.
std::vector<std::string> LogLines(const std::string& run) {
  std::vector<std::string> lines;
  std::istringstream text(ReadTextFile(run + "/metrics.jsonl").value());
  for (std::string line; std::getline(text, line);) {
    auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.erase("seconds"), 1u);
    lines.push_back(json.dump());
  }
  return lines;
}

TEST(Learner, GoesOnWithTheBytesOfARunThatWasNotStopped) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(ToyKind::kGraph, LearningTask::kClassification);
  // A mechanism whose walks are drawn anew by step, so that the step counts too.
  const AttentionLayerConfig layer = ToyLayer("grf_sym", R"({"redraw_every": 2})");
  const auto whole = Must(Learn(set, ToyOptions(folder.File("whole"), layer, 8)));

  LearningOptions options = ToyOptions(folder.File("stopped"), layer, 8);
  std::stop_source stop;
  options.stop = stop.get_token();
  // In epoch 6, after the checkpoint of epoch 3: epochs 4 and 5 are lost and made again.
  options.on_epoch = [&](const EpochRecord& epoch) {
    if (epoch.epoch == 5) stop.request_stop();
  };
  EXPECT_EQ(Learn(set, options).status().code(), StatusCode::kCancelled);
  EXPECT_NE(State(folder.File("stopped")), State(folder.File("whole")));

  LearningOptions again = ToyOptions(folder.File("stopped"), layer, 8);
  again.resume = true;
  int epochs = 0;
  again.on_epoch = [&](const EpochRecord&) { ++epochs; };
  const auto resumed = Must(Learn(set, again));
  EXPECT_EQ(epochs, 5);
  EXPECT_EQ(State(folder.File("stopped")), State(folder.File("whole")));
  EXPECT_EQ(LogLines(folder.File("stopped")), LogLines(folder.File("whole")));
  EXPECT_EQ(resumed.test.loss, whole.test.loss);
  EXPECT_EQ(resumed.best_epoch, whole.best_epoch);

  // A finished run trains no more.
  epochs = 0;
  const auto finished = Must(Learn(set, again));
  EXPECT_EQ(epochs, 0);
  EXPECT_EQ(finished.test.loss, whole.test.loss);
}

TEST(Learner, StopsAfterPatienceAndKeepsTheBestEpoch) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(ToyKind::kSequence, LearningTask::kClassification);
  LearningOptions options = ToyOptions(folder.File("run"), ToyLayer("softmax"), 200);
  options.config.patience = 2;
  options.config.learning_rate = {{0, 1.0}};  // far too large: the loss soon rises
  const auto result = Must(Learn(set, options));
  const auto count = static_cast<std::int64_t>(result.epochs.size());
  ASSERT_LT(count, 200);
  EXPECT_EQ(count, result.best_epoch + 2);
  for (const EpochRecord& epoch : result.epochs) {
    EXPECT_GE(epoch.validation.loss, result.epochs[result.best_epoch - 1].validation.loss);
  }
}

TEST(Learner, RefusesAnotherRunInTheFolderAndNamesWhatDiffers) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(ToyKind::kSequence, LearningTask::kClassification);
  LearningOptions options = ToyOptions(folder.File("run"), ToyLayer("softmax"), 1);
  ASSERT_TRUE(Learn(set, options).ok());
  const auto there = Learn(set, options);
  EXPECT_EQ(there.status().reason(), reason::OUTPUT_EXISTS);
  options.resume = true;
  options.seed = 6;
  const auto other = Learn(set, options);
  EXPECT_EQ(other.status().reason(), reason::CONFIG_INVALID);
  EXPECT_THAT(other.status().ToString(), HasSubstr("/seed"));
  EXPECT_THAT(other.status().ToString(), HasSubstr("expected 5"));

  // A checkpoint whose log is gone is no run to go on with.
  options.seed = 5;
  std::filesystem::remove(folder.File("run") + "/metrics.jsonl");
  const auto without_log = Learn(set, options);
  EXPECT_EQ(without_log.status().reason(), reason::CHECKPOINT_INVALID);
}

TEST(Learner, EndsWhereALossOfAnySplitIsNoNumber) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(ToyKind::kSequence, LearningTask::kRegression);
  auto options = ToyOptions(folder.File("run"), ToyLayer("linear_elu1"), 1);
  // One step of one batch: its own loss and gradient are finite, what comes after is not.
  options.config.batch_size = 64;
  options.config.learning_rate = {{0, 1e30}};
  const auto result = Learn(set, options);
  EXPECT_EQ(result.status().reason(), reason::PREDICTION_NOT_FINITE) << result.status().ToString();
  EXPECT_THAT(result.status().message(), HasSubstr("in epoch 1"));
}

/// What the first layer makes of them is an input of the second.
TEST(Learner, EndsWhereALayerGetsNumbersThatAreNone) {
  SetThreadCount(1);
  const TempFolder folder;
  const ToySet set(ToyKind::kGraph, LearningTask::kRegression);
  auto options = ToyOptions(folder.File("run"), ToyLayer("gcn"), 1);
  options.config.network.layers.push_back(ToyLayer("gcn"));
  options.config.batch_size = 64;
  // A layer of such weights still makes finite numbers, two of them none.
  options.config.learning_rate = {{0, 1e20}};
  const Status status = Learn(set, options).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.ToString();
  EXPECT_EQ(status.reason(), reason::PREDICTION_NOT_FINITE) << status.ToString();
}

TEST(Learner, RefusesConfigurationsOfCodeAsItDoesThoseOfFiles) {
  const TempFolder folder;
  const ToySet set(ToyKind::kSequence, LearningTask::kClassification);
  const auto field = [&](const auto& spoil) {
    auto options = ToyOptions(folder.File("run"), ToyLayer("softmax"), 1);
    spoil(&options.config);
    return Learn(set, options).status().field();
  };
  EXPECT_EQ(field([](LearningConfig* c) { c->network.layers.clear(); }), "network.layers");
  EXPECT_EQ(field([](LearningConfig* c) { c->batch_size = 0; }), "training.batch_size");
  EXPECT_EQ(field([](LearningConfig* c) { c->checkpoint_every = 0; }), "training.checkpoint_every");
  EXPECT_EQ(field([](LearningConfig* c) {
              c->learning_rate = {{0, -1}};
            }),
            "training.learning_rate[0].value");
  EXPECT_EQ(field([](LearningConfig* c) {
              c->network.layers[0].head_count = 1024;
              c->network.layers[0].head_width = 1024;
            }),
            "network.layers[0].head_width");
}

TEST(Learner, NamesBadExamples) {
  SetThreadCount(1);
  struct Bad : ToySet {
    using ToySet::ToySet;
    std::function<void(Example*)> spoil;
    Example At(LearningSplit split, std::int64_t index) const override {
      Example example = ToySet::At(split, index);
      if (split == LearningSplit::kTrain && index == 3) spoil(&example);
      return example;
    }
  };
  const TempFolder folder;
  Bad set(ToyKind::kGraph, LearningTask::kClassification);
  int number = 0;
  const auto learn = [&] {
    return Learn(set, ToyOptions(folder.File(std::to_string(number++)), ToyLayer("gat"), 1))
        .status()
        .ToString();
  };
  set.spoil = [](Example* example) { example->features.pop_back(); };
  EXPECT_THAT(learn(), HasSubstr("train[3].features: expected"));
  set.spoil = [](Example* example) { example->features[0] = NAN; };
  EXPECT_THAT(learn(), HasSubstr("NOT_FINITE: train[3].features"));
  set.spoil = [](Example* example) { example->target = {1e300}; };
  EXPECT_THAT(learn(), HasSubstr("NOT_FINITE: train[3].target"));
  set.spoil = [](Example* example) { example->target = {2}; };
  EXPECT_THAT(learn(), HasSubstr("train[3].target: expected a class below 2, got 2"));
  set.spoil = [](Example* example) { example->graph = {}; };
  EXPECT_THAT(learn(), HasSubstr("train[3].graph: expected"));
  // Graphs of a batch lie side by side: an edge out of one would lead into the next.
  set.spoil = [](Example* example) { example->graph.neighbors[0] = example->token_count; };
  EXPECT_THAT(learn(), HasSubstr("train[3].graph.neighbors: expected"));
  set.spoil = [](Example* example) { example->graph.neighbors[0] = -1; };
  EXPECT_THAT(learn(), HasSubstr("train[3].graph.neighbors: expected"));
  set.spoil = [](Example* example) { example->graph.offsets[1] = 100; };
  EXPECT_THAT(learn(), HasSubstr("train[3].graph.offsets: expected"));
  set.spoil = [](Example* example) { example->token_count = 0; };
  EXPECT_THAT(learn(), HasSubstr("train[3].token_count: expected 1 or more, got 0"));
}

}  // namespace
}  // namespace interlacer
