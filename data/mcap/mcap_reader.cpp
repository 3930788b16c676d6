#include "data/mcap/mcap_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "data/mcap/compression.h"
#include "data/mcap/mcap_records.h"

namespace interlacer {

using mcap::ByteReader;
using mcap::Opcode;

namespace {

constexpr std::size_t kMostChunksKept = 6;
/// Times, sizes and CRC of a chunk before its compression's name.
constexpr std::uint64_t kLongestChunkHead = 256;
/// Times, names and size of an attachment; longer ones are passed over.
constexpr std::uint64_t kLongestAttachmentHead = 4096;

Status Unreadable(const std::string& path, const std::string& why) {
  return InvalidArgument(reason::FILE_UNREADABLE, path + ": " + why).WithField(path);
}

}  // namespace

StatusOr<std::unique_ptr<McapReader>> McapReader::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) {
      return NotFound(reason::FILE_NOT_FOUND, path + ": no such file").WithField(path);
    }
    return Unreadable(path, std::strerror(errno));
  }
  struct stat facts {};
  const bool is_file = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  std::unique_ptr<McapReader> reader(
      new McapReader(file, is_file ? static_cast<std::uint64_t>(facts.st_size) : 0));
  reader->path_ = path;
  if (!is_file) return Unreadable(path, "expected a regular file");
  std::array<std::uint8_t, mcap::kMagic.size()> magic{};
  if (reader->size_bytes_ >= magic.size()) {
    INTERLACER_RETURN_IF_ERROR(reader->ReadAt(0, magic));
  }
  if (magic != mcap::kMagic) {
    return Mismatch(reason::SCHEMA_INVALID, path,
                    "an MCAP file of version 0, which begins with 89 4D 43 41 50 30 0D 0A",
                    reader->size_bytes_ == 0 ? "an empty file" : "other bytes");
  }
  return reader;
}

McapReader::~McapReader() { close(file_); }

Status McapReader::ReadAt(std::uint64_t offset, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Unreadable(path_, std::strerror(errno));
    if (got == 0) return Unreadable(path_, "became shorter while it was read");
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return Status::Ok();
}

StatusOr<McapReader::Record> McapReader::ReadRecordHead(std::uint64_t offset) const {
  std::array<std::uint8_t, mcap::kRecordHeadBytes> head{};
  INTERLACER_RETURN_IF_ERROR(ReadAt(offset, head));
  ByteReader reader(head);
  Record record{reader.Number<std::uint8_t>(), offset + head.size(), reader.Number<std::uint64_t>(),
                false};
  const std::uint64_t left = size_bytes_ - record.offset;
  record.is_cut = record.size > left;
  record.size = std::min(record.size, left);
  return record;
}

StatusOr<McapReader::Bytes> McapReader::ReadContent(const Record& record) const {
  Bytes content(record.size);
  INTERLACER_RETURN_IF_ERROR(ReadAt(record.offset, content));
  return content;
}

StatusOr<McapReader::Chunk> McapReader::ReadChunk(const Record& record) const {
  Bytes head(std::min(record.size, kLongestChunkHead));
  INTERLACER_RETURN_IF_ERROR(ReadAt(record.offset, head));
  ByteReader reader(head);
  reader.Bytes(16);  // first and last time
  const auto size = reader.Number<std::uint64_t>();
  const auto crc = reader.Number<std::uint32_t>();
  const std::string compression = reader.Text();
  const auto stored_size = reader.Number<std::uint64_t>();
  if (!reader.ok()) return Chunk{{}, "its head does not fit"};
  const std::uint64_t left = record.size - reader.offset();
  if (size > kMaxMcapRecordBytes || std::min(stored_size, left) > kMaxMcapRecordBytes) {
    return Chunk{{},
                 "it has " + std::to_string(std::max(size, stored_size)) + " bytes, more than " +
                     std::to_string(kMaxMcapRecordBytes)};
  }
  if (stored_size > left && !record.is_cut)
    return Chunk{{}, "its length is longer than its record"};
  Bytes stored(std::min(stored_size, left));
  INTERLACER_RETURN_IF_ERROR(ReadAt(record.offset + reader.offset(), stored));
  auto records = Decompress(compression, std::move(stored), size);
  if (!records.ok()) return records.status().WithFieldPrefix(path_ + " ");
  Chunk chunk{std::move(records->data), ""};
  if (compression.empty()) chunk.plain_offset = record.offset + reader.offset();
  // A cut chunk has no CRC that could be right; its records end where they end.
  if (record.is_cut) return chunk;
  if (!records->is_whole) return Chunk{{}, "it does not decompress"};
  if (crc != 0 && Crc32(0, chunk.records) != crc) return Chunk{{}, "its CRC differs"};
  return chunk;
}

