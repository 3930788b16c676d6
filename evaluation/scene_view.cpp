#include "evaluation/scene_view.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "common/base64.h"
#include "common/json.h"
#include "common/transforms.h"
#include "evaluation/html.h"
#include "evaluation/scene_view_script.h"
#include "robots/robot.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMaxCode = 65535;
constexpr std::uint16_t kStill = 65535, kUnknown = 65534;
constexpr std::size_t kMaxSurfacePointsShown = 8192;
static_assert(std::endian::native == std::endian::little, "the script reads little-endian numbers");

template <typename T>
std::string Base64Of(const std::vector<T>& values) {
  return Base64({reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)});
}

/// Integers for finite positions in a box.
class Grid {
 public:
  void Cover(std::span<const float> positions_m) {
    for (std::size_t i = 0; i < positions_m.size(); ++i) {
      low_m_[i % 3] = std::min<double>(low_m_[i % 3], positions_m[i]);
      high_m_[i % 3] = std::max<double>(high_m_[i % 3], positions_m[i]);
    }
  }
  std::string Encode(std::span<const float> positions_m) const {
    std::vector<std::uint16_t> codes;
    codes.reserve(positions_m.size());
    for (std::size_t i = 0; i < positions_m.size(); ++i) {
      const double step_m = StepM(i % 3);
      const double code = step_m > 0 ? std::round((positions_m[i] - low_m_[i % 3]) / step_m) : 0;
      codes.push_back(static_cast<std::uint16_t>(std::clamp(code, 0.0, kMaxCode)));
    }
    return Base64Of(codes);
  }
  Json ToJson() const { return {{"low_m", low_m_}, {"step_m", {StepM(0), StepM(1), StepM(2)}}}; }

 private:
  double StepM(std::size_t axis) const { return (high_m_[axis] - low_m_[axis]) / kMaxCode; }
  static constexpr double kFar = std::numeric_limits<double>::max();
  std::array<double, 3> low_m_{kFar, kFar, kFar}, high_m_{-kFar, -kFar, -kFar};
};

/// Of every `stride`-th particle those that are finite at all steps: others have no place.
std::vector<std::size_t> ShownParticles(const SceneView& scene, std::size_t stride) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < scene.predicted_m.front().size() / 3; i += stride) {
    const bool is_finite = std::all_of(
        scene.predicted_m.begin(), scene.predicted_m.end(), [i](const std::vector<float>& step_m) {
          return std::isfinite(step_m[3 * i]) && std::isfinite(step_m[3 * i + 1]) &&
                 std::isfinite(step_m[3 * i + 2]);
        });
    if (is_finite) shown.push_back(i);
  }
  return shown;
}

/// Some rows of [n,width].
template <typename T>
std::vector<T> Rows(const std::vector<T>& all, std::size_t width,
                    std::span<const std::size_t> rows) {
  std::vector<T> kept;
  kept.reserve(rows.size() * width);
  for (const std::size_t row : rows) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * width);
    kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return kept;
}

/// Discs of this width cover a surface of such points: by the median way to the nearest other one.
double DiscSizeM(std::span<const float> positions_m) {
  constexpr std::size_t kProbes = 200;
  constexpr double kOverlap = 1.8, kLeastM = 0.001;
  const std::size_t n = positions_m.size() / 3;
  std::vector<double> sq_dists_m2;
  for (std::size_t i = 0; i < n; i += std::max<std::size_t>(1, n / kProbes)) {
    double nearest = std::numeric_limits<double>::max();
    for (std::size_t k = 0; k < n; ++k) {
      double sq_dist_m2 = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double d_m = positions_m[3 * i + axis] - positions_m[3 * k + axis];
        sq_dist_m2 += d_m * d_m;
      }
      if (k != i && sq_dist_m2 < nearest) nearest = sq_dist_m2;
    }
    if (n > 1) sq_dists_m2.push_back(nearest);
  }
  if (sq_dists_m2.empty()) return kLeastM;
  const auto middle = sq_dists_m2.begin() + static_cast<std::ptrdiff_t>(sq_dists_m2.size() / 2);
  std::nth_element(sq_dists_m2.begin(), middle, sq_dists_m2.end());
  return std::max(kLeastM, kOverlap * std::sqrt(*middle));
}

std::vector<std::uint16_t> BodyCodes(std::span<const std::int32_t> bodies) {
  std::vector<std::uint16_t> codes;
  for (const std::int32_t body : bodies) {
    codes.push_back(body == kUnknownMotion ? kUnknown
                    : body < 0             ? kStill
                                           : static_cast<std::uint16_t>(body));
  }
  return codes;
}

