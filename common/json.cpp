#include "common/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "common/file_io.h"
#include "common/printable_text.h"

namespace interlacer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxShownBytes = 60;

/// The offending value, shortened for an error message.
std::string Shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMaxShownBytes) text = text.substr(0, kMaxShownBytes) + "...";
  return text;
}

/// The same document with texts and keys of valid UTF-8.
nlohmann::ordered_json WithValidTexts(const nlohmann::ordered_json& value) {
  if (value.is_string()) return ValidUtf8(value.get_ref<const std::string&>());
  if (!value.is_structured()) return value;
  nlohmann::ordered_json copy =
      value.is_array() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::object();
  for (const auto& [key, item] : value.items()) {
    if (value.is_array()) {
      copy.push_back(WithValidTexts(item));
    } else {
      copy[ValidUtf8(key)] = WithValidTexts(item);
    }
  }
  return copy;
}

/// nlohmann-json escapes the controls below U+0020 alone. All others have two or three bytes, but
/// for DEL, and can stand in texts only.
std::string WithoutSteering(const std::string& text) {
  if (PrintableText(text).size() == text.size()) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view character(&text[i],
                                     Utf8CharacterBytes(std::string_view(text).substr(i)));
    i += character.size();
    if (PrintableText(character) == character) {
      out += character;
    } else {
      const std::string quoted = Json(character).dump(-1, ' ', true);
      out += std::string_view(quoted).substr(1, quoted.size() - 2);
    }
  }
  return out;
}

template <typename T>
struct Field;

template <>
struct Field<bool> {
  static constexpr char kExpected[] = "true or false";
  static std::optional<bool> Read(const Json& v) {
    if (!v.is_boolean()) return std::nullopt;
    return v.get<bool>();
  }
};

template <>
struct Field<double> {
  static constexpr char kExpected[] = "a finite number";
  static std::optional<double> Read(const Json& v) {
    if (!v.is_number() || !std::isfinite(v.get<double>())) return std::nullopt;
    return v.get<double>();
  }
};

template <>
struct Field<std::int64_t> {
  static constexpr char kExpected[] = "an integer of 64 bits";
  static std::optional<std::int64_t> Read(const Json& v) {
    if (v.is_number_float()) {  // 96.0, as tools write that have floats alone
      constexpr double kMostExact = 9007199254740992;  // 2^53
      const double value = v.get<double>();
      if (std::trunc(value) != value || std::abs(value) > kMostExact) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    if (!v.is_number_integer()) return std::nullopt;
    if (v.is_number_unsigned() &&
        v.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return std::nullopt;
    }
    return v.get<std::int64_t>();
  }
};

template <>
struct Field<std::uint64_t> {
  static constexpr char kExpected[] = "an integer from 0 to 2^64-1";
  static std::optional<std::uint64_t> Read(const Json& v) {
    if (!v.is_number_unsigned()) return std::nullopt;
    return v.get<std::uint64_t>();
  }
};

template <>
struct Field<int> {
  static constexpr char kExpected[] = "an integer of 32 bits";
  static std::optional<int> Read(const Json& v) {
    const auto wide = Field<std::int64_t>::Read(v);
    if (!wide || *wide < std::numeric_limits<int>::min() ||
        *wide > std::numeric_limits<int>::max()) {
      return std::nullopt;
    }
    return static_cast<int>(*wide);
  }
};

template <>
struct Field<std::string> {
  static constexpr char kExpected[] = "a text";
  static std::optional<std::string> Read(const Json& v) {
    if (!v.is_string()) return std::nullopt;
    return v.get<std::string>();
  }
};

template <typename T>
struct Field<std::vector<T>> {
  static constexpr char kExpected[] = "a list of items of one type";
  static std::optional<std::vector<T>> Read(const Json& v) {
    if (!v.is_array()) return std::nullopt;
    std::vector<T> items;
    for (const Json& item : v) {
      auto read = Field<T>::Read(item);
      if (!read) return std::nullopt;
      items.push_back(*std::move(read));
    }
    return items;
  }
};

}  // namespace

namespace {

/// What is written or compared goes down by recursion.
constexpr int kMaxJsonDepth = 64;

}  // namespace

