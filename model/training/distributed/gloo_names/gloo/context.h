#pragma once

/// ProcessGroupGloo holds it by pointer only, so a declaration is enough.

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
