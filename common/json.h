#pragma once

/// Reads JSON files and fields, with errors that name the path of the offending field; the wrapper
/// of nlohmann-json.
///
/// A JsonObject is a view: the document must outlive it. Every error carries `reason` (that of the
/// document: SCHEMA_INVALID, CONFIG_INVALID, ...), the field path such as "cameras[1].fx_px" and
/// expected and got. Errors of files: those of common/file_io.h. Thread-safety: const.

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace interlacer {

inline constexpr std::int64_t kMaxJsonBytes = std::int64_t{64} << 20;

/// Refuses texts that are no JSON and keys that stand twice; `origin` (a path) is then the field.
StatusOr<nlohmann::json> ParseJson(std::string_view text, const std::string& origin,
                                   std::string_view reason = reason::SCHEMA_INVALID);
StatusOr<nlohmann::json> ReadJsonFile(const std::string& path,
                                      std::string_view reason = reason::SCHEMA_INVALID);
/// Valid UTF-8 whatever the texts hold: bytes that are none become \xNN in them, and characters
/// that steer a terminal are JSON escapes. `indent` < 0: one line.
std::string JsonText(const nlohmann::ordered_json& value, int indent);
/// Indented, with a final line break; temporary name and rename.
Status WriteJsonFile(const std::string& path, const nlohmann::ordered_json& value);

class JsonObject {
 public:
  /// Refuses values that are no objects; `path` is put before the names of fields.
  static StatusOr<JsonObject> Make(const nlohmann::json& value, std::string path = "",
                                   std::string_view reason = reason::SCHEMA_INVALID);

  bool Has(std::string_view key) const;
  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view key) const;

  /// A required field. T: bool, int, std::int64_t, std::uint64_t, double (finite), std::string,
  /// std::vector of double, std::int64_t or std::string.
  template <typename T>
  StatusOr<T> Get(std::string_view key) const;
  /// The default if the field is absent; a field of the wrong type stays an error.
  template <typename T>
  StatusOr<T> GetOr(std::string_view key, T default_value) const {
    if (!Has(key)) return default_value;
    return Get<T>(key);
  }

  /// A required list of exactly `count` finite numbers.
  StatusOr<std::vector<double>> GetNumbers(std::string_view key, std::size_t count) const;
  StatusOr<JsonObject> GetObject(std::string_view key) const;
  StatusOr<std::vector<JsonObject>> GetObjects(std::string_view key) const;

  /// Refuses keys outside the list, so that a misspelt option is not ignored.
  Status AllowOnly(std::initializer_list<std::string_view> keys) const;

  /// An error at a field of this object, in the document's reason.
  Status Invalid(std::string_view key, std::string expected, std::string got) const;

  /// The value of a required field, whatever its type.
  StatusOr<const nlohmann::json*> Find(std::string_view key) const;

 private:
  JsonObject(const nlohmann::json& value, std::string path, std::string_view reason)
      : value_(&value), path_(std::move(path)), reason_(reason) {}

  const nlohmann::json* value_;
  std::string path_;
  std::string reason_;
};

}  // namespace interlacer
