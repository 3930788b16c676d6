#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "common/json.h"
#include "model/config.h"

namespace interlacer {
namespace {

using nlohmann::ordered_json;

template <typename E, std::size_t N>
using Words = std::array<std::pair<E, std::string_view>, N>;

constexpr Words<RobotMotion, 2> kRobotMotions{
    {{RobotMotion::kLearned, "learned"}, {RobotMotion::kKinematic, "kinematic"}}};
constexpr Words<GraphScope, 2> kGraphScopes{
    {{GraphScope::kAll, "all"}, {GraphScope::kPerTime, "per_time"}}};
constexpr Words<EdgeWeight, 3> kEdgeWeights{{{EdgeWeight::kUniform, "uniform"},
                                             {EdgeWeight::kExpDistance, "exp_dist"},
                                             {EdgeWeight::kInverseSqrtDegree, "inv_sqrt_deg"}}};
constexpr Words<KnnBackend, 3> kGraphIndexes{
    {{KnnBackend::kGrid, KnnBackendName(KnnBackend::kGrid)},
     {KnnBackend::kFaissFlat, KnnBackendName(KnnBackend::kFaissFlat)},
     {KnnBackend::kFaissIvf, KnnBackendName(KnnBackend::kFaissIvf)}}};
constexpr Words<OutlierFilterKind, 2> kOutlierFilters{
    {{OutlierFilterKind::kStatistical, "statistical"}, {OutlierFilterKind::kRadius, "radius"}}};
constexpr Words<MaskPositivity, 5> kMaskPositivities{
    {{MaskPositivity::kAbsCoefficients, "abs_f"},
     {MaskPositivity::kAbsMask, "abs_mask"},
     {MaskPositivity::kSoftplusCoefficients, "softplus_f"},
     {MaskPositivity::kNone, "none"},
     {MaskPositivity::kOnes, "ones"}}};
constexpr Words<WalkSampler, 4> kWalkSamplers{
    {{WalkSampler::kRepelling, "repelling"},
     {WalkSampler::kRepellingPerPrefix, "repelling_per_prefix"},
     {WalkSampler::kAntithetic, "antithetic"},
     {WalkSampler::kIid, "iid"}}};

template <typename E, std::size_t N>
std::string WordOf(const Words<E, N>& words, E value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return std::string(word);
  }
  return std::string(words.front().second);
}

/// The double with the shortest decimal form that rounds to `value`: 0.01, not 0.00999999978.
double Shortest(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  double result = 0;
  std::from_chars(text, end, result);
  return result;
}

std::vector<double> Shortest(const std::vector<float>& values) {
  std::vector<double> result;
  for (const float value : values) result.push_back(Shortest(value));
  return result;
}

/// Reads optional fields one after the other and remembers the first error.
class Reader {
 public:
  explicit Reader(const JsonObject& object) : object_(object) {}

  template <typename T>
  void Field(std::string_view key, T* out) {
    Take<T>(key, [&](T value) { *out = std::move(value); });
  }
  void Field(std::string_view key, float* out) {
    Take<double>(key, [&](double value) { *out = static_cast<float>(value); });
  }
  void Field(std::string_view key, std::vector<float>* out) {
    Take<std::vector<double>>(
        key, [&](const std::vector<double>& values) { out->assign(values.begin(), values.end()); });
  }
  void Field(std::string_view key, std::vector<int>* out) {
    Take<std::vector<std::int64_t>>(key, [&](const std::vector<std::int64_t>& values) {
      const auto wide = std::find_if(values.begin(), values.end(),
                                     [](std::int64_t value) { return !std::in_range<int>(value); });
      if (wide == values.end()) {
        out->assign(values.begin(), values.end());
      } else {
        status_ = object_.Invalid(key, "integers of 32 bits", std::to_string(*wide));
      }
    });
  }
  void Field(std::string_view key, Vec3d* out) {
    if (!status_.ok() || !object_.Has(key)) return;
    const auto values = object_.GetNumbers(key, out->size());
    if (!(status_ = values.status()).ok()) return;
    for (std::size_t i = 0; i < out->size(); ++i) (*out)[i] = (*values)[i];
  }
  template <typename E, std::size_t N>
  void Field(std::string_view key, const Words<E, N>& words, E* out) {
    Take<std::string>(key, [&](const std::string& text) {
      std::string expected;
      for (const auto& [value, word] : words) {
        if (word == text) {
          *out = value;
          return;
        }
        expected += (expected.empty() ? "" : ", ") + std::string(word);
      }
      status_ = object_.Invalid(key, expected, text);
    });
  }
  template <typename T>
  void Section(std::string_view key, Status (*read)(const JsonObject&, T*), T* out) {
    if (!status_.ok() || !object_.Has(key)) return;
    const auto section = object_.GetObject(key);
    status_ = section.ok() ? read(*section, out) : section.status();
  }
  const Status& status() const { return status_; }
  Status Finish(std::initializer_list<std::string_view> keys) {
    return status_.ok() ? object_.AllowOnly(keys) : status_;
  }

