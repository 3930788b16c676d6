#include "data/mcap/mcap_writer.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "common/file_io.h"
#include "common/version.h"
#include "data/mcap/compression.h"

namespace interlacer {

using mcap::ByteWriter;
using mcap::Opcode;

namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;
constexpr int kZstdLevel = 1;

void AppendRecord(Opcode opcode, std::span<const std::uint8_t> content, ByteWriter* out) {
  out->Number(static_cast<std::uint8_t>(opcode));
  out->Number<std::uint64_t>(content.size());
  out->Bytes(content);
}

}  // namespace

McapWriter::McapWriter(std::FILE* file, std::string path, std::string partial_path)
    : file_(file), path_(std::move(path)), partial_path_(std::move(partial_path)) {}

StatusOr<std::unique_ptr<McapWriter>> McapWriter::Create(const std::string& path,
                                                         std::string_view profile) {
  const std::string partial_path = path + ".partial";
  std::FILE* const file = std::fopen(partial_path.c_str(), "wbe");
  if (file == nullptr) {
    return CannotWrite(partial_path, std::error_code(errno, std::generic_category()));
  }
  std::unique_ptr<McapWriter> writer(new McapWriter(file, path, partial_path));
  INTERLACER_RETURN_IF_ERROR(writer->Put(mcap::kMagic));
  ByteWriter header;
  header.Text(profile);
  header.Text(std::string("interlacer ") + kVersion);
  INTERLACER_RETURN_IF_ERROR(writer->PutRecord(Opcode::kHeader, header.data()));
  return writer;
}

McapWriter::~McapWriter() {
  if (file_ != nullptr) std::fclose(file_);
  std::error_code ignored;
  if (!is_finished_) std::filesystem::remove(partial_path_, ignored);
}

Status McapWriter::Put(std::span<const std::uint8_t> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    return CannotWrite(partial_path_, std::error_code(errno, std::generic_category()));
  }
  offset_ += bytes.size();
  crc_ = Crc32(crc_, bytes);
  return Status::Ok();
}

Status McapWriter::PutRecord(Opcode opcode, std::span<const std::uint8_t> content) {
  ByteWriter head;
  head.Number(static_cast<std::uint8_t>(opcode));
  head.Number<std::uint64_t>(content.size());
  INTERLACER_RETURN_IF_ERROR(Put(head.data()));
  return Put(content);
}

Status McapWriter::WriteMetadata(const FileMetadata& metadata) {
  ByteWriter values;
  for (const auto& [key, value] : metadata.values) {
    values.Text(key);
    values.Text(value);
  }
  ByteWriter record;
  record.Text(metadata.name);
  record.Number(static_cast<std::uint32_t>(values.data().size()));
  record.Bytes(values.data());
  ByteWriter index;
  index.Number(offset_);
  INTERLACER_RETURN_IF_ERROR(PutRecord(Opcode::kMetadata, record.data()));
  index.Number(static_cast<std::uint64_t>(mcap::kRecordHeadBytes + record.data().size()));
  index.Text(metadata.name);
  metadata_indices_.push_back(std::move(index.data()));
  return Status::Ok();
}

Status McapWriter::WriteAttachment(std::string_view name, std::string_view media_type,
                                   std::span<const std::uint8_t> data) {
  constexpr std::uint64_t kNoTime = 0;
  ByteWriter record;
  record.Number(kNoTime);  // of the log
  record.Number(kNoTime);  // of the file
  record.Text(name);
  record.Text(media_type);
  record.Number(static_cast<std::uint64_t>(data.size()));
  record.Bytes(data);
  record.Number(Crc32(0, record.data()));
  ByteWriter index;
  index.Number(offset_);
  INTERLACER_RETURN_IF_ERROR(PutRecord(Opcode::kAttachment, record.data()));
  index.Number(static_cast<std::uint64_t>(mcap::kRecordHeadBytes + record.data().size()));
  index.Number(kNoTime);
  index.Number(kNoTime);
  index.Number(static_cast<std::uint64_t>(data.size()));
  index.Text(name);
  index.Text(media_type);
  attachment_indices_.push_back(std::move(index.data()));
  return Status::Ok();
}

