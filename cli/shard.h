#pragma once

/// One of several processes or machines that split a list of work between them: `--shard 0/4`.
///
/// Entry i of the list belongs to shard i mod count, so that every shard of a list ordered by kind
/// gets some of each. Value type, thread-safe.

#include <cstddef>
#include <string>

#include "common/status.h"

namespace interlacer::cli {

struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;

  bool Owns(std::size_t entry) const { return entry % count == index; }
};

/// "I/N" with 0 <= I < N. Errors: INVALID_ARGUMENT ARGUMENT_INVALID.
StatusOr<Shard> ParseShard(const std::string& text);

}  // namespace interlacer::cli
