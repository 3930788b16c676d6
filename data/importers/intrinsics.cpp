#include "data/importers/intrinsics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <vector>

#include "common/json.h"
#include "common/number_text.h"
#include "common/transforms.h"
#include "data/depth.h"
#include "data/importers/calibration_file.h"
#include "data/number_lines.h"

namespace interlacer {
namespace {

/// Of every named camera.
constexpr int kPresetWidthPx = 640, kPresetHeightPx = 480;
constexpr std::size_t kPlumbBobCount = 5, kRationalCount = 8;

struct Preset {
  const char* name;
  std::vector<double>
      numbers;  ///< fx, fy, cx, cy, then k1, k2, p1, p2, k3 where there is a lens model
};

/// Colour cameras of the TUM RGB-D benchmark, from the calibration table of its documentation.
const Preset kPresets[] = {
    {"tum-fr1", {517.3, 516.5, 318.6, 255.3, 0.2624, -0.9531, -0.0054, 0.0026, 1.1633}},
    {"tum-fr2", {520.9, 521.0, 325.1, 249.7, 0.2312, -0.7849, -0.0033, -0.0001, 0.9172}},
    {"tum-fr3", {535.4, 539.2, 320.1, 247.6}},
    {"tum-ros", {525.0, 525.0, 319.5, 239.5}},
};

std::string PresetNames() {
  std::string names;
  for (const Preset& preset : kPresets)
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

Intrinsics MakeCamera(const std::vector<double>& numbers) {
  Intrinsics camera;
  camera.fx_px = numbers[0];
  camera.fy_px = numbers[1];
  camera.cx_px = numbers[2];
  camera.cy_px = numbers[3];
  camera.distortion_coefficients.assign(numbers.begin() + 4, numbers.end());
  if (numbers.size() == 4 + kPlumbBobCount) {
    camera.distortion_model = DistortionModel::kPlumbBob;
  } else if (numbers.size() == 4 + kRationalCount) {
    camera.distortion_model = DistortionModel::kRationalPolynomial;
  }
  return camera;
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

/// One camera for all images; their poses are the recording's.
StatusOr<Intrinsics> SingleCamera(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const auto cameras, ReadCalibrationFile(path));
  if (cameras.size() > 1) {
    return Mismatch(reason::CALIBRATION_INVALID, path, "one camera, which took all images",
                    std::to_string(cameras.size()) + " cameras");
  }
  if (cameras.front().has_pose || !cameras.front().link.empty()) {
    return Mismatch(reason::CALIBRATION_INVALID, path,
                    "a camera without pose: the recording has its poses", "one with a pose");
  }
  return Intrinsics{cameras.front().camera, std::nullopt};
}

StatusOr<Intrinsics> ReadIntrinsicsFile(const std::string& path) {
  const auto document = ReadJsonFile(path, reason::CALIBRATION_INVALID);
  if (document.status().reason() == reason::CALIBRATION_INVALID) {
    return InvalidArgument(reason::CALIBRATION_INVALID,
                           document.status().message() +
                               "; expected a JSON file of Open3D, or numbers as fx,fy,cx,cy")
        .WithField(path);
  }
  INTERLACER_RETURN_IF_ERROR(document.status());
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object,
                              JsonObject::Make(*document, path, reason::CALIBRATION_INVALID));
  return ParseOpen3DIntrinsics(object);
}

/// The unit of the depth images beside it, which the readers of RealSense cameras write.
StatusOr<std::optional<double>> ReadDepthUnit(const JsonObject& object) {
  if (!object.Has("depth_scale")) return std::optional<double>();
  INTERLACER_ASSIGN_OR_RETURN(const double units_per_m, object.Get<double>("depth_scale"));
  INTERLACER_RETURN_IF_ERROR(
      ValidateDepthUnit(1 / units_per_m, "1 / " + object.PathOf("depth_scale")));
  return std::optional<double>(1 / units_per_m);
}

StatusOr<Intrinsics> CommonCamera(const std::vector<JsonObject>& views, const JsonObject& object) {
  std::optional<Intrinsics> common;
  for (const JsonObject& view : views) {
    INTERLACER_ASSIGN_OR_RETURN(const Intrinsics camera, ParseOpen3DIntrinsics(view));
    if (common && !HasSamePinhole(*common, camera)) {
      return Mismatch(reason::CALIBRATION_INVALID, view.path(),
                      "the intrinsics of the first view: all images of one camera",
                      "other numbers");
    }
    common = camera;
  }
  if (!common) return object.Invalid("parameters", "at least one view", "none");
  return *common;
}

}  // namespace

StatusOr<Intrinsics> GivenIntrinsics(const std::string& intrinsics,
                                     const std::string& calibration) {
  if (calibration.empty()) return ParseIntrinsics(intrinsics);
  if (intrinsics.empty()) return SingleCamera(calibration);
  return Mismatch(reason::ARGUMENT_INVALID, "--intrinsics", "one of --intrinsics and --calibration",
                  "both");
}

StatusOr<Intrinsics> ParseIntrinsics(const std::string& text) {
  const std::string forms = "fx,fy,cx,cy, a JSON file of Open3D, or the name of a camera: ";
  if (text.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION,
                           "the source has no intrinsics: expected --intrinsics " + forms +
                               PresetNames() + ", or --calibration FILE")
        .WithField("intrinsics");
  }
  for (const Preset& preset : kPresets) {
    if (text != preset.name) continue;
    Intrinsics camera = MakeCamera(preset.numbers);
    camera.width_px = kPresetWidthPx;
    camera.height_px = kPresetHeightPx;
    return camera;
  }
  if (IsFile(text)) return ReadIntrinsicsFile(text);
  const auto numbers = ParseNumbers(text, "intrinsics");
  if (!numbers.ok()) {
    return NotFound(reason::FILE_NOT_FOUND,
                    "no such file and no numbers: " + text + "; expected " + forms + PresetNames())
        .WithField("intrinsics");
  }
  if (numbers->size() != 4 && numbers->size() != 4 + kPlumbBobCount &&
      numbers->size() != 4 + kRationalCount) {
    return Mismatch(reason::CALIBRATION_INVALID, "intrinsics",
                    "4 numbers fx,fy,cx,cy, 9 with k1,k2,p1,p2,k3, or 12 with k4,k5,k6",
                    std::to_string(numbers->size()));
  }
  return MakeCamera(*numbers);
}

