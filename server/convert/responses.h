#pragma once

/// Converts results to wire messages, with positions and pixels packed as requested.
///
/// All numbers are finite (model/rollout_runner.h checks them). Thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "common/particles.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "server/convert/wire.h"

namespace interlacer {

/// Fills `cloud` with the chosen particles; `box` is the range of kWorkspaceU16.
void PackParticles(const Particles& particles, const std::vector<std::uint32_t>& selected,
                   const OutputOptions& output, const Box& box, wire::ParticleCloud* cloud);

/// One rendered view: colour in [0,1] or depth in metres, whichever the target asks for.
void PackView(const RenderTarget& target, const FloatImage& color, const DepthImage& depth,
              wire::RenderedImage* image);

void ToWire(const RolloutSummary& summary, wire::CallSummary* message);
void ToWire(const SceneReport& report, wire::SceneReport* message);
void ToWire(const Finding& finding, wire::Finding* message);
void ToWire(const StageDurations& durations, wire::StageDurations* message);
void ToWire(const Box& box, wire::Box* message);
void SetDuration(double seconds, google::protobuf::Duration* message);
void SetTimestamp(std::int64_t time_ns, google::protobuf::Timestamp* message);

}  // namespace interlacer
