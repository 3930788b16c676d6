#include "evaluation/report_html.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/image_codec.h"
#include "evaluation/episode_run.h"
#include "evaluation/html.h"
#include "evaluation/scene_view.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "tests/evaluation/page_checks.h"
#include "tests/evaluation/results_support.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

constexpr char kHostileScript[] = "</table><script>alert('x')</script>";

ReportInput InputOf(const Results& results) {
  ReportInput input;
  input.title = "Evaluation";
  input.variants = {{"model", &results, std::string(kModelSubject), ""},
                    {"copy last frame", &results, std::string(kCopyLast), ""}};
  return input;
}

TEST(MetricHeading, SaysTheUnitWhereNoAxisDoes) {
  EXPECT_EQ(MetricHeading(kL2Moved), "Objects that move, distance to the truth, m");
  EXPECT_EQ(MetricHeading(kPsnrMoving), "PSNR where something moves, dB");
  EXPECT_EQ(MetricHeading(kSsimObjects), "SSIM on objects");
}

TEST(ReportHtml, StatesTheDifferenceWithItsInterval) {
  const Results results = MakeResults(6, 8);
  const std::string page = ReportHtml(InputOf(results));
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("SSIM at step 8: model 0.8225"));
  EXPECT_THAT(page, HasSubstr("; copy last frame is better by 0.0775 ["));
  EXPECT_THAT(page, HasSubstr("Means over 6 episodes"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(ReportHtml, SaysWhichShareOfTrueMotionIsWon) {
  Results results = MakeResults(2, 1);
  EXPECT_THAT(ReportHtml(InputOf(results)), Not(HasSubstr("share of what true motion")));
  for (const auto& episode : results.episodes) {
    AddValue(&results, kKinematicSubject, episode.id, 1, kSsim, 0.84);
    AddValue(&results, kOracleMotion, episode.id, 1, kSsim, 0.9405);
  }
  // The model has .89 and .891.
  const std::string page = ReportHtml(InputOf(results));
  EXPECT_THAT(page, HasSubstr("share of what true motion"));
  EXPECT_THAT(page, HasSubstr("0.50 [0.50, 0.51]"));
}

TEST(ReportHtml, SaysWhenNoDifferenceIsShown) {
  const Results results = MakeResults(7, 0, -0.003);
  EXPECT_THAT(ReportHtml(InputOf(results)), HasSubstr("no difference is shown"));
}

// fm-39
TEST(ReportHtml, SurvivesNoEpisodeAndOneEpisode) {
  const Results none = MakeResults(0, 8);
  const std::string empty_page = ReportHtml(InputOf(none));
  ExpectSelfContained(empty_page);
  EXPECT_THAT(empty_page, HasSubstr("no episode was evaluated"));
  const Results one = MakeResults(1, 3);
  const std::string page = ReportHtml(InputOf(one));
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("Means over 1 episode, too few for intervals."));
  EXPECT_THAT(page, HasSubstr("; copy last frame differs by +0.0300."));
  EXPECT_THAT(page, HasSubstr("SSIM after 3 steps"));
}

TEST(ReportHtml, FewEpisodesDecideNothing) {
  const std::string few = ReportHtml(InputOf(MakeResults(5, 1)));
  EXPECT_THAT(few, HasSubstr("; copy last frame differs by +0.0080 [0.0"));
  EXPECT_THAT(few, Not(HasSubstr("is better by")));
  EXPECT_THAT(few, HasSubstr("Means over 5 episodes, 95 % intervals; of so few episodes their "
                             "bounds are about the extreme ones."));
  EXPECT_THAT(few, HasSubstr("SSIM after 1 step<"));
  const std::string enough = ReportHtml(InputOf(MakeResults(6, 1)));
  EXPECT_THAT(enough, HasSubstr("; copy last frame is better by 0.0075 [0.0"));
  EXPECT_THAT(enough, HasSubstr("Means over 6 episodes, 95 % intervals."));
  EXPECT_THAT(enough, Not(HasSubstr("of so few episodes")));
}

TEST(ReportHtml, ASubjectHasItsColourWhateverElseIsShown) {
  const Results results = MakeResults(2, 2);
  ReportInput input = InputOf(results);
  const std::string page = ReportHtml(input);
  EXPECT_THAT(page, HasSubstr("fill=\"var(--c5)\"")) << "copy_last, the sixth subject";
  EXPECT_THAT(page, Not(HasSubstr("fill=\"var(--c1)\"")));
  input.variants.push_back({"other", &results, std::string(kModelSubject), ""});
  EXPECT_THAT(ReportHtml(input), HasSubstr("fill=\"var(--c1)\"")) << "another model";
}

TEST(ReportHtml, TablesSayOverHowManyEpisodesWhereStepsDiffer) {
  Results results = MakeResults(3, 2);
  for (const auto& [episode, step] :
       {std::pair{"episode_0", 1}, std::pair{"episode_1", 1}, std::pair{"episode_2", 1},
        std::pair{"episode_0", 2}, std::pair{"episode_1", 2}}) {
    AddValue(&results, kModelSubject, episode, step, kL2MovedBefore, 0.02);
  }
  const std::string page = ReportHtml(InputOf(results));
  EXPECT_THAT(page, HasSubstr(">0.0200 [0.0200, 0.0200], n = 3</td>"));
  EXPECT_THAT(page, HasSubstr(">0.0200 [0.0200, 0.0200], n = 2</td>"));
  EXPECT_THAT(page, HasSubstr("before contact, m: mean and 95 % interval, n episodes"));
  EXPECT_THAT(page, HasSubstr("Depth error, m: mean and 95 % interval<")) << "of all at every step";
}

TEST(ReportHtml, EqualScoresAreNeitherBetterNorWorse) {
  const Results results = MakeResults(6, 2), nearly = MakeResults(6, 2, -0.00001);
  ReportInput input = InputOf(results);
  input.variants[1] = {"twin", &results, std::string(kModelSubject), ""};
  EXPECT_THAT(ReportHtml(input), HasSubstr("; equal to twin. Means"));
  input.variants[1].results = &nearly;
  EXPECT_THAT(ReportHtml(input), HasSubstr("; within 0.0001 of twin. Means"));
}

// fm-39
TEST(ReportHtml, UnequalLengthsAndNullMetricsLeaveGaps) {
  const Results longer = MakeResults(3, 5), shorter = MakeResults(2, 2);
  ReportInput input = InputOf(longer);
  input.variants[1] = {"shorter", &shorter, std::string(kModelSubject), ""};
  const std::string page = ReportHtml(input);
  ExpectSelfContained(page);
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, HasSubstr("\xE2\x80\x93"));
}

