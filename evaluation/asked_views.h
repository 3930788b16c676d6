#pragma once

/// Views that subjects beside the rollout itself ask of a model: other renderings of it, the robot
/// moving alone, the true frames of later steps. One call at a time per backend.

#include <map>
#include <stop_token>
#include <string>
#include <string_view>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/prediction_task.h"

namespace interlacer {

/// Views of a subject by step, as PredictedStep has them.
using AskedViews = std::map<int, std::vector<RenderedView>>;

/// Whether a subject asks for views of its own: kModelField, kKinematicField and kOracleRender.
bool AsksForViews(std::string_view subject);

/// Errors: those of the backend and of MakePredictionTask.
StatusOr<AskedViews> AskForViews(std::string_view subject, const EpisodeReader& episode,
                                 const PredictionTask& task, RolloutBackend* backend,
                                 const std::stop_token& stop);

/// Null where there is no view of that name.
const RenderedView* FindView(const std::vector<RenderedView>& views, const std::string& name);

}  // namespace interlacer
