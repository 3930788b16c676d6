#pragma once

/// Short names for the generated messages; only used inside server/.

#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer {

namespace wire = ::interlacer::v1;

}  // namespace interlacer
