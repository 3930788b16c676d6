#pragma once

/// Reads which outputs a call requests, checked against the limits before any work starts.
///
/// Errors: INVALID_ARGUMENT STEP_INVALID, SELECTION_INVALID, RENDER_TARGET_INVALID, CAMERA_UNKNOWN,
/// DISTORTION_INVALID and those of calibration.h; OUT_OF_RANGE LIMIT_STEPS, LIMIT_RENDER_TARGETS,
/// LIMIT_RENDER_SIDE, LIMIT_RESPONSE_BYTES. Field paths from the root of a request. Thread-safe.

#include <cstdint>

#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/status.h"
#include "server/convert/wire.h"
#include "server/limits.h"

namespace interlacer {

/// Of PredictCandidates: without named steps, the last one. Also checks the number of candidates
/// and of their steps, and that all are of one kind and length; the sequences themselves are not
/// read. Errors also: INVALID_ARGUMENT ACTION_KIND, ACTION_SHAPE; OUT_OF_RANGE
/// LIMIT_CANDIDATES, LIMIT_CANDIDATE_STEPS.
StatusOr<OutputOptions> ToCandidateOutput(const wire::PredictCandidatesRequest& request,
                                          const ModelMetadata& metadata, const Limits& limits);

/// The action rows bound the steps: row s - 1 belongs to step s; without a robot (`actions` has no
/// kind) any step up to the limit may be requested. The resulting list of steps is never empty:
/// without named steps it holds all from 1.
StatusOr<OutputOptions> ToOutputOptions(const wire::OutputOptions& output,
                                        const wire::ActionSequence& actions,
                                        const ModelMetadata& metadata, const Limits& limits);

/// The renderings of one step; a view from a scene camera has the size of the model's images.
struct RenderedViews {
  std::int64_t count = 0;
  std::int64_t pixel_count = 0;
};
RenderedViews CountRenderedViews(const OutputOptions& output, const ModelMetadata& metadata);

/// Upper bound of the size of a message with `step_count` steps, or LIMIT_RESPONSE_BYTES if that
/// exceeds the limit.
StatusOr<std::int64_t> EstimateResponseBytes(const OutputOptions& output, int step_count,
                                             const ModelMetadata& metadata, const Limits& limits);

}  // namespace interlacer
