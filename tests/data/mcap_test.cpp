/// The MCAP container: what was written comes back; cut, damaged and foreign files are read as far
/// as they go.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "common/file_io.h"
#include "data/mcap/compression.h"
#include "data/mcap/mcap_reader.h"
#include "data/mcap/mcap_records.h"
#include "data/mcap/mcap_writer.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

using mcap::ByteWriter;
using Bytes = std::vector<std::uint8_t>;

struct Read {
  std::map<std::string, std::vector<std::string>> messages;  ///< by topic
  std::vector<std::string> findings;
  Status status;
};

Read ReadAll(const std::string& path) {
  Read read;
  auto file = McapReader::Open(path);
  if (!file.ok()) {
    read.status = file.status();
    return read;
  }
  std::vector<MessageAddress> addresses;
  std::vector<std::string> texts;
  read.status = (*file)->Scan([&](const FoundMessage& message) {
    texts.emplace_back(message.data.begin(), message.data.end());
    addresses.push_back(message.address);
    read.messages[(*file)->topics()[static_cast<std::size_t>(message.topic)].name].push_back(
        texts.back());
    return Status::Ok();
  });
  // Addresses lead back to the same bytes, in any order.
  for (std::size_t i = texts.size(); i-- > 0;) {
    const auto again = (*file)->Read(addresses[i]);
    EXPECT_TRUE(again.ok()) << again.status().ToString();
    if (again.ok()) {
      EXPECT_EQ(std::string(again->data.begin(), again->data.end()), texts[i]);
    }
  }
  for (const Finding& finding : (*file)->findings()) read.findings.push_back(finding.reason);
  return read;
}

Bytes BytesOf(const std::string& text) { return {text.begin(), text.end()}; }

void Record(mcap::Opcode opcode, const Bytes& content, ByteWriter* out) {
  out->Number(static_cast<std::uint8_t>(opcode));
  out->Number<std::uint64_t>(content.size());
  out->Bytes(content);
}

/// A schema, a channel /t and the messages.
Bytes Records(const std::vector<std::string>& messages) {
  ByteWriter out, schema, channel;
  schema.Number<std::uint16_t>(1);
  schema.Text("s");
  schema.Text("");
  schema.Number<std::uint32_t>(0);
  channel.Number<std::uint16_t>(0);
  channel.Number<std::uint16_t>(1);
  channel.Text("/t");
  channel.Text("cdr");
  channel.Number<std::uint32_t>(0);
  Record(mcap::Opcode::kSchema, schema.data(), &out);
  Record(mcap::Opcode::kChannel, channel.data(), &out);
  for (const std::string& text : messages) {
    ByteWriter message;
    message.Number<std::uint16_t>(0);
    message.Number<std::uint32_t>(0);
    message.Number<std::uint64_t>(7);
    message.Number<std::uint64_t>(7);
    message.Bytes(BytesOf(text));
    Record(mcap::Opcode::kMessage, message.data(), &out);
  }
  return out.data();
}

Bytes Chunk(const std::string& compression, const Bytes& stored, std::uint64_t size,
            std::uint32_t crc) {
  ByteWriter chunk, out;
  chunk.Number<std::uint64_t>(7);
  chunk.Number<std::uint64_t>(7);
  chunk.Number(size);
  chunk.Number(crc);
  chunk.Text(compression);
  chunk.Number<std::uint64_t>(stored.size());
  chunk.Bytes(stored);
  Record(mcap::Opcode::kChunk, chunk.data(), &out);
  return out.data();
}

