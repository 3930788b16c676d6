#pragma once

/// Held by pointer in ProcessGroupGloo.

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
