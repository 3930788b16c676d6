#include "cli/shard.h"

#include <charconv>

namespace interlacer::cli {
namespace {

bool ParseCount(const char* begin, const char* end, std::size_t* out) {
  const auto [stopped, error] = std::from_chars(begin, end, *out);
  return error == std::errc() && stopped == end;
}

}  // namespace

StatusOr<Shard> ParseShard(const std::string& text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const char* const begin = text.data();
  const bool is_pair = slash != std::string::npos &&
                       ParseCount(begin, begin + slash, &shard.index) &&
                       ParseCount(begin + slash + 1, begin + text.size(), &shard.count);
  if (is_pair && shard.index < shard.count) return shard;
  return Mismatch(reason::ARGUMENT_INVALID, "--shard", "I/N with I from 0 to N - 1", text);
}

}  // namespace interlacer::cli