StatusOr<std::vector<double>> ReadOpen3DMatrix(const JsonObject& object, std::string_view key,
                                               std::size_t side) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* value, object.Find(key));
  std::vector<double> matrix;
  if (!value->is_array() || value->empty() || !value->front().is_array()) {
    INTERLACER_ASSIGN_OR_RETURN(const auto columns, object.GetNumbers(key, side * side));
    for (std::size_t i = 0; i < side * side; ++i) {
      matrix.push_back(columns[side * (i % side) + i / side]);
    }
    return matrix;
  }
  const Status other_form = object.Invalid(
      key, std::to_string(side) + " rows of " + std::to_string(side) + " numbers", "another form");
  if (value->size() != side) return other_form;
  for (const nlohmann::json& row : *value) {
    if (!row.is_array() || row.size() != side) return other_form;
    for (const nlohmann::json& number : row) {
      if (!number.is_number()) return other_form;
      matrix.push_back(number.get<double>());
    }
  }
  return matrix;
}

StatusOr<Intrinsics> ParseOpen3DIntrinsics(const JsonObject& object) {
  if (object.Has("intrinsic")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject inner, object.GetObject("intrinsic"));
    return ParseOpen3DIntrinsics(inner);
  }
  if (object.Has("parameters")) {
    INTERLACER_ASSIGN_OR_RETURN(const auto views, object.GetObjects("parameters"));
    return CommonCamera(views, object);
  }
  if (!object.Has("intrinsic_matrix")) {
    return object.Invalid("intrinsic_matrix",
                          "width, height and intrinsic_matrix of Open3D's PinholeCameraIntrinsic, "
                          "here or below \"intrinsic\" (PinholeCameraParameters)",
                          "no such field");
  }
  Intrinsics camera;
  INTERLACER_ASSIGN_OR_RETURN(camera.width_px, object.Get<int>("width"));
  INTERLACER_ASSIGN_OR_RETURN(camera.height_px, object.Get<int>("height"));
  if (camera.width_px < 1 || camera.height_px < 1) {
    return object.Invalid("width, height", "the size of the images in pixels",
                          SizeText(camera.width_px, camera.height_px));
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto m, ReadOpen3DMatrix(object, "intrinsic_matrix", 3));
  if (m[1] != 0 || m[3] != 0 || m[6] != 0 || m[7] != 0 || m[8] != 1) {
    return object.Invalid("intrinsic_matrix",
                          "column-major [fx,0,0, 0,fy,0, cx,cy,1] without skew, or three rows",
                          "a row-major or general matrix");
  }
  camera.fx_px = m[0];
  camera.fy_px = m[4];
  camera.cx_px = m[2];
  camera.cy_px = m[5];
  INTERLACER_ASSIGN_OR_RETURN(camera.depth_unit_m, ReadDepthUnit(object));
  return camera;
}

