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

}  // namespace interlacer
