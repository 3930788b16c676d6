#include "server/convert/pixel_payloads.h"

#include <utility>

namespace interlacer {

void PixelPayload::Add(Piece piece) {
  if (piece.empty()) return;
  pieces_.push_back(piece);
  size_bytes_ += piece.size();
}

void PixelPayload::CopyTo(std::size_t offset, std::size_t size_bytes, std::uint8_t* out) const {
  ForRuns<1>(offset, size_bytes, [&out](const std::uint8_t* bytes, std::size_t count) {
    std::memcpy(out, bytes, count);
    out += count;
  });
}

PixelPayload::Piece PixelPayload::Joined(std::vector<std::uint8_t>* copy) const {
  if (pieces_.empty()) return {};
  if (pieces_.size() == 1) return pieces_.front();
  copy->resize(size_bytes_);
  CopyTo(0, size_bytes_, copy->data());
  return *copy;
}

PixelPayloads::PixelPayloads(wire::SceneInput* input) {
  for (wire::Observation& observation : *input->mutable_observations()) TakeFrom(&observation);
}

PixelPayloads::PixelPayloads(wire::Observation* observation) { TakeFrom(observation); }

void PixelPayloads::TakeFrom(wire::Observation* observation) {
  for (wire::RgbdView& view : *observation->mutable_views()) {
    for (wire::Image* image : {view.has_color() ? view.mutable_color() : nullptr,
                               view.has_depth() ? view.mutable_depth() : nullptr}) {
      if (image == nullptr || image->data().empty()) continue;
      strings_.push_back(std::move(*image->mutable_data()));
      PixelPayload payload;
      payload.Add(
          {reinterpret_cast<const std::uint8_t*>(strings_.back().data()), strings_.back().size()});
      image->set_data(Keep(std::move(payload)));
    }
  }
}

const PixelPayload& PixelPayloads::Of(const wire::Image& image) const {
  static const PixelPayload none;
  const std::string& token = image.data();
  if (token.empty()) return none;
  std::uint32_t index = 0;
  if (token.size() != sizeof(index)) return none;
  std::memcpy(&index, token.data(), sizeof(index));
  return index < payloads_.size() ? payloads_[index] : none;
}

std::string PixelPayloads::Keep(PixelPayload payload) {
  const auto index = static_cast<std::uint32_t>(payloads_.size());
  payloads_.push_back(std::move(payload));
  return {reinterpret_cast<const char*>(&index), sizeof(index)};
}

}  // namespace interlacer