bool HasSamePinhole(const Camera& a, const Camera& b) {
  const auto numbers = [](const Camera& c) {
    return std::tuple(c.width_px, c.height_px, c.fx_px, c.fy_px, c.cx_px, c.cy_px);
  };
  return numbers(a) == numbers(b);
}

Status NormalizeFocalSigns(Camera* camera) {
  if (camera->fx_px * camera->fy_px < 0) {
    return Mismatch(reason::CALIBRATION_INVALID, "fx_px, fy_px",
                    "both positive (one negative alone is a mirror image)",
                    NumberText(camera->fx_px) + ", " + NumberText(camera->fy_px));
  }
  if (camera->fx_px > 0) return Status::Ok();
  camera->fx_px = -camera->fx_px;
  camera->fy_px = -camera->fy_px;
  // Both image axes change sign: radial terms stay, tangential ones turn over.
  for (std::size_t i = 2; i < std::min<std::size_t>(4, camera->distortion_coefficients.size());
       ++i) {
    camera->distortion_coefficients[i] = -camera->distortion_coefficients[i];
  }
  const Transform half_roll{{0, 0, 0}, {0, 0, 1, 0}};
  camera->world_from_camera = Compose(camera->world_from_camera, half_roll);
  return Status::Ok();
}

StatusOr<std::optional<Finding>> CheckPrincipalPoint(const Camera& camera,
                                                     const std::string& field) {
  constexpr double kMostOffsetShare = 0.2;
  const auto is_near = [](double c_px, int side_px) {
    return c_px >= -side_px && c_px <= 2 * side_px;
  };
  const std::string size = SizeText(camera.width_px, camera.height_px);
  if (!is_near(camera.cx_px, camera.width_px) || !is_near(camera.cy_px, camera.height_px)) {
    return Mismatch(reason::CALIBRATION_INVALID, field,
                    "cx,cy within one image size of the image of " + size,
                    NumberText(camera.cx_px) + ", " + NumberText(camera.cy_px));
  }
  const double u_px = camera.cx_px - 0.5 * camera.width_px;
  const double v_px = camera.cy_px - 0.5 * camera.height_px;
  if (std::abs(u_px) <= kMostOffsetShare * camera.width_px &&
      std::abs(v_px) <= kMostOffsetShare * camera.height_px) {
    return std::optional<Finding>();
  }
  return std::optional<Finding>(
      {"PRINCIPAL_POINT_OFF_CENTER",
       "cx,cy " + NumberText(camera.cx_px) + "," + NumberText(camera.cy_px) +
           " is far from the middle of images of " + size +
           ": were they cropped, or are these the intrinsics of another size?",
       field});
}

}  // namespace interlacer
