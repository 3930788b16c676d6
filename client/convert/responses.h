#pragma once

/// Converts the service's answers to plain structs. Sizes are checked before anything is allocated,
/// so a broken answer is an error and never a wrong picture. Pure functions, thread-safe.
/// Errors: INTERNAL INTERNAL_ERROR naming the field of the answer that is malformed.

#include "client/server_info.h"
#include "common/geometry.h"
#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"
#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer {

ServerInfo FromProto(const v1::GetServerInfoResponse& response);
ModelMetadata FromProto(const v1::GetModelMetadataResponse& response);
SceneReport FromProto(const v1::SceneReport& report);
ServerStatistics FromProto(const v1::GetStatisticsResponse& response);
RolloutSummary FromProto(const v1::CallSummary& summary);
/// `workspace` is the box of 16-bit positions: the scene's own, else the model's.
StatusOr<PredictedStep> FromProto(const v1::PredictedStep& step, const Box& workspace);

}  // namespace interlacer
