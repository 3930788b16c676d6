#include "cli/verbs/plan_parts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "cli/describe.h"
#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "data/csv.h"
#include "data/point_cloud_io.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

/// Between the pictures of a strip, white.
constexpr int kStripGapPx = 4;

StatusOr<std::vector<float>> ReadPoints(const fs::path& path) {
  if (path.extension() != ".npy") {
    INTERLACER_ASSIGN_OR_RETURN(PointCloud cloud, ReadPointCloud(path.string()));
    return std::move(cloud.positions_m);
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes, ReadFileBytes(path.string()));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes));
  if (array.shape.size() != 2 || array.shape[1] != 3) {
    return Mismatch(reason::SHAPE_MISMATCH, path.string(), "points [n,3]", "another shape");
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> values, NpyToDoubles(array));
  return std::vector<float>(values.begin(), values.end());
}

/// Moves the boxes that pick particles.
void ShiftRegions(const Vec3d& shift_m, nlohmann::json* document) {
  if (!document->is_object() || !document->contains("terms")) return;
  for (nlohmann::json& term : (*document)["terms"]) {
    for (const char* key : {"region_min_m", "region_max_m"}) {
      if (!term.is_object() || !term.contains(key) || !term[key].is_array()) continue;
      for (std::size_t axis = 0; axis < std::min<std::size_t>(3, term[key].size()); ++axis) {
        nlohmann::json& value = term[key][axis];
        if (value.is_number()) value = value.get<double>() + shift_m[axis];
      }
    }
  }
}

/// Rows of pictures of one size each, in one.
RgbImage JoinPictures(const std::vector<std::vector<RgbImage>>& rows) {
  RgbImage joined;
  for (const auto& row : rows) {
    int width_px = 0;
    for (const RgbImage& picture : row) width_px += picture.width_px + kStripGapPx;
    joined.width_px = std::max(joined.width_px, width_px - kStripGapPx);
    joined.height_px += row.front().height_px + kStripGapPx;
  }
  joined.height_px -= kStripGapPx;
  const auto width = static_cast<std::size_t>(joined.width_px);
  joined.pixels.assign(3 * width * static_cast<std::size_t>(joined.height_px), 255);
  std::size_t top = 0;
  for (const auto& row : rows) {
    std::size_t left = 0;
    for (const RgbImage& picture : row) {
      const std::size_t line = 3 * static_cast<std::size_t>(picture.width_px);
      for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height_px); ++y) {
        std::copy_n(
            picture.pixels.begin() + static_cast<std::ptrdiff_t>(y * line), line,
            joined.pixels.begin() + static_cast<std::ptrdiff_t>(3 * ((top + y) * width + left)));
      }
      left += static_cast<std::size_t>(picture.width_px + kStripGapPx);
    }
    top += static_cast<std::size_t>(row.front().height_px + kStripGapPx);
  }
  return joined;
}

}  // namespace

StatusOr<CostFile> ReadCosts(const std::string& path, const Vec3d& shift_m) {
  INTERLACER_ASSIGN_OR_RETURN(nlohmann::json document, ReadJsonFile(path));
  ShiftRegions(shift_m, &document);
  auto costs = ParseCosts(document, [&](const std::string& points) {
    return ReadPoints(fs::path(path).parent_path() / points);
  });
  if (!costs.ok()) return costs.status().WithFieldPrefix(path);
  return costs;
}

StatusOr<std::vector<double>> Deviations(const PlanArguments& arguments,
                                         const std::vector<ActionColumn>& columns) {
  std::vector<double> deviations(columns.size(), 0);
  const auto is_called = [](const ActionColumn& column, const std::string& joint) {
    return column.name == joint || column.name == joint + "_rad" || column.name == joint + "_m";
  };
  for (const std::string& joint : arguments.joints) {
    if (std::any_of(columns.begin(), columns.end(),
                    [&](const ActionColumn& column) { return is_called(column, joint); })) {
      continue;
    }
    std::string names;
    for (const ActionColumn& column : columns) names += (names.empty() ? "" : ", ") + column.name;
    return Mismatch(reason::ACTION_SHAPE, "--joints", "of " + names, joint);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool moves = arguments.joints.empty() ||
                       std::any_of(arguments.joints.begin(), arguments.joints.end(),
                                   [&](const auto& joint) { return is_called(columns[c], joint); });
    if (moves) {
      deviations[c] = arguments.deviation_share * (columns[c].max_value - columns[c].min_value);
    }
  }
  return deviations;
}

StatusOr<std::vector<double>> StartRow(const SceneInput& scene) {
  const ActionSequence& history = scene.history_actions;
  if (history.kind != ActionKind::kJointPositions) {
    return Mismatch(reason::ACTION_KIND, "episode", "joint positions of a robot",
                    "an episode without");
  }
  return std::vector<double>(history.values.end() - history.column_count, history.values.end());
}

nlohmann::ordered_json RowsJson(const PlanRows& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (int r = 0; r < rows.row_count; ++r) {
    json.push_back(std::vector<double>(rows.Row(r).begin(), rows.Row(r).end()));
  }
  return json;
}

Status WritePlannedViews(const Plan& plan, const SceneInput& input, OutputOptions output,
                         RolloutBackend* backend, const OutputFolder& folder,
                         const std::string& views, const std::string& strip,
                         const std::stop_token& stop) {
  output.steps.clear();
  for (int step = 0; step <= plan.rows.row_count; ++step) output.steps.push_back(step);
  output.include_positions = output.include_colors = output.include_spread = false;
  std::erase_if(output.render_targets,
                [](const RenderTarget& target) { return target.encoding != ViewEncoding::kRgb8; });
  std::vector<std::vector<RgbImage>> rows(output.render_targets.size());
  const auto on_step = [&](PredictedStep step) {
    for (std::size_t i = 0; i < step.views.size(); ++i) {
      const std::string name = step.views[i].name + Format("/step_%03d.png", step.step);
      INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath(views + "/" + name));
      INTERLACER_RETURN_IF_ERROR(WritePngFile(step.views[i].color, path));
      rows[i].push_back(std::move(step.views[i].color));
    }
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(
      backend->Predict(input, ToActions(plan.rows), output, on_step, stop).status());
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath(strip));
  return WritePngFile(JoinPictures(rows), path);
}

Status WriteRows(const PlanRows& rows, const std::vector<ActionColumn>& columns,
                 const OutputFolder& folder) {
  CsvTable table;
  for (const ActionColumn& column : columns) table.column_names.push_back(column.name);
  table.table.row_count = rows.row_count;
  table.table.column_count = rows.column_count;
  table.table.values = rows.values;
  INTERLACER_ASSIGN_OR_RETURN(const std::string csv, folder.FilePath("plan.csv"));
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(csv, FormatCsv(table)));
  INTERLACER_ASSIGN_OR_RETURN(const std::string npy, folder.FilePath("plan.npy"));
  const std::int64_t shape[] = {rows.row_count, rows.column_count};
  return WriteFileAtomic(npy, EncodeNpy(std::span<const double>(rows.values), shape));
}

}  // namespace interlacer::cli