 private:
  template <typename T, typename Use>
  void Take(std::string_view key, const Use& use) {
    if (!status_.ok() || !object_.Has(key)) return;
    auto value = object_.Get<T>(key);
    status_ = value.status();
    if (status_.ok()) use(*std::move(value));
  }

  const JsonObject& object_;
  Status status_;
};

ordered_json ToJson(const DataConfig& c) {
  ordered_json cameras = ordered_json::array();
  for (const CameraSpec& camera : c.cameras) {
    cameras.push_back(
        {{"name", camera.name}, {"width_px", camera.width_px}, {"height_px", camera.height_px}});
  }
  return {{"cameras", cameras},
          {"step_duration_s", c.step_duration_s},
          {"particle_count", c.particle_count},
          {"min_particle_count", c.min_particle_count},
          {"workspace", {{"min_m", c.workspace.min_m}, {"max_m", c.workspace.max_m}}},
          {"world_frame_name", c.world_frame_name}};
}

Status ReadBox(const JsonObject& object, Box* out) {
  Reader reader(object);
  reader.Field("min_m", &out->min_m);
  reader.Field("max_m", &out->max_m);
  return reader.Finish({"min_m", "max_m"});
}

Status ReadCamera(const JsonObject& object, CameraSpec* out) {
  Reader reader(object);
  reader.Field("name", &out->name);
  reader.Field("width_px", &out->width_px);
  reader.Field("height_px", &out->height_px);
  return reader.Finish({"name", "width_px", "height_px"});
}

Status ReadData(const JsonObject& object, DataConfig* out) {
  if (object.Has("cameras")) {
    INTERLACER_ASSIGN_OR_RETURN(const auto cameras, object.GetObjects("cameras"));
    out->cameras.clear();
    for (const JsonObject& camera : cameras) {
      INTERLACER_RETURN_IF_ERROR(ReadCamera(camera, &out->cameras.emplace_back()));
    }
  }
  Reader reader(object);
  reader.Field("step_duration_s", &out->step_duration_s);
  reader.Field("particle_count", &out->particle_count);
  reader.Field("min_particle_count", &out->min_particle_count);
  reader.Section("workspace", ReadBox, &out->workspace);
  reader.Field("world_frame_name", &out->world_frame_name);
  return reader.Finish({"cameras", "step_duration_s", "particle_count", "min_particle_count",
                        "workspace", "world_frame_name"});
}

ordered_json ToJson(const OutlierFilter& c) {
  ordered_json json = {{"kind", WordOf(kOutlierFilters, c.kind)},
                       {"neighbor_count", c.neighbor_count}};
  if (c.kind == OutlierFilterKind::kStatistical) {
    json["std_ratio"] = c.std_ratio;
  } else {
    json["radius_m"] = c.radius_m;
  }
  return json;
}

Status ReadOutlierFilter(const JsonObject& object, std::optional<OutlierFilter>* out) {
  Reader reader(object);
  OutlierFilter& filter = out->emplace();
  reader.Field("kind", kOutlierFilters, &filter.kind);
  reader.Field("neighbor_count", &filter.neighbor_count);
  const bool is_statistical = filter.kind == OutlierFilterKind::kStatistical;
  if (is_statistical) {
    reader.Field("std_ratio", &filter.std_ratio);
  } else {
    reader.Field("radius_m", &filter.radius_m);
  }
  return reader.Finish({"kind", "neighbor_count", is_statistical ? "std_ratio" : "radius_m"});
}

/// Empty with the first values of all keys, as in configurations older than the section.
ordered_json ToJson(const LiftingConfig& c) {
  ordered_json json = ordered_json::object();
  if (c.outlier_filter) json["outlier_filter"] = ToJson(*c.outlier_filter);
  if (c.attach != AttachOptions()) {
    json["attach_radius_m"] = c.attach.radius_m;
    json["attach_finger_radius_m"] = c.attach.finger_radius_m;
  }
  if (c.contact_point_count > 0) json["contact_point_count"] = c.contact_point_count;
  return json;
}

Status ReadLifting(const JsonObject& object, LiftingConfig* out) {
  Reader reader(object);
  reader.Section("outlier_filter", ReadOutlierFilter, &out->outlier_filter);
  reader.Field("attach_radius_m", &out->attach.radius_m);
  reader.Field("attach_finger_radius_m", &out->attach.finger_radius_m);
  reader.Field("contact_point_count", &out->contact_point_count);
  return reader.Finish(
      {"outlier_filter", "attach_radius_m", "attach_finger_radius_m", "contact_point_count"});
}

ordered_json ToJson(const EncoderConfig& c) {
  ordered_json json = {{"widths", c.widths},
                       {"norm_group_count", c.norm_group_count},
                       {"feature_width", c.feature_width}};
  // Omitted if there is none, as in configurations older than the field.
  if (c.color_skip) json["color_skip"] = true;
  return json;
}

Status ReadEncoder(const JsonObject& object, EncoderConfig* out) {
  Reader reader(object);
  reader.Field("widths", &out->widths);
  reader.Field("norm_group_count", &out->norm_group_count);
  reader.Field("feature_width", &out->feature_width);
  reader.Field("color_skip", &out->color_skip);
  return reader.Finish({"widths", "norm_group_count", "feature_width", "color_skip"});
}

ordered_json ToJson(const TokenConfig& c) {
  return {{"fourier_octaves", c.fourier_octaves},
          {"displacement_scale", Shortest(c.displacement_scale)}};
}

/// Files of former versions say here that the tokens are those of today.
Status CheckFormerTokens(const JsonObject& object) {
  constexpr Words<bool, 1> kSurfacePoints{{{true, "surface_points"}}};
  bool is_surface = true, has_context = false;
  std::vector<float> bandwidths_m;
  Reader reader(object);
  reader.Field("robot", kSurfacePoints, &is_surface);
  reader.Field("kinematic_context", &has_context);
  reader.Field("kinematic_context_bandwidths_m", &bandwidths_m);
  INTERLACER_RETURN_IF_ERROR(reader.status());
  return has_context ? object.Invalid("kinematic_context", "false", "true") : Status();
}

Status ReadTokens(const JsonObject& object, TokenConfig* out) {
  INTERLACER_RETURN_IF_ERROR(CheckFormerTokens(object));
  Reader reader(object);
  reader.Field("fourier_octaves", &out->fourier_octaves);
  reader.Field("displacement_scale", &out->displacement_scale);
  return reader.Finish({"fourier_octaves", "displacement_scale", "robot", "kinematic_context",
                        "kinematic_context_bandwidths_m"});
}

ordered_json ToJson(const GraphConfig& c) {
  ordered_json json = {{"neighbor_count", c.neighbor_count},
                       {"scope", WordOf(kGraphScopes, c.scope)},
                       {"edge_weight", WordOf(kEdgeWeights, c.edge_weight)},
                       {"symmetrise", c.symmetrise}};
  // Omitted for the grid, as in configurations older than the field.
  if (c.index != KnnBackend::kGrid) json["index"] = WordOf(kGraphIndexes, c.index);
  return json;
}

Status ReadGraph(const JsonObject& object, GraphConfig* out) {
  Reader reader(object);
  reader.Field("neighbor_count", &out->neighbor_count);
  reader.Field("scope", kGraphScopes, &out->scope);
  reader.Field("edge_weight", kEdgeWeights, &out->edge_weight);
  reader.Field("symmetrise", &out->symmetrise);
  reader.Field("index", kGraphIndexes, &out->index);
  return reader.Finish({"neighbor_count", "scope", "edge_weight", "symmetrise", "index"});
}

ordered_json ToJson(const MechanismConfig& c) {
  return {{"name", c.name},
          {"options", nlohmann::json::parse(c.options)},
          {"neighbor_count", c.neighbor_count},
          {"symmetrise", c.symmetrise}};
}

Status ReadMechanism(const JsonObject& object, std::optional<MechanismConfig>* out) {
  if (!*out) out->emplace();
  Reader reader(object);
  reader.Field("name", &(*out)->name);
  if (object.Has("options")) {
    INTERLACER_RETURN_IF_ERROR(object.GetObject("options").status());
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const options, object.Find("options"));
    (*out)->options = options->dump();
  }
  reader.Field("neighbor_count", &(*out)->neighbor_count);
  reader.Field("symmetrise", &(*out)->symmetrise);
  return reader.Finish({"name", "options", "neighbor_count", "symmetrise"});
}

