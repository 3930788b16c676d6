// The JSON form of manifests; the rules are in data/manifest.cpp.

#include "common/camera_json.h"
#include "common/json.h"
#include "common/transform_json.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

// ---- Words -------------------------------------------------------------------------------------

constexpr std::pair<EpisodeKind, std::string_view> kKindNames[] = {
    {EpisodeKind::kManipulation, "manipulation"},
    {EpisodeKind::kStaticViews, "static_views"},
    {EpisodeKind::kMovingCamera, "moving_camera"}};
constexpr std::pair<ActionKind, std::string_view> kActionKindNames[] = {
    {ActionKind::kNone, "none"},
    {ActionKind::kJointPositions, "joint_positions"},
    {ActionKind::kKinematicPoints, "kinematic_points_m"}};
constexpr std::pair<DistortionModel, std::string_view> kDistortionNames[] = {
    {DistortionModel::kNone, "none"},
    {DistortionModel::kPlumbBob, "plumb_bob"},
    {DistortionModel::kRationalPolynomial, "rational_polynomial"}};

template <typename T, std::size_t n>
std::string_view NameOf(T value, const std::pair<T, std::string_view> (&names)[n]) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "";
}

template <typename T, std::size_t n>
StatusOr<T> ReadWord(const JsonObject& object, std::string_view key,
                     const std::pair<T, std::string_view> (&names)[n]) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string word, object.Get<std::string>(key));
  std::string known;
  for (const auto& [value, name] : names) {
    if (word == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return object.Invalid(key, "one of " + known, word);
}

/// A field with a single legal value, which files state explicitly.
Status ExpectWord(const JsonObject& object, std::string_view key, const std::string& expected) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string word, object.Get<std::string>(key));
  if (word != expected) return object.Invalid(key, "\"" + expected + "\"", word);
  return Status::Ok();
}

// ---- From JSON ---------------------------------------------------------------------------------

StatusOr<EpisodeSource> ParseSource(const JsonObject& object) {
  EpisodeSource source;
  INTERLACER_ASSIGN_OR_RETURN(source.kind, object.Get<std::string>("kind"));
  INTERLACER_ASSIGN_OR_RETURN(source.tool, object.GetOr<std::string>("tool", ""));
  INTERLACER_ASSIGN_OR_RETURN(source.command, object.GetOr<std::string>("command", ""));
  if (object.Has("seed")) {
    INTERLACER_ASSIGN_OR_RETURN(source.seed, object.Get<std::uint64_t>("seed"));
  }
  INTERLACER_ASSIGN_OR_RETURN(source.license, object.GetOr<std::string>("license", ""));
  INTERLACER_ASSIGN_OR_RETURN(source.attribution, object.GetOr<std::string>("attribution", ""));
  INTERLACER_ASSIGN_OR_RETURN(source.notes, object.GetOr<std::vector<std::string>>("notes", {}));
  return source;
}

Status ParseDistortion(const JsonObject& object, Camera* camera) {
  INTERLACER_ASSIGN_OR_RETURN(camera->distortion_model,
                              ReadWord(object, "model", kDistortionNames));
  INTERLACER_ASSIGN_OR_RETURN(camera->distortion_coefficients,
                              object.GetOr<std::vector<double>>("coefficients", {}));
  return Status::Ok();
}

