#include "robots/robot_draft.h"

namespace interlacer {

StatusOr<RobotDraft> ReadMjcf(const std::string&, const MakeRobotOptions&) {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "MJCF needs MuJoCo: configure with INTERLACER_WITH_MUJOCO=ON");
}

}  // namespace interlacer
