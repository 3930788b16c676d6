#include "common/camera_json.h"

namespace interlacer {

Status ReadPinhole(const JsonObject& object, Camera* camera) {
  INTERLACER_ASSIGN_OR_RETURN(camera->width_px, object.Get<int>("width_px"));
  INTERLACER_ASSIGN_OR_RETURN(camera->height_px, object.Get<int>("height_px"));
  INTERLACER_ASSIGN_OR_RETURN(camera->fx_px, object.Get<double>("fx_px"));
  INTERLACER_ASSIGN_OR_RETURN(camera->fy_px, object.Get<double>("fy_px"));
  INTERLACER_ASSIGN_OR_RETURN(camera->cx_px, object.Get<double>("cx_px"));
  INTERLACER_ASSIGN_OR_RETURN(camera->cy_px, object.Get<double>("cy_px"));
  return Status::Ok();
}

void WritePinhole(const Camera& camera, nlohmann::ordered_json* json) {
  json->update({{"width_px", camera.width_px},
                {"height_px", camera.height_px},
                {"fx_px", camera.fx_px},
                {"fy_px", camera.fy_px},
                {"cx_px", camera.cx_px},
                {"cy_px", camera.cy_px}});
}

}  // namespace interlacer