StatusOr<EpisodeCamera> ParseCamera(const JsonObject& object) {
  EpisodeCamera result;
  Camera& camera = result.camera;
  INTERLACER_ASSIGN_OR_RETURN(result.name, object.Get<std::string>("name"));
  INTERLACER_RETURN_IF_ERROR(ReadPinhole(object, &camera));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(object, "axes", "optical"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject distortion, object.GetObject("distortion"));
  INTERLACER_RETURN_IF_ERROR(ParseDistortion(distortion, &camera));
  if (object.Has("poses_file")) {
    INTERLACER_ASSIGN_OR_RETURN(result.poses_file, object.Get<std::string>("poses_file"));
  } else {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject pose, object.GetObject("world_from_camera"));
    INTERLACER_ASSIGN_OR_RETURN(camera.world_from_camera, TransformFromJson(pose));
  }
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject color, object.GetObject("color"));
  INTERLACER_ASSIGN_OR_RETURN(result.color_pattern, color.Get<std::string>("pattern"));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(color, "encoding", "rgb8"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject depth, object.GetObject("depth"));
  INTERLACER_ASSIGN_OR_RETURN(result.depth_pattern, depth.Get<std::string>("pattern"));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(depth, "encoding", "u16"));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(depth, "measures", "z"));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(depth, "registered_to", "color"));
  if (!depth.Has("unit_m")) {
    return Mismatch(reason::DEPTH_UNIT_MISSING, depth.PathOf("unit_m"), "metres per integer",
                    "no such field");
  }
  INTERLACER_ASSIGN_OR_RETURN(result.depth_unit_m, depth.Get<double>("unit_m"));
  INTERLACER_ASSIGN_OR_RETURN(result.near_m, object.Get<double>("near_m"));
  INTERLACER_ASSIGN_OR_RETURN(result.far_m, object.Get<double>("far_m"));
  return result;
}

StatusOr<RobotInfo> ParseRobot(const JsonObject& object) {
  RobotInfo robot;
  INTERLACER_ASSIGN_OR_RETURN(robot.model, object.Get<std::string>("model"));
  INTERLACER_ASSIGN_OR_RETURN(robot.mjcf_sha256, object.GetOr<std::string>("mjcf_sha256", ""));
  if (object.Has("folder")) {
    INTERLACER_ASSIGN_OR_RETURN(robot.folder, object.Get<std::string>("folder"));
    INTERLACER_ASSIGN_OR_RETURN(robot.folder_sha256, object.Get<std::string>("folder_sha256"));
  }
  if (!object.Has("arms")) return robot;
  INTERLACER_ASSIGN_OR_RETURN(const auto arms, object.GetObjects("arms"));
  for (const JsonObject& item : arms) {
    RobotArm arm;
    INTERLACER_ASSIGN_OR_RETURN(arm.name, item.Get<std::string>("name"));
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject base, item.GetObject("world_from_base"));
    INTERLACER_ASSIGN_OR_RETURN(arm.world_from_base, TransformFromJson(base));
    robot.arms.push_back(std::move(arm));
  }
  return robot;
}

StatusOr<MotionTable> ParseMotion(const JsonObject& object, const std::string& meaning,
                                  const std::vector<TableColumn>& shared_columns) {
  MotionTable motion;
  INTERLACER_ASSIGN_OR_RETURN(motion.file, object.Get<std::string>("file"));
  INTERLACER_ASSIGN_OR_RETURN(motion.kind, ReadWord(object, "kind", kActionKindNames));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(object, "meaning", meaning));
  if (!object.Has("columns")) {
    motion.columns = shared_columns;
    return motion;
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto columns, object.GetObjects("columns"));
  for (const JsonObject& item : columns) {
    TableColumn column;
    INTERLACER_ASSIGN_OR_RETURN(column.name, item.Get<std::string>("name"));
    INTERLACER_ASSIGN_OR_RETURN(column.unit, item.Get<std::string>("unit"));
    INTERLACER_ASSIGN_OR_RETURN(column.min_value, item.Get<double>("min"));
    INTERLACER_ASSIGN_OR_RETURN(column.max_value, item.Get<double>("max"));
    motion.columns.push_back(std::move(column));
  }
  return motion;
}

Status CheckSchema(const JsonObject& object) {
  INTERLACER_RETURN_IF_ERROR(ExpectWord(object, "schema", "interlacer.episode"));
  INTERLACER_ASSIGN_OR_RETURN(const int version, object.Get<int>("schema_version"));
  if (version < 1 || version > kEpisodeSchemaVersion) {
    return Mismatch(reason::SCHEMA_VERSION_UNSUPPORTED, "schema_version",
                    "1 to " + std::to_string(kEpisodeSchemaVersion), std::to_string(version));
  }
  return Status::Ok();
}

