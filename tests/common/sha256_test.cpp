#include "common/sha256.h"

#include <gtest/gtest.h>

#include "common/file_io.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

// FIPS 180-4 examples.
constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256Test, GivesTheKnownAnswers) {
  EXPECT_EQ(Sha256Hex(std::string_view()), kEmpty);
  EXPECT_EQ(Sha256Hex(std::string_view("abc")), kAbc);
}

TEST(Sha256Test, PiecesEqualTheWhole) {
  Sha256 digest;
  digest.Update(std::string_view("a"));
  digest.Update(std::string_view("bc"));
  EXPECT_EQ(digest.HexDigest(), kAbc);
}

TEST(Sha256Test, FilesLargerThanTheBuffer) {
  const TempFolder folder;
  const std::string text(200001, 'q');
  ASSERT_TRUE(WriteFileAtomic(folder.File("q"), text).ok());
  EXPECT_EQ(*Sha256OfFile(folder.File("q")), Sha256Hex(text));
  EXPECT_EQ(Sha256OfFile(folder.File("absent")).status().reason(), "FILE_NOT_FOUND");
  EXPECT_EQ(Sha256OfFile(folder.path()).status().reason(), "FILE_UNREADABLE");
}

}  // namespace
}  // namespace interlacer
