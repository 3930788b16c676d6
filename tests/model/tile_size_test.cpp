/// How tiles follow what the ones before took, by a pretended clock.

#include "model/tile_size.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace interlacer::testing {
namespace {

struct Tile {
  int row_count;
  double seconds;
};

/// Draws a view of `width_px` by `row_count`, whose row r takes seconds_of_row(r).
std::vector<Tile> Draw(int width_px, int row_count,
                       const std::function<double(int)>& seconds_of_row, TileSize* size) {
  std::vector<Tile> tiles;
  for (int row = 0; row < row_count;) {
    Tile tile{size->Rows(width_px, row_count - row), 0};
    EXPECT_GE(tile.row_count, 1);
    EXPECT_LE(tile.row_count, row_count - row);
    for (int i = 0; i < tile.row_count; ++i) tile.seconds += seconds_of_row(row + i);
    size->Note(std::int64_t{tile.row_count} * width_px, tile.seconds);
    row += tile.row_count;
    tiles.push_back(tile);
  }
  return tiles;
}

TEST(TileSize, BeginsSmallAndDoublesWhileTilesAreShort) {
  TileSize size;
  EXPECT_EQ(size.Rows(320, 240), 3);
  EXPECT_EQ(size.Rows(64, 240), 16);
  EXPECT_EQ(size.Rows(64, 5), 5) << "no more rows than are left";
  EXPECT_EQ(size.Rows(4096, 240), 1) << "a row is the least";
  size.Note(1024, 1e-6);
  EXPECT_EQ(size.Rows(64, 240), 32);
  size.Note(2048, 1e-6);
  EXPECT_EQ(size.Rows(64, 240), 64);
  size.Note(64, 0);
  EXPECT_EQ(size.Rows(64, 240), 128) << "the clock did not move";
}

/// Of any speed between a row and the whole view in kTileS.
TEST(TileSize, SettlesAtTheTimeOfATile) {
  for (const double row_s : {0.0001, 0.0009, 0.004, 0.019}) {
    TileSize size;
    Draw(
        320, 240, [&](int) { return row_s; }, &size);
    const std::vector<Tile> tiles = Draw(
        320, 240, [&](int) { return row_s; }, &size);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      EXPECT_LE(tiles[i].seconds, 1.001 * kTileS) << row_s;
      // Of the last tile only rows are left.
      if (i + 1 == tiles.size()) break;
      EXPECT_GT(tiles[i].seconds, kTileS - 1.001 * row_s) << row_s;
    }
  }
}

TEST(TileSize, ASlowRowIsATileAndFastOnesGrowAgain) {
  TileSize size;
  for (const Tile& tile : Draw(
           2048, 20, [](int) { return 0.5; }, &size)) {
    EXPECT_EQ(tile.row_count, 1);
  }
  std::vector<int> rows;
  for (const Tile& tile : Draw(
           64, 240, [](int) { return 1e-6; }, &size)) {
    rows.push_back(tile.row_count);
  }
  EXPECT_EQ(rows, (std::vector<int>{1, 32, 64, 128, 15}));
}

/// Tiles that reach into rows of ten times the price are long; those after them are not.
TEST(TileSize, FollowsRowsThatGetDear) {
  TileSize size;
  const auto seconds_of_row = [](int row) { return row < 120 ? 0.0005 : 0.005; };
  const std::vector<Tile> tiles = Draw(320, 240, seconds_of_row, &size);
  int long_tiles = 0;
  for (const Tile& tile : tiles) {
    EXPECT_LE(tile.seconds, 10 * kTileS);
    long_tiles += tile.seconds > 1.001 * kTileS;
  }
  EXPECT_LE(long_tiles, 2);
  EXPECT_LE(tiles.back().seconds, 1.001 * kTileS);
}

}  // namespace
}  // namespace interlacer::testing
