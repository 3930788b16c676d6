// What the foreign formats share: intrinsics, axes, extents.

#include "data/importers/importers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "common/transforms.h"
#include "data/importers/intrinsics.h"
#include "data/importers/scene_extent.h"
#include "data/importers/write_recording.h"
#include "tests/data/import_fixture.h"
#include "tests/data/synthetic_scene.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

TEST_F(ImportTest, IntrinsicsAreNeverGuessed) {
  EXPECT_EQ(ParseIntrinsics("").status().reason(), "NO_CALIBRATION");
  EXPECT_EQ(ParseIntrinsics("525,525,319.5").status().reason(), "CALIBRATION_INVALID");
  EXPECT_EQ(ParseIntrinsics("/no/such.json").status().reason(), "FILE_NOT_FOUND");
  EXPECT_EQ(ParseIntrinsics("525, 526, 319.5, 239.5")->fy_px, 526);
}

TEST_F(ImportTest, LensModelsComeAsNumbersOrByTheCamerasName) {
  const auto plain = ParseIntrinsics("tum-fr3");
  EXPECT_EQ(plain->distortion_model, DistortionModel::kNone);
  EXPECT_EQ(plain->fy_px, 539.2);
  const auto named = ParseIntrinsics("tum-fr1");
  const auto given =
      ParseIntrinsics("517.3,516.5,318.6,255.3,0.2624,-0.9531,-0.0054,0.0026,1.1633");
  ASSERT_TRUE(named.ok() && given.ok());
  for (const Camera& camera : {*named, *given}) {
    EXPECT_EQ(camera.distortion_model, DistortionModel::kPlumbBob);
    EXPECT_EQ(camera.distortion_coefficients,
              (std::vector<double>{0.2624, -0.9531, -0.0054, 0.0026, 1.1633}));
  }
  for (const char* name : {"tum-fr1", "tum-fr2"}) {  // rays of all of the image can be undone
    Camera camera = *ParseIntrinsics(name);
    camera.width_px = 640;
    camera.height_px = 480;
    EXPECT_TRUE(ValidateCamera(camera).ok()) << ValidateCamera(camera).ToString();
  }
  const auto rational = ParseIntrinsics("20,20,7.5,5.5,.1,.2,.001,.002,.3,.4,.5,.6");
  EXPECT_EQ(rational->distortion_model, DistortionModel::kRationalPolynomial);
  EXPECT_EQ(ParseIntrinsics("20,20,7.5,5.5,.1").status().metadata().at("got"), "5");
}

TEST_F(ImportTest, Open3DMatricesAreColumnMajor) {
  WriteText("good.json", R"({"width": 640, "height": 480,
      "intrinsic_matrix": [525, 0, 0, 0, 526, 0, 319.5, 239.5, 1]})");
  const auto camera = Must(ParseIntrinsics(options_.source_dir + "/good.json"));
  EXPECT_EQ(camera.cx_px, 319.5);
  EXPECT_EQ(camera.width_px, 640);
  WriteText("rows.json", R"({"width": 640, "height": 480,
      "intrinsic_matrix": [525, 0, 319.5, 0, 526, 239.5, 0, 0, 1]})");
  EXPECT_EQ(ParseIntrinsics(options_.source_dir + "/rows.json").status().reason(),
            "CALIBRATION_INVALID");
}

TEST_F(ImportTest, TwoNegativeFocalLengthsAreARollOneIsAMirror) {
  Camera camera = SyntheticCamera(true);
  const Vec3d before = Unproject(camera, 10, 50, 1.5);
  // The same camera, described with both axes turned.
  Camera turned = camera;
  turned.world_from_camera = Compose(camera.world_from_camera, Transform{{0, 0, 0}, {0, 0, 1, 0}});
  turned.fx_px = -turned.fx_px;
  turned.fy_px = -turned.fy_px;
  ASSERT_TRUE(NormalizeFocalSigns(&turned).ok());
  EXPECT_GT(turned.fx_px, 0);
  const Vec3d after = Unproject(turned, 10, 50, 1.5);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(after[i], before[i], 1e-12);
  Camera lens = camera;
  lens.distortion_model = DistortionModel::kPlumbBob;
  lens.distortion_coefficients = {0.1, -0.05, 0.01, -0.02, 0};
  Camera turned_lens = lens;
  turned_lens.world_from_camera = Compose(lens.world_from_camera, {{0, 0, 0}, {0, 0, 1, 0}});
  turned_lens.fx_px = -lens.fx_px;
  turned_lens.fy_px = -lens.fy_px;
  turned_lens.distortion_coefficients = {0.1, -0.05, -0.01, 0.02, 0};
  ASSERT_TRUE(NormalizeFocalSigns(&turned_lens).ok());
  EXPECT_EQ(turned_lens.distortion_coefficients, lens.distortion_coefficients);
  camera.fx_px = -camera.fx_px;
  EXPECT_EQ(NormalizeFocalSigns(&camera).reason(), "CALIBRATION_INVALID");
}

