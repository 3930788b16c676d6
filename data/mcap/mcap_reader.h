#pragma once

/// Reads MCAP files, with or without index and summary, whole or cut.
///
/// The data section is read record by record; chunks without compression, of LZ4 and of Zstandard;
/// CRCs of chunks are checked. What is behind a cut or in a damaged chunk is left out and becomes a
/// finding. Memory: a chunk in a scan, a few of them in Read. As data/mcap/message_file.h.
/// Source: mcap-spec.

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "data/mcap/message_file.h"

namespace interlacer {

/// Largest chunk or message in memory.
inline constexpr std::uint64_t kMaxMcapRecordBytes = std::uint64_t{1} << 30;
/// Of all metadata; what goes beyond is passed over.
inline constexpr std::uint64_t kMaxMcapMetadataBytes = std::uint64_t{1} << 24;

class McapReader : public MessageFile {
 public:
  static StatusOr<std::unique_ptr<McapReader>> Open(const std::string& path);
  ~McapReader() override;

  Status Scan(const Visitor& visit) override;
  StatusOr<MessageBytes> Read(const MessageAddress& address) const override;

 private:
  using Bytes = std::vector<std::uint8_t>;
  /// A chunk's records, as far as they decode.
  struct Chunk {
    Bytes records;
    std::string damage;  ///< empty: none
    /// Where the records lie in the file, if they are not compressed.
    std::optional<std::uint64_t> plain_offset{};
  };
  struct Record {
    std::uint8_t opcode = 0;
    std::uint64_t offset = 0;  ///< of its content in the file
    std::uint64_t size = 0;    ///< of its content, as far as the file goes
    bool is_cut = false;
  };

  McapReader(int file, std::uint64_t size_bytes) : file_(file), size_bytes_(size_bytes) {}
  Status ReadAt(std::uint64_t offset, std::span<std::uint8_t> out) const;
  StatusOr<Bytes> ReadContent(const Record& record) const;
  StatusOr<Record> ReadRecordHead(std::uint64_t offset) const;
  StatusOr<Chunk> ReadChunk(const Record& record) const;
  Status ScanChunk(const Record& record, const Visitor& visit);
  /// A schema, a channel or a message; `base` is where it lies.
  Status Visit(std::uint8_t opcode, std::span<const std::uint8_t> content, MessageAddress base,
               const Visitor& visit);
  void AddSchema(std::span<const std::uint8_t> content);
  void AddChannel(std::span<const std::uint8_t> content);
  void AddMetadata(std::span<const std::uint8_t> content);
  Status AddAttachment(const Record& record);
  void AddFindings(std::uint64_t end, bool is_cut, bool is_finished);

  int file_;
  std::uint64_t size_bytes_;
  std::map<std::uint16_t, std::string> schemas_;  // names
  std::map<std::uint16_t, int> channels_;         // indices of topics
  std::int64_t message_count_ = 0, damaged_message_count_ = 0, damaged_chunk_count_ = 0;
  std::string first_damage_;
  std::uint64_t metadata_bytes_ = 0;

  mutable std::mutex mutex_;  // guards the chunks read last, the newest in front
  mutable std::list<std::pair<std::uint64_t, std::shared_ptr<const Bytes>>> chunks_;
};

}  // namespace interlacer
