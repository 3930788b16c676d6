#include "model/attention/core/inputs.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "common/number_text.h"

namespace interlacer::attention {
namespace {

/// So that indices of pairs and sizes of arrays stay far from overflow.
constexpr std::int64_t kMaxSide = std::int64_t{1} << 24;

std::string TypeAndShape(const torch::Tensor& tensor) {
  std::string text = std::string(c10::toString(tensor.scalar_type())) + " [";
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(tensor.size(i));
  }
  return text + "]" + (tensor.is_cpu() ? "" : " on " + tensor.device().str());
}

std::string ShapeText(at::IntArrayRef shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

Status BadShape(const std::string& name, std::string expected, const torch::Tensor& tensor) {
  return Mismatch(reason::SHAPE_MISMATCH, name, std::move(expected), TypeAndShape(tensor));
}

bool IsReal(const torch::Tensor& tensor) {
  return tensor.is_cpu() &&
         (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble);
}

Status CheckFinite(const std::string& name, const torch::Tensor& tensor) {
  if (at::isfinite(tensor).all().item<bool>()) return Status::Ok();
  return Mismatch(reason::NOT_FINITE, name, "finite numbers", "a number that is not");
}

/// `shape`: -1 fits any size. The type is `like`'s if given, else float32 or float64.
Status CheckReal(const std::string& name, const torch::Tensor& tensor,
                 const std::vector<std::int64_t>& shape,
                 std::optional<at::ScalarType> type = std::nullopt) {
  bool fits = IsReal(tensor) && tensor.dim() == static_cast<std::int64_t>(shape.size()) &&
              (!type || tensor.scalar_type() == *type);
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == -1 || tensor.size(static_cast<std::int64_t>(i)) == shape[i];
  }
  if (!fits) {
    return BadShape(name,
                    (type ? std::string(c10::toString(*type)) : std::string("Float or Double")) +
                        " " + ShapeText(shape) + " on the CPU",
                    tensor);
  }
  return CheckFinite(name, tensor);
}

Status CheckIntegers(const std::string& name, const torch::Tensor& tensor, std::int64_t size) {
  if (tensor.is_cpu() && tensor.scalar_type() == at::kLong && tensor.dim() == 1 &&
      (size == -1 || tensor.size(0) == size)) {
    return Status::Ok();
  }
  return BadShape(name, "Long [" + (size == -1 ? "E" : std::to_string(size)) + "] on the CPU",
                  tensor);
}

Status CheckWithin(const std::string& name, const torch::Tensor& tensor, double low, double high,
                   const std::string& expected) {
  if (tensor.numel() == 0) return Status::Ok();
  const double least = tensor.min().item<double>();
  const double most = tensor.max().item<double>();
  if (least >= low && most <= high) return Status::Ok();
  return Mismatch(reason::SCHEMA_INVALID, name, expected, NumberText(least < low ? least : most));
}

Status CheckTokens(const AttentionInputs& inputs) {
  const std::pair<const char*, const torch::Tensor*> tensors[] = {
      {"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}};
  for (const auto& [name, tensor] : tensors) {
    if (!tensor->defined()) {
      return Mismatch(reason::SCHEMA_INVALID, name, "a tensor [B,H,L,d]", "nothing");
    }
    INTERLACER_RETURN_IF_ERROR(
        CheckReal(name, *tensor, {-1, -1, -1, -1},
                  name[0] == 'q' ? std::nullopt : std::optional(inputs.q.scalar_type())));
    for (std::int64_t i = 0; i < 4; ++i) {
      if (tensor->size(i) > kMaxSide) {
        return Mismatch(reason::SHAPE_MISMATCH, name, "sides of at most 2^24",
                        TypeAndShape(*tensor));
      }
    }
  }
  if (inputs.q.size(3) < 1) return BadShape("q", "a width d of at least 1", inputs.q);
  if (inputs.k.sizes() != inputs.q.sizes()) {
    return BadShape("k", "q's shape " + ShapeText(inputs.q.sizes()), inputs.k);
  }
  return inputs.v.sizes().slice(0, 3) == inputs.q.sizes().slice(0, 3)
             ? Status::Ok()
             : BadShape("v", "[B,H,L] of q's shape " + ShapeText(inputs.q.sizes()), inputs.v);
}

Status CheckKeyMask(const AttentionInputs& inputs) {
  const torch::Tensor& mask = inputs.key_mask;
  const bool fits = mask.is_cpu() && mask.dim() == 2 && mask.size(0) == inputs.batch() &&
                    mask.size(1) == inputs.length() && !mask.is_complex();
  if (!fits) {
    return BadShape("key_mask", ShapeText({inputs.batch(), inputs.length()}) + " on the CPU", mask);
  }
  if (((mask == 0) | (mask == 1)).all().item<bool>()) return Status::Ok();
  return Mismatch(reason::SCHEMA_INVALID, "key_mask",
                  "1 for tokens and 0 for padding (what is added to logits, 0 and -inf, is its "
                  "logarithm)",
                  "another number");
}

Status CheckGraph(const AttentionInputs& inputs, std::int64_t length) {
  const GraphInput& graph = inputs.graph;
  if (!graph.neighbors.defined()) {
    return Mismatch(reason::SCHEMA_INVALID, "graph.neighbors", "Long [E]", "nothing");
  }
  INTERLACER_RETURN_IF_ERROR(CheckIntegers("graph.offsets", graph.offsets, length + 1));
  INTERLACER_RETURN_IF_ERROR(CheckIntegers("graph.neighbors", graph.neighbors, -1));
  const std::int64_t edge_count = graph.neighbors.size(0);
  const torch::Tensor offsets = graph.offsets;
  if (offsets[0].item<std::int64_t>() != 0 || offsets[-1].item<std::int64_t>() != edge_count ||
      (offsets.slice(0, 1) < offsets.slice(0, 0, -1)).any().item<bool>()) {
    return Mismatch(reason::SCHEMA_INVALID, "graph.offsets",
                    "numbers that ascend from 0 to the " + std::to_string(edge_count) + " edges",
                    "others");
  }
  INTERLACER_RETURN_IF_ERROR(CheckWithin("graph.neighbors", graph.neighbors, 0,
                                         static_cast<double>(length - 1),
                                         "indices of tokens below " + std::to_string(length)));
  if (!graph.weights.defined()) return Status::Ok();
  return CheckReal("graph.weights", graph.weights, {edge_count});
}

Status CheckGrid(const AttentionInputs& inputs, std::int64_t length) {
  std::int64_t count = 1;
  bool fits = true;
  std::string got;
  for (const std::int64_t side : inputs.grid) {
    got += (got.empty() ? "" : " x ") + std::to_string(side);
    fits = fits && side >= 0 && side <= kMaxSide && (count *= side) <= kMaxSide;
    if (!fits) break;
  }
  if (fits && count == length) return Status::Ok();
  return Mismatch(reason::SHAPE_MISMATCH, "grid",
                  "sides whose product is the " + std::to_string(length) + " tokens",
                  got.empty() ? "none" : got);
}

Status CheckTree(const AttentionInputs& inputs, std::int64_t length) {
  INTERLACER_RETURN_IF_ERROR(CheckIntegers("tree.parents", inputs.tree.parents, length));
  INTERLACER_RETURN_IF_ERROR(CheckWithin("tree.parents", inputs.tree.parents, -1,
                                         static_cast<double>(length - 1),
                                         "-1 or an index of a token"));
  if (inputs.tree.weights.defined()) {
    INTERLACER_RETURN_IF_ERROR(CheckReal("tree.weights", inputs.tree.weights, {length}));
    INTERLACER_RETURN_IF_ERROR(
        CheckWithin("tree.weights", inputs.tree.weights, 0, 1e6, "lengths in [0, 1e6]"));
  }
  const torch::Tensor parents = inputs.tree.parents.contiguous();
  const std::int64_t* parent = parents.const_data_ptr<std::int64_t>();
  // 0: not seen, 1: on the way up from the present token, 2: leads to a root.
  std::vector<char> state(static_cast<std::size_t>(length), 0);
  for (std::int64_t start = 0; start < length; ++start) {
    std::int64_t at = start;
    while (at != -1 && state[at] == 0) {
      state[at] = 1;
      at = parent[at];
    }
    if (at != -1 && state[at] == 1) {
      return Mismatch(reason::SCHEMA_INVALID, "tree.parents", "a forest",
                      "a cycle through token " + std::to_string(at));
    }
    for (at = start; at != -1 && state[at] == 1; at = parent[at]) state[at] = 2;
  }
  return Status::Ok();
}

Status CheckMask(const AttentionInputs& inputs) {
  // Where logits get -inf a pair does not count.
  const torch::Tensor mask =
      IsReal(inputs.mask)
          ? inputs.mask.masked_fill(inputs.mask == -std::numeric_limits<double>::infinity(), 0)
          : inputs.mask;
  const std::int64_t length = inputs.length();
  return mask.dim() == 3
             ? CheckReal("mask", mask, {inputs.heads(), length, length}, inputs.q.scalar_type())
             : CheckReal("mask", mask, {length, length}, inputs.q.scalar_type());
}

bool IsGiven(const AttentionInputs& inputs, const std::string& name) {
  if (name == "graph") return inputs.graph.offsets.defined();
  if (name == "grid") return !inputs.grid.empty();
  if (name == "positions") return inputs.positions.defined();
  if (name == "segments") return inputs.segments.defined();
  if (name == "tree") return inputs.tree.parents.defined();
  if (name == "mask") return inputs.mask.defined();
  return inputs.gates.defined();
}

}  // namespace

torch::Tensor AttentionInputs::KeyMask() const {
  if (!key_mask.defined()) return at::ones({batch(), 1, length(), 1}, q.options());
  return key_mask.to(q.scalar_type()).reshape({batch(), 1, length(), 1});
}

AttentionInputs AttentionInputs::Between(std::int64_t first, std::int64_t last) const {
  AttentionInputs between = *this;
  for (torch::Tensor* tensor : {&between.q, &between.k, &between.v}) {
    *tensor = tensor->slice(2, first, last);
  }
  if (key_mask.defined()) between.key_mask = key_mask.slice(1, first, last);
  return between;
}

Status CheckInputs(const AttentionInputs& inputs, const std::vector<std::string>& needed,
                   std::int64_t class_tokens) {
  INTERLACER_RETURN_IF_ERROR(CheckTokens(inputs));
  if (class_tokens > 0 && class_tokens >= inputs.length()) {
    return Mismatch(reason::CONFIG_INVALID, "options.class_tokens",
                    "fewer than the " + std::to_string(inputs.length()) + " tokens",
                    std::to_string(class_tokens));
  }
  if (inputs.step < 0) {
    return Mismatch(reason::SCHEMA_INVALID, "step", "a number >= 0", std::to_string(inputs.step));
  }
  const std::int64_t placed = inputs.length() - class_tokens;
  for (const std::string& name : needed) {
    if (!IsGiven(inputs, name)) {
      return Mismatch(reason::SCHEMA_INVALID, name, "this input, which the mechanism needs",
                      "nothing");
    }
  }
  const auto reads = [&](const char* name) {
    return std::find(needed.begin(), needed.end(), name) != needed.end();
  };
  if (inputs.key_mask.defined()) INTERLACER_RETURN_IF_ERROR(CheckKeyMask(inputs));
  if (reads("graph")) INTERLACER_RETURN_IF_ERROR(CheckGraph(inputs, placed));
  if (reads("grid")) INTERLACER_RETURN_IF_ERROR(CheckGrid(inputs, placed));
  if (reads("positions")) {
    INTERLACER_RETURN_IF_ERROR(CheckReal("positions", inputs.positions, {placed, -1}));
    if (inputs.positions.size(1) < 1) {
      return BadShape("positions", "at least one coordinate", inputs.positions);
    }
  }
  if (reads("segments")) {
    INTERLACER_RETURN_IF_ERROR(CheckIntegers("segments", inputs.segments, placed));
    INTERLACER_RETURN_IF_ERROR(
        CheckWithin("segments", inputs.segments, 0, static_cast<double>(kMaxSide), "ids >= 0"));
  }
  if (reads("tree")) INTERLACER_RETURN_IF_ERROR(CheckTree(inputs, placed));
  if (reads("mask")) INTERLACER_RETURN_IF_ERROR(CheckMask(inputs));
  if (reads("gates")) {
    INTERLACER_RETURN_IF_ERROR(CheckReal("gates", inputs.gates,
                                         {inputs.batch(), inputs.heads(), inputs.length()},
                                         inputs.q.scalar_type()));
    INTERLACER_RETURN_IF_ERROR(CheckWithin("gates", inputs.gates, 0, 1, "numbers in [0,1]"));
  }
  return Status::Ok();
}

}  // namespace interlacer::attention
