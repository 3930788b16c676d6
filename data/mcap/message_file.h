#pragma once

/// What recordings of messages have in common, whichever container they lie in.
///
/// A scan visits every message once, in the order of the file, and tells where each lies; Read
/// fetches one again. So a recording of any length is indexed and then read with flat memory.
/// Errors: FILE_NOT_FOUND, FILE_UNREADABLE, SCHEMA_INVALID (no such container),
/// COMPRESSION_UNSUPPORTED; what a visitor returns ends the scan. Threads: Scan alone, then Read
/// from any.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

struct MessageTopic {
  std::string name;
  std::string schema;    ///< type of its messages: "sensor_msgs/msg/Image", "foxglove.RawImage"
  std::string encoding;  ///< of its messages: "cdr", "protobuf"
};

/// Where a message lies: a container's own numbers.
struct MessageAddress {
  std::uint64_t record = 0;  ///< byte of the compressed chunk or of the message record, or row
  std::uint64_t offset = 0;  ///< of the data in the chunk, or in the record
  std::uint64_t size = 0;
  bool is_in_chunk = false;
};

/// Names and values that a container holds beside its messages.
struct FileMetadata {
  std::string name;
  std::map<std::string, std::string> values;
};

/// A file that a container holds beside its messages.
struct FileAttachment {
  std::string name;
  MessageAddress address;  ///< of its data
};

struct FoundMessage {
  int topic = 0;  ///< index into topics()
  std::int64_t log_time_ns = 0;
  std::span<const std::uint8_t> data;  ///< valid during the visit
  MessageAddress address;
};

/// Bytes and what keeps them alive.
struct MessageBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::uint8_t> data;
};

class MessageFile {
 public:
  using Visitor = std::function<Status(const FoundMessage&)>;
  virtual ~MessageFile() = default;

  virtual Status Scan(const Visitor& visit) = 0;
  virtual StatusOr<MessageBytes> Read(const MessageAddress& address) const = 0;

  const std::string& path() const { return path_; }
  /// Of a scan: grows while it runs.
  const std::vector<MessageTopic>& topics() const { return topics_; }
  /// Of a scan.
  const std::vector<FileMetadata>& metadata() const { return metadata_; }
  /// Of a scan, which reads none of them.
  const std::vector<FileAttachment>& attachments() const { return attachments_; }
  /// Of a scan: FILE_CUT, FILE_UNFINISHED, CHUNK_DAMAGED, MESSAGE_DAMAGED.
  const std::vector<Finding>& findings() const { return findings_; }

 protected:
  std::string path_;
  std::vector<MessageTopic> topics_;
  std::vector<FileMetadata> metadata_;
  std::vector<FileAttachment> attachments_;
  std::vector<Finding> findings_;
};

}  // namespace interlacer
