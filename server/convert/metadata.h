#pragma once

/// Converts a model's contract and the limits in force to wire messages. Thread-safe.

#include "common/model_metadata.h"
#include "server/convert/wire.h"
#include "server/limits.h"

namespace interlacer {

void ToWire(const ModelMetadata& metadata, wire::GetModelMetadataResponse* message);
void ToWire(const Limits& limits, wire::Limits* message);

}  // namespace interlacer
