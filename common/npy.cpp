#include "common/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "common/checked_math.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are stored little-endian");

constexpr std::array<std::uint8_t, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::size_t kMaxHeaderBytes = 4096;
constexpr std::size_t kMaxDimensions = 8;

struct TypeInfo {
  NpyType type;
  std::string_view descriptor;  ///< without the byte order
  std::int64_t size_bytes;
};
/// The first of a type is how it is written.
constexpr TypeInfo kTypes[] = {
    {NpyType::kFloat16, "f2", 2}, {NpyType::kFloat32, "f4", 4}, {NpyType::kFloat64, "f8", 8},
    {NpyType::kInt8, "i1", 1},    {NpyType::kInt16, "i2", 2},   {NpyType::kInt32, "i4", 4},
    {NpyType::kInt64, "i8", 8},   {NpyType::kUint8, "u1", 1},   {NpyType::kUint16, "u2", 2},
    {NpyType::kUint32, "u4", 4},  {NpyType::kUint64, "u8", 8},  {NpyType::kUint8, "b1", 1}};

const TypeInfo& InfoOf(NpyType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [type](const TypeInfo& info) { return info.type == type; });
}

Status NotNpy(std::string expected, std::string got) {
  return Mismatch(reason::SCHEMA_INVALID, "npy", std::move(expected), std::move(got));
}

/// Text after `'key':` in the header's dictionary, blanks removed.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + quoted.size());
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  return value;
}

/// "(3, 4)" or "(3,)" or "()".
std::optional<std::vector<std::int64_t>> ParseShape(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (text.empty() || text.front() != '(') return std::nullopt;
  text.remove_prefix(1);
  for (;;) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    if (text.front() == ')') return shape;
    std::int64_t side = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
    if (error != std::errc() || side < 0 || shape.size() == kMaxDimensions) return std::nullopt;
    shape.push_back(side);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

/// Values of Fortran order, the first index fastest, with the last index fastest.
std::vector<std::uint8_t> InCOrder(const std::vector<std::uint8_t>& data,
                                   const std::vector<std::int64_t>& shape, std::size_t size_bytes) {
  std::vector<std::uint8_t> ordered(data.size());
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t at = 0; at < data.size(); at += size_bytes) {
    std::int64_t place = 0;
    for (std::size_t side = 0; side < shape.size(); ++side)
      place = place * shape[side] + index[side];
    std::copy_n(&data[at], size_bytes, &ordered[static_cast<std::size_t>(place) * size_bytes]);
    for (std::size_t side = 0; side < shape.size() && ++index[side] == shape[side]; ++side) {
      index[side] = 0;
    }
  }
  return ordered;
}

std::vector<std::uint8_t> Encode(NpyType type, const void* data, std::size_t size_bytes,
                                 std::span<const std::int64_t> shape) {
  const TypeInfo& info = InfoOf(type);
  std::string header = std::string("{'descr': '") + (info.size_bytes == 1 ? "|" : "<") +
                       std::string(info.descriptor) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    header += std::to_string(shape[i]) + (shape.size() == 1 ? "," : "");
    if (i + 1 < shape.size()) header += ", ";
  }
  header += "), }";
  constexpr std::size_t kPrefixBytes = 10, kAlignmentBytes = 64;
  while ((kPrefixBytes + header.size() + 1) % kAlignmentBytes != 0) header += ' ';
  header += '\n';
  std::vector<std::uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.push_back(1);  // version 1.0
  bytes.push_back(0);
  bytes.push_back(static_cast<std::uint8_t>(header.size() & 0xff));
  bytes.push_back(static_cast<std::uint8_t>(header.size() >> 8));
  bytes.insert(bytes.end(), header.begin(), header.end());
  const auto* first = static_cast<const std::uint8_t*>(data);
  bytes.insert(bytes.end(), first, first + size_bytes);
  return bytes;
}

template <typename Stored, typename Value>
std::vector<Value> Converted(const NpyArray& array) {
  const std::vector<Stored> stored = ValuesOfBytes<Stored>(array.data);
  return {stored.begin(), stored.end()};
}

/// IEEE 754 binary16: sign, 5 bits of exponent, 10 of fraction.
std::vector<double> HalvesToDoubles(const NpyArray& array) {
  std::vector<double> values;
  for (const std::uint16_t bits : Converted<std::uint16_t, std::uint16_t>(array)) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 0) value = std::ldexp(fraction, -24);
    if (exponent == 31) {
      value = fraction == 0 ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
    }
    values.push_back((bits & 0x8000) != 0 ? -value : value);
  }
  return values;
}

}  // namespace

std::int64_t NpyArray::element_count() const {
  std::int64_t count = 1;
  for (std::int64_t side : shape) count *= side;
  return count;
}

