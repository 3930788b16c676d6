#include "model/files/tensor_file.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "common/file_io.h"
#include "common/sha256.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

class TensorFileTest : public ::testing::Test {
 protected:
  /// A file of the given header and data bytes.
  void WriteRaw(const std::string& header, const std::string& data) const {
    std::string text(8, '\0');
    const std::uint64_t size = header.size();
    std::memcpy(text.data(), &size, sizeof(size));
    ASSERT_TRUE(WriteFileAtomic(path_, text + header + data).ok());
  }

  void ExpectRefused(const std::string& what) const {
    const Status file = ReadTensorFile(path_).status();
    EXPECT_EQ(file.reason(), "CHECKPOINT_INVALID") << file.ToString();
    EXPECT_EQ(file.code(), StatusCode::kFailedPrecondition) << file.ToString();
    EXPECT_THAT(file.ToString(), HasSubstr(what));
  }

  const TempFolder folder_;
  const std::string path_ = folder_.File("tensors.safetensors");
};

TEST_F(TensorFileTest, RoundTripKeepsBits) {
  TensorFile file;
  file.tensors["a.weight"] = at::randn({3, 5}, at::kFloat);
  file.tensors["b"] = at::randn({2, 1, 4}, at::kDouble);
  file.tensors["half"] = at::randn({3}, at::kFloat).to(at::kHalf);
  file.tensors["brain"] = at::randn({2, 2}, at::kFloat).to(at::kBFloat16);
  file.tensors["flag"] = at::tensor({1, 0, 1}, at::kInt).to(at::kBool);
  for (const auto type : {at::kInt, at::kShort, at::kChar, at::kByte}) {
    file.tensors[c10::toString(type)] = at::tensor({-3, 100}, at::kInt).to(type);
  }
  file.tensors["step"] = at::tensor({7}, at::kLong);
  file.tensors["empty"] = at::empty({0, 3}, at::kFloat);
  file.metadata = {{"trained_step_count", "12"}, {"note", "\"quoted\" \xc3\xa9"}};
  ASSERT_TRUE(WriteTensorFile(path_, file).ok());
  const auto read = Must(ReadTensorFile(path_));
  EXPECT_EQ(read.metadata, file.metadata);
  EXPECT_EQ(read.sha256, *Sha256OfFile(path_));
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_TRUE(at::equal(read.tensors.at(name), tensor)) << name;
    EXPECT_EQ(read.tensors.at(name).scalar_type(), tensor.scalar_type()) << name;
  }
}

TEST_F(TensorFileTest, NonContiguousTensorsAreStoredInOrder) {
  const torch::Tensor transposed = at::randn({3, 4}).t();
  ASSERT_TRUE(WriteTensorFile(path_, {{{"t", transposed}}, {}}).ok());
  EXPECT_TRUE(at::equal(ReadTensorFile(path_)->tensors.at("t"), transposed));
}

/// Tensors of one value in memory.
TEST_F(TensorFileTest, WhatCouldNotBeReadIsNotWritten) {
  const torch::Tensor one = at::zeros({1}), half = one.expand({kMaxTensorFileBytes / 8 + 1});
  const auto refusal = [&](TensorFile file) {
    const Status status = WriteTensorFile(path_, file);
    EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID) << status.ToString();
    EXPECT_FALSE(std::filesystem::exists(path_));
    return status.field();
  };
  EXPECT_EQ(refusal({{{"a", half}, {"b", half}}, {}}), "b");
  EXPECT_EQ(refusal({{{"wide", one.expand({std::int64_t{1} << 62})}}, {}}), "wide") << "overflow";
  EXPECT_EQ(refusal({{{"deep", one.expand({1, 1, 1, 1, 1, 1, 1, 1, 1})}}, {}}), "deep");
  EXPECT_EQ(refusal({{{"a", one}}, {{"note", std::string(kMaxTensorHeaderBytes, 'x')}}}), path_);
}

TEST_F(TensorFileTest, AbsentFile) {
  EXPECT_EQ(ReadTensorFile(path_ + ".absent").status().reason(), "FILE_NOT_FOUND");
}

TEST_F(TensorFileTest, TooShortForALength) {
  ASSERT_TRUE(WriteFileAtomic(path_, std::string("abc")).ok());
  ExpectRefused("at least 8 bytes");
}

TEST_F(TensorFileTest, HeaderLongerThanTheFile) {
  ASSERT_TRUE(WriteFileAtomic(path_, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10)).ok());
  ExpectRefused("header");
}

TEST_F(TensorFileTest, HeaderIsNoJson) {
  WriteRaw("{\"a\": ", "");
  ExpectRefused(path_);
}

TEST_F(TensorFileTest, HeaderOfOtherFieldsThanTensorsHave) {
  WriteRaw(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", "1234");
  ExpectRefused("a.dtype");
  WriteRaw(R"({"a":[]})", "");
  ExpectRefused("a: expected an object");
}

TEST_F(TensorFileTest, UnknownType) {
  WriteRaw(R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x");
  ExpectRefused("a.dtype");
  ExpectRefused("BF16");
}

TEST_F(TensorFileTest, BytesOfOtherWriters) {
  WriteRaw(R"({"b":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
           R"("i":{"dtype":"I32","shape":[1],"data_offsets":[4,8]},)"
           R"("u":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
           R"("z":{"dtype":"BOOL","shape":[1],"data_offsets":[9,10]}})",
           std::string("\x80\x3f\x40\xc0\xfe\xff\xff\xff\xff\x01", 10));
  const auto file = Must(ReadTensorFile(path_));
  const NamedTensors& t = file.tensors;
  EXPECT_EQ(t.at("b")[0].item<float>(), 1);
  EXPECT_EQ(t.at("b")[1].item<float>(), -3);
  EXPECT_EQ(t.at("i").item<int>(), -2);
  EXPECT_EQ(t.at("u").item<int>(), 255);
  EXPECT_TRUE(t.at("z").item<bool>());
}

TEST_F(TensorFileTest, TruthValuesAreZeroOrOne) {
  WriteRaw(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string("\x01\x02"));
  ExpectRefused("BOOL");
}

TEST_F(TensorFileTest, ANameThatStandsTwice) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
           R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           "1234");
  ExpectRefused("once");
}

TEST_F(TensorFileTest, ShapeAndOffsetsDisagree) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678");
  ExpectRefused("a.data_offsets");
}

TEST_F(TensorFileTest, ShapeOverflows) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", "");
  ExpectRefused("a.data_offsets");
}

/// Nothing is stored, but the strides of such a shape do not fit.
TEST_F(TensorFileTest, ShapeOverflowsBesideASideOf0) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],)"
           R"("data_offsets":[0,0]}})",
           "");
  ExpectRefused("a.data_offsets");
}

TEST_F(TensorFileTest, NegativeSize) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234");
  ExpectRefused("a.data_offsets");
}

TEST_F(TensorFileTest, OverlappingTensors) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
           "12345678");
  ExpectRefused("b.data_offsets");
}

TEST_F(TensorFileTest, CutData) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234");
  ExpectRefused("data section");
}

TEST_F(TensorFileTest, BytesAfterTheLastTensor) {
  WriteRaw(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "12345678");
  ExpectRefused("data section");
}

}  // namespace
}  // namespace interlacer
