#include "robots/robot_draft.h"

namespace interlacer {

StatusOr<RobotDraft> ReadUrdf(const std::string&, const MakeRobotOptions&) {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "URDF needs urdfdom and assimp: configure with INTERLACER_WITH_URDF=ON");
}

}  // namespace interlacer
