#pragma once

/// The scene of the stage `observed`: two noisy RGB-D frames of a table with a ball in front of a
/// wall, the ball then moved, and a camera that saw neither. Threads: a pure function.

#include <memory>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/options.h"
#include "render/observed_renderer.h"

namespace interlacer::bench {

struct ObservedProblem {
  std::vector<ObservedFrame> frames;
  std::unique_ptr<ObservedRenderer> renderer;
  std::vector<float> positions_m;
  std::vector<float> colors;
  Camera camera;
};

Case ObservedCase(const std::string& prefix, const ObservedProblem& problem,
                  const Options& options);

std::shared_ptr<const ObservedProblem> MakeObservedProblem(const Options& options);

}  // namespace interlacer::bench
