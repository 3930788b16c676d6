#include "tests/fuzz/targets.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "client/planner/cost_file.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/step_changes.h"
#include "data/csv.h"
#include "data/importers/apc.h"
#include "data/importers/intrinsics.h"
#include "data/importers/redwood.h"
#include "data/importers/tum.h"
#include "data/manifest.h"
#include "model/files/tensor_header.h"
#include "server/convert/actions.h"
#include "server/convert/output_options.h"
#include "server/convert/scene_input.h"
#include "server/transport/http2_gate.h"
#include "tests/fuzz/bag_targets.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/painted_plane.h"
#include "tests/support/raw_http2.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wire_bytes.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

std::span<const std::uint8_t> BytesIn(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string TextOf(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

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

}  // namespace

void ExpectExplained(const Status& status) {
  if (status.ok()) return;
  EXPECT_FALSE(status.reason().empty()) << status.ToString();
  EXPECT_FALSE(status.message().empty()) << status.reason();
  EXPECT_NE(status.code(), StatusCode::kInternal) << status.ToString();
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
  if (actions.ok()) {
    ExpectExplained(CheckStepChanges(checked->history_actions, *actions, metadata.action_columns));
  }
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

namespace {

bool CheckPicture(const std::string& bytes) {
  ImageLimits limits;
  limits.max_side_px = kMaxSidePx;
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
  return rgb.ok() || grey.ok();
}

bool CheckRequest(const std::string& bytes) {
  v1::PredictRolloutRequest request, around_pixels;
  PixelPayloads payloads;
  const bool is_request = request.ParseFromString(bytes);
  // Pieces of 61 bytes: borders everywhere, also inside numbers and pixels.
  EXPECT_EQ(ParseWithoutPixels(InPieces(bytes, 61), &around_pixels, &payloads).ok(), is_request);
  if (!is_request) return false;
  if (around_pixels.source().has_scene_input()) {
    RestorePixels(payloads, around_pixels.mutable_source()->mutable_scene_input());
  }
  EXPECT_EQ(around_pixels.SerializeAsString(), request.SerializeAsString());
  Admit(request);
  return true;
}

/// What a client sends on one connection, in two pieces, then what waits for its time.
bool CheckConnection(const std::string& bytes) {
  using Clock = Http2Gate::Clock;
  constexpr std::int64_t kMaxMessageBytes = 1 << 16;
  constexpr std::size_t kMaxOutPerByte = 64, kMaxOutBytes = 1 << 16;
  Http2Gate gate({kMaxMessageBytes, std::chrono::seconds(1), 4}, ExpectExplained);
  const Clock::time_point start{};
  const auto whole = BytesIn(bytes);
  bool is_open = gate.FromClient(whole.first(whole.size() / 2), start);
  is_open = is_open && gate.FromClient(whole.subspan(whole.size() / 2), start);
  EXPECT_GE(gate.upload_bytes(), 0);
  EXPECT_LE(gate.upload_bytes(), static_cast<std::int64_t>(bytes.size()));
  // A connection that ends takes its uploads along.
  if (gate.Tick(start + std::chrono::seconds(2))) {
    EXPECT_FALSE(gate.oldest_upload());
  }
  EXPECT_LE(gate.to_library.size() + gate.to_client.size(),
            kMaxOutBytes + kMaxOutPerByte * bytes.size());
  return is_open;
}

bool CheckTensors(const std::string& bytes) {
  const auto header = ParseTensorHeader(BytesIn(bytes), "weights");
  ExpectExplained(header.status());
  if (!header.ok()) return false;
  EXPECT_LE(header->size_bytes, bytes.size());
  ExpectExplained(OptimizerSteps(header->metadata).status());
  return true;
}

bool CheckManifest(const std::string& bytes) {
  const auto document = ParseJson(bytes, "manifest.json");
  ExpectExplained(document.status());
  if (!document.ok()) return false;
  const auto manifest = ParseManifest(*document);
  ExpectExplained(manifest.status());
  if (!manifest.ok()) return false;
  ExpectExplained(ValidateManifest(*manifest));
  return true;
}

bool CheckArray(const std::string& bytes) {
  const auto array = ParseNpy(BytesIn(bytes));
  ExpectExplained(array.status());
  if (array.ok()) {
    ExpectExplained(NpyToDoubles(*array).status());
    ExpectExplained(NpyToInt64(*array).status());
  }
  const auto table = ParseCsv(bytes);
  ExpectExplained(table.status());
  return array.ok() || table.ok();
}

Status CheckIntrinsics(const std::string& bytes) {
  INTERLACER_ASSIGN_OR_RETURN(const auto document, ParseJson(bytes, "intrinsics.json"));
  INTERLACER_ASSIGN_OR_RETURN(
      const JsonObject object,
      JsonObject::Make(document, "intrinsics.json", reason::CALIBRATION_INVALID));
  return ParseOpen3DIntrinsics(object).status();
}

/// The tables of other tools' recordings.
bool CheckTable(const std::string& bytes) {
  const Status ends[] = {ParseTumImageList(bytes, "rgb.txt", "").status(),
                         ParseTumTrajectory(bytes, "groundtruth.txt", "").status(),
                         ParseRedwoodLog(bytes, "trajectory.log").status(),
                         ParseApcCameraInfo(bytes, "cam.info.txt").status(),
                         CheckIntrinsics(bytes)};
  for (const Status& end : ends) ExpectExplained(end);
  return std::any_of(std::begin(ends), std::end(ends), [](const Status& end) { return end.ok(); });
}

bool CheckCosts(const std::string& bytes) {
  const auto document = ParseJson(bytes, "costs.json");
  ExpectExplained(document.status());
  if (!document.ok()) return false;
  const auto costs = ParseCosts(*document, [](const std::string&) -> StatusOr<std::vector<float>> {
    return std::vector<float>{0, 0, 0};
  });
  ExpectExplained(costs.status());
  return costs.ok();
}

std::vector<std::string> PictureSeeds() {
  RgbImage color{20, 15, std::vector<std::uint8_t>(20 * 15 * 3)};
  for (std::size_t i = 0; i < color.pixels.size(); ++i) {
    color.pixels[i] = static_cast<std::uint8_t>(i * 31);
  }
  DepthImage16 depth{20, 15, 0.001, std::vector<std::uint16_t>(20 * 15)};
  for (std::size_t i = 0; i < depth.pixels.size(); ++i) {
    depth.pixels[i] = static_cast<std::uint16_t>(i * 211);
  }
  return {TextOf(EncodePng(color)), TextOf(EncodePng(depth)), TextOf(EncodeJpeg(color, 90))};
}

std::string ConnectionSeed() {
  const std::string message = MakeRolloutRequest(1).SerializeAsString().substr(0, 2000);
  std::string bytes = kHttp2Preface + Http2Frame(RawHttp2::kSettings, 0, 0, "");
  for (const std::uint32_t stream : {1u, 3u}) {
    bytes += Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream,
                        HeaderBlock(std::string(kServicePath) + "PredictRollout", {{"x", "y"}}));
  }
  bytes += Http2Frame(RawHttp2::kData, 0, 1,
                      MessagePrefix(static_cast<std::uint32_t>(message.size())) + message);
  bytes += Http2Frame(RawHttp2::kPing, 0, 0, "12345678");
  return bytes + Http2Frame(RawHttp2::kReset, 0, 3, BigEndian(8, 4));
}

std::string TensorSeed() {
  return FormatTensorHeader(
             {{"weight", {{"dtype", "F32"}, {"shape", {2, 3}}, {"data_offsets", {0, 24}}}}},
             {{kOptimizerStepsKey, "5"}}) +
         std::string(24, '\0');
}

std::string ManifestSeed() {
  const TempFolder folder;
  EXPECT_TRUE(WritePaintedPlane(folder.File("plane")).ok());
  std::ifstream file(folder.File("plane") + "/manifest.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> ArraySeeds() {
  const std::vector<float> values(24, 1.5f);
  const std::int64_t shape[] = {8, 3};
  return {TextOf(EncodeNpy(std::span<const float>(values), shape)),
          "joint_1_rad,\"joint_2_rad\"\n0.5,1e-3\n-2,7\n"};
}

std::vector<std::string> TableSeeds() {
  return {
      "# time file\n1305031102.175304 rgb/1305031102.175304.png\n1305031102.211214 rgb/2.png\n",
      "# timestamp tx ty tz qx qy qz qw\n1.5 0 0 1 0 0 0 1\n1.6 0.1 0 1 0 0 0.6 0.8\n",
      "0 0 1\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n",
      R"({"width": 640, "height": 480, "intrinsic_matrix": [525, 0, 0, 0, 525, 0, 319.5, 239.5, 1]})"};
}

constexpr char kCostSeed[] = R"({"schema": "interlacer.cost", "schema_version": 1, "terms": [
  {"type": "object_to_point", "region_min_m": [0.1, -0.2, 0.01], "region_max_m": [0.3, 0, 0.2],
   "target_m": [0.4, 0.1, 0.05]}, {"type": "goal_cloud", "points": "goal.ply"},
  {"type": "smooth_action", "weight": 0.1}]})";

}  // namespace

std::vector<FuzzTarget> FuzzTargets() {
  google::protobuf::SetLogHandler(nullptr);  // a line for each name that is not UTF-8
  std::vector<FuzzTarget> targets = {
      {"pictures", CheckPicture, PictureSeeds()},
      {"requests", CheckRequest, {CompressedRequest().SerializeAsString()}},
      {"connections", CheckConnection, {ConnectionSeed()}},
      {"tensors", CheckTensors, {TensorSeed()}},
      {"manifests", CheckManifest, {ManifestSeed()}},
      {"arrays", CheckArray, ArraySeeds()},
      {"tables", CheckTable, TableSeeds()},
      {"costs", CheckCosts, {kCostSeed}}};
  for (FuzzTarget& target : BagTargets()) targets.push_back(std::move(target));
  return targets;
}

}  // namespace interlacer::testing
