/// Damaged inputs from outside: never a crash, never an unexplained refusal, never more memory than
/// the limits allow. The same damage in every run; `--gtest_random_seed=N` does other damage.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "data/csv.h"
#include "data/manifest.h"
#include "server/convert/actions.h"
#include "server/convert/output_options.h"
#include "server/convert/scene_input.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wire_bytes.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

constexpr int kRounds = 20'000;
/// Keeps the pixels of one accepted image below 25 KB.
constexpr int kMaxSidePx = 64;

std::uint32_t Seed() { return static_cast<std::uint32_t>(GTEST_FLAG_GET(random_seed)); }

std::span<const std::uint8_t> BytesIn(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string TextOf(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

/// A refusal says why in a word and a sentence.
void ExpectExplained(const Status& status) {
  if (status.ok()) return;
  EXPECT_FALSE(status.reason().empty()) << status.ToString();
  EXPECT_FALSE(status.message().empty()) << status.reason();
  EXPECT_NE(status.code(), StatusCode::kInternal) << status.ToString();
}

void ExpectSoundScene(const SceneInput& input, const ModelMetadata& metadata) {
  for (const Observation& observation : input.observations) {
    ASSERT_EQ(observation.views.size(), metadata.cameras.size());
    for (const RgbdView& view : observation.views) {
      EXPECT_LE(std::max(view.camera.width_px, view.camera.height_px), kMaxSidePx);
      const std::size_t pixels =
          static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
      EXPECT_EQ(view.color.pixels.size(), 3 * pixels);
      EXPECT_EQ(view.depth.pixels_m.size(), pixels);
    }
  }
}

/// What a server does with a request before it computes; true when it would compute.
bool Admit(v1::PredictRolloutRequest request) {
  const ModelMetadata metadata = FakeMetadata();
  Limits limits;
  limits.max_image_side_px = kMaxSidePx;
  limits.max_render_side_px = kMaxSidePx;
  const auto output = ToOutputOptions(request.output(), request.actions(), metadata, limits);
  ExpectExplained(output.status());
  if (output.ok()) {
    EXPECT_FALSE(output->steps.empty());
    EXPECT_LE(output->steps.back(), limits.max_step_count);
    ExpectExplained(EstimateResponseBytes(*output, 1, metadata, limits).status());
  }
  const auto actions = ToActionSequence(request.actions(), metadata);
  ExpectExplained(actions.status());
  v1::SceneInput& scene = *request.mutable_source()->mutable_scene_input();
  const PixelPayloads payloads(&scene);
  const auto checked = CheckSceneInput(scene, payloads, metadata, limits);
  ExpectExplained(checked.status());
  if (!checked.ok()) return false;
  EXPECT_LE(checked->decoded_bytes, 1 << 20);
  SceneInput plain;
  const Status decoded = DecodeSceneInput(scene, payloads, metadata, false, &plain);
  ExpectExplained(decoded);
  if (decoded.ok()) ExpectSoundScene(plain, metadata);
  if (actions.ok()) ExpectExplained(CheckStepChanges(checked->history_actions, *actions, metadata));
  return output.ok() && actions.ok() && decoded.ok();
}

v1::PredictRolloutRequest CompressedRequest() {
  v1::PredictRolloutRequest request = MakeRolloutRequest(2);
  for (auto& observation :
       *request.mutable_source()->mutable_scene_input()->mutable_observations()) {
    for (auto& view : *observation.mutable_views()) {
      const RgbImage color{kViewWidthPx, kViewHeightPx,
                           std::vector<std::uint8_t>(3 * kViewWidthPx * kViewHeightPx, 90)};
      view.mutable_color()->set_compression(v1::IMAGE_COMPRESSION_PNG);
      view.mutable_color()->set_data(TextOf(EncodePng(color)));
      const DepthImage16 depth{kViewWidthPx, kViewHeightPx, 0.001,
                               std::vector<std::uint16_t>(kViewWidthPx * kViewHeightPx, 1000)};
      view.mutable_depth()->set_compression(v1::IMAGE_COMPRESSION_PNG);
      view.mutable_depth()->set_data(TextOf(EncodePng(depth)));
    }
  }
  auto* target = request.mutable_output()->add_render_targets();
  target->set_target_name("view");
  *target->mutable_camera() = MakeView("left", 0).calibration();
  return request;
}

// fm-2
TEST(Fuzz, FieldsOfARequest) {
  Mutator mutator(Seed());
  const v1::PredictRolloutRequest seeds[] = {MakeRolloutRequest(2), CompressedRequest()};
  for (const auto& seed : seeds) ASSERT_TRUE(Admit(seed));
  int accepted = 0;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    v1::PredictRolloutRequest request = seeds[round % 2];
    mutator.Message(&request);
    accepted += Admit(request) ? 1 : 0;
  }
  // Most damage is refused, some is harmless; otherwise the damage is not where the checks are.
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 19 / 20);
}

