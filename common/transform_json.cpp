#include "common/transform_json.h"

namespace interlacer {

nlohmann::ordered_json TransformToJson(const Transform& transform) {
  return {{"translation_m", transform.translation_m}, {"rotation_xyzw", transform.rotation_xyzw}};
}

StatusOr<Transform> TransformFromJson(const JsonObject& object) {
  INTERLACER_ASSIGN_OR_RETURN(const auto t, object.GetNumbers("translation_m", 3));
  INTERLACER_ASSIGN_OR_RETURN(const auto q, object.GetNumbers("rotation_xyzw", 4));
  return Transform{{t[0], t[1], t[2]}, {q[0], q[1], q[2], q[3]}};
}

}  // namespace interlacer