class McapTest : public ::testing::Test {
 protected:
  std::string Write(const Bytes& sections, bool has_end = true) {
    ByteWriter out, header;
    out.Bytes(mcap::kMagic);
    header.Text("");
    header.Text("test");
    Record(mcap::Opcode::kHeader, header.data(), &out);
    out.Bytes(sections);
    if (has_end) {
      Record(mcap::Opcode::kDataEnd, Bytes(4), &out);
      Record(mcap::Opcode::kFooter, Bytes(20), &out);
      out.Bytes(mcap::kMagic);
    }
    return WriteBytes(out.data());
  }
  std::string WriteBytes(const Bytes& bytes) {
    const std::string path = folder_.File("file.mcap");
    // Without a flush to disk: thousands of files are written.
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  /// Of our writer: 40 messages of two topics in several chunks.
  std::string WriteOurs(std::size_t message_bytes) {
    const std::string path = folder_.File("ours.mcap");
    auto writer = McapWriter::Create(path);
    const Bytes schema = BytesOf("schema");
    const auto a = (*writer)->AddChannel("/a", "protobuf", "A", "protobuf", schema);
    const auto b = (*writer)->AddChannel("/b", "protobuf", "A", "protobuf", schema);
    for (int i = 0; i < 40; ++i) {
      const std::string text = std::to_string(i) + std::string(message_bytes, 'x');
      EXPECT_TRUE((*writer)->Write(i % 2 == 0 ? a : b, i, BytesOf(text)).ok());
    }
    EXPECT_TRUE((*writer)->Finish().ok());
    return path;
  }
  TempFolder folder_;
};

TEST_F(McapTest, WhatIsWrittenComesBack) {
  const Read read = ReadAll(WriteOurs(500'000));
  EXPECT_TRUE(read.status.ok()) << read.status.ToString();
  EXPECT_TRUE(read.findings.empty());
  ASSERT_EQ(read.messages.size(), 2u);
  ASSERT_EQ(read.messages.at("/a").size(), 20u);
  EXPECT_EQ(read.messages.at("/b")[3], "7" + std::string(500'000, 'x'));
}

TEST_F(McapTest, MetadataComeBackAlsoOfACutFile) {
  const std::string path = folder_.File("metadata.mcap");
  const FileMetadata first{"a", {{"key", "value"}, {"empty", ""}}}, second{"b", {}};
  auto writer = McapWriter::Create(path);
  ASSERT_TRUE((*writer)->WriteMetadata(first).ok());
  ASSERT_TRUE((*writer)->WriteMetadata(second).ok());
  const auto channel = (*writer)->AddChannel("/a", "protobuf", "A", "protobuf", {});
  ASSERT_TRUE((*writer)->Write(channel, 0, BytesOf("x")).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  const std::string whole = *ReadTextFile(path);
  for (const std::size_t size : {whole.size(), whole.size() / 2}) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    auto file = McapReader::Open(path);
    ASSERT_TRUE((*file)->Scan([](const FoundMessage&) { return Status::Ok(); }).ok());
    ASSERT_EQ((*file)->metadata().size(), 2u);
    EXPECT_EQ((*file)->metadata()[0].name, "a");
    EXPECT_EQ((*file)->metadata()[0].values, first.values);
    EXPECT_EQ((*file)->metadata()[1].name, "b");
  }
}

TEST_F(McapTest, AttachmentsComeBackUnlessTheyAreCutOrContradictTheirRecord) {
  const std::string path = folder_.File("attached.mcap");
  const Bytes data = BytesOf("what is attached");
  auto writer = McapWriter::Create(path);
  ASSERT_TRUE((*writer)->WriteAttachment("folder/a", "text/plain", data).ok());
  ASSERT_TRUE((*writer)->WriteAttachment("empty", "", {}).ok());
  const auto channel = (*writer)->AddChannel("/a", "protobuf", "A", "protobuf", {});
  ASSERT_TRUE((*writer)->Write(channel, 0, BytesOf("x")).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto scanned = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    auto file = *McapReader::Open(path);
    EXPECT_TRUE(file->Scan([](const FoundMessage&) { return Status::Ok(); }).ok());
    return file;
  };
  const std::string whole = *ReadTextFile(path);
  const auto file = scanned(whole);
  ASSERT_EQ(file->attachments().size(), 2u);
  EXPECT_EQ(file->attachments()[0].name, "folder/a");
  EXPECT_EQ(file->attachments()[1].address.size, 0u);
  for (const FileAttachment& attachment : file->attachments()) {
    const auto read = file->Read(attachment.address);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->data.empty() || std::ranges::equal(read->data, data));
  }
  const std::size_t at = whole.find("what is attached");
  EXPECT_TRUE(scanned(whole.substr(0, at + 5))->attachments().empty());
  std::string longer = whole;
  ++longer[at - 8];  // the length of the data, before it
  EXPECT_EQ(scanned(longer)->attachments().size(), 1u);
}

TEST_F(McapTest, NothingIsLeftOfAFileThatIsNotFinished) {
  const std::string path = folder_.File("never.mcap");
  { const auto writer = McapWriter::Create(path); }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST_F(McapTest, AllCompressionsAndNoneWithoutIndex) {
  const Bytes records = Records({"one", "two"});
  const std::uint32_t crc = Crc32(0, records);
  // The LZ4 frame of one uncompressed block: magic, flags, block size 64 KiB, header's hash.
  Bytes lz4 = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82};
  ByteWriter block;
  block.Number<std::uint32_t>(static_cast<std::uint32_t>(records.size()) | 0x80000000u);
  block.Bytes(records);
  block.Number<std::uint32_t>(0);
  lz4.insert(lz4.end(), block.data().begin(), block.data().end());
  const std::map<std::string, Bytes> sections = {
      {"unchunked", records},
      {"none", Chunk("", records, records.size(), crc)},
      {"zstd", Chunk("zstd", CompressZstd(records, 1), records.size(), crc)},
      {"no CRC", Chunk("zstd", CompressZstd(records, 1), records.size(), 0)},
      {"lz4", Chunk("lz4", lz4, records.size(), crc)}};
  for (const auto& [name, section] : sections) {
    const Read read = ReadAll(Write(section));
    EXPECT_TRUE(read.status.ok()) << name << read.status.ToString();
    EXPECT_TRUE(read.findings.empty()) << name;
    EXPECT_EQ(read.messages,
              (std::map<std::string, std::vector<std::string>>{{"/t", {"one", "two"}}}))
        << name;
  }
}

TEST_F(McapTest, ADamagedChunkIsLeftOutAndFound) {
  const Bytes good = Records({"one"}), bad = Records({"two"});
  Bytes sections = Chunk("", good, good.size(), Crc32(0, good));
  const Bytes second = Chunk("", bad, bad.size(), Crc32(0, bad) ^ 1);
  sections.insert(sections.end(), second.begin(), second.end());
  // A size that only the head claims takes no memory.
  const Bytes third = Chunk("zstd", CompressZstd(bad, 1), kMaxMcapRecordBytes, 0);
  sections.insert(sections.end(), third.begin(), third.end());
  const Bytes fourth = Chunk("zstd", CompressZstd(bad, 1), std::uint64_t{1} << 62, 0);
  sections.insert(sections.end(), fourth.begin(), fourth.end());
  const Read read = ReadAll(Write(sections));
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(read.findings, (std::vector<std::string>{"CHUNK_DAMAGED"}));
  EXPECT_EQ(read.messages.at("/t"), (std::vector<std::string>{"one"}));
}

TEST_F(McapTest, AnotherCompressionIsNamed) {
  const Read read = ReadAll(Write(Chunk("brotli", Records({"one"}), 10, 0)));
  EXPECT_EQ(read.status.reason(), reason::COMPRESSION_UNSUPPORTED);
  EXPECT_NE(read.status.message().find("brotli"), std::string::npos);
}

TEST_F(McapTest, OtherFilesAreRefused) {
  for (const std::string& text : {std::string(), std::string("PNG"), std::string(64, 'x')}) {
    EXPECT_EQ(ReadAll(WriteBytes(BytesOf(text))).status.reason(), reason::SCHEMA_INVALID);
  }
  EXPECT_EQ(ReadAll(folder_.File("absent")).status.reason(), reason::FILE_NOT_FOUND);
}

TEST_F(McapTest, AFileWithoutEndIsReadAndFound) {
  const Read read = ReadAll(Write(Records({"one", "two"}), false));
  EXPECT_EQ(read.findings, (std::vector<std::string>{"FILE_UNFINISHED"}));
  EXPECT_EQ(read.messages.at("/t").size(), 2u);
}

// Cut anywhere: never an error but of the magic, never more messages than before, always a finding.
TEST_F(McapTest, EveryCutIsReadAsFarAsItGoes) {
  for (const std::string compression : {"", "zstd", "unchunked"}) {
    const Bytes records = Records({"one", "two", "three"});
    const Bytes stored = compression == "zstd" ? CompressZstd(records, 1) : records;
    const auto whole =
        ReadFileBytes(Write(compression == "unchunked"
                                ? records
                                : Chunk(compression, stored, records.size(), Crc32(0, records))));
    std::size_t most = 0;
    for (std::size_t size = mcap::kMagic.size(); size < whole->size(); ++size) {
      const Read read = ReadAll(WriteBytes({whole->begin(), whole->begin() + size}));
      EXPECT_TRUE(read.status.ok()) << read.status.ToString();
      EXPECT_EQ(read.findings.size(), 1u) << size;
      const std::size_t count =
          read.messages.contains("/t") ? read.messages.at("/t").size() : std::size_t{0};
      EXPECT_GE(count, most) << size;
      most = std::max(most, count);
    }
    EXPECT_EQ(most, 3u);
  }
}

// Every bit up to the end of a chunk, one at a time: no crash, and its messages are right or left
// out.
TEST_F(McapTest, EveryBitMayBeWrong) {
  const Bytes records = Records({"1xxx", "2xxx", "3xxx"});
  const Bytes chunk = Chunk("zstd", CompressZstd(records, 1), records.size(), Crc32(0, records));
  const auto whole = ReadFileBytes(Write(chunk));
  const std::size_t end = ReadFileBytes(Write(chunk, false))->size();
  for (std::size_t bit = 0; bit < 8 * whole->size(); ++bit) {
    Bytes bytes = *whole;
    bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
    const Read read = ReadAll(WriteBytes(bytes));
    if (bit / 8 >= end) continue;
    for (const auto& [topic, messages] : read.messages) {
      EXPECT_EQ(messages, (std::vector<std::string>{"1xxx", "2xxx", "3xxx"})) << bit;
    }
  }
}

}  // namespace
}  // namespace interlacer
