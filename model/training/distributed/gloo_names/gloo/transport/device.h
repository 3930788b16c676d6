#pragma once

/// ProcessGroupGloo holds it by pointer only, so a declaration is enough.

namespace gloo::transport {

class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
