#include "data/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/data/synthetic_scene.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

/// The example as the writer would complete it.
nlohmann::json ExampleJson() {
  EpisodeManifest manifest = SyntheticManifest();
  for (EpisodeCamera& camera : manifest.cameras) {
    camera.color_pattern = "color/" + camera.name + "/%06d.png";
    camera.depth_pattern = "depth/" + camera.name + "/%06d.png";
  }
  manifest.actions->file = "actions.npy";
  manifest.states->file = "states.csv";
  manifest.robot =
      RobotInfo{"kuka_iiwa", "ab", {{"left", {{0, 1, 0}, {0, 0, 1, 0}}}}, "robot", "cd"};
  manifest.files_sha256 = std::string(64, 'a');
  return nlohmann::json::parse(ManifestToJson(manifest).dump());
}

TEST(ManifestTest, JsonRoundTripKeepsEverything) {
  const nlohmann::json document = ExampleJson();
  const auto manifest = Must(ParseManifest(document));
  EXPECT_EQ(nlohmann::json::parse(ManifestToJson(manifest).dump()), document);
  EXPECT_EQ(manifest.source.seed, 1u);
  EXPECT_EQ(manifest.robot->arms[0].world_from_base.translation_m[1], 1);
}

TEST(ManifestTest, StatesShareTheColumnsOfActions) {
  nlohmann::json document = ExampleJson();
  document["states"].erase("columns");
  const auto manifest = Must(ParseManifest(document));
  EXPECT_EQ(manifest.states->columns, manifest.actions->columns);
}

struct BadManifest {
  const char* name;
  std::function<void(nlohmann::json&)> spoil;
  const char* reason;
  const char* field;
};

class BadManifestTest : public ::testing::TestWithParam<BadManifest> {};

TEST_P(BadManifestTest, NamesTheField) {
  nlohmann::json document = ExampleJson();
  GetParam().spoil(document);
  const Status manifest = ParseManifest(document).status();
  EXPECT_EQ(manifest.reason(), GetParam().reason);
  EXPECT_EQ(manifest.field(), GetParam().field);
}

using J = nlohmann::json;
INSTANTIATE_TEST_SUITE_P(
    Fields, BadManifestTest,
    ::testing::Values(
        BadManifest{"OtherSchema", [](J& d) { d["schema"] = "x"; }, "SCHEMA_INVALID", "schema"},
        BadManifest{"NewerVersion", [](J& d) { d["schema_version"] = 2; },
                    "SCHEMA_VERSION_UNSUPPORTED", "schema_version"},
        BadManifest{"NoUnit", [](J& d) { d["cameras"][1]["depth"].erase("unit_m"); },
                    "DEPTH_UNIT_MISSING", "cameras[1].depth.unit_m"},
        BadManifest{"ZeroUnit", [](J& d) { d["cameras"][1]["depth"]["unit_m"] = 0; },
                    "DEPTH_UNIT_MISSING", "cameras[1].depth.unit_m"},
        BadManifest{"RayDepth", [](J& d) { d["cameras"][0]["depth"]["measures"] = "ray"; },
                    "SCHEMA_INVALID", "cameras[0].depth.measures"},
        BadManifest{"OpenGlAxes", [](J& d) { d["cameras"][0]["axes"] = "opengl"; },
                    "SCHEMA_INVALID", "cameras[0].axes"},
        BadManifest{"NegativeFocal", [](J& d) { d["cameras"][0]["fx_px"] = -5; },
                    "CALIBRATION_INVALID", "cameras[0].fx_px"},
        BadManifest{"TextFocal", [](J& d) { d["cameras"][0]["fx_px"] = "5"; }, "SCHEMA_INVALID",
                    "cameras[0].fx_px"},
        BadManifest{"Quaternion",
                    [](J& d) {
                      d["cameras"][0]["world_from_camera"]["rotation_xyzw"] = {0, 0, 0, 2};
                    },
                    "QUATERNION_NOT_UNIT", "cameras[0].world_from_camera.rotation_xyzw"},
        BadManifest{"Lens", [](J& d) { d["cameras"][0]["distortion"]["model"] = "plumb_bob"; },
                    "DISTORTION_INVALID", "cameras[0].distortion.coefficients"},
        BadManifest{"TwoOfAName", [](J& d) { d["cameras"][1]["name"] = "left"; },
                    "CAMERA_DUPLICATE", "cameras[1].name"},
        BadManifest{"PathOutside",
                    [](J& d) { d["cameras"][0]["color"]["pattern"] = "../x/%06d.png"; },
                    "SCHEMA_INVALID", "cameras[0].color.pattern"},
        BadManifest{"PatternWithoutStep",
                    [](J& d) { d["cameras"][0]["color"]["pattern"] = "x.png"; }, "SCHEMA_INVALID",
                    "cameras[0].color.pattern"},
        BadManifest{"PatternWithText",
                    [](J& d) { d["cameras"][0]["color"]["pattern"] = "%06d%s.png"; },
                    "SCHEMA_INVALID", "cameras[0].color.pattern"},
        BadManifest{"NearBeyondFar", [](J& d) { d["cameras"][0]["near_m"] = 3; },
                    "DEPTH_RANGE_INVALID", "cameras[0].near_m, far_m"},
        BadManifest{"RangeOfOneFloat",
                    [](J& d) {
                      d["cameras"][0]["near_m"] = 20 - 9e-7;
                      d["cameras"][0]["far_m"] = 20 + 9e-7;
                    },
                    "DEPTH_RANGE_INVALID", "cameras[0].near_m, far_m"},
        BadManifest{"FarBeyondReason", [](J& d) { d["cameras"][0]["far_m"] = 1e300; },
                    "DEPTH_RANGE_INVALID", "cameras[0].near_m, far_m"},
        BadManifest{"EmptyBox", [](J& d) { d["workspace_m"]["max"][2] = -1; }, "WORKSPACE_INVALID",
                    "workspace.z"},
        BadManifest{"NoActions", [](J& d) { d.erase("actions"); }, "SCHEMA_INVALID", "actions"},
        BadManifest{"Degrees", [](J& d) { d["actions"]["columns"][0]["unit"] = "deg"; },
                    "SCHEMA_INVALID", "actions.columns[0].unit"},
        BadManifest{"NoCameras", [](J& d) { d["cameras"] = J::array(); }, "SCHEMA_INVALID",
                    "cameras"},
        BadManifest{"BadId", [](J& d) { d["episode_id"] = "a/b"; }, "SCHEMA_INVALID", "episode_id"},
        BadManifest{"NoSteps", [](J& d) { d["step_count"] = 0; }, "SCHEMA_INVALID", "step_count"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ManifestTest, NamesAndPatterns) {
  EXPECT_EQ(FramePath("color/left/%06d.png", 7), "color/left/000007.png");
  EXPECT_TRUE(IsValidName("view_0001.a-B"));
  EXPECT_FALSE(IsValidName(".partial"));
  EXPECT_FALSE(IsValidName(std::string(65, 'a')));
}

}  // namespace
}  // namespace interlacer
