// Small formats: .npy, CSV, depth in metres.

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "common/npy.h"
#include "data/csv.h"
#include "data/depth.h"

namespace interlacer {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// numpy.save of numpy.array([[1, 2], [3, 4]], dtype='<i8'), header padded to 128 bytes.
Bytes NumpyFile() {
  std::string text = "\x93NUMPY";
  text += std::string("\x01\x00\x76\x00", 4);
  text += "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }";
  text += std::string(128 - text.size() - 1, ' ') + "\n";
  for (char value : {1, 2, 3, 4}) text += value + std::string(7, '\0');
  return Bytes(text.begin(), text.end());
}

Bytes Replaced(const Bytes& bytes, std::string_view from, std::string_view to) {
  std::string text(bytes.begin(), bytes.end());
  text.replace(text.find(from), from.size(), to);
  return Bytes(text.begin(), text.end());
}

TEST(NpyTest, ReadsWhatNumpyWrites) {
  const auto array = ParseNpy(NumpyFile());
  ASSERT_TRUE(array.ok()) << array.status().ToString();
  EXPECT_EQ(array->shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(*NpyToInt64(*array), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_FALSE(NpyToDoubles(*array).ok());
}

TEST(NpyTest, WritesTheSameBytes) {
  const std::int64_t values[] = {1, 2, 3, 4}, shape[] = {2, 2};
  EXPECT_EQ(EncodeNpy(values, shape), NumpyFile());
}

TEST(NpyTest, RoundTripsEveryTypeAndShape) {
  const std::vector<double> doubles = {0.1, -1e300, 3};
  const std::int64_t vector_shape[] = {3}, empty_shape[] = {0, 7};
  const auto array = ParseNpy(EncodeNpy(doubles, vector_shape));
  ASSERT_TRUE(array.ok()) << array.status().ToString();
  EXPECT_EQ(*NpyToDoubles(*array), doubles);
  const std::vector<float> floats = {0.5f, 1.25f, -3};
  EXPECT_EQ((*NpyToDoubles(*ParseNpy(EncodeNpy(floats, vector_shape))))[1], 1.25);
  const auto empty = ParseNpy(EncodeNpy(std::span<const double>(), empty_shape));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->element_count(), 0);
  EXPECT_EQ(ParseNpy(EncodeNpy(std::vector<double>{4}, {}))->element_count(), 1);
}

TEST(NpyTest, RefusesWhatItDoesNotUnderstand) {
  const Bytes good = NumpyFile();
  const auto refused = [](const Bytes& bytes) { return ParseNpy(bytes).status().reason(); };
  EXPECT_EQ(refused(Replaced(good, "<i8", ">i8")), "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "<i8", "|O8")), "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "False", "True ")), "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "(2, 2)", "(2, 3)")), "SHAPE_MISMATCH");
  EXPECT_EQ(refused(Replaced(good, "(2, 2), }", "(9999999999999, 9999999999999), }")),
            "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "(2, 2)", "(-2,2)")), "SCHEMA_INVALID");
  for (std::size_t length = 0; length < good.size(); ++length) {
    ASSERT_FALSE(ParseNpy(std::span(good).first(length)).ok()) << length;
  }
}

TEST(CsvTest, RoundTripKeepsTheBits) {
  const CsvTable csv{{"a_rad", "b_m"}, {2, 2, {0.1, 1.0 / 3, -2e-17, 5}}};
  const auto parsed = ParseCsv(FormatCsv(csv));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->column_names, csv.column_names);
  EXPECT_EQ(parsed->table.values, csv.table.values);
}

TEST(CsvTest, TakesBlanksAndCarriageReturns) {
  const auto parsed = ParseCsv("a, b\r\n 1 , 2\r\n\r\n3,4");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->table.row_count, 2);
  EXPECT_EQ(parsed->column_names[1], "b");
}

TEST(CsvTest, NamesTheLine) {
  EXPECT_EQ(ParseCsv("a,b\n1,2\n3\n").status().field(), "line 3");
  EXPECT_EQ(ParseCsv("a\nx\n").status().reason(), "SCHEMA_INVALID");
  EXPECT_EQ(ParseCsv("a\nnan\n").status().reason(), "NOT_FINITE");
  EXPECT_FALSE(ParseCsv("").ok());
}

TEST(DepthTest, StatisticsIgnoreHoles) {
  const DepthImage depth{5, 1, {1, NAN, 3, -1, INFINITY}};
  EXPECT_DOUBLE_EQ(ValidDepthRatio(depth), 0.4);
  EXPECT_EQ(MedianDepthM(depth), 1);
  EXPECT_EQ(MedianDepthM({1, 1, {NAN}}), std::nullopt);
}

TEST(DepthTest, AUnitLiesAboveZeroAndUpToOne) {
  EXPECT_TRUE(ValidateDepthUnit(0.001, "unit_m").ok());
  EXPECT_TRUE(ValidateDepthUnit(1, "unit_m").ok());
  EXPECT_FALSE(ValidateDepthUnit(1.5, "unit_m").ok());
  EXPECT_EQ(ValidateDepthUnit(0, "unit_m").reason(), "DEPTH_UNIT_MISSING");
  EXPECT_FALSE(ValidateDepthUnit(NAN, "unit_m").ok());
}

}  // namespace
}  // namespace interlacer
