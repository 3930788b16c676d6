#include "tests/support/hpack_decoder.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <vector>

namespace interlacer {
namespace {

using Block = std::span<const std::uint8_t>;

/// Bytes that a field counts beside its text.
constexpr std::size_t kFieldOverheadBytes = 32;

constexpr std::pair<const char*, const char*> kStaticFields[] = {
    {":authority", ""},
    {":method", "GET"},
    {":method", "POST"},
    {":path", "/"},
    {":path", "/index.html"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "200"},
    {":status", "204"},
    {":status", "206"},
    {":status", "304"},
    {":status", "400"},
    {":status", "404"},
    {":status", "500"},
    {"accept-charset", ""},
    {"accept-encoding", "gzip, deflate"},
    {"accept-language", ""},
    {"accept-ranges", ""},
    {"accept", ""},
    {"access-control-allow-origin", ""},
    {"age", ""},
    {"allow", ""},
    {"authorization", ""},
    {"cache-control", ""},
    {"content-disposition", ""},
    {"content-encoding", ""},
    {"content-language", ""},
    {"content-length", ""},
    {"content-location", ""},
    {"content-range", ""},
    {"content-type", ""},
    {"cookie", ""},
    {"date", ""},
    {"etag", ""},
    {"expect", ""},
    {"expires", ""},
    {"from", ""},
    {"host", ""},
    {"if-match", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"if-range", ""},
    {"if-unmodified-since", ""},
    {"last-modified", ""},
    {"link", ""},
    {"location", ""},
    {"max-forwards", ""},
    {"proxy-authenticate", ""},
    {"proxy-authorization", ""},
    {"range", ""},
    {"referer", ""},
    {"refresh", ""},
    {"retry-after", ""},
    {"server", ""},
    {"set-cookie", ""},
    {"strict-transport-security", ""},
    {"transfer-encoding", ""},
    {"user-agent", ""},
    {"vary", ""},
    {"via", ""},
    {"www-authenticate", ""},
};

/// Length in bits of the code of every byte and of the end of text. The code is canonical: codes of
/// a length ascend with their symbols.
constexpr int kSymbolCount = 257;
constexpr int kEndOfText = 256;
constexpr int kMaxCodeBits = 30;
constexpr std::uint8_t kCodeBits[kSymbolCount] = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30};

/// The codes in order of length and symbol.
struct CodeTable {
  std::array<int, kSymbolCount> symbols;
  std::array<std::uint32_t, kMaxCodeBits + 1> first_code{};
  std::array<int, kMaxCodeBits + 1> first_index{};
  std::array<int, kMaxCodeBits + 1> count{};

