#pragma once

/// Writes small LeRobot data sets: tables through Arrow, videos through the program ffmpeg.

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/check.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {

inline void MakeFoldersOf(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
}

inline void WriteText(const std::string& path, const std::string& text) {
  MakeFoldersOf(path);
  std::ofstream(path) << text;
}

inline std::vector<std::uint8_t> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Columns of one length, and the file.
class TableWriter {
 public:
  void Numbers(const std::string& name, const std::vector<double>& values) {
    arrow::DoubleBuilder builder;
    Check(builder.AppendValues(values));
    Add(name, builder.Finish());
  }
  void Integers(const std::string& name, const std::vector<std::int64_t>& values) {
    arrow::Int64Builder builder;
    Check(builder.AppendValues(values));
    Add(name, builder.Finish());
  }
  /// Lists of `width`, of fixed length as LeRobot's version 3 has them, or of any.
  void Lists(const std::string& name, const std::vector<float>& values, int width, bool is_fixed) {
    auto numbers = std::make_shared<arrow::FloatBuilder>();
    arrow::FixedSizeListBuilder fixed(arrow::default_memory_pool(), numbers, width);
    arrow::ListBuilder loose(arrow::default_memory_pool(), numbers);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % static_cast<std::size_t>(width) == 0) {
        Check(is_fixed ? fixed.Append() : loose.Append());
      }
      Check(numbers->Append(values[i]));
    }
    Add(name, is_fixed ? fixed.Finish() : loose.Finish());
  }
  /// A list of one text in each row.
  void Texts(const std::string& name, const std::vector<std::string>& texts) {
    auto strings = std::make_shared<arrow::StringBuilder>();
    arrow::ListBuilder lists(arrow::default_memory_pool(), strings);
    for (const std::string& text : texts) {
      Check(lists.Append());
      Check(strings->Append(text));
    }
    Add(name, lists.Finish());
  }
  /// Files of images as {bytes, path}.
  void Images(const std::string& name, const std::vector<std::vector<std::uint8_t>>& files) {
    arrow::BinaryBuilder bytes;
    arrow::StringBuilder paths;
    for (const auto& file : files) {
      Check(bytes.Append(file.data(), static_cast<std::int32_t>(file.size())));
      Check(paths.Append("frame"));
    }
    Add(name, arrow::StructArray::Make({*bytes.Finish(), *paths.Finish()},
                                       std::vector<std::string>{"bytes", "path"}));
  }
  void Write(const std::string& path, std::int64_t group_rows = 5) {
    MakeFoldersOf(path);
    const auto table = arrow::Table::Make(arrow::schema(fields_), columns_);
    auto file = arrow::io::FileOutputStream::Open(path);
    Check(file.status());
    Check(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), *file, group_rows));
    Check((*file)->Close());
  }

 private:
  static void Check(const arrow::Status& status) {
    INTERLACER_CHECK(status.ok(), status.ToString());
  }
  template <typename Array>
  void Add(const std::string& name, const arrow::Result<Array>& array) {
    Check(array.status());
    fields_.push_back(arrow::field(name, (*array)->type()));
    columns_.push_back(*array);
  }

  arrow::FieldVector fields_;
  arrow::ArrayVector columns_;
};

/// What ffmpeg makes of raw frames; `encoder` are its options.
inline void EncodeFrames(const std::vector<std::uint8_t>& raw, const std::string& format,
                         const std::string& size, const std::vector<std::string>& encoder,
                         const std::string& path) {
  MakeFoldersOf(path);
  TempFolder folder;
  std::ofstream(folder.File("raw"), std::ios::binary)
      .write(reinterpret_cast<const char*>(raw.data()), static_cast<std::streamsize>(raw.size()));
  std::vector<std::string> arguments = {"/usr/bin/ffmpeg",
                                        "-y",
                                        "-loglevel",
                                        "error",
                                        "-f",
                                        "rawvideo",
                                        "-pix_fmt",
                                        format,
                                        "-s",
                                        size,
                                        "-r",
                                        "10",
                                        "-i",
                                        folder.File("raw")};
  arguments.insert(arguments.end(), encoder.begin(), encoder.end());
  arguments.push_back(path);
  const ProcessResult result = ChildProcess(arguments).Wait();
  INTERLACER_CHECK(result.exit_code == 0, "ffmpeg: " + result.err);
}

inline std::vector<std::uint8_t> BytesOf(const std::vector<std::uint16_t>& integers) {
  std::vector<std::uint8_t> bytes(2 * integers.size());
  std::memcpy(bytes.data(), integers.data(), bytes.size());
  return bytes;
}

}  // namespace interlacer::testing
