#pragma once

/// Where the particles of a training sequence truly go, from the truth of a simulated episode.
///
/// Objects go along with their bodies, what is fixed stays; where an arm's particles go is given by
/// its joints and not known here. Frames and units: common/geometry.h, sample.h. Errors: those of
/// data/simulation_truth.h. Pure functions.

#include "common/status.h"
#include "data/episode_reader.h"
#include "data/simulation_truth.h"
#include "data/training_windows.h"
#include "model/training/sample.h"

namespace interlacer {

/// Does an object come kMovedM away from where it is in the newest input, at some target step?
bool AnObjectMoves(const SimulationTruth& truth, const TrainingWindow& window);

/// Of the particles of the window's newest step, lifted from its input cameras; empty for an
/// episode without truth.
StatusOr<TrueTracks> ReadTrueTracks(const EpisodeReader& episode, const TrainingWindow& window,
                                    const LiftedTime& newer);

}  // namespace interlacer