ordered_json ToJson(const LocalLayerConfig& c) {
  ordered_json json = {{"kind", WordOf(kLocalLayers, c.kind)},
                       {"key_width", c.key_width},
                       {"mask_positivity", WordOf(kMaskPositivities, c.mask_positivity)},
                       {"paper_literal_division", c.paper_literal_division},
                       {"sampler", WordOf(kWalkSamplers, c.sampler)},
                       {"walk_count", c.walk_count},
                       {"halt_probability", c.halt_probability},
                       {"anchor_stride", c.anchor_stride},
                       {"anchor_neighbor_count", c.anchor_neighbor_count},
                       {"message_width", c.message_width},
                       {"offset_scale_m", Shortest(c.offset_scale_m)}};
  // Omitted where there is none, as in configurations older than the fields.
  if (c.head_count != 1) json["head_count"] = c.head_count;
  if (c.mechanism) json["mechanism"] = ToJson(*c.mechanism);
  return json;
}

Status ReadLocal(const JsonObject& object, LocalLayerConfig* out) {
  Reader reader(object);
  reader.Field("kind", kLocalLayers, &out->kind);
  reader.Field("key_width", &out->key_width);
  reader.Field("mask_positivity", kMaskPositivities, &out->mask_positivity);
  reader.Field("paper_literal_division", &out->paper_literal_division);
  reader.Field("sampler", kWalkSamplers, &out->sampler);
  reader.Field("walk_count", &out->walk_count);
  reader.Field("halt_probability", &out->halt_probability);
  reader.Field("anchor_stride", &out->anchor_stride);
  reader.Field("anchor_neighbor_count", &out->anchor_neighbor_count);
  reader.Field("message_width", &out->message_width);
  reader.Field("offset_scale_m", &out->offset_scale_m);
  reader.Field("head_count", &out->head_count);
  reader.Section("mechanism", ReadMechanism, &out->mechanism);
  return reader.Finish({"kind", "key_width", "mask_positivity", "paper_literal_division", "sampler",
                        "walk_count", "halt_probability", "anchor_stride", "anchor_neighbor_count",
                        "message_width", "offset_scale_m", "head_count", "mechanism"});
}

