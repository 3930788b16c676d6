#pragma once

/// Tiny runs on a painted plane, in a folder of the test's own.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/file_io.h"
#include "common/sha256.h"
#include "data/dataset.h"
#include "tests/model/training/tiny_run.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {

class CountingObserver : public TrainObserver {
 public:
  explicit CountingObserver(std::int64_t stop_after = 1 << 30) : stop_after_(stop_after) {}
  bool OnStep(const TrainingRecord& record, std::int64_t) override {
    losses.push_back(record.loss);
    EXPECT_GT(record.cpu_seconds, 0);
    return record.step < stop_after_;
  }
  void OnNote(const std::string& text) override { notes.push_back(text); }
  void OnValidation(const ValidationRecord& record) override { validations.push_back(record); }
  std::vector<std::string> notes;
  std::vector<double> losses;
  std::vector<ValidationRecord> validations;

 private:
  std::int64_t stop_after_;
};

class TrainerFixture : public ::testing::Test {
 public:
  /// A data set with one plane to train on and one to validate with.
  static Status WriteSplits(const std::string& folder) {
    Dataset dataset{"planes", "MIT", {{"test", {}}}, {}};
    for (const std::string split : {"train", "val"}) {
      const std::string episode =
          WritePaintedPlane(folder + "/" + split, {.episode_id = split}).value();
      dataset.splits[split] = {split};
      dataset.manifest_sha256[split] = Sha256OfFile(episode + "/manifest.json").value();
    }
    return WriteDataset(folder, dataset);
  }

 protected:
  void SetUp() override { episode_ = WritePaintedPlane(root_ + "/plane").value(); }

  TrainOptions Options(const std::string& name, std::int64_t step_count) const {
    return TinyRun(episode_, root_ + "/" + name, step_count);
  }

  static std::vector<std::uint8_t> Weights(const std::string& run) {
    return ReadFileBytes(run + "/checkpoint/weights.safetensors").value();
  }

  const TempFolder folder_;
  const std::string& root_ = folder_.path();
  std::string episode_;
};

}  // namespace interlacer::testing