Status McapReader::Scan(const Visitor& visit) {
  std::uint64_t offset = mcap::kMagic.size();
  bool is_cut = false, is_finished = false;
  while (!is_cut && !is_finished) {
    if (size_bytes_ - offset < mcap::kRecordHeadBytes) {
      is_cut = true;
      break;
    }
    INTERLACER_ASSIGN_OR_RETURN(const Record record, ReadRecordHead(offset));
    is_cut = record.is_cut;
    const auto opcode = static_cast<Opcode>(record.opcode);
    if (opcode == Opcode::kDataEnd || opcode == Opcode::kFooter) {
      is_finished = true;
    } else if (opcode == Opcode::kChunk) {
      INTERLACER_RETURN_IF_ERROR(ScanChunk(record, visit));
    } else if (opcode == Opcode::kMetadata && !is_cut &&
               record.size <= kMaxMcapMetadataBytes - metadata_bytes_) {
      metadata_bytes_ += record.size;
      INTERLACER_ASSIGN_OR_RETURN(const Bytes content, ReadContent(record));
      AddMetadata(content);
    } else if (opcode == Opcode::kAttachment && !is_cut) {
      INTERLACER_RETURN_IF_ERROR(AddAttachment(record));
    } else if (!is_cut && (opcode == Opcode::kSchema || opcode == Opcode::kChannel ||
                           opcode == Opcode::kMessage)) {
      if (record.size > kMaxMcapRecordBytes) {
        ++damaged_message_count_;
      } else {
        INTERLACER_ASSIGN_OR_RETURN(const Bytes content, ReadContent(record));
        INTERLACER_RETURN_IF_ERROR(
            Visit(record.opcode, content, {record.offset, 0, 0, false}, visit));
      }
    }
    if (is_cut || is_finished) break;
    offset = record.offset + record.size;
  }
  AddFindings(offset, is_cut, is_finished);
  return Status::Ok();
}

Status McapReader::ScanChunk(const Record& record, const Visitor& visit) {
  INTERLACER_ASSIGN_OR_RETURN(const Chunk chunk, ReadChunk(record));
  if (!chunk.damage.empty()) {
    if (record.is_cut) return Status::Ok();  // a finding of its own
    ++damaged_chunk_count_;
    if (first_damage_.empty()) {
      first_damage_ = "the first at byte " + std::to_string(record.offset) + ": " + chunk.damage;
    }
    return Status::Ok();
  }
  ByteReader reader(chunk.records);
  while (reader.left() >= mcap::kRecordHeadBytes) {
    const auto opcode = reader.Number<std::uint8_t>();
    const auto size = reader.Number<std::uint64_t>();
    const std::size_t offset = reader.offset();
    const auto content = reader.Bytes(size);
    if (!reader.ok()) break;
    // What is not compressed is later read without the rest of its chunk.
    const MessageAddress address = chunk.plain_offset
                                       ? MessageAddress{*chunk.plain_offset + offset, 0, 0, false}
                                       : MessageAddress{record.offset, offset, 0, true};
    INTERLACER_RETURN_IF_ERROR(Visit(opcode, content, address, visit));
  }
  return Status::Ok();
}

Status McapReader::Visit(std::uint8_t opcode, std::span<const std::uint8_t> content,
                         MessageAddress base, const Visitor& visit) {
  if (static_cast<Opcode>(opcode) == Opcode::kSchema) AddSchema(content);
  if (static_cast<Opcode>(opcode) == Opcode::kChannel) AddChannel(content);
  if (static_cast<Opcode>(opcode) != Opcode::kMessage) return Status::Ok();
  ByteReader reader(content);
  const auto channel = channels_.find(reader.Number<std::uint16_t>());
  reader.Bytes(4);  // sequence
  const auto log_time_ns = reader.Number<std::uint64_t>();
  reader.Bytes(8);  // publish time
  if (!reader.ok() || channel == channels_.end()) {
    ++damaged_message_count_;
    return Status::Ok();
  }
  ++message_count_;
  base.offset += mcap::kMessageHeadBytes;
  base.size = reader.left();
  return visit({channel->second, static_cast<std::int64_t>(log_time_ns),
                content.subspan(mcap::kMessageHeadBytes), base});
}

void McapReader::AddSchema(std::span<const std::uint8_t> content) {
  ByteReader reader(content);
  const auto id = reader.Number<std::uint16_t>();
  std::string name = reader.Text();
  if (reader.ok() && id != 0) schemas_.emplace(id, std::move(name));
}