StatusOr<Json> ParseJson(std::string_view text, const std::string& origin,
                         std::string_view reason) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return Mismatch(reason, origin, "JSON in UTF-8", "UTF-16; iconv -f UTF-16 -t UTF-8 turns it");
  }
  std::optional<std::string> twice;
  bool is_too_deep = false;
  std::vector<std::set<std::string>> keys;  // of the open objects, by depth
  const auto look_for_twins = [&](int depth, Json::parse_event_t event, const Json& value) {
    const auto inside = static_cast<std::size_t>(depth) + 1;
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (is_too_deep || (opens && depth >= kMaxJsonDepth)) {
      is_too_deep = true;
      return false;
    }
    if (event == Json::parse_event_t::object_start) {
      if (keys.size() <= inside) keys.resize(inside + 1);
      keys[inside].clear();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys[inside - 1].insert(key).second && !twice) twice = key;
    }
    return true;
  };
  try {
    Json document = Json::parse(text, look_for_twins);
    if (is_too_deep) {
      return Mismatch(reason, origin,
                      "objects and lists in at most " + std::to_string(kMaxJsonDepth) + " levels",
                      "more");
    }
    if (!twice) return document;
    return Mismatch(reason, origin, "each key of an object once", "\"" + *twice + "\" again");
  } catch (const Json::exception& error) {
    return InvalidArgument(reason, origin + " is not valid JSON: " + error.what())
        .WithField(origin);
  }
}

StatusOr<Json> ReadJsonFile(const std::string& path, std::string_view reason) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxJsonBytes));
  return ParseJson(text, path, reason);
}

Status WriteJsonFile(const std::string& path, const nlohmann::ordered_json& value) {
  return WriteFileAtomic(path, JsonText(value, 1) + "\n");
}

std::string JsonText(const nlohmann::ordered_json& value, int indent) {
  try {
    return WithoutSteering(value.dump(indent));
  } catch (const Json::type_error&) {  // a text that is no UTF-8
    return WithoutSteering(WithValidTexts(value).dump(indent));
  }
}

StatusOr<JsonObject> JsonObject::Make(const Json& value, std::string path,
                                      std::string_view reason) {
  if (!value.is_object()) {
    return Mismatch(reason, path.empty() ? "document" : path, "an object", Shown(value));
  }
  return JsonObject(value, std::move(path), reason);
}

bool JsonObject::Has(std::string_view key) const { return value_->contains(key); }

std::string JsonObject::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Status JsonObject::Invalid(std::string_view key, std::string expected, std::string got) const {
  return Mismatch(reason_, PathOf(key), std::move(expected), std::move(got));
}

StatusOr<const Json*> JsonObject::Find(std::string_view key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) return Invalid(key, "a value", "no such field");
  return &*found;
}

template <typename T>
StatusOr<T> JsonObject::Get(std::string_view key) const {
  INTERLACER_ASSIGN_OR_RETURN(const Json* value, Find(key));
  auto read = Field<T>::Read(*value);
  if (!read) return Invalid(key, Field<T>::kExpected, Shown(*value));
  return *std::move(read);
}

template StatusOr<bool> JsonObject::Get(std::string_view) const;
template StatusOr<int> JsonObject::Get(std::string_view) const;
template StatusOr<std::int64_t> JsonObject::Get(std::string_view) const;
template StatusOr<std::uint64_t> JsonObject::Get(std::string_view) const;
template StatusOr<double> JsonObject::Get(std::string_view) const;
template StatusOr<std::string> JsonObject::Get(std::string_view) const;
template StatusOr<std::vector<double>> JsonObject::Get(std::string_view) const;
template StatusOr<std::vector<std::int64_t>> JsonObject::Get(std::string_view) const;
template StatusOr<std::vector<std::string>> JsonObject::Get(std::string_view) const;

StatusOr<std::vector<double>> JsonObject::GetNumbers(std::string_view key,
                                                     std::size_t count) const {
  INTERLACER_ASSIGN_OR_RETURN(const Json* value, Find(key));
  auto numbers = Field<std::vector<double>>::Read(*value);
  if (!numbers || numbers->size() != count) {
    return Invalid(key, "a list of " + std::to_string(count) + " finite numbers", Shown(*value));
  }
  return *std::move(numbers);
}

StatusOr<JsonObject> JsonObject::GetObject(std::string_view key) const {
  INTERLACER_ASSIGN_OR_RETURN(const Json* value, Find(key));
  return Make(*value, PathOf(key), reason_);
}

StatusOr<std::vector<JsonObject>> JsonObject::GetObjects(std::string_view key) const {
  INTERLACER_ASSIGN_OR_RETURN(const Json* value, Find(key));
  if (!value->is_array()) return Invalid(key, "a list of objects", Shown(*value));
  std::vector<JsonObject> objects;
  for (const Json& item : *value) {
    const std::string item_path = PathOf(key) + "[" + std::to_string(objects.size()) + "]";
    INTERLACER_ASSIGN_OR_RETURN(JsonObject object, Make(item, item_path, reason_));
    objects.push_back(std::move(object));
  }
  return objects;
}

Status JsonObject::AllowOnly(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string known;
    for (std::string_view k : keys) known += (known.empty() ? "" : ", ") + std::string(k);
    return Invalid(key, "one of " + known, "an unknown field");
  }
  return Status::Ok();
}

}  // namespace interlacer
