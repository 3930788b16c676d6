#pragma once

/// What a server says of itself, to wire messages: the contract of a model and the limits in force.
/// Thread-safe.

#include "common/model_metadata.h"
#include "server/convert/wire.h"
#include "server/limits.h"

namespace interlacer {

void ToWire(const ModelMetadata& metadata, wire::GetModelMetadataResponse* message);
void ToWire(const Limits& limits, wire::Limits* message);

}  // namespace interlacer
