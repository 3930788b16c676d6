#pragma once

/// Charts as inline SVG: curves with bands, and the distribution of numbers by group.
///
/// Colours are the page's variables --c0 .. --c9 (colour-blind safe, light and dark) and every
/// series has a dash pattern and a marker of its own, so that a grey print stays readable. Texts
/// are escaped here; of titles and names that are too long the middle is left out, and the whole is
/// a tooltip. Non-finite values are gaps. Pure functions, thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace interlacer {

struct ChartSeries {
  std::string name;  ///< in the legend; empty for one more line of the kind before
  std::vector<double> x;
  std::vector<double> y;  ///< as long as x
  /// Band around y; both empty or both as long as x.
  std::vector<double> low;
  std::vector<double> high;
  /// Colour, dash and marker, so that a subject looks the same in every chart.
  std::size_t style = 0;
};

/// x counts steps: its ticks are whole numbers. With names of x there are points without lines.
struct ChartSpec {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::string alt_text;
  std::vector<ChartSeries> series;
  /// Of the things at x = 0, 1, ..., in place of numbers.
  std::vector<std::string> x_names;
  /// A vertical line, such as the end of the training horizon.
  std::optional<double> marker_x;
  std::string marker_label;
  /// A horizontal line, such as "no difference".
  std::optional<double> reference_y;
};
std::string LineChartSvg(const ChartSpec& spec);

struct DistributionGroup {
  std::string name;
  std::vector<double> values;
  /// Colour, as that of a series; absent: by the number of the row.
  std::optional<std::size_t> style = {};
};
struct DistributionSpec {
  std::string title;
  std::string value_label;
  std::string alt_text;
  std::vector<DistributionGroup> groups;
  std::optional<double> reference_value;
};
/// One row a group: a dot for each value, a line at the mean.
std::string DistributionSvg(const DistributionSpec& spec);

}  // namespace interlacer
