#include "model/lifting/carried_particles.h"

#include <ATen/Functions.h>

#include "common/transforms.h"
#include "robots/attachment.h"

namespace interlacer {
namespace {

/// Rows of R and t of a transform: what is left of its matrix without the last row.
constexpr std::size_t kMotionNumbers = 12;

}  // namespace

CarriedParticles::CarriedParticles(std::span<const std::int32_t> links,
                                   const torch::Tensor& positions_m,
                                   std::span<const std::vector<Transform>> link_poses,
                                   std::size_t observed) {
  std::vector<std::int64_t> rows, of_rows, others;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    (links[i] == kNotAttached ? others : rows).push_back(row);
    if (links[i] == kNotAttached) continue;
    of_rows.push_back(links[i]);
  }
  if (rows.empty() || link_poses.empty()) return;
  std::vector<double> motions;
  std::vector<std::uint8_t> has_moved;
  for (const std::vector<Transform>& poses : link_poses) {
    for (std::size_t link = 0; link < poses.size(); ++link) {
      const Transform& then = link_poses[observed][link];
      has_moved.push_back(poses[link] != then);
      const Matrix4d motion = ToMatrix(Compose(poses[link], Inverse(then)));
      motions.insert(motions.end(), motion.begin(), motion.begin() + kMotionNumbers);
    }
  }
  const auto times = static_cast<std::int64_t>(link_poses.size());
  const auto link_count = static_cast<std::int64_t>(link_poses.front().size());
  const torch::Device device = positions_m.device();
  rows_ = at::tensor(rows, at::kLong).to(device);
  links_ = at::tensor(of_rows, at::kLong).to(device);
  others_ = at::tensor(others, at::kLong).to(device);
  observed_m_ = positions_m.detach().index_select(0, rows_).to(at::kDouble);
  motions_ = at::tensor(motions, at::kDouble).reshape({times, link_count, 3, 4}).to(device);
  has_moved_ =
      at::tensor(has_moved, at::kByte).to(at::kBool).reshape({times, link_count, 1}).to(device);
}

torch::Tensor CarriedParticles::PositionsAt(std::int64_t time) const {
  const torch::Tensor motion = motions_.select(0, time).index_select(0, links_);
  const torch::Tensor moved_m =
      (motion.narrow(2, 0, 3) * observed_m_.unsqueeze(1)).sum(2) + motion.select(2, 3);
  return at::where(has_moved_.select(0, time).index_select(0, links_), moved_m, observed_m_);
}

CloudTensors CarriedParticles::PlaceInto(const CloudTensors& predicted, const CloudTensors& before,
                                         std::int64_t time) const {
  if (empty()) return predicted;
  return {predicted.positions_m.index_copy(
              0, rows_, PositionsAt(time).to(predicted.positions_m.scalar_type())),
          predicted.features.index_copy(0, rows_, before.features.index_select(0, rows_))};
}

CloudTensors CarriedParticles::OthersOf(const CloudTensors& cloud) const {
  if (empty()) return cloud;
  return {cloud.positions_m.index_select(0, others_), cloud.features.index_select(0, others_)};
}

}  // namespace interlacer
