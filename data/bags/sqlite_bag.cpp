#include "data/bags/sqlite_bag.h"

#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "common/file_io.h"
#include "common/values_of_bytes.h"
#include "data/mcap/compression.h"
#include "data/mcap/mcap_reader.h"

namespace interlacer {
namespace {

using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

/// Of a path: what SQLite would read as an option of its address is written in hexadecimal.
std::string AddressOf(const std::string& path) {
  std::string address = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      char hex[8];
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned char>(c));
      address += hex;
    } else {
      address += c;
    }
  }
  return address;
}

/// Whether the file has the pages that its header counts. SQLite takes what lies beyond the end of
/// a cut file for zeros, also in the middle of a message.
Status CheckLength(const std::string& path) {
  std::array<char, 100> text{};
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), text.size());
  const auto* const head = reinterpret_cast<const std::uint8_t*>(text.data());
  // The count is valid where the last change was made by who writes it.
  const auto change = BigEndianNumber<std::uint32_t>(head + 24);
  if (!file || change != BigEndianNumber<std::uint32_t>(head + 92)) return Status();
  const auto page_size = BigEndianNumber<std::uint16_t>(head + 16);
  const std::int64_t page_bytes = page_size == 1 ? 65536 : page_size;
  const std::int64_t expected = page_bytes * BigEndianNumber<std::uint32_t>(head + 28);
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t got, FileSizeBytes(path));
  if (got >= expected) return Status();
  return Mismatch(reason::FILE_UNREADABLE, path,
                  std::to_string(expected) + " bytes, as its header says",
                  std::to_string(got) +
                      ": the file is cut; copy it anew, or save what is left by `sqlite3 FILE "
                      ".recover | sqlite3 NEW.db3`");
}

class SqliteBag : public MessageFile {
 public:
  explicit SqliteBag(const std::string& path) { path_ = path; }
  ~SqliteBag() override {
    read_.reset();
    sqlite3_close(base_);
  }

  Status Open() {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path_, error)) {
      return NotFound(reason::FILE_NOT_FOUND, path_ + ": no such file").WithField(path_);
    }
    INTERLACER_RETURN_IF_ERROR(CheckLength(path_));
    // A bag that nobody writes any more needs no files beside it, which its folder may forbid.
    const bool has_journal = std::filesystem::exists(path_ + "-wal", error);
    const std::string address = AddressOf(path_) + (has_journal ? "" : "?immutable=1");
    const int code =
        sqlite3_open_v2(address.c_str(), &base_,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, nullptr);
    if (code != SQLITE_OK) return Failed("cannot be opened");
    return ReadTopics();
  }

  Status Scan(const Visitor& visit) override {
    INTERLACER_ASSIGN_OR_RETURN(
        const Statement rows,
        Prepare("SELECT id, topic_id, timestamp, data FROM messages ORDER BY id"));
    std::int64_t count = 0;
    int code;
    while ((code = sqlite3_step(rows.get())) == SQLITE_ROW) {
      const auto topic = topic_indices_.find(sqlite3_column_int64(rows.get(), 1));
      if (topic == topic_indices_.end()) continue;
      std::vector<std::uint8_t> unpacked;
      auto data = BlobOf(rows.get(), 3);
      if (Unpack(data, &unpacked)) data = unpacked;
      const auto row = static_cast<std::uint64_t>(sqlite3_column_int64(rows.get(), 0));
      INTERLACER_RETURN_IF_ERROR(visit({topic->second,
                                        sqlite3_column_int64(rows.get(), 2),
                                        data,
                                        {row, 0, data.size(), false}}));
      ++count;
    }
    if (code != SQLITE_DONE) {
      findings_.push_back({"FILE_CUT",
                           "the file is damaged (" + std::string(sqlite3_errmsg(base_)) +
                               "); its first " + std::to_string(count) + " messages were read",
                           path_});
    }
    return Status::Ok();
  }

  StatusOr<MessageBytes> Read(const MessageAddress& address) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!read_) {
      INTERLACER_ASSIGN_OR_RETURN(read_, Prepare("SELECT data FROM messages WHERE id = ?"));
    }
    sqlite3_reset(read_.get());
    sqlite3_bind_int64(read_.get(), 1, static_cast<sqlite3_int64>(address.record));
    if (sqlite3_step(read_.get()) != SQLITE_ROW) return Failed("changed while it was read");
    const auto blob = BlobOf(read_.get(), 0);
    const auto bytes = std::make_shared<std::vector<std::uint8_t>>();
    if (!Unpack(blob, bytes.get())) bytes->assign(blob.begin(), blob.end());
    return MessageBytes{bytes, *bytes};
  }

 private:
  static std::span<const std::uint8_t> BlobOf(sqlite3_stmt* row, int column) {
    const auto* const data = static_cast<const std::uint8_t*>(sqlite3_column_blob(row, column));
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
  }
  /// Messages of bags that were recorded with --compression-mode message; false where a message is
  /// not compressed, or not whole. No message of ROS begins as a frame of Zstandard does.
  static bool Unpack(std::span<const std::uint8_t> blob, std::vector<std::uint8_t>* data) {
    const auto size = ZstdSize(blob);
    if (!size || *size > kMaxMcapRecordBytes) return false;
    auto unpacked = Decompress("zstd", {blob.begin(), blob.end()}, *size);
    if (!unpacked.ok() || !unpacked->is_whole) return false;
    *data = std::move(unpacked->data);
    return true;
  }
  static std::string TextOf(sqlite3_stmt* row, int column) {
    const auto bytes = BlobOf(row, column);
    return {bytes.begin(), bytes.end()};
  }

  Status Failed(const std::string& what) const {
    return InvalidArgument(reason::FILE_UNREADABLE,
                           path_ + ": " + what + ": " + sqlite3_errmsg(base_))
        .WithField(path_);
  }

  StatusOr<Statement> Prepare(const char* query) const {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(base_, query, -1, &made, nullptr) != SQLITE_OK) {
      return Mismatch(
          reason::SCHEMA_INVALID, path_,
          "a ROS 2 bag: SQLite tables topics (id, name, type, serialization_format) and "
          "messages (id, topic_id, timestamp, data)",
          sqlite3_errmsg(base_));
    }
    return Statement(made, &sqlite3_finalize);
  }

  Status ReadTopics() {
    INTERLACER_ASSIGN_OR_RETURN(
        const Statement rows,
        Prepare("SELECT id, name, type, serialization_format FROM topics ORDER BY id"));
    int code;
    while ((code = sqlite3_step(rows.get())) == SQLITE_ROW) {
      topic_indices_.emplace(sqlite3_column_int64(rows.get(), 0), static_cast<int>(topics_.size()));
      topics_.push_back({TextOf(rows.get(), 1), TextOf(rows.get(), 2), TextOf(rows.get(), 3)});
    }
    return code == SQLITE_DONE ? Status::Ok() : Failed("its table of topics is damaged");
  }

  sqlite3* base_ = nullptr;
  std::map<std::int64_t, int> topic_indices_;
  mutable std::mutex mutex_;  // guards the statement
  mutable Statement read_{nullptr, &sqlite3_finalize};
};

}  // namespace

StatusOr<std::unique_ptr<MessageFile>> OpenSqliteBag(const std::string& path) {
  auto bag = std::make_unique<SqliteBag>(path);
  INTERLACER_RETURN_IF_ERROR(bag->Open());
  return std::unique_ptr<MessageFile>(std::move(bag));
}

}  // namespace interlacer
