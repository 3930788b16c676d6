#pragma once

/// How many operations of torch a piece of work calls, by any thread; those that operations call
/// count too.

#include <ATen/record_function.h>

#include <atomic>
#include <functional>
#include <memory>

namespace interlacer::testing {

inline int CountOperations(const std::function<void()>& work) {
  static std::atomic<int> count;
  count = 0;
  const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction&)
                                                           -> std::unique_ptr<at::ObserverContext> {
                              ++count;
                              return nullptr;
                            }).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return count;
}

}  // namespace interlacer::testing
