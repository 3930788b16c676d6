#include "data/sim/robot.h"

namespace interlacer::sim {

const std::vector<StateColumn>& StateColumns() {
  static const std::vector<StateColumn> columns = StateColumnsOf({&KukaIiwa(), kArmCount});
  return columns;
}

}  // namespace interlacer::sim