std::uint16_t McapWriter::AddChannel(std::string_view topic, std::string_view message_encoding,
                                     std::string_view schema_name, std::string_view schema_encoding,
                                     std::span<const std::uint8_t> schema_data) {
  const auto [schema, is_new] = schema_ids_.try_emplace(
      std::string(schema_name), static_cast<std::uint16_t>(schema_ids_.size() + 1));
  if (is_new) {
    ByteWriter record;
    record.Number(schema->second);
    record.Text(schema_name);
    record.Text(schema_encoding);
    record.Number(static_cast<std::uint32_t>(schema_data.size()));
    record.Bytes(schema_data);
    AppendRecord(Opcode::kSchema, record.data(), &chunk_);
    schemas_.push_back(std::move(record.data()));
  }
  const auto id = static_cast<std::uint16_t>(channels_.size() + 1);
  ByteWriter record;
  record.Number(id);
  record.Number(schema->second);
  record.Text(topic);
  record.Text(message_encoding);
  record.Number<std::uint32_t>(0);  // metadata
  AppendRecord(Opcode::kChannel, record.data(), &chunk_);
  channels_.push_back(std::move(record.data()));
  message_counts_.push_back(0);
  return id;
}

Status McapWriter::Write(std::uint16_t channel, std::int64_t log_time_ns,
                         std::span<const std::uint8_t> data) {
  const auto time_ns = static_cast<std::uint64_t>(log_time_ns);
  chunk_messages_[channel].emplace_back(time_ns, chunk_.data().size());
  first_time_ns_ = message_count_ == 0 ? time_ns : std::min(first_time_ns_, time_ns);
  last_time_ns_ = std::max(last_time_ns_, time_ns);
  chunk_.Number(static_cast<std::uint8_t>(Opcode::kMessage));
  chunk_.Number<std::uint64_t>(mcap::kMessageHeadBytes + data.size());
  chunk_.Number(channel);
  chunk_.Number(static_cast<std::uint32_t>(message_counts_[channel - 1]));
  chunk_.Number(time_ns);
  chunk_.Number(time_ns);
  chunk_.Bytes(data);
  ++message_counts_[channel - 1];
  ++message_count_;
  return chunk_.data().size() >= kChunkBytes ? FlushChunk() : Status::Ok();
}

Status McapWriter::FlushChunk() {
  if (chunk_.data().empty()) return Status::Ok();
  ChunkIndex index;
  bool is_first = true;
  for (const auto& [channel, messages] : chunk_messages_) {
    for (const auto& [time_ns, offset] : messages) {
      index.first_time_ns = is_first ? time_ns : std::min(index.first_time_ns, time_ns);
      index.last_time_ns = std::max(index.last_time_ns, time_ns);
      is_first = false;
    }
  }
  const std::vector<std::uint8_t> stored = CompressZstd(chunk_.data(), kZstdLevel);
  index.offset = offset_;
  index.size = chunk_.data().size();
  index.stored_size = stored.size();
  ByteWriter record;
  record.Number(index.first_time_ns);
  record.Number(index.last_time_ns);
  record.Number(index.size);
  record.Number(Crc32(0, chunk_.data()));
  record.Text("zstd");
  record.Number(index.stored_size);
  record.Bytes(stored);
  INTERLACER_RETURN_IF_ERROR(PutRecord(Opcode::kChunk, record.data()));
  index.length = offset_ - index.offset;
  const std::uint64_t index_start = offset_;
  for (const auto& [channel, messages] : chunk_messages_) {
    index.message_index_offsets[channel] = offset_;
    ByteWriter entries;
    entries.Number(channel);
    entries.Number(static_cast<std::uint32_t>(messages.size() * 16));
    for (const auto& [time_ns, offset] : messages) {
      entries.Number(time_ns);
      entries.Number(offset);
    }
    INTERLACER_RETURN_IF_ERROR(PutRecord(Opcode::kMessageIndex, entries.data()));
  }
  index.message_index_length = offset_ - index_start;
  chunk_indices_.push_back(std::move(index));
  chunk_.data().clear();
  chunk_messages_.clear();
  return Status::Ok();
}

