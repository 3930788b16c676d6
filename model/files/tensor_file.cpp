#include "model/files/tensor_file.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "common/file_io.h"
#include "common/json.h"
#include "common/sha256.h"

namespace interlacer {
namespace {

constexpr std::size_t kMaxDimensions = 8;

struct StoredType {
  at::ScalarType type;
  const char* word;
  std::int64_t size_bytes;
};
constexpr StoredType kStoredTypes[] = {{at::kHalf, "F16", 2},  {at::kBFloat16, "BF16", 2},
                                       {at::kFloat, "F32", 4}, {at::kDouble, "F64", 8},
                                       {at::kLong, "I64", 8},  {at::kInt, "I32", 4},
                                       {at::kShort, "I16", 2}, {at::kChar, "I8", 1},
                                       {at::kByte, "U8", 1},   {at::kBool, "BOOL", 1}};

std::string StoredWords() {
  std::string words;
  for (const StoredType& stored : kStoredTypes) {
    words += (words.empty() ? "" : ", ") + std::string(stored.word);
  }
  return words;
}

const StoredType* FindType(at::ScalarType type) {
  for (const StoredType& stored : kStoredTypes) {
    if (stored.type == type) return &stored;
  }
  return nullptr;
}

const StoredType* FindType(const std::string& word) {
  for (const StoredType& stored : kStoredTypes) {
    if (word == stored.word) return &stored;
  }
  return nullptr;
}

/// Position of a tensor in the data section.
struct Extent {
  std::string name;
  const StoredType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

StatusOr<Extent> ParseExtent(const std::string& name, const JsonObject& entry) {
  INTERLACER_RETURN_IF_ERROR(entry.AllowOnly({"dtype", "shape", "data_offsets"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string dtype, entry.Get<std::string>("dtype"));
  INTERLACER_ASSIGN_OR_RETURN(auto shape, entry.Get<std::vector<std::int64_t>>("shape"));
  INTERLACER_ASSIGN_OR_RETURN(const auto offsets,
                              entry.Get<std::vector<std::int64_t>>("data_offsets"));
  Extent extent{name, FindType(dtype), std::move(shape)};
  if (extent.type == nullptr) {
    return CheckpointInvalid(entry.PathOf("dtype"), "one of " + StoredWords(), dtype);
  }
  if (extent.shape.size() > kMaxDimensions) {
    return CheckpointInvalid(entry.PathOf("shape"),
                             "at most " + std::to_string(kMaxDimensions) + " dimensions",
                             std::to_string(extent.shape.size()));
  }
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    return CheckpointInvalid(entry.PathOf("data_offsets"), "[begin,end] with 0 <= begin <= end",
                             std::to_string(offsets.size()) + " numbers or out of order");
  }
  extent.begin = offsets[0];
  extent.end = offsets[1];
  // Checked products: sizes come from the file and may overflow or be negative. Strides count sides
  // of 0 as 1.
  std::int64_t bytes = extent.type->size_bytes, stride = 1;
  bool fits = true;
  for (const std::int64_t size : extent.shape) {
    fits = fits && size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes) &&
           !__builtin_mul_overflow(stride, std::max<std::int64_t>(size, 1), &stride);
  }
  if (!fits || bytes != extent.end - extent.begin) {
    return CheckpointInvalid(entry.PathOf("data_offsets"),
                             (fits ? std::to_string(bytes) : "a representable number of") +
                                 " bytes for its shape and type",
                             std::to_string(extent.end - extent.begin));
  }
  return extent;
}

/// The extents must fill the data section exactly, without overlap or gap.
Status CheckCoverage(std::vector<Extent>* extents, std::int64_t data_bytes) {
  std::sort(extents->begin(), extents->end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t expected_begin = 0;
  for (const Extent& extent : *extents) {
    if (extent.begin != expected_begin) {
      return CheckpointInvalid(extent.name + ".data_offsets",
                               "begin " + std::to_string(expected_begin),
                               std::to_string(extent.begin));
    }
    expected_begin = extent.end;
  }
  if (expected_begin != data_bytes) {
    return CheckpointInvalid("data section", std::to_string(expected_begin) + " bytes",
                             std::to_string(data_bytes));
  }
  return Status();
}

StatusOr<std::vector<Extent>> ParseExtents(const nlohmann::json& tensors) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root,
                              JsonObject::Make(tensors, "", reason::CHECKPOINT_INVALID));
  std::vector<Extent> extents;
  for (const auto& [name, value] : tensors.items()) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject entry, root.GetObject(name));
    INTERLACER_ASSIGN_OR_RETURN(Extent extent, ParseExtent(name, entry));
    extents.push_back(std::move(extent));
  }
  return extents;
}

}  // namespace

