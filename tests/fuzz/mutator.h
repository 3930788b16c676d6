#pragma once

/// Damages valid inputs: bytes of a file, fields of a message. A seed gives the same damage again.

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace interlacer::testing {

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  /// Uniform in [0, count).
  std::size_t Below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

  /// One to four small damages: bits, numbers that overflow, cuts, repetitions.
  std::string Bytes(std::string bytes) {
    for (std::size_t i = 1 + Below(4); i > 0; --i) bytes = OneDamage(std::move(bytes));
    return bytes;
  }

  /// One to three fields anywhere in the message set, cleared, doubled or replaced.
  void Message(google::protobuf::Message* message) {
    for (std::size_t i = 1 + Below(3); i > 0; --i) OneField(message);
  }

 private:
  std::string OneDamage(std::string bytes) {
    if (bytes.empty()) return std::string(1 + Below(8), '\xff');
    const std::size_t at = Below(bytes.size());
    const std::size_t length = std::min(bytes.size() - at, std::size_t{1} << Below(10));
    switch (Below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        return bytes;
      case 1:
        bytes[at] = "\0\x01\x7f\x80\xff\"{[,9-"[Below(12)];
        return bytes;
      case 2:
        return bytes.replace(at, std::min<std::size_t>(length, 4), std::string(4, '\xff'));
      case 3:
        return bytes.erase(at, length);
      case 4:
        return bytes.insert(Below(bytes.size()), bytes.substr(at, length));
      case 5:
        return bytes.substr(0, at);
      default:
        return bytes.insert(at, std::string(1 + Below(16), static_cast<char>(Below(256))));
    }
  }

  /// Walks down a random way and damages what is at its end.
  void OneField(google::protobuf::Message* message) {
    using google::protobuf::FieldDescriptor;
    const auto* descriptor = message->GetDescriptor();
    const auto* reflection = message->GetReflection();
    if (descriptor->field_count() == 0) return;
    const FieldDescriptor* field = descriptor->field(
        static_cast<int>(Below(static_cast<std::size_t>(descriptor->field_count()))));
    if (Below(12) == 0) return reflection->ClearField(message, field);
    if (field->is_repeated()) return OneElement(message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return OneField(reflection->MutableMessage(message, field));
    }
    SetScalar(message, field);
  }

  void OneElement(google::protobuf::Message* message,
                  const google::protobuf::FieldDescriptor* field) {
    using google::protobuf::FieldDescriptor;
    const auto* reflection = message->GetReflection();
    const int size = reflection->FieldSize(*message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (size == 0 || Below(8) == 0) {
        auto* added = reflection->AddMessage(message, field);
        if (size > 0) added->CopyFrom(reflection->GetRepeatedMessage(*message, field, 0));
        return;
      }
      if (Below(8) == 0) return reflection->RemoveLast(message, field);
      return OneField(reflection->MutableRepeatedMessage(
          message, field, static_cast<int>(Below(static_cast<std::size_t>(size)))));
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
      reflection->AddInt32(message, field, static_cast<std::int32_t>(Integer()));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      reflection->AddDouble(message, field, Real());
    }
  }

  void SetScalar(google::protobuf::Message* message,
                 const google::protobuf::FieldDescriptor* field) {
    using google::protobuf::FieldDescriptor;
    const auto* r = message->GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r->SetInt32(message, field, static_cast<std::int32_t>(Integer()));
      case FieldDescriptor::CPPTYPE_INT64:
        return r->SetInt64(message, field, Integer());
      case FieldDescriptor::CPPTYPE_UINT32:
        return r->SetUInt32(message, field, static_cast<std::uint32_t>(Integer()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r->SetUInt64(message, field, static_cast<std::uint64_t>(Integer()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r->SetDouble(message, field, Real());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r->SetFloat(message, field, static_cast<float>(Real()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r->SetBool(message, field, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_ENUM:
        return r->SetEnumValue(message, field, static_cast<int>(Below(12)));
      case FieldDescriptor::CPPTYPE_STRING:
        return r->SetString(message, field, Text(r->GetString(*message, field), field));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return;
    }
  }

  /// Names must be UTF-8 to survive parsing; bytes may be anything.
  std::string Text(const std::string& value, const google::protobuf::FieldDescriptor* field) {
    if (field->type() == google::protobuf::FieldDescriptor::TYPE_BYTES) return Bytes(value);
    const std::vector<std::string> texts = {"", "left", "right", "\n", std::string(300, 'x'), "%s"};
    return texts[Below(texts.size())];
  }

  std::int64_t Integer() {
    const std::vector<std::int64_t> numbers = {
        0,         1,         -1,        2,         3,         16,       17,
        64,        65,        255,       4096,      65535,     65536,    46341,
        1'000'000, 1ll << 30, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return numbers[Below(numbers.size())];
  }

  double Real() {
    using Limits = std::numeric_limits<double>;
    const std::vector<double> numbers = {0,
                                         -0.0,
                                         1,
                                         -1,
                                         1e-300,
                                         1e300,
                                         0.5,
                                         1e-3,
                                         15,
                                         1e6,
                                         -1e6,
                                         Limits::quiet_NaN(),
                                         Limits::infinity(),
                                         -Limits::infinity(),
                                         Limits::denorm_min()};
    return numbers[Below(numbers.size())];
  }

  std::mt19937 random_;
};

}  // namespace interlacer::testing