/// [steps - 1][bodies] rows of [R|t] that carry a body from the start to a step.
Json MotionJson(const CarriedParticles& carried, std::span<const std::size_t> shown) {
  const BodyMotion& motion = carried.motion;
  std::vector<float> matrices;
  for (const std::vector<Transform>& poses : motion.later) {
    for (std::size_t body = 0; body < motion.start.size(); ++body) {
      const Matrix4d m = ToMatrix(Compose(poses[body], Inverse(motion.start[body])));
      matrices.insert(matrices.end(), m.begin(), m.begin() + 12);
    }
  }
  return {{"name", carried.name},
          {"step_count", motion.later.size()},
          {"body_count", motion.start.size()},
          {"carry", Base64Of(matrices)},
          {"bodies", Base64Of(BodyCodes(Rows(carried.bodies, 1, shown)))}};
}

/// The robot's surface where it was seen; the first points of a link lie evenly over it.
Json RobotJson(const BodyMotion& motion, std::size_t motion_index) {
  const SurfacePoints& surface = motion.robot->surface;
  const std::size_t in_all = surface.size();
  std::vector<std::size_t> count(motion.link_count), taken(motion.link_count);
  for (const std::int64_t link : surface.links) ++count[static_cast<std::size_t>(link)];
  std::vector<float> positions_m;
  std::vector<std::int32_t> links;
  for (std::size_t i = 0; i < in_all; ++i) {
    const auto link = static_cast<std::size_t>(surface.links[i]);
    const std::size_t share = in_all <= kMaxSurfacePointsShown
                                  ? count[link]
                                  : count[link] * kMaxSurfacePointsShown / in_all + 1;
    if (taken[link]++ >= share) continue;
    const Vec3f& p = surface.positions_m[i];
    const Vec3d world_m = Apply(motion.start[link], {p[0], p[1], p[2]});
    for (const double value : world_m) positions_m.push_back(static_cast<float>(value));
    links.push_back(static_cast<std::int32_t>(link));
  }
  Grid grid;
  grid.Cover(positions_m);
  return {{"motion", motion_index},
          {"size_m", DiscSizeM(positions_m)},
          {"grid", grid.ToJson()},
          {"positions", grid.Encode(positions_m)},
          {"links", Base64Of(BodyCodes(links))}};
}

Json CameraJson(const std::string& name, const Camera& camera) {
  const Matrix4d m = ToMatrix(camera.world_from_camera);
  return {{"name", name},
          {"width_px", camera.width_px},
          {"height_px", camera.height_px},
          {"fx_px", camera.fx_px},
          {"fy_px", camera.fy_px},
          {"cx_px", camera.cx_px},
          {"cy_px", camera.cy_px},
          {"world_from_camera", std::vector<double>(m.begin(), m.begin() + 12)}};
}

Json ParticlesJson(const SceneView& scene, std::span<const std::size_t> shown) {
  Grid grid;
  std::vector<std::vector<float>> kept_m;
  for (const std::vector<float>& positions_m : scene.predicted_m) {
    grid.Cover(kept_m.emplace_back(Rows(positions_m, 3, shown)));
  }
  Json positions = Json::array();
  for (const std::vector<float>& positions_m : kept_m)
    positions.push_back(grid.Encode(positions_m));
  return {{"size_m", DiscSizeM(kept_m.front())},
          {"colors", Base64Of(Rows(scene.colors_rgb8, 3, shown))},
          {"grid", grid.ToJson()},
          {"positions", std::move(positions)}};
}

constexpr char kViewSchema[] = "interlacer.scene_view";
constexpr int kViewSchemaVersion = 1;

constexpr std::string_view kBeforeData = R"html(<div id="scene" class="scene" hidden>
<div class="scene-stage"><canvas class="scene-canvas" tabindex="0" role="application"
 aria-label="3-D view of particles, robot and cameras" aria-describedby="scene-help"></canvas></div>
<div class="scene-controls"><button type="button" class="scene-play">Play</button>
<input type="range" class="scene-step" aria-label="Rollout step" min="0" max="0" value="0" step="1">
<button type="button" class="scene-reset">Reset view</button></div>
<p class="scene-now"></p>
<fieldset class="scene-layers"><legend>Show</legend></fieldset>
<p id="scene-help" class="scene-help">Drag turns, Shift and drag moves; once the view was clicked, the wheel zooms.
Keys in the view: arrows turn, with Shift they move; + and - zoom, Space plays, Home resets.</p>
</div>
<noscript><p class="missing">The 3-D view needs JavaScript, which is off here. The pictures of the cameras show the
same steps, and the particles lie as files beside them.</p></noscript>
)html";