  CodeTable() {
    std::iota(symbols.begin(), symbols.end(), 0);
    std::stable_sort(symbols.begin(), symbols.end(),
                     [](int a, int b) { return kCodeBits[a] < kCodeBits[b]; });
    for (const std::uint8_t bits : kCodeBits) ++count[bits];
    for (int bits = 1; bits <= kMaxCodeBits; ++bits) {
      first_code[bits] = (first_code[bits - 1] + count[bits - 1]) << 1;
      first_index[bits] = first_index[bits - 1] + count[bits - 1];
    }
  }
};

bool DecodeHuffman(Block bytes, std::string* text) {
  static const CodeTable table;
  std::uint32_t code = 0;
  int bits = 0;
  for (const std::uint8_t byte : bytes) {
    for (int bit = 7; bit >= 0; --bit) {
      code = code << 1 | (byte >> bit & 1u);
      if (++bits > kMaxCodeBits) return false;
      const std::uint32_t offset = code - table.first_code[bits];
      if (code < table.first_code[bits] || offset >= std::uint32_t(table.count[bits])) continue;
      const int symbol = table.symbols[table.first_index[bits] + static_cast<int>(offset)];
      if (symbol == kEndOfText) return false;
      text->push_back(static_cast<char>(symbol));
      code = 0;
      bits = 0;
    }
  }
  // The rest of the last byte is filled with ones.
  return bits < 8 && code == (1u << bits) - 1;
}

std::optional<std::uint64_t> ReadInteger(int prefix_bits, Block* block) {
  if (block->empty()) return std::nullopt;
  const std::uint64_t limit = (1u << prefix_bits) - 1;
  std::uint64_t value = block->front() & limit;
  *block = block->subspan(1);
  if (value < limit) return value;
  constexpr int kLastShift = 28;
  for (int shift = 0; shift <= kLastShift && !block->empty(); shift += 7) {
    const std::uint8_t byte = block->front();
    *block = block->subspan(1);
    value += std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

bool ReadText(Block* block, std::string* text) {
  if (block->empty()) return false;
  const bool is_huffman = (block->front() & 0x80) != 0;
  const auto size = ReadInteger(7, block);
  if (!size || *size > block->size()) return false;
  const Block bytes = block->first(*size);
  *block = block->subspan(*size);
  if (is_huffman) return DecodeHuffman(bytes, text);
  text->assign(bytes.begin(), bytes.end());
  return true;
}

void AppendText(std::string_view text, std::string* block) {
  constexpr std::size_t kLimit = 127;
  std::size_t size = text.size();
  if (size < kLimit) {
    block->push_back(static_cast<char>(size));
  } else {
    block->push_back(static_cast<char>(kLimit));
    for (size -= kLimit; size >= 128; size >>= 7) block->push_back(static_cast<char>(size | 0x80));
    block->push_back(static_cast<char>(size));
  }
  block->append(text);
}

}  // namespace

bool HpackDecoder::Decode(Block block, const Visit& visit) {
  bool may_resize = true;
  while (!block.empty()) {
    const std::uint8_t first = block.front();
    if ((first & 0x80) != 0) {  // indexed
      const auto index = ReadInteger(7, &block);
      const Field* field = index ? Find(*index) : nullptr;
      if (field == nullptr) return false;
      visit(field->name, field->value);
    } else if ((first & 0xe0) == 0x20) {  // size of the table; only before the fields
      const auto size = ReadInteger(5, &block);
      if (!may_resize || !size || *size > kMaxTableBytes) return false;
      max_table_bytes_ = *size;
      Shrink(max_table_bytes_);
      continue;
    } else {  // literal: with indexing, without, never
      const bool is_inserted = (first & 0xc0) == 0x40;
      const auto index = ReadInteger(is_inserted ? 6 : 4, &block);
      Field field;
      if (!index || !ReadName(*index, &block, &field.name) || !ReadText(&block, &field.value)) {
        return false;
      }
      visit(field.name, field.value);
      if (is_inserted) Insert(std::move(field));
    }
    may_resize = false;
  }
  return true;
}

const HpackDecoder::Field* HpackDecoder::Find(std::uint64_t index) const {
  static const std::vector<Field> fixed = [] {
    std::vector<Field> fields;
    for (const auto& [name, value] : kStaticFields) fields.push_back({name, value});
    return fields;
  }();
  if (index == 0) return nullptr;
  if (index <= fixed.size()) return &fixed[index - 1];
  index -= fixed.size() + 1;
  return index < table_.size() ? &table_[index] : nullptr;
}

bool HpackDecoder::ReadName(std::uint64_t index, Block* block, std::string* name) const {
  if (index == 0) return ReadText(block, name);
  const Field* field = Find(index);
  if (field == nullptr) return false;
  *name = field->name;
  return true;
}

void HpackDecoder::Insert(Field field) {
  const std::size_t bytes = field.name.size() + field.value.size() + kFieldOverheadBytes;
  // One that is too large only empties the table.
  Shrink(max_table_bytes_ - std::min(bytes, max_table_bytes_));
  if (bytes > max_table_bytes_) return;
  table_bytes_ += bytes;
  table_.push_front(std::move(field));
}

void HpackDecoder::Shrink(std::size_t max_bytes) {
  while (table_bytes_ > max_bytes) {
    table_bytes_ -= table_.back().name.size() + table_.back().value.size() + kFieldOverheadBytes;
    table_.pop_back();
  }
}

void AppendHeaderField(std::string_view name, std::string_view value, std::string* block) {
  block->push_back('\0');
  AppendText(name, block);
  AppendText(value, block);
}

}  // namespace interlacer