// fm-1 fm-2
TEST(Fuzz, BytesOfARequest) {
  Mutator mutator(Seed());
  const std::string seed = CompressedRequest().SerializeAsString();
  google::protobuf::SetLogHandler(nullptr);  // a line for each name that is not UTF-8
  int parsed = 0;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const std::string bytes = mutator.Bytes(seed);
    v1::PredictRolloutRequest request, around_pixels;
    PixelPayloads payloads;
    const bool is_request = request.ParseFromString(bytes);
    // Pieces of 61 bytes: borders everywhere, also inside numbers and pixels.
    ASSERT_EQ(ParseWithoutPixels(InPieces(bytes, 61), &around_pixels, &payloads).ok(), is_request);
    if (!is_request) continue;
    ++parsed;
    if (around_pixels.source().has_scene_input()) {
      RestorePixels(payloads, around_pixels.mutable_source()->mutable_scene_input());
    }
    EXPECT_EQ(around_pixels.SerializeAsString(), request.SerializeAsString()) << "round " << round;
    Admit(request);
  }
  EXPECT_GT(parsed, kRounds / 20);
}

// fm-4
TEST(Fuzz, Pictures) {
  Mutator mutator(Seed());
  RgbImage color{20, 15, std::vector<std::uint8_t>(20 * 15 * 3)};
  for (std::size_t i = 0; i < color.pixels.size(); ++i) {
    color.pixels[i] = static_cast<std::uint8_t>(i * 31);
  }
  DepthImage16 depth{20, 15, 0.001, std::vector<std::uint16_t>(20 * 15)};
  for (std::size_t i = 0; i < depth.pixels.size(); ++i) {
    depth.pixels[i] = static_cast<std::uint16_t>(i * 211);
  }
  const std::string seeds[] = {TextOf(EncodePng(color)), TextOf(EncodePng(depth)),
                               TextOf(EncodeJpeg(color, 90))};
  ImageLimits limits;
  limits.max_side_px = kMaxSidePx;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const std::string bytes = mutator.Bytes(seeds[round % 3]);
    const auto rgb = DecodeRgb(BytesIn(bytes), limits);
    ExpectExplained(rgb.status());
    if (rgb.ok()) {
      EXPECT_LE(std::max(rgb->width_px, rgb->height_px), kMaxSidePx);
      EXPECT_EQ(rgb->pixels.size(), std::size_t{3} * rgb->width_px * rgb->height_px);
    }
    const auto grey = DecodePngDepth(BytesIn(bytes), 0.001, limits);
    ExpectExplained(grey.status());
    if (grey.ok()) {
      EXPECT_EQ(grey->pixels.size(), static_cast<std::size_t>(grey->width_px) * grey->height_px);
    }
  }
}

TEST(Fuzz, Manifests) {
  Mutator mutator(Seed());
  const TempFolder folder;
  ASSERT_TRUE(WritePaintedPlane(folder.File("plane")).ok());
  std::ifstream file(folder.File("plane") + "/manifest.json");
  const std::string seed{std::istreambuf_iterator<char>(file), {}};
  int valid = 0;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const auto document = ParseJson(mutator.Bytes(seed), "manifest.json");
    ExpectExplained(document.status());
    if (!document.ok()) continue;
    const auto manifest = ParseManifest(*document);
    ExpectExplained(manifest.status());
    if (!manifest.ok()) continue;
    ExpectExplained(ValidateManifest(*manifest));
    ++valid;
  }
  EXPECT_GT(valid, 0);
}

TEST(Fuzz, Arrays) {
  Mutator mutator(Seed());
  const std::vector<float> values(24, 1.5f);
  const std::int64_t shape[] = {8, 3};
  const std::string npy = TextOf(EncodeNpy(std::span<const float>(values), shape));
  const std::string csv = "joint_1_rad,\"joint,2\"\n0.5,1e-3\n-2,nan\n";
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    const std::string bytes = mutator.Bytes(npy);
    const auto array = ParseNpy(BytesIn(bytes));
    ExpectExplained(array.status());
    if (array.ok()) {
      ExpectExplained(NpyToDoubles(*array).status());
      ExpectExplained(NpyToInt64(*array).status());
    }
    ExpectExplained(ParseCsv(mutator.Bytes(csv)).status());
  }
}

}  // namespace
}  // namespace interlacer::testing
