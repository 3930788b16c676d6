#include "model/files/tensor_header.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/json.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

class TensorHeaderTest : public ::testing::Test {
 protected:
  void Write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  const TempFolder folder_;
  const std::string path_ = folder_.File("weights.safetensors");
};

TEST_F(TensorHeaderTest, MetadataAreReadWithoutTheTensors) {
  const TensorMetadata metadata{{"optimizer_steps", "12"}, {"note", "\"quoted\""}};
  Write(FormatTensorHeader({{"a", {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {0, 8}}}}},
                           metadata));
  const auto read = ReadTensorMetadata(path_);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, metadata);
  EXPECT_EQ(*OptimizerSteps(*read), 12);
}

TEST_F(TensorHeaderTest, AFileMayHaveNoMetadata) {
  Write(FormatTensorHeader(nlohmann::ordered_json::object(), {}));
  EXPECT_THAT(*ReadTensorMetadata(path_), IsEmpty());
  EXPECT_EQ(OptimizerSteps({}).status().reason(), reason::CHECKPOINT_INVALID);
}

TEST_F(TensorHeaderTest, WhatIsNoHeaderIsRefused) {
  EXPECT_EQ(ReadTensorMetadata(path_).status().reason(), reason::FILE_NOT_FOUND);
  const std::string length("\x02\0\0\0\0\0\0\0", 8);
  for (const std::string& bytes : {std::string(), length.substr(1), length + "{", length + "[]",
                                   std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}")}) {
    Write(bytes);
    const Status status = ReadTensorMetadata(path_).status();
    EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID) << bytes;
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << bytes;
  }
  Write("version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 123\n");
  EXPECT_THAT(ReadTensorMetadata(path_).status().message(), HasSubstr("git lfs pull"));
  const std::string number = R"({"__metadata__":{"optimizer_steps":12}})";
  Write(static_cast<char>(number.size()) + length.substr(1) + number);
  EXPECT_THAT(ReadTensorMetadata(path_).status().ToString(),
              HasSubstr("__metadata__.optimizer_steps"));
}

}  // namespace
}  // namespace interlacer
