#pragma once

/// Writes MCAP files that every reader opens: chunks of Zstandard with CRC and message index,
/// metadata, attachments, summary with schemas, channels, statistics and indices.
///
/// The file is written beside its name and renamed by Finish; what is not finished is removed.
/// Memory: one chunk. Errors: FAILED_PRECONDITION FILE_UNWRITABLE. Threads: one at a time.
/// Source: mcap-spec.

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "data/mcap/mcap_records.h"
#include "data/mcap/message_file.h"

namespace interlacer {

class McapWriter {
 public:
  /// `profile` says what topics and messages are, such as "ros2".
  static StatusOr<std::unique_ptr<McapWriter>> Create(const std::string& path,
                                                      std::string_view profile = "");
  ~McapWriter();
  McapWriter(const McapWriter&) = delete;
  McapWriter& operator=(const McapWriter&) = delete;

  /// Before the first message: what is in front is read of a cut file too.
  Status WriteMetadata(const FileMetadata& metadata);
  /// A file by its name. Before the first message, as metadata.
  Status WriteAttachment(std::string_view name, std::string_view media_type,
                         std::span<const std::uint8_t> data);
  /// `schema_data` describes messages of `schema_name`, such as a FileDescriptorSet of "protobuf";
  /// equal schemas are written once. Gives the channel.
  std::uint16_t AddChannel(std::string_view topic, std::string_view message_encoding,
                           std::string_view schema_name, std::string_view schema_encoding,
                           std::span<const std::uint8_t> schema_data);
  Status Write(std::uint16_t channel, std::int64_t log_time_ns, std::span<const std::uint8_t> data);
  Status Finish();

 private:
  struct ChunkIndex {
    std::uint64_t first_time_ns = 0, last_time_ns = 0, offset = 0, length = 0;
    std::map<std::uint16_t, std::uint64_t> message_index_offsets;
    std::uint64_t message_index_length = 0, stored_size = 0, size = 0;
  };

  McapWriter(std::FILE* file, std::string path, std::string partial_path);
  Status Put(std::span<const std::uint8_t> bytes);
  Status PutRecord(mcap::Opcode opcode, std::span<const std::uint8_t> content);
  Status FlushChunk();
  Status PutSummary();

  std::FILE* file_;
  std::string path_, partial_path_;
  bool is_finished_ = false;
  std::uint64_t offset_ = 0;  // bytes written
  std::uint32_t crc_ = 0;     // of the section being written
  std::map<std::string, std::uint16_t> schema_ids_;
  std::vector<std::vector<std::uint8_t>> schemas_, channels_;  // contents of their records
  std::vector<std::uint64_t> message_counts_;                  // by channel - 1
  std::uint64_t first_time_ns_ = 0, last_time_ns_ = 0, message_count_ = 0;
  mcap::ByteWriter chunk_;
  /// Of the open chunk: times and offsets of messages by channel.
  std::map<std::uint16_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> chunk_messages_;
  std::vector<ChunkIndex> chunk_indices_;
  std::vector<std::vector<std::uint8_t>> metadata_indices_, attachment_indices_;  // contents
};

}  // namespace interlacer
