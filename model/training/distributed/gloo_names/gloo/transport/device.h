#pragma once

/// Held by pointer in ProcessGroupGloo.

namespace gloo::transport {

class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
