// Small formats: .npy, CSV, depth in metres.

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "common/npy.h"
#include "data/csv.h"
#include "data/depth.h"
#include "tests/support/must.h"

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
  const auto array = Must(ParseNpy(NumpyFile()));
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(*NpyToInt64(array), (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(*NpyToDoubles(array), (std::vector<double>{1, 2, 3, 4}));
}

TEST(NpyTest, WritesTheSameBytes) {
  const std::int64_t values[] = {1, 2, 3, 4}, shape[] = {2, 2};
  EXPECT_EQ(EncodeNpy(values, shape), NumpyFile());
}

TEST(NpyTest, RoundTripsEveryTypeAndShape) {
  const std::vector<double> doubles = {0.1, -1e300, 3};
  const std::int64_t vector_shape[] = {3}, empty_shape[] = {0, 7};
  const auto array = Must(ParseNpy(EncodeNpy(doubles, vector_shape)));
  EXPECT_EQ(*NpyToDoubles(array), doubles);
  const std::vector<float> floats = {0.5f, 1.25f, -3};
  EXPECT_EQ((*NpyToDoubles(*ParseNpy(EncodeNpy(floats, vector_shape))))[1], 1.25);
  const auto empty = Must(ParseNpy(EncodeNpy(std::span<const double>(), empty_shape)));
  EXPECT_EQ(empty.element_count(), 0);
  EXPECT_EQ(ParseNpy(EncodeNpy(std::vector<double>{4}, {}))->element_count(), 1);
}

TEST(NpyTest, ReadsOtherIntegersAndHalfFloats) {
  const auto file = [](const std::string& type, const Bytes& data, int count) {
    const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
                               std::to_string(count) + ",), }\n";
    Bytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<std::uint8_t>(header.size()),
                   0};
    bytes.insert(bytes.end(), header.begin(), header.end());
    bytes.insert(bytes.end(), data.begin(), data.end());
    return *ParseNpy(bytes);
  };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(*NpyToInt64(file("|i1", {0xff, 1}, 2)), (Integers{-1, 1}));
  EXPECT_EQ(*NpyToInt64(file("|u1", {0xff, 1}, 2)), (Integers{255, 1}));
  EXPECT_EQ(*NpyToInt64(file("<i2", {0xfe, 0xff}, 1)), (Integers{-2}));
  EXPECT_EQ(*NpyToInt64(file("<u2", {0xfe, 0xff}, 1)), (Integers{65534}));
  EXPECT_EQ(*NpyToInt64(file("<i4", {0, 0, 0, 0x80}, 1)), (Integers{-2147483648LL}));
  EXPECT_EQ(*NpyToInt64(file("<u4", {0, 0, 0, 0x80}, 1)), (Integers{2147483648LL}));
  EXPECT_EQ(*NpyToDoubles(file("<i4", {5, 0, 0, 0}, 1)), (std::vector<double>{5}));
  // numpy.float16 of 1, -2, 65504, 2^-24, 0.1, inf
  const auto halves = Must(NpyToDoubles(
      file("<f2", {0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0x66, 0x2e, 0, 0x7c, 1, 0x7c}, 7)));
  EXPECT_EQ(std::vector<double>(halves.begin(), halves.begin() + 6),
            (std::vector<double>{1, -2, 65504, 1.0 / (1 << 24), 0.0999755859375, INFINITY}));
  EXPECT_TRUE(std::isnan(halves[6]));
  EXPECT_FALSE(NpyToInt64(file("<f2", {0, 0x3c}, 1)).ok());
  EXPECT_EQ(*NpyToInt64(file("<u8", {7, 0, 0, 0, 0, 0, 0, 0}, 1)), (Integers{7}));
  EXPECT_EQ(NpyToInt64(file("<u8", {7, 0, 0, 0, 0, 0, 0, 0x80}, 1)).status().metadata().at("got"),
            "9223372036854775815");
  // What NumPy makes of a list of whole numbers; a double does not hold 2^53 + 1.
  EXPECT_EQ(*NpyToDoubles(file("<i8", {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1)),
            (std::vector<double>{-2}));
  EXPECT_EQ(*NpyToDoubles(file("<u8", {0, 0, 0, 0, 0, 0, 0x20, 0}, 1)),
            (std::vector<double>{9007199254740992}));
  EXPECT_EQ(NpyToDoubles(file("<i8", {1, 0, 0, 0, 0, 0, 0x20, 0}, 1)).status().metadata().at("got"),
            "9007199254740993");
  EXPECT_EQ(*NpyToDoubles(file("|b1", {0, 1}, 2)), (std::vector<double>{0, 1}));
  EXPECT_EQ(*NpyToInt64(file(">i2", {0xff, 0xfe, 1, 2}, 2)), (Integers{-2, 258}));
  EXPECT_EQ(*NpyToDoubles(file(">f4", {0x3f, 0x80, 0, 0}, 1)), (std::vector<double>{1}));
}

TEST(NpyTest, FortranOrderIsTurnedAround) {
  // numpy.save of numpy.arange(6, dtype='u1').reshape(3, 2).T and of one with three sides
  const auto turned = [](std::string_view shape, std::size_t count) {
    std::string text =
        "{'descr': '|u1', 'fortran_order': True, 'shape': " + std::string(shape) + "}\n";
    text = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) + '\0' + text;
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(i);
    const auto array = ParseNpy(std::vector<std::uint8_t>(text.begin(), text.end()));
    return array.ok() ? array->data : Bytes{};
  };
  EXPECT_EQ(turned("(2, 3)", 6), (Bytes{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(turned("(2, 1, 2)", 4), (Bytes{0, 2, 1, 3}));
  EXPECT_EQ(turned("(4,)", 4), (Bytes{0, 1, 2, 3}));
}

TEST(NpyTest, RefusesWhatItDoesNotUnderstand) {
  const Bytes good = NumpyFile();
  const auto refused = [](const Bytes& bytes) { return ParseNpy(bytes).status().reason(); };
  EXPECT_EQ(refused(Replaced(good, "<i8", "<c8")), "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "<i8", "<M8")), "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "<i8", "|O8")), "SCHEMA_INVALID");
  EXPECT_EQ(refused(Replaced(good, "False", "Maybe")), "SCHEMA_INVALID");
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
  const auto parsed = Must(ParseCsv(FormatCsv(csv)));
  EXPECT_EQ(parsed.column_names, csv.column_names);
  EXPECT_EQ(parsed.table.values, csv.table.values);
}

TEST(CsvTest, TakesBlanksAndCarriageReturns) {
  const auto parsed = Must(ParseCsv("a, b\r\n 1 , 2\r\n\r\n3,4"));
  EXPECT_EQ(parsed.table.row_count, 2);
  EXPECT_EQ(parsed.column_names[1], "b");
}

TEST(CsvTest, NamesTheLine) {
  EXPECT_EQ(ParseCsv("a,b\n1,2\n3\n").status().field(), "line 3");
  EXPECT_EQ(ParseCsv("a\nx\n").status().reason(), "SCHEMA_INVALID");
  EXPECT_EQ(ParseCsv("a\nnan\n").status().reason(), "NOT_FINITE");
  EXPECT_FALSE(ParseCsv("").ok());
  EXPECT_EQ(ParseCsv("# a\n")->column_names, std::vector<std::string>{"a"});
}

TEST(CsvTest, TablesOfSpreadsheetsAndNumpyAreRead) {
  for (const char* text :
       {"\xEF\xBB\xBF"
        "a_rad,b_m\r\n1,2\r\n",
        "# a_rad,b_m\n1,2\n", "a_rad\tb_m\n1\t2\n", "# a_rad b_m\n1.0e+00  2.0e+00\n",
        "# exported by a planner\na_rad,b_m\n1,2\n", "# by hand, twice\n# a_rad,b_m\n1,2\n",
        "a_rad;b_m\n1.0;2\n", "\"a_rad\",\"b_m\"\n\"1\",2\n", "a_rad,b_m\r+1,2\r"}) {
    const auto parsed = ParseCsv(text);
    ASSERT_TRUE(parsed.ok()) << text << parsed.status().ToString();
    EXPECT_EQ(parsed->column_names, (std::vector<std::string>{"a_rad", "b_m"})) << text;
    EXPECT_EQ(parsed->table.values, (std::vector<double>{1, 2})) << text;
  }
  const std::string wide(
      "\xFF\xFE"
      "a\0\n\0",
      6);
  EXPECT_NE(ParseCsv(wide).status().message().find("UTF-16"), std::string::npos);
  const auto got = [](const char* text) { return ParseCsv(text).status().metadata().at("got"); };
  EXPECT_EQ(got("a_rad;b_m\n0,5;1\n"), "0,5");
  EXPECT_EQ(got("a_rad,b_m\n1,\n"), "an empty cell");  // which is no 0
  EXPECT_EQ(got("a_rad b_m\n1\n"), "1");
}

TEST(CsvTest, ColumnsAreTakenByNameNotByPlace) {
  const std::vector<std::string> names = {"pan_rad", "elbow_rad", "grip_m"};
  const auto table = Must(TakeColumns(*ParseCsv("grip,elbow_rad,pan\n1,2,3\n4,5,6\n"), names));
  EXPECT_EQ(table.values, (std::vector<double>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(table.row_count, 2);
  for (const char* header :
       {"pan_rad,elbow_rad", "pan_rad,elbow_rad,grip_m,wrist_rad", "pan_deg,elbow_rad,grip_m",
        "pan_rad,pan,grip_m", "0.1,0.2,0.3", ",pan_rad,elbow_rad,grip_m"}) {
    const auto csv = Must(ParseCsv(std::string(header) + "\n"));
    EXPECT_EQ(TakeColumns(csv, names).status().reason(), "ACTION_SHAPE") << header;
  }
}

TEST(DepthTest, StatisticsIgnoreHoles) {
  const DepthImage depth{5, 1, {1, NAN, 3, -1, INFINITY}};
  EXPECT_DOUBLE_EQ(ValidDepthRatio(depth), 0.4);
  EXPECT_EQ(MedianDepthM(depth), 1);
  EXPECT_EQ(MedianDepthM(DepthImage{1, 1, {NAN}}), std::nullopt);
}

TEST(DepthTest, TheMedianOfIntegersIsThatOfTheirMetres) {
  for (const std::vector<std::uint16_t>& pixels :
       {std::vector<std::uint16_t>{0, 0, 0, 0}, {0, 7, 0, 0}, {9, 3, 0, 5}, {65535, 1, 65535, 2}}) {
    const DepthImage16 depth{4, 1, 0.0625, pixels};
    const auto median = MedianDepth(CountDepths(depth));
    const auto median_m = MedianDepthM(DepthToMeters(depth));
    ASSERT_EQ(median.has_value(), median_m.has_value());
    if (median) {
      EXPECT_EQ(*median * depth.unit_m, *median_m);
    }
  }
  EXPECT_EQ(MedianDepth(CountDepths({4, 1, 0.5, {9, 3, 0, 5}})), 5);
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
