#pragma once

/// A comparison of variants with known numbers: three variants, two seeds, three episodes whose
/// arms move and one whose arms stand still, two steps, no model.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/evaluation.h"
#include "experiments/hdvpd/study.h"
#include "tests/evaluation/results_support.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {

struct FakeStudy {
  /// SSIM of a variant: `base` + 0.001 e + 0.0002 seed (e - 1) - 0.01 s in episode e at step s, so
  /// that the mean over three episodes is base + 0.001 - 0.01 s for every seed.
  static double Ssim(double base, int episode, std::int64_t seed, int step) {
    return base + 0.001 * episode + 0.0002 * static_cast<double>(seed) * (episode - 1) -
           0.01 * step;
  }
  static constexpr double kCopyLastSsim = 0.7;
  static constexpr std::int64_t kParameterCount = 1000;

  FakeStudy() {
    setup.dataset_name = "tiny";
    setup.split = "test";
    setup.target_background = "none";
    setup.plan.step_count = 2;
    setup.output_dir = folder.File("study");
    setup.ablations.clear();
    setup.plan.render_mode = RenderMode::kField;
    for (const char* variant : {"grf_exact", "message_passing", "unmasked"}) AddRuns(variant);
    for (int e = 0; e < 4; ++e) {
      episodes.readable.push_back({"episode_" + std::to_string(e), "", "hash" + std::to_string(e),
                                   e == 2 ? "lift_can" : "push_block", e == 3});
    }
  }

  void AddRuns(const std::string& variant) {
    for (const std::int64_t seed : {0, 1}) {
      TrainedRun run;
      run.variant = variant;
      run.seed = seed;
      run.weights_sha256 = run.name();
      run.steps_done = 100;
      run.is_flat = true;
      run.step_s = 1 / (base.at(variant) + static_cast<double>(seed));
      runs.push_back(run);
    }
  }

  void WritePieces() {
    for (const Piece& piece : ListPieces(setup, runs, episodes.readable)) WritePiece(piece);
  }

  void WritePiece(const Piece& piece) {
    Results r = MakeResults(0, setup.plan.step_count);
    r.model = {{"weights_sha256", piece.run->weights_sha256},
               {"parameter_count", kParameterCount},
               {"particle_count", 2048},
               {"study", nlohmann::ordered_json(PieceKey(setup, piece))}};
    r.episodes.push_back({piece.episode->id, piece.episode->manifest_sha256, piece.episode->task});
    const int e = static_cast<int>(piece.episode - episodes.readable.data());
    for (int s = 0; s <= setup.plan.step_count; ++s) {
      for (const char* camera : {"left", "right"}) {
        // The cameras lie 0.002 apart around the mean.
        const double offset = *camera == 'l' ? 0.001 : -0.001;
        const double ssim = Ssim(base.at(piece.run->variant), e, piece.run->seed, s) +
                            seed_offset[{piece.run->variant, piece.run->seed}];
        AddValue(&r, kModelSubject, piece.episode->id, s, kSsim, ssim + offset, camera);
        AddValue(&r, kCopyLast, piece.episode->id, s, kSsim, kCopyLastSsim, camera);
        AddValue(&r, kModelSubject, piece.episode->id, s, kSsimMoving, ssim - 0.3, camera);
        AddValue(&r, kCopyLast, piece.episode->id, s, kSsimMoving, e == 3 ? 0.9 : 0.3, camera);
      }
    }
    const std::filesystem::path path = PiecePath(setup, piece);
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(WriteResults(path.string(), r).ok());
  }

  std::map<std::string, double> base{
      {"grf_exact", 0.82}, {"message_passing", 0.81}, {"unmasked", 0.80}};
  std::map<std::pair<std::string, std::int64_t>, double> seed_offset;  ///< on top of `base`
  TempFolder folder;
  StudySetup setup;
  std::vector<TrainedRun> runs;
  StudyEpisodes episodes;
};

class FakeStudyTest : public ::testing::Test {
 protected:
  void SetUp() override { fake_.WritePieces(); }
  Study ReadStudy() const {
    auto study = Study::Read(fake_.setup, fake_.runs, fake_.episodes);
    EXPECT_TRUE(study.ok()) << study.status().ToString();
    return *std::move(study);
  }
  FakeStudy fake_;
};

}  // namespace interlacer::testing
