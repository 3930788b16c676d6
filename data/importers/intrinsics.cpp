#include "data/importers/intrinsics.h"

#include <algorithm>
#include <vector>

#include "common/json.h"
#include "common/number_text.h"
#include "common/transforms.h"
#include "data/importers/number_lines.h"

namespace interlacer {
namespace {

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

Camera MakeCamera(const std::vector<double>& numbers) {
  Camera camera;
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

}  // namespace

StatusOr<Camera> ParseIntrinsics(const std::string& text) {
  if (text.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION,
                           "the source has no intrinsics: expected fx,fy,cx,cy, a JSON file, or "
                           "the name of a camera " +
                               PresetNames())
        .WithField("intrinsics");
  }
  for (const Preset& preset : kPresets) {
    if (text == preset.name) return MakeCamera(preset.numbers);
  }
  if (text.find(',') == std::string::npos) {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                                ReadJsonFile(text, reason::CALIBRATION_INVALID));
    return ParseOpen3DIntrinsics(document, text);
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(text, ',', "intrinsics"));
  if (numbers.size() != 4 && numbers.size() != 4 + kPlumbBobCount &&
      numbers.size() != 4 + kRationalCount) {
    return Mismatch(reason::CALIBRATION_INVALID, "intrinsics",
                    "4 numbers fx,fy,cx,cy, 9 with k1,k2,p1,p2,k3, or 12 with k4,k5,k6",
                    std::to_string(numbers.size()));
  }
  return MakeCamera(numbers);
}

StatusOr<Camera> ParseOpen3DIntrinsics(const nlohmann::json& value, const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object,
                              JsonObject::Make(value, path, reason::CALIBRATION_INVALID));
  Camera camera;
  INTERLACER_ASSIGN_OR_RETURN(camera.width_px, object.Get<int>("width"));
  INTERLACER_ASSIGN_OR_RETURN(camera.height_px, object.Get<int>("height"));
  INTERLACER_ASSIGN_OR_RETURN(const auto m, object.GetNumbers("intrinsic_matrix", 9));
  // Column by column: cx and cy are entries 6 and 7. A row-major matrix has them at 2 and 5.
  if (m[2] != 0 || m[5] != 0 || m[8] != 1) {
    return object.Invalid("intrinsic_matrix", "column-major [fx,0,0, 0,fy,0, cx,cy,1]",
                          "a row-major or general matrix");
  }
  camera.fx_px = m[0];
  camera.fy_px = m[4];
  camera.cx_px = m[6];
  camera.cy_px = m[7];
  return camera;
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

}  // namespace interlacer
