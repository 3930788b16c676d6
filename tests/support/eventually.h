#pragma once

/// Waits for what another thread or process does.

#include <chrono>
#include <functional>
#include <thread>

namespace interlacer::testing {

/// True once `condition` holds; false after `limit_s`.
inline bool Eventually(const std::function<bool()>& condition, double limit_s = 60) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace interlacer::testing
