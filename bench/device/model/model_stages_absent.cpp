#include "bench/device/model/model_platform.h"

namespace interlacer::bench {

Platform WithModelStages(Platform device) { return device; }

}  // namespace interlacer::bench