std::string Caption(const nlohmann::json& data) {
  std::string text = "Predicted particles in the colours that were seen.";
  for (const nlohmann::json& motion : data["motions"]) {
    text += motion["name"] == "truth"
                ? " Truth, in green: the same particles as the simulator moved what they lie on, "
                  "but for "
                  "those of which this is not known."
                : " Kinematic, in orange: the same particles where the robot alone moves.";
  }
  const auto stride = data["stride"].get<std::int64_t>();
  if (stride > 1) {
    text += " To keep the page small, 1 of " + std::to_string(stride) + " of the " +
            std::to_string(data["particle_count"].get<std::int64_t>()) + " particles is shown.";
  }
  return text;
}

/// What the caption and the script read without looking; values inside are the script's.
Status CheckData(const nlohmann::json& data) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Make(data));
  INTERLACER_ASSIGN_OR_RETURN(const auto schema, root.Get<std::string>("schema"));
  if (schema != kViewSchema) return root.Invalid("schema", kViewSchema, schema);
  INTERLACER_ASSIGN_OR_RETURN(const int version, root.Get<int>("schema_version"));
  if (version != kViewSchemaVersion) {
    return root.Invalid("schema_version", std::to_string(kViewSchemaVersion),
                        std::to_string(version));
  }
  for (const char* key : {"stride", "particle_count"}) {
    INTERLACER_RETURN_IF_ERROR(root.Get<std::int64_t>(key).status());
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> motions, root.GetObjects("motions"));
  for (const JsonObject& motion : motions) {
    INTERLACER_RETURN_IF_ERROR(motion.Get<std::string>("name").status());
  }
  return root.GetObject("particles").status();
}

}  // namespace

std::string_view SceneViewScript() { return kSceneViewScript; }

std::string SceneViewData(const SceneView& scene) {
  if (scene.predicted_m.empty() || scene.predicted_m.front().empty()) return "";
  const std::size_t count = scene.predicted_m.front().size() / 3;
  // A particle's bytes, and those of matrices and of the surface, as base64.
  std::size_t particle_bytes = 3 + 6 * scene.predicted_m.size();
  std::size_t other_bytes = kMaxSurfacePointsShown * 8;
  for (const CarriedParticles& carried : scene.carried) {
    particle_bytes += 2;
    other_bytes += carried.motion.later.size() * carried.motion.start.size() * 12 * sizeof(float);
  }
  constexpr std::size_t kMaxBytes = kMaxSceneViewBytes / 4 * 3;
  if (other_bytes >= kMaxBytes) return "";
  const std::size_t room = (kMaxBytes - other_bytes) / particle_bytes;
  if (room == 0) return "";
  const std::size_t stride = (count + room - 1) / room;
  const std::vector<std::size_t> shown = ShownParticles(scene, stride);
  if (shown.empty()) return "";

  Json json = {{"schema", kViewSchema},
               {"schema_version", kViewSchemaVersion},
               {"particle_count", count},
               {"stride", stride},
               {"step_duration_s", scene.step_duration_s},
               {"workspace", {{"low_m", scene.workspace.min_m}, {"high_m", scene.workspace.max_m}}},
               {"particles", ParticlesJson(scene, shown)},
               {"motions", Json::array()},
               {"cameras", Json::array()}};
  for (std::size_t i = 0; i < scene.carried.size(); ++i) {
    json["motions"].push_back(MotionJson(scene.carried[i], shown));
    const BodyMotion& motion = scene.carried[i].motion;
    if (!json.contains("robot") && motion.robot && motion.robot->surface.size() > 0) {
      json["robot"] = RobotJson(motion, i);
    }
  }
  for (const auto& [name, camera] : scene.cameras) {
    json["cameras"].push_back(CameraJson(name, camera));
  }
  return JsonText(json, -1);
}

StatusOr<std::string> SceneDataHtml(const std::string& data, const std::string& origin,
                                    std::string_view of_text) {
  if (data.size() > kMaxSceneDataBytes) {
    return Mismatch(reason::SCHEMA_INVALID, origin,
                    "at most " + std::to_string(kMaxSceneDataBytes) + " bytes",
                    std::to_string(data.size()));
  }
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(data, origin));
  INTERLACER_RETURN_IF_ERROR(CheckData(json).WithFieldPrefix(origin + ":"));
  std::string safe;
  // A name with markup must not end the element that holds it.
  for (const char c : data) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return SectionHtml("In 3-D", (of_text.empty() ? "" : ParagraphHtml(of_text)) +
                                   std::string(kBeforeData) + ParagraphHtml(Caption(json)) +
                                   "<script type=\"application/json\" id=\"scene-data\">" + safe +
                                   "</script>\n");
}

std::string SceneViewHtml(const SceneView& scene) {
  const std::string data = SceneViewData(scene);
  return data.empty() ? "" : SceneDataHtml(data, "scene").value();
}

}  // namespace interlacer
