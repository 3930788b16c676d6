#include "server/transport/request_headers.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/base64.h"
#include "server/convert/grpc_status.h"
#include "server/transport/header_block.h"

namespace interlacer {
namespace {

constexpr std::size_t kFieldOverheadBytes = 32;
constexpr int kNoDigit = -1;

/// The value of each byte as a digit of base64. A table, because clients decide how many there are.
constexpr std::array<std::int8_t, 256> kBase64Values = [] {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::int8_t, 256> values{};
  values.fill(kNoDigit);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<std::uint8_t>(kDigits[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

int Base64Value(char c) { return kBase64Values[static_cast<std::uint8_t>(c)]; }

/// Whether the library can decode it: padded or not, and without bits that belong to no byte.
bool IsBase64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (!std::all_of(text.begin(), text.end(), [](char c) { return Base64Value(c) != kNoDigit; })) {
    return false;
  }
  constexpr std::array<int, 4> kUnusedBits = {0, 6, 4, 2};
  const int unused_bits = kUnusedBits[text.size() % 4];
  if (unused_bits == 6) return false;  // one digit more than whole bytes have
  return unused_bits == 0 || Base64Value(text.back()) % (1 << unused_bits) == 0;
}

bool IsHeaderName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

bool IsRequestPseudoField(std::string_view name) {
  return name == ":method" || name == ":scheme" || name == ":path" || name == ":authority";
}

/// HTTP allows tabs and bytes above ASCII.
bool IsHeaderValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return c == '\t' || (static_cast<std::uint8_t>(c) >= 0x20 && c != 0x7f);
  });
}

/// What a field lacks, or "".
std::string Expected(std::string_view name, std::string_view value) {
  if (name.starts_with(':') ? !IsRequestPseudoField(name) : !IsHeaderName(name)) {
    return "a name of a-z, 0-9 and marks";
  }
  if (!IsHeaderValue(value)) return "no control characters";
  if (name == "te" && value != "trailers") return "trailers";
  if (name == ":scheme" && value != "http" && value != "https") return "http or https";
  return "";
}

/// Meant for load balancers; the library reads it in a form of its own and may abort over it.
bool IsDropped(std::string_view name) { return name == "grpclb_client_stats"; }

/// Bytes as they are, after a zero, from clients that know gRPC's setting for it.
bool IsRawBinary(std::string_view value) { return value.starts_with('\0'); }

}  // namespace

void RequestHeaders::Add(std::string_view name, std::string_view value) {
  if (!status_.ok()) return;
  list_bytes_ += name.size() + value.size() + kFieldOverheadBytes;
  if (list_bytes_ > kMaxHeaderListBytes) {
    status_ =
        ResourceExhausted(reason::HOST_MEMORY, "the headers of a call are larger than " +
                                                   std::to_string(kMaxHeaderListBytes) + " bytes")
            .WithMetadata("limit", std::to_string(kMaxHeaderListBytes));
    return;
  }
  const auto refuse = [&](const std::string& expected) {
    status_ = InvalidArgument(reason::ARGUMENT_INVALID,
                              "expected " + expected + " in header " + std::string(name))
                  .WithMetadata("expected", expected);
  };
  const bool is_binary = name.ends_with("-bin");
  const bool is_raw = is_binary && IsRawBinary(value);
  const std::string expected = Expected(name, is_raw ? "" : value);
  if (!expected.empty()) return refuse(expected);
  if (IsDropped(name)) return;
  if (name == ":path") path_ = value;
  if (!is_binary || is_raw) return AppendHeaderField(name, value, &block_);
  // Several values of one name may come as one, with commas.
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    std::string_view one = value.substr(begin, end - begin);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (!IsBase64(one)) return refuse("base64");
    AppendHeaderField(name, one, &block_);
    begin = end + 1;
  }
}

std::string StatusBlock(const Status& status) {
  const grpc::Status converted = ToGrpcStatus(status);
  const std::string details = converted.error_details();
  std::string message;
  for (const char c : converted.error_message()) {
    message += c == '%' ? std::string("%25") : std::string(1, c);
  }
  std::string block;
  AppendHeaderField(":status", "200", &block);
  AppendHeaderField("content-type", "application/grpc", &block);
  AppendHeaderField("grpc-status", std::to_string(converted.error_code()), &block);
  AppendHeaderField("grpc-message", message, &block);
  AppendHeaderField("grpc-status-details-bin",
                    Base64({reinterpret_cast<const std::uint8_t*>(details.data()), details.size()}),
                    &block);
  return block;
}

}  // namespace interlacer