std::string DescribeTensor(const torch::Tensor& tensor) {
  std::string text = std::string(c10::toString(tensor.scalar_type())) + " [";
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(tensor.size(i));
  }
  return text + "]";
}

Status WriteTensorFile(const std::string& path, const TensorFile& file) {
  nlohmann::ordered_json tensors = nlohmann::ordered_json::object();
  std::int64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const StoredType* type = FindType(tensor.scalar_type());
    if (type == nullptr) {
      return CheckpointInvalid(name, "a tensor of one of " + StoredWords(), DescribeTensor(tensor));
    }
    if (tensor.sizes().size() > kMaxDimensions) {
      return CheckpointInvalid(name, "at most " + std::to_string(kMaxDimensions) + " dimensions",
                               DescribeTensor(tensor));
    }
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(tensor.numel(), type->size_bytes, &bytes) ||
        bytes > kMaxTensorFileBytes - offset) {
      return CheckpointInvalid(
          name,
          "at most " + std::to_string(kMaxTensorFileBytes) + " bytes in all tensors of a file",
          DescribeTensor(tensor) + " behind " + std::to_string(offset));
    }
    tensors[name] = {
        {"dtype", type->word},
        {"shape", std::vector<std::int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
        {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  const std::string header = FormatTensorHeader(tensors, file.metadata);
  if (header.size() > kMaxTensorHeaderBytes) {
    return CheckpointInvalid(
        path, "at most " + std::to_string(kMaxTensorHeaderBytes) + " bytes of header",
        std::to_string(header.size()));
  }
  std::vector<std::uint8_t> data(header.size() + static_cast<std::size_t>(offset));
  std::uint8_t* out = std::copy(header.begin(), header.end(), data.data());
  for (const auto& [name, tensor] : file.tensors) {
    const torch::Tensor values = tensor.detach().to(at::kCPU).contiguous();
    const std::size_t bytes = static_cast<std::size_t>(values.nbytes());
    if (bytes > 0) std::memcpy(out, values.const_data_ptr(), bytes);
    out += bytes;
  }
  return WriteFileAtomic(path, std::span<const std::uint8_t>(data));
}

StatusOr<TensorFile> ReadTensorFile(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, ReadFileBytes(path, kMaxTensorFileBytes));
  INTERLACER_ASSIGN_OR_RETURN(TensorHeader header, ParseTensorHeader(bytes, path));
  StatusOr<std::vector<Extent>> parsed = ParseExtents(header.tensors);
  if (!parsed.ok()) return AsCheckpointInvalid(parsed.status());
  std::vector<Extent> extents = *std::move(parsed);
  const std::span<const std::uint8_t> data = std::span(bytes).subspan(header.size_bytes);
  INTERLACER_RETURN_IF_ERROR(CheckCoverage(&extents, static_cast<std::int64_t>(data.size())));
  TensorFile file;
  file.metadata = std::move(header.metadata);
  file.sha256 = Sha256Hex(bytes);
  for (const Extent& extent : extents) {
    const auto stored = data.subspan(static_cast<std::size_t>(extent.begin),
                                     static_cast<std::size_t>(extent.end - extent.begin));
    if (extent.type->type == at::kBool &&
        std::any_of(stored.begin(), stored.end(), [](std::uint8_t byte) { return byte > 1; })) {
      return CheckpointInvalid(extent.name, "bytes 0 and 1 of BOOL", "others");
    }
    const torch::Tensor tensor = at::empty(extent.shape, extent.type->type);
    if (tensor.numel() > 0) {
      std::memcpy(tensor.mutable_data_ptr(), stored.data(), stored.size());
    }
    file.tensors.emplace(extent.name, tensor);
  }
  return file;
}

}  // namespace interlacer
