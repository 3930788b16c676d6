#include "data/importers/intrinsics.h"

#include "common/json.h"
#include "common/transforms.h"
#include "data/importers/number_lines.h"

namespace interlacer {

StatusOr<Camera> ParseIntrinsics(const std::string& text) {
  if (text.empty()) {
    return InvalidArgument(reason::NO_CALIBRATION,
                           "the source has no intrinsics: expected fx,fy,cx,cy or a JSON file")
        .WithField("intrinsics");
  }
  if (text.find(',') == std::string::npos) {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                                ReadJsonFile(text, reason::CALIBRATION_INVALID));
    return ParseOpen3DIntrinsics(document, text);
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto numbers, ParseNumbers(text, ',', "intrinsics"));
  if (numbers.size() != 4) {
    return Mismatch(reason::CALIBRATION_INVALID, "intrinsics", "4 numbers fx,fy,cx,cy",
                    std::to_string(numbers.size()));
  }
  Camera camera;
  camera.fx_px = numbers[0];
  camera.fy_px = numbers[1];
  camera.cx_px = numbers[2];
  camera.cy_px = numbers[3];
  return camera;
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
                    std::to_string(camera->fx_px) + ", " + std::to_string(camera->fy_px));
  }
  if (camera->fx_px > 0) return Status::Ok();
  camera->fx_px = -camera->fx_px;
  camera->fy_px = -camera->fy_px;
  const Transform half_roll{{0, 0, 0}, {0, 0, 1, 0}};
  camera->world_from_camera = Compose(camera->world_from_camera, half_roll);
  return Status::Ok();
}

}  // namespace interlacer