Status ParseWorld(const JsonObject& object, EpisodeManifest* manifest) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject frame, object.GetObject("world_frame"));
  INTERLACER_ASSIGN_OR_RETURN(manifest->world_frame_name, frame.Get<std::string>("name"));
  INTERLACER_RETURN_IF_ERROR(ExpectWord(frame, "up_axis", "z"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject box, object.GetObject("workspace_m"));
  INTERLACER_ASSIGN_OR_RETURN(const auto low, box.GetNumbers("min", 3));
  INTERLACER_ASSIGN_OR_RETURN(const auto high, box.GetNumbers("max", 3));
  manifest->workspace = {{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
  return Status::Ok();
}

Status ParseRobotAndMotion(const JsonObject& object, EpisodeManifest* manifest) {
  if (object.Has("robot")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject robot, object.GetObject("robot"));
    INTERLACER_ASSIGN_OR_RETURN(manifest->robot, ParseRobot(robot));
  }
  if (object.Has("actions")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject actions, object.GetObject("actions"));
    INTERLACER_ASSIGN_OR_RETURN(manifest->actions, ParseMotion(actions, "target_at_step", {}));
  }
  if (object.Has("states")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject states, object.GetObject("states"));
    const auto shared = manifest->actions ? manifest->actions->columns : std::vector<TableColumn>();
    INTERLACER_ASSIGN_OR_RETURN(manifest->states, ParseMotion(states, "reading_at_step", shared));
  }
  return Status::Ok();
}

// ---- To JSON -----------------------------------------------------------------------------------

Json SourceToJson(const EpisodeSource& source) {
  Json json = {{"kind", source.kind}, {"tool", source.tool}, {"command", source.command}};
  if (source.seed) json["seed"] = *source.seed;
  json["license"] = source.license;
  json["attribution"] = source.attribution;
  if (!source.notes.empty()) json["notes"] = source.notes;
  return json;
}

Json CameraToJson(const EpisodeCamera& item) {
  const Camera& camera = item.camera;
  Json json = {{"name", item.name}};
  WritePinhole(camera, &json);
  json["axes"] = "optical";
  json["distortion"] = {{"model", NameOf(camera.distortion_model, kDistortionNames)},
                        {"coefficients", camera.distortion_coefficients}};
  json["near_m"] = item.near_m;
  json["far_m"] = item.far_m;
  if (item.poses_file.empty()) {
    json["world_from_camera"] = TransformToJson(camera.world_from_camera);
  } else {
    json["poses_file"] = item.poses_file;
  }
  json["color"] = {{"pattern", item.color_pattern}, {"encoding", "rgb8"}};
  json["depth"] = {{"pattern", item.depth_pattern},
                   {"encoding", "u16"},
                   {"unit_m", item.depth_unit_m},
                   {"measures", "z"},
                   {"registered_to", "color"}};
  return json;
}

Json RobotToJson(const RobotInfo& robot) {
  Json arms = Json::array();
  for (const RobotArm& arm : robot.arms) {
    arms.push_back({{"name", arm.name}, {"world_from_base", TransformToJson(arm.world_from_base)}});
  }
  Json json = {{"model", robot.model}, {"mjcf_sha256", robot.mjcf_sha256}, {"arms", arms}};
  if (!robot.folder.empty()) {
    json["folder"] = robot.folder;
    json["folder_sha256"] = robot.folder_sha256;
  }
  return json;
}

Json MotionToJson(const MotionTable& motion, const char* meaning) {
  Json columns = Json::array();
  for (const TableColumn& column : motion.columns) {
    columns.push_back({{"name", column.name},
                       {"unit", column.unit},
                       {"min", column.min_value},
                       {"max", column.max_value}});
  }
  return {{"file", motion.file},
          {"kind", ActionKindName(motion.kind)},
          {"meaning", meaning},
          {"columns", columns}};
}

}  // namespace

std::string_view EpisodeKindName(EpisodeKind kind) { return NameOf(kind, kKindNames); }
std::string_view ActionKindName(ActionKind kind) { return NameOf(kind, kActionKindNames); }