Status ReadGlobal(const JsonObject& object, GlobalLayerConfig* out) {
  Reader reader(object);
  reader.Field("head_count", &out->head_count);
  reader.Section("mechanism", ReadMechanism, &out->mechanism);
  return reader.Finish({"head_count", "mechanism"});
}

ordered_json ToJson(const NetworkConfig& c) {
  ordered_json json = {{"width", c.width},
                       {"block_count", c.block_count},
                       {"ffn_factor", c.ffn_factor},
                       {"feature_epsilon", Shortest(c.feature_epsilon)},
                       {"normalizer_epsilon", Shortest(c.normalizer_epsilon)},
                       {"max_displacement_m", Shortest(c.max_displacement_m)}};
  // Omitted where there is none, as in configurations older than the fields.
  if (c.motion_gate) json["motion_gate"] = true;
  if (c.min_displacement_m > 0) json["min_displacement_m"] = Shortest(c.min_displacement_m);
  if (c.contact_guess) json["contact_guess"] = true;
  json["global"] = {{"head_count", c.global.head_count}};
  if (c.global.mechanism) json["global"]["mechanism"] = ToJson(*c.global.mechanism);
  json["local"] = ToJson(c.local);
  return json;
}

Status ReadNetwork(const JsonObject& object, NetworkConfig* out) {
  Reader reader(object);
  reader.Field("width", &out->width);
  reader.Field("block_count", &out->block_count);
  reader.Field("ffn_factor", &out->ffn_factor);
  reader.Field("feature_epsilon", &out->feature_epsilon);
  reader.Field("normalizer_epsilon", &out->normalizer_epsilon);
  reader.Field("max_displacement_m", &out->max_displacement_m);
  reader.Field("motion_gate", &out->motion_gate);
  reader.Field("min_displacement_m", &out->min_displacement_m);
  reader.Field("contact_guess", &out->contact_guess);
  reader.Section("global", ReadGlobal, &out->global);
  reader.Section("local", ReadLocal, &out->local);
  return reader.Finish({"width", "block_count", "ffn_factor", "feature_epsilon",
                        "normalizer_epsilon", "max_displacement_m", "motion_gate",
                        "min_displacement_m", "contact_guess", "global", "local"});
}

