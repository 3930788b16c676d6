#include "robots/make_robot.h"

#include <filesystem>

#include "common/file_io.h"
#include "common/json.h"
#include "common/sha256.h"
#include "robots/robot_draft.h"

namespace interlacer {
namespace {

/// Whether the first element of an XML text is `name`.
bool IsRoot(const std::string& text, const std::string& name) {
  std::size_t at = 0;
  while ((at = text.find('<', at)) != std::string::npos) {
    if (text.compare(at, 4, "<!--") == 0) {
      at = text.find("-->", at);
      continue;
    }
    if (text.compare(at, 2, "<?") != 0 && text.compare(at, 2, "<!") != 0) {
      const std::size_t end = at + 1 + name.size();
      return text.compare(at + 1, name.size(), name) == 0 && end < text.size() &&
             std::string_view(" \t\r\n>/").find(text[end]) != std::string_view::npos;
    }
    ++at;
  }
  return false;
}

StatusOr<RobotDraft> ReadModel(bool is_urdf, const std::string& path,
                               const MakeRobotOptions& options) {
  if (!is_urdf) return ReadMjcf(path, options);
#if INTERLACER_WITH_URDF
  return ReadUrdf(path, options);
#else
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "URDF needs urdfdom and assimp: configure with INTERLACER_WITH_URDF=ON");
#endif
}

/// Problems of the model name its file; those of meshes and options stand for themselves.
Status AtModel(Status status, const std::string& model_path) {
  if (status.reason() != reason::SCHEMA_INVALID || status.field() == model_path) return status;
  return std::move(status).WithFieldPrefix(model_path + ":");
}

Status CheckOptions(const MakeRobotOptions& options) {
  if (options.points_per_link >= 1 && options.points_per_link <= kMaxPointsPerLink) {
    return Status::Ok();
  }
  return Mismatch(reason::ARGUMENT_INVALID, "points_per_link",
                  "1 to " + std::to_string(kMaxPointsPerLink),
                  std::to_string(options.points_per_link));
}

}  // namespace

StatusOr<MadeRobot> MakeRobot(const std::string& model_path, const MakeRobotOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(model_path, kMaxJsonBytes));
  const bool is_urdf = IsRoot(text, "robot");
  if (!is_urdf && !IsRoot(text, "mujoco")) {
    return Mismatch(reason::SCHEMA_INVALID, model_path, "a URDF (<robot>) or MJCF (<mujoco>) file",
                    "another root element or no XML");
  }
  auto draft = ReadModel(is_urdf, model_path, options);
  if (!draft.ok()) return AtModel(draft.status(), model_path);
  auto made = FinishRobot(*std::move(draft), options);
  if (!made.ok()) return AtModel(made.status(), model_path);
  made->robot.source = std::filesystem::path(model_path).filename().string() + ", sha256 " +
                       Sha256Hex(text) + ", " + std::to_string(options.points_per_link) +
                       " points a link, seed " + std::to_string(options.seed);
  return made;
}

StatusOr<Robot> JoinRobots(const std::string& name, std::span<const Robot> robots,
                           std::span<const std::string> prefixes) {
  if (robots.size() != prefixes.size()) {
    return Mismatch(reason::ARGUMENT_INVALID, "prefixes", std::to_string(robots.size()),
                    std::to_string(prefixes.size()));
  }
  Robot joined;
  joined.name = name;
  joined.links.push_back({.name = "world"});
  for (std::size_t r = 0; r < robots.size(); ++r) {
    const Robot& robot = robots[r];
    const std::string& prefix = prefixes[r];
    const int offset = static_cast<int>(joined.links.size());
    for (RobotLink link : robot.links) {
      link.name = prefix + link.name;
      link.parent = link.parent < 0 ? 0 : link.parent + offset;
      if (!link.joint.name.empty()) link.joint.name = prefix + link.joint.name;
      if (link.joint.mimic) link.joint.mimic->link += offset;
      joined.links.push_back(std::move(link));
    }
    for (int column : robot.columns) joined.columns.push_back(column + offset);
    const SurfacePoints& from = robot.surface;
    SurfacePoints& to = joined.surface;
    to.positions_m.insert(to.positions_m.end(), from.positions_m.begin(), from.positions_m.end());
    to.normals.insert(to.normals.end(), from.normals.begin(), from.normals.end());
    for (std::int64_t link : from.links) to.links.push_back(link + offset);
    joined.source += (r == 0 ? "" : "; ") + robot.source;
  }
  INTERLACER_RETURN_IF_ERROR(ValidateRobot(joined));
  return joined;
}

}  // namespace interlacer