StatusOr<EpisodeManifest> ParseManifest(const nlohmann::json& document) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Make(document));
  INTERLACER_RETURN_IF_ERROR(CheckSchema(object));
  EpisodeManifest manifest;
  INTERLACER_ASSIGN_OR_RETURN(manifest.episode_id, object.Get<std::string>("episode_id"));
  INTERLACER_ASSIGN_OR_RETURN(manifest.kind, ReadWord(object, "kind", kKindNames));
  INTERLACER_ASSIGN_OR_RETURN(manifest.created_time, object.Get<std::string>("created_time"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject source, object.GetObject("source"));
  INTERLACER_ASSIGN_OR_RETURN(manifest.source, ParseSource(source));
  if (object.Has("task")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject task, object.GetObject("task"));
    INTERLACER_ASSIGN_OR_RETURN(manifest.task_name, task.GetOr<std::string>("name", ""));
    INTERLACER_ASSIGN_OR_RETURN(manifest.task_text, task.GetOr<std::string>("text", ""));
  }
  INTERLACER_ASSIGN_OR_RETURN(manifest.step_count, object.Get<int>("step_count"));
  INTERLACER_ASSIGN_OR_RETURN(manifest.step_duration_s, object.Get<double>("step_duration_s"));
  INTERLACER_RETURN_IF_ERROR(ParseWorld(object, &manifest));
  INTERLACER_ASSIGN_OR_RETURN(const auto cameras, object.GetObjects("cameras"));
  for (const JsonObject& item : cameras) {
    INTERLACER_ASSIGN_OR_RETURN(EpisodeCamera camera, ParseCamera(item));
    manifest.cameras.push_back(std::move(camera));
  }
  INTERLACER_ASSIGN_OR_RETURN(manifest.capture_times_file,
                              object.GetOr<std::string>("capture_times_file", ""));
  INTERLACER_RETURN_IF_ERROR(ParseRobotAndMotion(object, &manifest));
  INTERLACER_ASSIGN_OR_RETURN(manifest.files_sha256, object.Get<std::string>("files_sha256"));
  INTERLACER_RETURN_IF_ERROR(ValidateManifest(manifest));
  return manifest;
}

StatusOr<EpisodeManifest> ReadManifest(const std::string& episode_dir) {
  const std::string path = episode_dir + "/" + kManifestFile;
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  auto manifest = ParseManifest(document);
  if (!manifest.ok()) return std::move(manifest.status()).WithFieldPrefix(path + ":");
  return manifest;
}

nlohmann::ordered_json ManifestToJson(const EpisodeManifest& manifest) {
  Json json = {{"schema", "interlacer.episode"},
               {"schema_version", kEpisodeSchemaVersion},
               {"episode_id", manifest.episode_id},
               {"kind", EpisodeKindName(manifest.kind)},
               {"created_time", manifest.created_time}};
  json["source"] = SourceToJson(manifest.source);
  json["task"] = {{"name", manifest.task_name}, {"text", manifest.task_text}};
  json["step_count"] = manifest.step_count;
  json["step_duration_s"] = manifest.step_duration_s;
  json["world_frame"] = {{"name", manifest.world_frame_name}, {"up_axis", "z"}};
  json["workspace_m"] = {{"min", manifest.workspace.min_m}, {"max", manifest.workspace.max_m}};
  json["cameras"] = Json::array();
  for (const EpisodeCamera& camera : manifest.cameras) {
    json["cameras"].push_back(CameraToJson(camera));
  }
  if (!manifest.capture_times_file.empty()) {
    json["capture_times_file"] = manifest.capture_times_file;
  }
  if (manifest.robot) json["robot"] = RobotToJson(*manifest.robot);
  if (manifest.actions) json["actions"] = MotionToJson(*manifest.actions, "target_at_step");
  if (manifest.states) json["states"] = MotionToJson(*manifest.states, "reading_at_step");
  json["files_sha256"] = manifest.files_sha256;
  return json;
}

}  // namespace interlacer
