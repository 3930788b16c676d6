#pragma once

/// Converts the service's answers to plain structs. Sizes are checked before anything is allocated,
/// so a broken answer is an error and never a wrong picture; whoever gets steps and metadata from
/// here may rely on what is checked. Pure functions, thread-safe.
/// Errors: INTERNAL INTERNAL_ERROR naming the field of the answer that is malformed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/server_info.h"
#include "common/geometry.h"
#include "common/image_codec.h"
#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"
#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer {

Status MalformedAnswer(const std::string& field, const std::string& expected,
                       const std::string& got);

ServerInfo FromProto(const v1::GetServerInfoResponse& response);
/// At least one camera, of sides that common/image_codec.h takes.
StatusOr<ModelMetadata> FromProto(const v1::GetModelMetadataResponse& response);
SceneReport FromProto(const v1::SceneReport& report);
ServerStatistics FromProto(const v1::GetStatisticsResponse& response);
RolloutSummary FromProto(const v1::CallSummary& summary);
/// `workspace` is the box of 16-bit positions: the scene's own, else the model's. Blocks that are
/// there have an entry for each particle; positions are finite, spreads also not negative. Views
/// that are files keep within `limits`.
StatusOr<PredictedStep> FromProto(const v1::PredictedStep& step, const Box& workspace,
                                  const ImageLimits& limits = {});

/// Converts the steps of one rollout. They must be those asked for, in order, each with the
/// positions, colours and views asked for, all of them of the same particles and sizes. One thread.
class StepReader {
 public:
  /// `steps`: those asked for. `output` and `workspace` must outlive the reader.
  StepReader(std::vector<int> steps, const OutputOptions& output, const Box& workspace)
      : steps_(std::move(steps)), output_(output), workspace_(workspace) {}

  StatusOr<PredictedStep> Read(const v1::PredictedStep& message);
  /// An error unless all steps have been read.
  Status CheckComplete() const;

 private:
  /// Views may be as large as the cameras that were asked for.
  ImageLimits ViewLimits() const;
  Status CheckParticles(const PredictedStep& step);
  Status CheckViews(const v1::PredictedStep& message);

  const std::vector<int> steps_;
  const OutputOptions& output_;
  const Box& workspace_;
  std::size_t read_count_ = 0;
  /// Of the first step, unless a target's camera says the size of its view.
  std::int64_t particle_count_ = 0;
  std::vector<std::pair<int, int>> view_sizes_px_;
};

}  // namespace interlacer
