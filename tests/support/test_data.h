#pragma once

/// Recordings for tests, which are not part of this tree: the folder INTERLACER_TEST_DATA, else
/// shared/data beside the tree. Needs INTERLACER_SOURCE_DIR.

#include <cstdlib>
#include <string>

namespace interlacer::testing {

inline std::string TestData(const std::string& name) {
  const char* const folder = std::getenv("INTERLACER_TEST_DATA");
  return (folder != nullptr ? folder : INTERLACER_SOURCE_DIR "/../shared/data") + ("/" + name);
}

}  // namespace interlacer::testing
