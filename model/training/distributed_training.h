#pragma once

/// Communication of data-parallel training: weights and optimiser state once, gradients every step.
///
/// Tensors travel in buckets of up to 4 Mi values, in the order of the model's parameters, so equal
/// runs sum in equal order. Nothing is done in a world of one. A parameter without gradient counts
/// as zero; if it has none on every rank it stays without, as in a single process.
/// Errors: those of RankGroup; StatusException INTERNAL when weights differ between ranks.
/// Threads: one at a time, all ranks in the same order.

#include <cstdint>
#include <string>
#include <vector>

#include "model/training/distributed/group.h"
#include "model/training/optimizer.h"

namespace interlacer {

class WorldModel;

/// Copies rank 0's weights, optimiser state and number of steps to all ranks.
void BroadcastTrainingState(RankGroup* group, WorldModel* model, ModelOptimizer* optimizer,
                            std::int64_t* steps_done);

/// Sums the gradients over the ranks; each rank has divided its own by the size of the whole batch.
void SumGradients(RankGroup* group, WorldModel* model);

/// Sums numbers over the ranks.
void SumNumbers(RankGroup* group, std::vector<double*> numbers);

/// Whether `value` is true on any rank.
bool AnyRank(RankGroup* group, bool value);

/// Whether `text`, of any length, is rank 0's on all ranks.
bool EqualOnAllRanks(RankGroup* group, const std::string& text);

/// SHA-256 of all weights in order.
std::string WeightsDigest(const WorldModel& model);
/// Throws unless all ranks hold the same bits.
void CheckEqualWeights(RankGroup* group, const WorldModel& model);

}  // namespace interlacer
