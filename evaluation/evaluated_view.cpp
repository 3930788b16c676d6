#include "evaluation/evaluated_view.h"

#include <algorithm>
#include <span>

#include "common/npy.h"

namespace interlacer {

const RgbImage* EvaluatedView::Picture(std::string_view subject) const {
  for (const auto& [name, picture] : pictures) {
    if (name == subject) return &picture;
  }
  return nullptr;
}

std::int64_t ParticleCensus::CountOf(ParticleKind kind) const {
  return std::count(kinds.begin(), kinds.end(), kind);
}

std::vector<std::uint8_t> ParticleCensus::KindsAsNpy() const {
  std::vector<std::uint8_t> numbers;
  for (const ParticleKind kind : kinds) numbers.push_back(static_cast<std::uint8_t>(kind));
  const std::int64_t shape[] = {static_cast<std::int64_t>(numbers.size())};
  return EncodeNpy(std::span<const std::uint8_t>(numbers), shape);
}

}  // namespace interlacer