TEST(ReportHtml, SaysWhatSamplingLeavesOfAChamferDistance) {
  Results results = MakeResults(2, 1);
  EXPECT_THAT(ReportHtml(InputOf(results)), Not(HasSubstr("sampling of particles")));
  for (const auto& [step, chamfer_m] : {std::pair{0, 0.0276}, std::pair{1, 0.0281}}) {
    AddValue(&results, kModelSubject, "episode_0", step, kChamferHalf, chamfer_m);
  }
  EXPECT_THAT(ReportHtml(InputOf(results)),
              HasSubstr("before anything moves, that of model is 0.0276 m"));
}

// fm-39
TEST(ReportHtml, EveryNameIsEscaped) {
  Results results = MakeResults(2, 1);
  results.dataset_name = results.command = results.device = kHostileScript;
  results.model["name"] = kHostileScript;
  results.failures.push_back({kHostileScript, kHostileScript, kHostileScript});
  results.warnings[kHostileScript] = 1;
  for (ResultValue& value : results.values) {
    value.episode += kHostileScript;
    value.camera = kHostileScript;
  }
  ReportInput input = InputOf(results);
  input.title = input.variants[0].name = input.command = kHostileScript;
  input.warnings.push_back(kHostileScript);
  const std::string page = ReportHtml(input);
  ExpectSelfContained(page);
  EXPECT_THAT(page, Not(HasSubstr("alert('x')")));
  EXPECT_THAT(page, HasSubstr("class=\"warning\""));
}

