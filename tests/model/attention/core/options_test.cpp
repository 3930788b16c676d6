#include "model/attention/core/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/file_io.h"
#include "model/attention/catalog/catalog.h"
#include "model/attention/core/attention.h"

namespace interlacer::testing {
namespace {

using attention::Attention;
using attention::Catalog;
using attention::OptionSpec;

TEST(AttentionOptions, EveryOptionRefusesOtherTypesAndRanges) {
  for (const auto& mechanism : Catalog()) {
    for (const OptionSpec& spec : mechanism.options) {
      std::vector<nlohmann::json> wrong{nullptr, nlohmann::json::array()};
      switch (spec.type) {
        case OptionSpec::Type::kFlag:
          wrong.emplace_back(1);
          break;
        case OptionSpec::Type::kInteger:
          wrong.emplace_back(spec.low - 1);
          wrong.emplace_back(0.5);
          wrong.emplace_back(UINT64_MAX);
          break;
        case OptionSpec::Type::kIntegers:
          wrong.emplace_back(spec.low - 1);
          wrong.push_back(nlohmann::json::array({1, 0.5}));
          wrong.push_back(nlohmann::json::array({1, "2"}));
          wrong.push_back(nlohmann::json::array({nlohmann::json::array({1})}));
          break;
        case OptionSpec::Type::kNumber:
          wrong.emplace_back(spec.low - 1);
          wrong.emplace_back(spec.high * 2 + 1);
          wrong.emplace_back(true);
          break;
        case OptionSpec::Type::kWord:
          wrong.emplace_back("neither");
          break;
      }
      for (const nlohmann::json& value : wrong) {
        const auto made = Attention::Make(mechanism, {{spec.name, value}});
        ASSERT_FALSE(made.ok()) << mechanism.name << " " << spec.name << " " << value;
        EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
        EXPECT_EQ(made.status().reason(), reason::CONFIG_INVALID);
        EXPECT_EQ(made.status().field(), "options." + spec.name);
        EXPECT_NE(made.status().metadata().at("expected"), "");
        EXPECT_NE(made.status().metadata().at("got"), "");
      }
    }
  }
}

TEST(AttentionOptions, UnknownNamesAreRefused) {
  for (const auto& mechanism : Catalog()) {
    const auto made = Attention::Make(mechanism, {{"colour", 1}});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().field(), "options.colour");
    EXPECT_FALSE(Attention::Make(mechanism, nlohmann::json::array()).ok());
  }
}

TEST(AttentionCatalog, IsWhatTheDocumentLists) {
  const std::string text =
      ReadTextFile(std::string(INTERLACER_SOURCE_DIR) + "/docs/attention.md").value();
  for (const auto& mechanism : Catalog()) {
    const std::string row = "\n| `" + mechanism.name + "` | ";
    const std::size_t start = text.find(row);
    ASSERT_NE(start, std::string::npos) << mechanism.name;
    const std::string line = text.substr(start, text.find('\n', start + 1) - start);
    EXPECT_NE(line.find(mechanism.source), std::string::npos) << mechanism.name;
    std::string ways;
    for (const auto way : Attention::Make(mechanism, nlohmann::json::object())->Ways()) {
      ways += (ways.empty() ? "" : ", ") + std::string(attention::WayName(way));
    }
    EXPECT_NE(line.find(" | " + ways + " | " + mechanism.cost + " | "), std::string::npos)
        << mechanism.name << ": " << ways << ", " << mechanism.cost;
    for (const std::string& input : mechanism.inputs) {
      EXPECT_NE(line.find(input), std::string::npos) << mechanism.name;
    }
  }
}

/// Cells of a table's row.
std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = line.find("| "); at != std::string::npos;) {
    const std::size_t end = line.find(" |", at + 2);
    if (end == std::string::npos) break;
    cells.push_back(line.substr(at + 2, end - at - 2));
    at = line.find("| ", end + 1);
  }
  return cells;
}

TEST(AttentionCatalog, LengthsOfTheDenseWayAreWhatTheDocumentLists) {
  const std::string text =
      ReadTextFile(std::string(INTERLACER_SOURCE_DIR) + "/docs/attention.md").value();
  const std::size_t table = text.find("| mechanism | dense taken up to, width 8 |");
  ASSERT_NE(table, std::string::npos);
  const std::string rows = text.substr(table, text.find("\n\n", table) - table);
  std::int64_t listed = 0;
  for (const auto& mechanism : Catalog()) {
    const std::size_t start = rows.find("\n| `" + mechanism.name + "` | ");
    ASSERT_EQ(start != std::string::npos, mechanism.dense_up_to.has_value()) << mechanism.name;
    if (!mechanism.dense_up_to) continue;
    ++listed;
    const auto cells = CellsOf(rows.substr(start + 1, rows.find('\n', start + 1) - start - 1));
    ASSERT_EQ(cells.size(), 5u) << mechanism.name;
    EXPECT_EQ(cells[1], std::to_string(mechanism.dense_up_to->width_8)) << mechanism.name;
    EXPECT_EQ(cells[2], std::to_string(mechanism.dense_up_to->width_64)) << mechanism.name;
  }
  EXPECT_EQ(listed + 2, std::count(rows.begin(), rows.end(), '\n') + 1);
}

TEST(AttentionCatalog, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const auto& mechanism : Catalog()) {
    EXPECT_TRUE(names.insert(mechanism.name).second) << mechanism.name;
    EXPECT_EQ(attention::FindMechanism(mechanism.name).value(), &mechanism);
    EXPECT_NE(mechanism.text, "");
    EXPECT_NE(mechanism.cost, "");
    EXPECT_NE(mechanism.source, "");
    std::set<std::string> options;
    for (const OptionSpec& spec : mechanism.options) {
      EXPECT_TRUE(options.insert(spec.name).second) << mechanism.name << " " << spec.name;
      EXPECT_NE(spec.text, "") << spec.name;
    }
  }
  const auto missing = attention::FindMechanism("no such thing");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("linear_relu"), std::string::npos);
}

}  // namespace
}  // namespace interlacer::testing
