#pragma once

/// Small ROS 2 messages in CDR and bags of them, MCAP and SQLite.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/bags/cdr_writer.h"
#include "data/mcap/mcap_writer.h"

namespace interlacer::testing {

inline std::vector<std::uint8_t> ImageCdr(std::int64_t time_ns, const std::string& frame, int width,
                                          int height, const std::string& encoding,
                                          std::uint32_t row_bytes,
                                          const std::vector<std::uint8_t>& data) {
  return CdrWriter()
      .Header(time_ns, frame)
      .Number<std::uint32_t>(height)
      .Number<std::uint32_t>(width)
      .Text(encoding)
      .Number<std::uint8_t>(0)
      .Number(row_bytes)
      .Bytes(data)
      .data();
}

inline std::vector<std::uint8_t> CompressedCdr(std::int64_t time_ns, const std::string& frame,
                                               const std::string& format,
                                               const std::vector<std::uint8_t>& data) {
  return CdrWriter().Header(time_ns, frame).Text(format).Bytes(data).data();
}

inline std::vector<std::uint8_t> CameraInfoCdr(std::int64_t time_ns, const std::string& frame,
                                               int width, int height, double f_px, double cx_px,
                                               double cy_px, const std::vector<double>& d,
                                               const std::array<std::uint32_t, 6>& part = {}) {
  CdrWriter out;
  out.Header(time_ns, frame)
      .Number<std::uint32_t>(height)
      .Number<std::uint32_t>(width)
      .Text("plumb_bob")
      .Doubles(d)
      .Doubles({f_px, 0, cx_px, 0, f_px, cy_px, 0, 0, 1}, false)
      .Doubles({1, 0, 0, 0, 1, 0, 0, 0, 1}, false)
      .Doubles({f_px / 2, 0, cx_px, 0, 0, f_px / 2, cy_px, 0, 0, 0, 1, 0}, false);
  for (const std::uint32_t side : part) out.Number(side);  // binning, region of interest
  return out.Take();
}

inline std::vector<std::uint8_t> TransformCdr(std::int64_t time_ns, const std::string& parent,
                                              const std::string& child,
                                              const std::vector<double>& xyz_qxyzw) {
  return CdrWriter()
      .Number<std::uint32_t>(1)
      .Header(time_ns, parent)
      .Text(child)
      .Doubles(xyz_qxyzw, false)
      .data();
}

/// geometry_msgs/msg/PoseStamped.
inline std::vector<std::uint8_t> PoseCdr(std::int64_t time_ns, const std::string& frame,
                                         const std::vector<double>& xyz_qxyzw) {
  return CdrWriter().Header(time_ns, frame).Doubles(xyz_qxyzw, false).data();
}

inline std::vector<std::uint8_t> JointsCdr(std::int64_t time_ns,
                                           const std::vector<std::string>& names,
                                           const std::vector<double>& positions,
                                           bool is_big_endian = false) {
  CdrWriter out(is_big_endian);
  out.Header(time_ns, "").Number(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) out.Text(name);
  return out.Doubles(positions).Doubles({}).Doubles({}).data();
}

struct BagMessage {
  std::string topic;
  std::string type;  ///< "Image", ... of sensor_msgs; "tf2_msgs/msg/TFMessage"
  std::int64_t time_ns = 0;
  std::vector<std::uint8_t> data;
  std::string schema() const {
    return type.find('/') == std::string::npos ? "sensor_msgs/msg/" + type : type;
  }
};

inline void WriteMcapBag(const std::string& path, const std::vector<BagMessage>& messages,
                         const std::vector<FileMetadata>& metadata = {}) {
  auto writer = McapWriter::Create(path);
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  for (const FileMetadata& record : metadata) {
    ASSERT_TRUE((*writer)->WriteMetadata(record).ok());
  }
  std::map<std::string, std::uint16_t> channels;
  for (const BagMessage& message : messages) {
    if (!channels.contains(message.topic)) {
      channels[message.topic] =
          (*writer)->AddChannel(message.topic, "cdr", message.schema(), "ros2msg", {});
    }
    ASSERT_TRUE((*writer)->Write(channels[message.topic], message.time_ns, message.data).ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
}

inline void WriteSqliteBag(const std::string& path, const std::vector<BagMessage>& messages) {
  sqlite3* base = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &base), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(base,
                         "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, "
                         "serialization_format TEXT, offered_qos_profiles TEXT);"
                         "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, "
                         "timestamp INTEGER, data BLOB);BEGIN",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_stmt* row = nullptr;
  std::map<std::string, int> ids;
  for (const BagMessage& message : messages) {
    if (ids.try_emplace(message.topic, static_cast<int>(ids.size()) + 1).second) {
      const std::string insert = "INSERT INTO topics VALUES(" + std::to_string(ids.size()) + ",'" +
                                 message.topic + "','" + message.schema() + "','cdr','')";
      ASSERT_EQ(sqlite3_exec(base, insert.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    }
    sqlite3_prepare_v2(base, "INSERT INTO messages VALUES(NULL,?,?,?)", -1, &row, nullptr);
    sqlite3_bind_int(row, 1, ids[message.topic]);
    sqlite3_bind_int64(row, 2, message.time_ns);
    sqlite3_bind_blob(row, 3, message.data.data(), static_cast<int>(message.data.size()),
                      SQLITE_STATIC);
    ASSERT_EQ(sqlite3_step(row), SQLITE_DONE);
    sqlite3_finalize(row);
  }
  ASSERT_EQ(sqlite3_exec(base, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(base);
}

}  // namespace interlacer::testing
