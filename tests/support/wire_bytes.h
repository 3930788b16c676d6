#pragma once

/// Serialized requests in the form in which gRPC delivers them, and the way back from payloads to
/// messages.

#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/convert/pixel_payloads.h"

namespace interlacer::testing {

/// The same bytes in slices of at most `piece` bytes.
inline grpc::ByteBuffer InPieces(const std::string& bytes, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
    slices.emplace_back(bytes.substr(begin, piece));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

/// Restores the pixels that PixelPayloads took out of a message.
inline void RestorePixels(const PixelPayloads& payloads, wire::SceneInput* input) {
  for (wire::Observation& observation : *input->mutable_observations()) {
    for (wire::RgbdView& view : *observation.mutable_views()) {
      const auto restore = [&payloads](wire::Image* image) {
        const PixelPayload& payload = payloads.Of(*image);
        std::string data(payload.size_bytes(), 0);
        payload.CopyTo(0, data.size(), reinterpret_cast<std::uint8_t*>(data.data()));
        image->set_data(data);
      };
      if (view.has_color()) restore(view.mutable_color());
      if (view.has_depth()) restore(view.mutable_depth());
    }
  }
}

}  // namespace interlacer::testing
