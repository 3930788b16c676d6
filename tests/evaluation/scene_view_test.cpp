#include "evaluation/scene_view.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "common/json.h"
#include "evaluation/html.h"
#include "tests/evaluation/moving_block.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

/// Written from RFC 4648, not the way that the pages are.
std::vector<std::uint8_t> FromBase64(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = (bits << 6) | static_cast<std::uint32_t>(digits.find(c));
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  return bytes;
}

template <typename T>
std::vector<T> Numbers(const nlohmann::json& base64) {
  const std::vector<std::uint8_t> bytes = FromBase64(base64.get<std::string>());
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::vector<float> Positions(const nlohmann::json& base64, const nlohmann::json& grid) {
  std::vector<float> positions_m;
  for (const std::uint16_t code : Numbers<std::uint16_t>(base64)) {
    const std::size_t axis = positions_m.size() % 3;
    positions_m.push_back(static_cast<float>(grid["low_m"][axis].get<double>() +
                                             code * grid["step_m"][axis].get<double>()));
  }
  return positions_m;
}

nlohmann::json DataOf(const std::string& html) {
  const std::string open = "id=\"scene-data\">";
  const std::size_t begin = html.find(open) + open.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

/// Particles all over a box of 2 x 1.5 x 0.8 m that fall apart; no two steps are alike.
SceneView Scattered(std::size_t count, int steps) {
  SceneView scene;
  scene.step_duration_s = 0.1;
  scene.workspace = {{-1, -0.75, 0}, {1, 0.75, 0.8}};
  std::uint32_t state = 1;
  const auto next = [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / static_cast<float>(1 << 24);
  };
  for (int step = 0; step < steps; ++step) {
    std::vector<float>& positions_m = scene.predicted_m.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      positions_m.insert(positions_m.end(), {2 * next() - 1, 1.5f * next() - 0.75f, 0.8f * next()});
    }
  }
  for (std::size_t i = 0; i < 3 * count; ++i) {
    scene.colors_rgb8.push_back(static_cast<std::uint8_t>(255 * next()));
  }
  Camera camera;
  camera.width_px = camera.height_px = 64;
  camera.fx_px = camera.fy_px = 80;
  camera.cx_px = camera.cy_px = 32;
  scene.cameras.emplace_back("overhead", camera);
  return scene;
}

/// The block's robot slides; the first half of the particles lies on it.
CarriedParticles Sliding(std::size_t count, int steps) {
  CarriedParticles carried{"kinematic", {}, std::vector<std::int32_t>(count, kStandsStill)};
  std::fill_n(carried.bodies.begin(), count / 2, 1);
  carried.motion.robot = std::make_shared<const Robot>(testing::SlidingBlock());
  carried.motion.link_count = 2;
  Transform pose;
  pose.translation_m = {0.3, 0, 0};
  carried.motion.start = {Transform(), pose};
  for (int step = 1; step < steps; ++step) {
    pose.translation_m[0] += 0.02;
    carried.motion.later.push_back({Transform(), pose});
  }
  return carried;
}

TEST(SceneView, PositionsAreWithinHalfOfTheGridsStep) {
  const SceneView scene = Scattered(1000, 3);
  const nlohmann::json data = DataOf(SceneViewHtml(scene));
  const nlohmann::json& particles = data["particles"];
  ASSERT_EQ(particles["positions"].size(), 3u);
  constexpr std::array<double, 3> kSidesM{2, 1.5, 0.8};
  for (std::size_t step = 0; step < 3; ++step) {
    const auto read_m = Positions(particles["positions"][step], particles["grid"]);
    ASSERT_EQ(read_m.size(), scene.predicted_m[step].size());
    for (std::size_t i = 0; i < read_m.size(); ++i) {
      EXPECT_NEAR(read_m[i], scene.predicted_m[step][i], kSidesM[i % 3] / 65535 / 2 + 1e-7);
    }
  }
  EXPECT_EQ(Numbers<std::uint8_t>(particles["colors"]), scene.colors_rgb8);
}

TEST(SceneView, ParticlesWithoutExtentStayWhereTheyAre) {
  SceneView scene = Scattered(1, 2);
  scene.predicted_m[1] = scene.predicted_m[0] = {0.25f, -0.5f, 0.125f};
  const nlohmann::json data = DataOf(SceneViewHtml(scene));
  EXPECT_EQ(Positions(data["particles"]["positions"][1], data["particles"]["grid"]),
            scene.predicted_m[0]);
}

TEST(SceneView, AParticleThatIsNotFiniteAtSomeStepIsLeftOut) {
  SceneView scene = Scattered(4, 2);
  scene.carried.push_back(Sliding(4, 2));
  const SceneView whole = scene;
  scene.predicted_m[1][3] = std::numeric_limits<float>::quiet_NaN();
  scene.predicted_m[0][11] = std::numeric_limits<float>::infinity();
  const nlohmann::json data = DataOf(SceneViewHtml(scene));
  const nlohmann::json& particles = data["particles"];
  // Of particles 0 to 3 those in the middle and at the end are gone, at every step and everywhere.
  for (std::size_t step = 0; step < 2; ++step) {
    const auto read_m = Positions(particles["positions"][step], particles["grid"]);
    ASSERT_EQ(read_m.size(), 6u);
    for (const auto& [row, particle] : {std::pair{0, 0}, std::pair{1, 2}}) {
      EXPECT_NEAR(read_m[3 * row], whole.predicted_m[step][3 * particle], 1e-4);
    }
  }
  EXPECT_EQ(Numbers<std::uint8_t>(particles["colors"]).size(), 6u);
  EXPECT_THAT(Numbers<std::uint16_t>(data["motions"][0]["bodies"]), ElementsAre(1, 65535));
  for (float& position_m : scene.predicted_m[1]) position_m = std::nanf("");
  EXPECT_EQ(SceneViewHtml(scene), "");
}

TEST(SceneView, MatricesCarryWhatBodiesCarry) {
  SceneView scene = Scattered(100, 3);
  scene.carried.push_back(Sliding(100, 3));
  scene.carried[0].bodies[98] = kUnknownMotion;
  const nlohmann::json data = DataOf(SceneViewHtml(scene));
  const nlohmann::json& motion = data["motions"][0];
  EXPECT_EQ(motion["name"], "kinematic");
  EXPECT_EQ(motion["step_count"], 2);
  EXPECT_EQ(motion["body_count"], 2);
  const auto bodies = Numbers<std::uint16_t>(motion["bodies"]);
  ASSERT_EQ(bodies.size(), 100u);
  EXPECT_EQ(bodies[0], 1);
  EXPECT_EQ(bodies[98], 65534);
  EXPECT_EQ(bodies[99], 65535);
  const auto matrices = Numbers<float>(motion["carry"]);
  ASSERT_EQ(matrices.size(), 2u * 2 * 12);
  const std::vector<float> slid(matrices.end() - 12, matrices.end());
  const std::vector<float> expected{1, 0, 0, 0.04f, 0, 1, 0, 0, 0, 0, 1, 0};
  EXPECT_THAT(slid, ::testing::Pointwise(::testing::FloatNear(1e-6f), expected));
  // The surface is sent where it was at the start, all of it while it is small.
  const nlohmann::json& robot = data["robot"];
  const auto surface_m = Positions(robot["positions"], robot["grid"]);
  const SurfacePoints& surface = scene.carried[0].motion.robot->surface;
  ASSERT_EQ(surface_m.size(), 3 * surface.size());
  EXPECT_NEAR(surface_m[0], surface.positions_m[0][0] + 0.3f, 1e-5);
}

TEST(SceneView, ManyParticlesAndStepsFitThePage) {
  constexpr std::size_t kMaxPageBytes = 4'000'000;
  SceneView scene = Scattered(32768, 9);
  scene.carried = {Sliding(32768, 9), Sliding(32768, 9)};
  const std::string paper = PageHtml("t", "v", SceneViewHtml(scene), SceneViewScript());
  EXPECT_LE(paper.size(), kMaxPageBytes);
  EXPECT_EQ(
      Positions(DataOf(paper)["particles"]["positions"][8], DataOf(paper)["particles"]["grid"])
          .size(),
      3u * 32768);
  // More than that is thinned out, and the page says so.
  scene = Scattered(65536, 26);
  const std::string large = SceneViewHtml(scene);
  EXPECT_LE(large.size(), kMaxSceneViewBytes + 20'000);
  EXPECT_THAT(large, HasSubstr("1 of 5 of the 65536 particles"));
  const nlohmann::json thinned = DataOf(large)["particles"];
  const auto kept_m = Positions(thinned["positions"][25], thinned["grid"]);
  ASSERT_EQ(kept_m.size(), 3u * 13108);
  EXPECT_NEAR(kept_m[3], scene.predicted_m[25][15], 1e-4);
}

TEST(SceneView, ThePolicyAllowsTheScriptAndNamesStayData) {
  SceneView scene = Scattered(10, 2);
  scene.cameras[0].first = "</script><script>alert(1)</script>";
  const std::string page = PageHtml("t", "v", SceneViewHtml(scene), SceneViewScript());
  ExpectSelfContained(page);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(DataOf(page)["cameras"][0]["name"], scene.cameras[0].first);
}

TEST(SceneView, NoParticlesNoView) { EXPECT_EQ(SceneViewHtml({}), ""); }

TEST(SceneView, DataOfAFileMakeTheSameSectionAndOthersAreRefused) {
  SceneView scene = Scattered(100, 3);
  scene.carried.push_back(Sliding(100, 3));
  const std::string data = SceneViewData(scene);
  const auto html = SceneDataHtml(data, "scene.json", "episode_7 <b>");
  ASSERT_TRUE(html.ok()) << html.status().ToString();
  EXPECT_EQ(DataOf(*html), DataOf(SceneViewHtml(scene)));
  EXPECT_THAT(*html, HasSubstr("episode_7 &lt;b&gt;"));
  EXPECT_THAT(*html, HasSubstr("Kinematic, in orange"));

  const std::string half = data.substr(0, data.size() / 2);
  const std::string long_text(kMaxSceneDataBytes + 1, ' ');
  const auto without = [&](const char* key) {
    nlohmann::json json = nlohmann::json::parse(data);
    json.erase(key);
    return json.dump();
  };
  for (const std::string& other :
       {half, long_text, std::string("{}"), std::string("[]"), without("schema"),
        without("schema_version"), without("stride"), without("particle_count"), without("motions"),
        without("particles")}) {
    const Status refused = SceneDataHtml(other, "scene.json").status();
    EXPECT_EQ(refused.reason(), reason::SCHEMA_INVALID) << other.substr(0, 80);
    EXPECT_THAT(refused.ToString(), HasSubstr("scene.json"));
  }
}

}  // namespace
}  // namespace interlacer