TEST_F(ImportTest, UnknownFormatsAreNamed) {
  EXPECT_EQ(ImportRecording("bridge", options_).status().metadata().at("got"), "bridge");
}

TEST_F(ImportTest, FormatsThatTheBuildLacksAreNamedWithTheirOption) {
  struct Format {
    const char *name, *option;
    bool is_built;
  };
  for (const Format& format :
       {Format{"hdf5", "INTERLACER_WITH_HDF5", INTERLACER_WITH_HDF5 == 1},
        Format{"lerobot", "INTERLACER_WITH_ARROW", INTERLACER_WITH_ARROW == 1}}) {
    const Status status = ImportRecording(format.name, options_).status();
    EXPECT_EQ(status.reason() == reason::FEATURE_NOT_BUILT, !format.is_built) << status.ToString();
    EXPECT_EQ(status.message().find(format.option) != std::string::npos, !format.is_built);
  }
}

TEST(SceneExtentTest, FindsRangeAndBoxAndKeepsWhatIsGiven) {
  const Camera camera{80, 80, 80, 80, 39.5, 39.5, DistortionModel::kNone, {}, {}};
  DepthImage16 depth{80, 80, 0.001, std::vector<std::uint16_t>(6400, 1000)};
  depth.pixels[0] = 50000;  // one wild pixel of a hundred looked at
  SceneExtent extent;
  extent.Add(camera, depth);
  const auto found = Must(extent.Finish({}, {}, {}));
  EXPECT_NEAR(found.far_m, 1.2, 1e-9);  // corners of a square at 1 m: 1.18 m, rounded up
  EXPECT_EQ(found.near_m, 0.1);
  EXPECT_NEAR(found.workspace.min_m[2], 0.98, 1e-6);  // a plane and its least margin
  EXPECT_NEAR(found.workspace.max_m[0], 0.41 + 0.05 * 0.9, 0.02);
  EXPECT_EQ(found.notes.size(), 2u);
  const auto given = extent.Finish(0.2, 2.0, kSyntheticWorkspace);
  EXPECT_EQ(given->far_m, 2.0);
  EXPECT_EQ(given->workspace, kSyntheticWorkspace);
  EXPECT_TRUE(given->notes.empty());
  EXPECT_EQ(extent.Finish(3.0, 2.0, {}).status().reason(), "DEPTH_RANGE_INVALID");
  EXPECT_EQ(SceneExtent().Finish({}, {}, {}).status().reason(), "NO_DEPTH");
  SceneExtent few;
  few.Add(camera, depth, 4);  // every 40th pixel
  EXPECT_NEAR(few.Finish({}, {}, {})->workspace.max_m[0], 0.02, 0.02);
}

TEST(TurnUpAxisTest, NearestSignedAxisBecomesZ) {
  const Transform tilted = LookAt({0, 0, 0}, {1, 0.2, -0.3});  // z is up here
  for (const auto& [source_from_z_up, name] :
       {std::pair{Transform{}, "+z"},
        std::pair{Transform{{0, 0, 0}, {std::sqrt(0.5), 0, 0, std::sqrt(0.5)}}, "-y"},
        std::pair{Transform{{0, 0, 0}, {0, std::sqrt(0.5), 0, std::sqrt(0.5)}}, "+x"}}) {
    std::vector<ImportFrame> frames(1);
    frames[0].world_from_camera = Compose(source_from_z_up, tilted);
    std::vector<ImportFrame> rolled = frames;
    rolled[0].world_from_camera = Compose(frames[0].world_from_camera, {{0, 0, 0}, {0, 0, 1, 0}});
    EXPECT_EQ(TurnUpAxisToZ(true, &rolled), name) << "negative focal lengths";
    EXPECT_EQ(TurnUpAxisToZ(false, &frames), name);
    const Vec3d up_in_camera = Apply(Inverse(frames[0].world_from_camera), {0, 0, 1});
    const Vec3d expected = Apply(Inverse(tilted), {0, 0, 1});
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(up_in_camera[i], expected[i], 1e-9);
  }
}

}  // namespace
}  // namespace interlacer