ordered_json ToJson(const RendererConfig& c) {
  return {{"neighbor_count", c.neighbor_count},
          {"kernel_radii_m", Shortest(c.kernel_radii_m)},
          {"kernel_bandwidths_m", Shortest(c.kernel_bandwidths_m)},
          {"empty_radius_m", Shortest(c.empty_radius_m)},
          {"samples_per_ray", c.samples_per_ray},
          {"hidden_width", c.hidden_width},
          {"near_m", Shortest(c.near_m)},
          {"far_m", Shortest(c.far_m)},
          {"stop_transmittance", Shortest(c.stop_transmittance)}};
}

Status ReadRenderer(const JsonObject& object, RendererConfig* out) {
  Reader reader(object);
  reader.Field("neighbor_count", &out->neighbor_count);
  reader.Field("kernel_radii_m", &out->kernel_radii_m);
  reader.Field("kernel_bandwidths_m", &out->kernel_bandwidths_m);
  reader.Field("empty_radius_m", &out->empty_radius_m);
  reader.Field("samples_per_ray", &out->samples_per_ray);
  reader.Field("hidden_width", &out->hidden_width);
  reader.Field("near_m", &out->near_m);
  reader.Field("far_m", &out->far_m);
  reader.Field("stop_transmittance", &out->stop_transmittance);
  return reader.Finish({"neighbor_count", "kernel_radii_m", "kernel_bandwidths_m", "empty_radius_m",
                        "samples_per_ray", "hidden_width", "near_m", "far_m",
                        "stop_transmittance"});
}

}  // namespace

ordered_json ConfigToJson(const InterlacerConfig& config) {
  ordered_json json = {{"name", config.name}};
  // Omitted where it is learned, as in configurations older than the field.
  if (config.robot_motion != RobotMotion::kLearned) {
    json["robot_motion"] = WordOf(kRobotMotions, config.robot_motion);
  }
  json["data"] = ToJson(config.data);
  if (ordered_json lifting = ToJson(config.lifting); !lifting.empty()) {
    json["lifting"] = std::move(lifting);
  }
  json["encoder"] = ToJson(config.encoder);
  json["tokens"] = ToJson(config.tokens);
  json["graph"] = ToJson(config.graph);
  json["network"] = ToJson(config.network);
  json["renderer"] = ToJson(config.renderer);
  return json;
}

StatusOr<InterlacerConfig> ConfigFromJson(const JsonObject& object) {
  InterlacerConfig config;
  if (object.Has("base")) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string base, object.GetOr<std::string>("base", ""));
    INTERLACER_ASSIGN_OR_RETURN(config, PresetConfig(base));
  }
  Reader reader(object);
  reader.Field("name", &config.name);
  reader.Field("robot_motion", kRobotMotions, &config.robot_motion);
  reader.Section("data", ReadData, &config.data);
  reader.Section("lifting", ReadLifting, &config.lifting);
  reader.Section("encoder", ReadEncoder, &config.encoder);
  reader.Section("tokens", ReadTokens, &config.tokens);
  reader.Section("graph", ReadGraph, &config.graph);
  reader.Section("network", ReadNetwork, &config.network);
  reader.Section("renderer", ReadRenderer, &config.renderer);
  INTERLACER_RETURN_IF_ERROR(reader.Finish({"base", "name", "robot_motion", "data", "lifting",
                                            "encoder", "tokens", "graph", "network", "renderer"}));
  config.renderer.feature_width = config.encoder.feature_width;
  if (Status status = ValidateConfig(config); !status.ok()) {
    return std::move(status).WithFieldPrefix(object.path());
  }
  return config;
}

StatusOr<InterlacerConfig> ParseConfigJson(std::string_view text, const std::string& origin) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ParseJson(text, origin, reason::CONFIG_INVALID));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object,
                              JsonObject::Make(document, "", reason::CONFIG_INVALID));
  return ConfigFromJson(object);
}

}  // namespace interlacer
