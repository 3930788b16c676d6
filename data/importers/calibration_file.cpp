#include "data/importers/calibration_file.h"

#include <set>
#include <utility>

#include "common/camera_json.h"
#include "common/json.h"
#include "common/transform_json.h"

namespace interlacer {
namespace {

constexpr char kSchema[] = "interlacer.calibration";
constexpr int kSchemaVersion = 1;

Status ParseDistortion(const JsonObject& object, Camera* camera) {
  INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"model", "coefficients"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string model, object.Get<std::string>("model"));
  if (model == "plumb_bob") {
    camera->distortion_model = DistortionModel::kPlumbBob;
  } else if (model == "rational_polynomial") {
    camera->distortion_model = DistortionModel::kRationalPolynomial;
  } else if (model != "none") {
    return object.Invalid("model",
                          "none, plumb_bob or rational_polynomial; pictures of other lenses must "
                          "be rectified first",
                          model);
  }
  INTERLACER_ASSIGN_OR_RETURN(camera->distortion_coefficients,
                              object.GetOr<std::vector<double>>("coefficients", {}));
  return Status::Ok();
}

StatusOr<Transform> ParsePose(const JsonObject& object, std::string_view key) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject pose, object.GetObject(key));
  return TransformFromJson(pose);
}

StatusOr<CameraCalibration> ParseCamera(const JsonObject& object) {
  INTERLACER_RETURN_IF_ERROR(
      object.AllowOnly({"name", "width_px", "height_px", "fx_px", "fy_px", "cx_px", "cy_px",
                        "distortion", "world_from_camera", "link", "link_from_camera"}));
  CameraCalibration result;
  Camera& camera = result.camera;
  INTERLACER_ASSIGN_OR_RETURN(result.name, object.Get<std::string>("name"));
  INTERLACER_RETURN_IF_ERROR(ReadPinhole(object, &camera));
  if (object.Has("distortion")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject distortion, object.GetObject("distortion"));
    INTERLACER_RETURN_IF_ERROR(ParseDistortion(distortion, &camera));
  }
  result.has_pose = object.Has("world_from_camera");
  if (result.has_pose && object.Has("link")) {
    return object.Invalid("link", "world_from_camera, or link and link_from_camera", "both");
  }
  if (result.has_pose) {
    INTERLACER_ASSIGN_OR_RETURN(camera.world_from_camera, ParsePose(object, "world_from_camera"));
  }
  if (object.Has("link") || object.Has("link_from_camera")) {
    INTERLACER_ASSIGN_OR_RETURN(result.link, object.Get<std::string>("link"));
    INTERLACER_ASSIGN_OR_RETURN(result.link_from_camera, ParsePose(object, "link_from_camera"));
  }
  Status status = ValidateCamera(camera);
  if (!status.ok()) return std::move(status).WithFieldPrefix(object.path() + " ");
  return result;
}

}  // namespace

StatusOr<std::vector<CameraCalibration>> ParseCalibration(const JsonObject& document) {
  INTERLACER_RETURN_IF_ERROR(document.AllowOnly({"schema", "schema_version", "cameras"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, document.Get<std::string>("schema"));
  if (schema != kSchema) return document.Invalid("schema", kSchema, schema);
  INTERLACER_ASSIGN_OR_RETURN(const int version, document.Get<int>("schema_version"));
  if (version != kSchemaVersion) {
    return document.Invalid("schema_version", std::to_string(kSchemaVersion),
                            std::to_string(version));
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto objects, document.GetObjects("cameras"));
  std::vector<CameraCalibration> cameras;
  std::set<std::string> names;
  for (const JsonObject& object : objects) {
    INTERLACER_ASSIGN_OR_RETURN(CameraCalibration camera, ParseCamera(object));
    if (!names.insert(camera.name).second) {
      return object.Invalid("name", "a name of its own", camera.name + " once more");
    }
    cameras.push_back(std::move(camera));
  }
  if (cameras.empty()) return document.Invalid("cameras", "at least one camera", "none");
  return cameras;
}

StatusOr<std::vector<CameraCalibration>> ReadCalibrationFile(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const auto document, ReadJsonFile(path, reason::CALIBRATION_INVALID));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object,
                              JsonObject::Make(document, path, reason::CALIBRATION_INVALID));
  return ParseCalibration(object);
}

StatusOr<CameraCalibration> FindCalibration(const std::vector<CameraCalibration>& cameras,
                                            const std::string& name) {
  std::string names;
  for (const CameraCalibration& camera : cameras) {
    if (camera.name == name) return camera;
    names += (names.empty() ? "" : ", ") + camera.name;
  }
  return Mismatch(reason::CAMERA_UNKNOWN, "--calibration", "a camera named " + name, names);
}

}  // namespace interlacer