StatusOr<NpyArray> ParseNpy(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kVersion1Prefix = 10, kVersion2Prefix = 12;
  if (bytes.size() < kVersion2Prefix || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return NotNpy("a NumPy file", "other content of " + std::to_string(bytes.size()) + " bytes");
  }
  const int version = bytes[6];
  if (version < 1 || version > 3) return NotNpy("version 1, 2 or 3", std::to_string(version));
  const std::size_t prefix = version == 1 ? kVersion1Prefix : kVersion2Prefix;
  std::size_t header_bytes = bytes[8] | (std::size_t{bytes[9]} << 8);
  if (version > 1) header_bytes |= (std::size_t{bytes[10]} << 16) | (std::size_t{bytes[11]} << 24);
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - prefix) {
    return NotNpy("a header inside the file", std::to_string(header_bytes) + " bytes of header");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + prefix, header_bytes);

  const std::string_view descriptor = ValueOf(header, "descr");  // '<f8'
  const auto* info = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeInfo& t) {
    return descriptor.size() > 2 &&
           std::string_view("<>|=").find(descriptor[1]) != std::string::npos &&
           descriptor.substr(2).starts_with(std::string(t.descriptor) + "'");
  });
  if (descriptor.substr(0, 1) != "'" || info == std::end(kTypes)) {
    return NotNpy("floats of 16 to 64 bits, integers or truth values",
                  std::string(descriptor.substr(0, 8)));
  }
  const std::string_view order = ValueOf(header, "fortran_order");
  const bool is_fortran = order.starts_with("True");
  if (!is_fortran && !order.starts_with("False")) {
    return NotNpy("fortran_order True or False", std::string(order.substr(0, 8)));
  }
  const auto shape = ParseShape(ValueOf(header, "shape"));
  if (!shape) return NotNpy("a shape of at most 8 sides", "another header");
  std::int64_t byte_count = info->size_bytes;
  for (std::int64_t side : *shape) {
    const auto product = CheckedProduct({byte_count, side});
    if (!product) return NotNpy("a shape that fits the file", "an overflowing one");
    byte_count = *product;
  }
  const std::size_t data_bytes = bytes.size() - prefix - header_bytes;
  if (static_cast<std::uint64_t>(byte_count) != data_bytes) {
    return Mismatch(reason::SHAPE_MISMATCH, "npy", std::to_string(byte_count) + " bytes of data",
                    std::to_string(data_bytes));
  }
  const auto data = bytes.subspan(prefix + header_bytes);
  NpyArray array{info->type, *shape, {data.begin(), data.end()}};
  const auto size_bytes = static_cast<std::size_t>(info->size_bytes);
  if (is_fortran) array.data = InCOrder(array.data, *shape, size_bytes);
  if (descriptor[1] == '>') {
    for (auto value = array.data.begin(); value != array.data.end(); value += info->size_bytes) {
      std::reverse(value, value + info->size_bytes);
    }
  }
  return array;
}

StatusOr<std::vector<double>> NpyToDoubles(const NpyArray& array) {
  switch (array.type) {
    case NpyType::kFloat16:
      return HalvesToDoubles(array);
    case NpyType::kFloat32:
      return Converted<float, double>(array);
    case NpyType::kFloat64:
      return Converted<double, double>(array);
    default:
      break;
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::int64_t> integers, NpyToInt64(array));
  constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;
  for (const std::int64_t value : integers) {
    if (value > kMaxExact || value < -kMaxExact) {
      return NotNpy("integers that a double holds, of at most 2^53", std::to_string(value));
    }
  }
  return std::vector<double>(integers.begin(), integers.end());
}

StatusOr<std::vector<std::int64_t>> NpyToInt64(const NpyArray& array) {
  switch (array.type) {
    case NpyType::kInt8:
      return Converted<std::int8_t, std::int64_t>(array);
    case NpyType::kInt16:
      return Converted<std::int16_t, std::int64_t>(array);
    case NpyType::kInt32:
      return Converted<std::int32_t, std::int64_t>(array);
    case NpyType::kInt64:
      return Converted<std::int64_t, std::int64_t>(array);
    case NpyType::kUint8:
      return Converted<std::uint8_t, std::int64_t>(array);
    case NpyType::kUint16:
      return Converted<std::uint16_t, std::int64_t>(array);
    case NpyType::kUint32:
      return Converted<std::uint32_t, std::int64_t>(array);
    case NpyType::kUint64: {
      std::vector<std::int64_t> values = Converted<std::uint64_t, std::int64_t>(array);
      const auto beyond = std::find_if(values.begin(), values.end(), [](auto v) { return v < 0; });
      if (beyond == values.end()) return values;
      return NotNpy("integers below 2^63", std::to_string(static_cast<std::uint64_t>(*beyond)));
    }
    default:
      return NotNpy("integers", std::string(InfoOf(array.type).descriptor));
  }
}

std::vector<std::uint8_t> EncodeNpy(std::span<const double> values,
                                    std::span<const std::int64_t> shape) {
  return Encode(NpyType::kFloat64, values.data(), values.size_bytes(), shape);
}
std::vector<std::uint8_t> EncodeNpy(std::span<const float> values,
                                    std::span<const std::int64_t> shape) {
  return Encode(NpyType::kFloat32, values.data(), values.size_bytes(), shape);
}
std::vector<std::uint8_t> EncodeNpy(std::span<const std::int64_t> values,
                                    std::span<const std::int64_t> shape) {
  return Encode(NpyType::kInt64, values.data(), values.size_bytes(), shape);
}
std::vector<std::uint8_t> EncodeNpy(std::span<const std::uint8_t> values,
                                    std::span<const std::int64_t> shape) {
  return Encode(NpyType::kUint8, values.data(), values.size_bytes(), shape);
}

}  // namespace interlacer
