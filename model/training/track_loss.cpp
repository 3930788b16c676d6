#include "model/training/track_loss.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

#include "data/simulation_truth.h"
#include "model/clouds.h"
#include "model/ops/deterministic_gradients.h"

namespace interlacer {
namespace {

/// Keeps the gradient of a distance finite where prediction and truth coincide.
constexpr double kLeastDistanceM = 1e-4;

bool Moves(const TrueTracks& tracks, const std::vector<float>& start_m, std::size_t particle) {
  return std::any_of(tracks.positions_m.begin(), tracks.positions_m.end(),
                     [&](const std::vector<float>& at_m) {
                       const std::size_t p = 3 * particle;
                       return std::hypot(at_m[p] - start_m[p], at_m[p + 1] - start_m[p + 1],
                                         at_m[p + 2] - start_m[p + 2]) >= SimulationTruth::kMovedM;
                     });
}

}  // namespace

TrackLoss::TrackLoss(const TrueTracks& tracks, const std::vector<float>& start_m,
                     torch::Device device, const CudaBackend* cuda)
    : cuda_(cuda) {
  std::vector<std::int64_t> rows;
  std::vector<std::uint8_t> moves;
  for (std::size_t i = 0; i < tracks.is_known.size(); ++i) {
    if (!tracks.is_known[i]) continue;
    rows.push_back(static_cast<std::int64_t>(i));
    moves.push_back(Moves(tracks, start_m, i));
  }
  if (rows.empty()) return;
  const auto moving = std::count(moves.begin(), moves.end(), 1);
  const auto still = static_cast<std::ptrdiff_t>(moves.size()) - moving;
  std::vector<float> weights;
  for (const std::uint8_t one : moves) {
    weights.push_back(0.5f / static_cast<float>(one ? moving : still));
  }
  known_ = at::tensor(rows, at::kLong).to(device);
  weights_ = at::tensor(weights, at::kFloat).to(device);
  for (const std::vector<float>& at_m : tracks.positions_m) {
    true_m_.push_back(RowsOf3(at_m, device).index_select(0, known_));
  }
}

torch::Tensor TrackLoss::At(std::int64_t step, const torch::Tensor& positions_m) const {
  const torch::Tensor offset_m =
      SelectRows(positions_m, known_, cuda_) - true_m_[static_cast<std::size_t>(step - 1)];
  const torch::Tensor sq_m2 = offset_m.square().sum(1);
  const torch::Tensor distance_m = (sq_m2 + kLeastDistanceM * kLeastDistanceM).sqrt();
  const torch::Tensor loss_m = at::where(distance_m.lt(kTrackHuberM), sq_m2 / (2 * kTrackHuberM),
                                         distance_m - kTrackHuberM / 2);
  return (loss_m * weights_).sum();
}

}  // namespace interlacer
