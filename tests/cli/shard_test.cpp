#include "cli/shard.h"

#include <gtest/gtest.h>

namespace interlacer::cli {
namespace {

TEST(ParseShard, ReadsIndexAndCount) {
  const auto shard = ParseShard("2/5");
  ASSERT_TRUE(shard.ok());
  EXPECT_EQ(shard->index, 2u);
  EXPECT_EQ(shard->count, 5u);
  EXPECT_TRUE(ParseShard("0/1").ok());
}

TEST(ParseShard, RefusesWhatIsNoShard) {
  for (const char* text : {"", "1", "/", "1/", "/2", "2/2", "3/2", "-1/2", "0/0", "1/2/3", "a/b",
                           "1 /2", "0x0/2", "99999999999999999999/2"}) {
    EXPECT_EQ(ParseShard(text).status().reason(), reason::ARGUMENT_INVALID) << text;
  }
}

TEST(Shard, EveryEntryBelongsToExactlyOne) {
  for (std::size_t entry = 0; entry < 20; ++entry) {
    int owners = 0;
    for (std::size_t i = 0; i < 3; ++i) owners += Shard{i, 3}.Owns(entry) ? 1 : 0;
    EXPECT_EQ(owners, 1) << entry;
  }
}

}  // namespace
}  // namespace interlacer::cli