void McapReader::AddChannel(std::span<const std::uint8_t> content) {
  ByteReader reader(content);
  const auto id = reader.Number<std::uint16_t>();
  const auto schema = schemas_.find(reader.Number<std::uint16_t>());
  MessageTopic topic;
  topic.name = reader.Text();
  topic.encoding = reader.Text();
  if (!reader.ok() || channels_.contains(id)) return;
  if (schema != schemas_.end()) topic.schema = schema->second;
  // Each publisher of a topic has a channel of its own.
  for (std::size_t i = 0; i < topics_.size(); ++i) {
    const MessageTopic& known = topics_[i];
    if (known.name == topic.name && known.schema == topic.schema &&
        known.encoding == topic.encoding) {
      channels_.emplace(id, static_cast<int>(i));
      return;
    }
  }
  channels_.emplace(id, static_cast<int>(topics_.size()));
  topics_.push_back(std::move(topic));
}

void McapReader::AddMetadata(std::span<const std::uint8_t> content) {
  ByteReader reader(content);
  FileMetadata metadata;
  metadata.name = reader.Text();
  ByteReader values(reader.Bytes(reader.Number<std::uint32_t>()));
  while (values.ok() && values.left() > 0) {
    std::string key = values.Text();
    metadata.values.insert_or_assign(std::move(key), values.Text());
  }
  if (reader.ok() && values.ok()) metadata_.push_back(std::move(metadata));
}

Status McapReader::AddAttachment(const Record& record) {
  constexpr std::uint64_t kCrcBytes = 4;
  Bytes head(std::min(record.size, kLongestAttachmentHead));
  INTERLACER_RETURN_IF_ERROR(ReadAt(record.offset, head));
  ByteReader reader(head);
  reader.Bytes(16);  // times of the log and of the file
  FileAttachment attachment;
  attachment.name = reader.Text();
  reader.Text();  // media type
  const auto size = reader.Number<std::uint64_t>();
  const std::uint64_t left = record.size - reader.offset();
  if (!reader.ok() || left < kCrcBytes || size != left - kCrcBytes) return Status::Ok();
  attachment.address = {record.offset + reader.offset(), 0, size, false};
  attachments_.push_back(std::move(attachment));
  return Status::Ok();
}

void McapReader::AddFindings(std::uint64_t end, bool is_cut, bool is_finished) {
  if (is_cut) {
    const bool is_unfinished = end == size_bytes_;
    findings_.push_back(
        {is_unfinished ? "FILE_UNFINISHED" : "FILE_CUT",
         (is_unfinished
              ? std::string("the file has no end: the recorder did not close it")
              : "the file ends in the middle of what begins at byte " + std::to_string(end)) +
             "; its " + std::to_string(message_count_) + " messages were read",
         path_});
  } else if (is_finished) {
    std::array<std::uint8_t, mcap::kMagic.size()> magic{};
    const bool has_magic = ReadAt(size_bytes_ - magic.size(), magic).ok() && magic == mcap::kMagic;
    if (!has_magic) {
      findings_.push_back({"FILE_CUT",
                           "the file's summary is cut; all " + std::to_string(message_count_) +
                               " messages were read",
                           path_});
    }
  }
  if (damaged_chunk_count_ > 0) {
    findings_.push_back(
        {"CHUNK_DAMAGED",
         std::to_string(damaged_chunk_count_) + " chunks were left out, " + first_damage_, path_});
  }
  if (damaged_message_count_ > 0) {
    findings_.push_back({"MESSAGE_DAMAGED",
                         std::to_string(damaged_message_count_) +
                             " messages without a channel or too short were left out",
                         path_});
  }
}

StatusOr<MessageBytes> McapReader::Read(const MessageAddress& address) const {
  if (!address.is_in_chunk) {
    const auto bytes = std::make_shared_for_overwrite<std::uint8_t[]>(address.size);
    const std::span<std::uint8_t> data(bytes.get(), address.size);
    INTERLACER_RETURN_IF_ERROR(ReadAt(address.record + address.offset, data));
    return MessageBytes{bytes, data};
  }
  std::shared_ptr<const Bytes> records;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
      return chunk.first == address.record;
    });
    if (found != chunks_.end()) {
      records = found->second;
      chunks_.splice(chunks_.begin(), chunks_, found);
    }
  }
  if (!records) {
    INTERLACER_ASSIGN_OR_RETURN(const Record record,
                                ReadRecordHead(address.record - mcap::kRecordHeadBytes));
    INTERLACER_ASSIGN_OR_RETURN(Chunk chunk, ReadChunk(record));
    records = std::make_shared<const Bytes>(std::move(chunk.records));
    const std::lock_guard<std::mutex> lock(mutex_);
    chunks_.emplace_front(address.record, records);
    if (chunks_.size() > kMostChunksKept) chunks_.pop_back();
  }
  if (address.offset + address.size > records->size()) {
    return Unreadable(path_, "changed while it was read");
  }
  return MessageBytes{records, std::span(*records).subspan(address.offset, address.size)};
}

}  // namespace interlacer