/// A few particles at two steps, named by a camera.
void WriteScene(const std::string& frames, const std::string& episode, const std::string& camera) {
  SceneView scene;
  scene.step_duration_s = 0.5;
  scene.predicted_m = {{0, 0, 0, 1, 1, 1}, {0, 0, 0, 1, 1, 2}};
  scene.colors_rgb8 = {1, 2, 3, 4, 5, 6};
  scene.cameras.emplace_back(camera, Camera());
  const std::filesystem::path path = ScenePath(frames, episode, 1);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << SceneViewData(scene);
}

TEST(ReportHtml, ShowsTheParticlesOfTheMedianEpisode) {
  const TempFolder folder;
  const Results results = MakeResults(5, 2);
  ReportInput input = InputOf(results);
  input.variants[0].frames_dir = folder.File("frames");
  EXPECT_THAT(ReportHtml(input), Not(HasSubstr("scene-data")));  // kept none
  for (const char* episode : {"episode_0", "episode_2", "episode_4"}) {
    WriteScene(folder.File("frames"), episode, std::string("camera_of_") + episode);
  }
  const std::string page = ReportHtml(input);
  ExpectSelfContained(page);
  EXPECT_EQ(ElementsOf(page, "<script>", "</script>").size(), 1u);
  EXPECT_THAT(page, HasSubstr("episode_2, start step 1: median"));
  EXPECT_THAT(page, HasSubstr("camera_of_episode_2"));
  EXPECT_THAT(page, Not(HasSubstr("camera_of_episode_4")));

  std::filesystem::remove(ScenePath(folder.File("frames"), "episode_2", 1));
  EXPECT_THAT(ReportHtml(input), HasSubstr("episode_4, start step 1: best"));

  std::ofstream(ScenePath(folder.File("frames"), "episode_2", 1)) << "{\"schema\": 1}";
  const std::string broken = ReportHtml(input);
  ExpectSelfContained(broken);
  EXPECT_THAT(broken, HasSubstr("scene.json"));
  EXPECT_THAT(broken, HasSubstr("SCHEMA_INVALID"));
}

TEST(ReportHtml, ThumbnailsShrinkUntilThePageIsSmall) {
  const TempFolder folder;
  const Results results = MakeResults(3, 8);
  ReportInput input = InputOf(results);
  for (Variant& variant : input.variants) variant.frames_dir = folder.File("frames");
  // Noise is what JPEG cannot make small.
  RgbImage noise{320, 240, {}};
  std::uint32_t state = 1;
  for (int i = 0; i < 3 * 320 * 240; ++i) {
    state = state * 1664525u + 1013904223u;
    noise.pixels.push_back(static_cast<std::uint8_t>(state >> 24));
  }
  for (const ResultEpisode& episode : results.episodes) {
    for (int step = 0; step <= 8; ++step) {
      for (const char* subject : {"truth", "model"}) {
        const auto path = FramePath(folder.File("frames"), episode.id, 1, "left", step, subject);
        std::filesystem::create_directories(path.parent_path());
        ASSERT_TRUE(WritePngFile(noise, path.string()).ok());
      }
    }
  }
  const std::string page = ReportHtml(input);
  EXPECT_LE(std::ssize(page), kMaxPageBytes);
  EXPECT_THAT(page, Not(HasSubstr("width=\"240\"")));
  EXPECT_THAT(page, Not(HasSubstr("see the files beside")));
}

}  // namespace
}  // namespace interlacer