Status McapWriter::PutSummary() {
  struct Group {
    Opcode opcode;
    std::vector<std::vector<std::uint8_t>> records;
  };
  std::vector<Group> groups = {{Opcode::kSchema, schemas_},
                               {Opcode::kChannel, channels_},
                               {Opcode::kStatistics, {}},
                               {Opcode::kChunkIndex, {}},
                               {Opcode::kAttachmentIndex, attachment_indices_},
                               {Opcode::kMetadataIndex, metadata_indices_}};
  ByteWriter statistics;
  statistics.Number(message_count_);
  statistics.Number(static_cast<std::uint16_t>(schemas_.size()));
  statistics.Number(static_cast<std::uint32_t>(channels_.size()));
  statistics.Number(static_cast<std::uint32_t>(attachment_indices_.size()));
  statistics.Number(static_cast<std::uint32_t>(metadata_indices_.size()));
  statistics.Number(static_cast<std::uint32_t>(chunk_indices_.size()));
  statistics.Number(first_time_ns_);
  statistics.Number(last_time_ns_);
  statistics.Number(static_cast<std::uint32_t>(message_counts_.size() * 10));
  for (std::size_t i = 0; i < message_counts_.size(); ++i) {
    statistics.Number(static_cast<std::uint16_t>(i + 1));
    statistics.Number(message_counts_[i]);
  }
  groups[2].records.push_back(std::move(statistics.data()));
  for (const ChunkIndex& index : chunk_indices_) {
    ByteWriter record;
    record.Number(index.first_time_ns);
    record.Number(index.last_time_ns);
    record.Number(index.offset);
    record.Number(index.length);
    record.Number(static_cast<std::uint32_t>(index.message_index_offsets.size() * 10));
    for (const auto& [channel, offset] : index.message_index_offsets) {
      record.Number(channel);
      record.Number(offset);
    }
    record.Number(index.message_index_length);
    record.Text("zstd");
    record.Number(index.stored_size);
    record.Number(index.size);
    groups[3].records.push_back(std::move(record.data()));
  }
  const std::uint64_t summary_start = offset_;
  std::vector<std::vector<std::uint8_t>> offsets;
  for (const Group& group : groups) {
    if (group.records.empty()) continue;
    ByteWriter offset;
    offset.Number(static_cast<std::uint8_t>(group.opcode));
    offset.Number(offset_);
    const std::uint64_t start = offset_;
    for (const auto& record : group.records) {
      INTERLACER_RETURN_IF_ERROR(PutRecord(group.opcode, record));
    }
    offset.Number(offset_ - start);
    offsets.push_back(std::move(offset.data()));
  }
  const std::uint64_t offsets_start = offset_;
  for (const auto& record : offsets) {
    INTERLACER_RETURN_IF_ERROR(PutRecord(Opcode::kSummaryOffset, record));
  }
  // The CRC reaches to the field before its own.
  ByteWriter footer;
  footer.Number(static_cast<std::uint8_t>(Opcode::kFooter));
  footer.Number<std::uint64_t>(20);
  footer.Number(summary_start);
  footer.Number(offsets_start);
  footer.Number(Crc32(crc_, footer.data()));
  return Put(footer.data());
}

Status McapWriter::Finish() {
  INTERLACER_RETURN_IF_ERROR(FlushChunk());
  ByteWriter data_end;
  data_end.Number(crc_);
  INTERLACER_RETURN_IF_ERROR(PutRecord(Opcode::kDataEnd, data_end.data()));
  crc_ = 0;
  INTERLACER_RETURN_IF_ERROR(PutSummary());
  INTERLACER_RETURN_IF_ERROR(Put(mcap::kMagic));
  const bool is_written = std::fclose(file_) == 0;
  file_ = nullptr;
  if (!is_written) return CannotWrite(path_, std::error_code(errno, std::generic_category()));
  std::error_code error;
  std::filesystem::rename(partial_path_, path_, error);
  if (error) return CannotWrite(path_, error);
  is_finished_ = true;
  return Status::Ok();
}

}  // namespace interlacer
