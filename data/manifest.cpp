#include "data/manifest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>

#include "common/number_text.h"
#include "common/scene_limits.h"
#include "common/transforms.h"
#include "data/depth.h"

namespace interlacer {
namespace {

constexpr char kStepPlaceholder[] = "%06d";
constexpr std::size_t kMaxNameBytes = 64;

Status Invalid(std::string field, std::string expected, std::string got) {
  return Mismatch(reason::SCHEMA_INVALID, std::move(field), std::move(expected), std::move(got));
}

/// A relative path of plain names: nothing in a manifest may reach outside its folder.
bool StaysInside(std::string_view path) {
  if (path.empty() || path.front() == '/') return false;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return true;
}

Status ValidatePath(const std::string& path, const std::string& field) {
  if (StaysInside(path)) return Status::Ok();
  return Invalid(field, "a path inside the episode", path);
}

Status ValidatePattern(const std::string& pattern, const std::string& field) {
  const std::size_t at = pattern.find(kStepPlaceholder);
  if (StaysInside(pattern) && at != std::string::npos &&
      std::count(pattern.begin(), pattern.end(), '%') == 1) {
    return Status::Ok();
  }
  return Invalid(field, "a path inside the episode with one %06d", pattern);
}

Status ValidateEpisodeCamera(const EpisodeCamera& item) {
  if (!IsValidName(item.name)) {
    return Invalid("name", "1 to 64 of A-Z a-z 0-9 . _ -", item.name);
  }
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(item.camera));
  INTERLACER_RETURN_IF_ERROR(ValidatePattern(item.color_pattern, "color.pattern"));
  INTERLACER_RETURN_IF_ERROR(ValidatePattern(item.depth_pattern, "depth.pattern"));
  if (item.color_pattern == item.depth_pattern) {
    return Invalid("depth.pattern", "another path than color.pattern", item.depth_pattern);
  }
  if (!item.poses_file.empty()) {
    INTERLACER_RETURN_IF_ERROR(ValidatePath(item.poses_file, "poses_file"));
  }
  INTERLACER_RETURN_IF_ERROR(ValidateDepthUnit(item.depth_unit_m, "depth.unit_m"));
  if (!IsDepthRange(item.near_m, item.far_m)) {
    return Mismatch(reason::DEPTH_RANGE_INVALID, "near_m, far_m",
                    "0 < near_m < far_m <= 100 as float32",
                    NumberText(item.near_m) + ", " + NumberText(item.far_m));
  }
  return Status::Ok();
}

Status ValidateMotion(const MotionTable& motion) {
  INTERLACER_RETURN_IF_ERROR(ValidatePath(motion.file, "file"));
  if (motion.kind == ActionKind::kNone) {
    return Invalid("kind", "joint_positions or kinematic_points_m", "none");
  }
  if (motion.columns.empty()) return Invalid("columns", "at least one column", "none");
  for (std::size_t i = 0; i < motion.columns.size(); ++i) {
    const TableColumn& column = motion.columns[i];
    const std::string field = "columns[" + std::to_string(i) + "]";
    if (column.unit != "rad" && column.unit != "m") {
      return Invalid(field + ".unit", "rad or m", column.unit);
    }
    if (!(column.min_value < column.max_value)) {
      return Invalid(field + ".min", "below max " + std::to_string(column.max_value),
                     std::to_string(column.min_value));
    }
  }
  return Status::Ok();
}

Status ValidateByKind(const EpisodeManifest& manifest) {
  if (manifest.robot && !manifest.robot->folder.empty()) {
    INTERLACER_RETURN_IF_ERROR(ValidatePath(manifest.robot->folder, "robot.folder"));
  }
  if (manifest.kind == EpisodeKind::kManipulation) {
    if (!manifest.actions) return Invalid("actions", "a table in a manipulation episode", "none");
    if (!manifest.states) return Invalid("states", "a table in a manipulation episode", "none");
  } else if (manifest.actions || manifest.states) {
    return Invalid("actions", "no table in an episode without a robot", "a table");
  }
  if (manifest.kind == EpisodeKind::kStaticViews && manifest.step_count != 1) {
    return Invalid("step_count", "1 for static_views", std::to_string(manifest.step_count));
  }
  return Status::Ok();
}

}  // namespace

bool IsValidName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::string FramePath(const std::string& pattern, int step) {
  std::string path = pattern;
  char digits[16];
  std::snprintf(digits, sizeof(digits), kStepPlaceholder, step);
  const std::size_t at = path.find(kStepPlaceholder);
  if (at != std::string::npos) path.replace(at, sizeof(kStepPlaceholder) - 1, digits);
  return path;
}

std::string CurrentTimeRfc3339() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Status ValidateManifest(const EpisodeManifest& manifest) {
  if (!IsValidName(manifest.episode_id)) {
    return Invalid("episode_id", "1 to 64 of A-Z a-z 0-9 . _ -", manifest.episode_id);
  }
  if (manifest.step_count < 1 || manifest.step_count > kMaxStepCount) {
    return Invalid("step_count", "1 to " + std::to_string(kMaxStepCount),
                   std::to_string(manifest.step_count));
  }
  if (!(manifest.step_duration_s > 0 && std::isfinite(manifest.step_duration_s))) {
    return Invalid("step_duration_s", "above 0", std::to_string(manifest.step_duration_s));
  }
  INTERLACER_RETURN_IF_ERROR(ValidateBox(manifest.workspace, kMaxSceneSideM));
  if (manifest.cameras.empty()) return Invalid("cameras", "at least one camera", "none");
  std::set<std::string> names;
  for (std::size_t i = 0; i < manifest.cameras.size(); ++i) {
    const std::string field = "cameras[" + std::to_string(i) + "]";
    if (Status status = ValidateEpisodeCamera(manifest.cameras[i]); !status.ok()) {
      return std::move(status).WithFieldPrefix(field);
    }
    if (!names.insert(manifest.cameras[i].name).second) {
      return Mismatch(reason::CAMERA_DUPLICATE, field + ".name", "a new name",
                      manifest.cameras[i].name);
    }
  }
  if (!manifest.capture_times_file.empty()) {
    INTERLACER_RETURN_IF_ERROR(ValidatePath(manifest.capture_times_file, "capture_times_file"));
  }
  INTERLACER_RETURN_IF_ERROR(ValidateByKind(manifest));
  if (manifest.actions) {
    if (Status status = ValidateMotion(*manifest.actions); !status.ok()) {
      return std::move(status).WithFieldPrefix("actions");
    }
  }
  if (manifest.states) {
    if (Status status = ValidateMotion(*manifest.states); !status.ok()) {
      return std::move(status).WithFieldPrefix("states");
    }
  }
  return Status::Ok();
}

}  // namespace interlacer
