#include "client/planner/cost_file.h"

#include <utility>

#include "common/json.h"

namespace interlacer {
namespace {

constexpr char kTypes[] =
    "object_to_point, object_to_box, goal_cloud, keep_still, keep_out, uncertainty, smooth_action "
    "or "
    "small_action";

StatusOr<Vec3d> ReadPoint(const JsonObject& term, std::string_view key) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> xyz, term.GetNumbers(key, 3));
  return Vec3d{xyz[0], xyz[1], xyz[2]};
}

/// From NAME_min_m and NAME_max_m.
StatusOr<Box> ReadBox(const JsonObject& term, const std::string& name) {
  Box box;
  INTERLACER_ASSIGN_OR_RETURN(box.min_m, ReadPoint(term, name + "_min_m"));
  INTERLACER_ASSIGN_OR_RETURN(box.max_m, ReadPoint(term, name + "_max_m"));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (box.min_m[axis] < box.max_m[axis]) continue;
    return term.Invalid(name + "_max_m", "above " + name + "_min_m on every axis",
                        std::to_string(box.max_m[axis]));
  }
  return box;
}

StatusOr<Region> ReadRegion(const JsonObject& term) {
  if (!term.Has("region_min_m") && !term.Has("region_max_m")) return Region();
  INTERLACER_ASSIGN_OR_RETURN(const Box box, ReadBox(term, "region"));
  return Region(box);
}

StatusOr<CostTerm> ReadGoal(const JsonObject& term, const Region& region,
                            const PointReader& read_points) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, term.Get<std::string>("points"));
  auto points_m = read_points(path);
  if (!points_m.ok()) return points_m.status().WithFieldPrefix(term.PathOf("points"));
  if (points_m->empty()) return term.Invalid("points", "a file with points", "none in " + path);
  return GoalCloud(region, *std::move(points_m));
}

StatusOr<CostTerm> ReadValue(const JsonObject& term, const std::string& type,
                             const PointReader& read_points) {
  if (type == "smooth_action" || type == "small_action") {
    INTERLACER_RETURN_IF_ERROR(term.AllowOnly({"type", "weight", "bound"}));
    return type == "smooth_action" ? SmoothAction() : SmallAction();
  }
  INTERLACER_ASSIGN_OR_RETURN(const Region region, ReadRegion(term));
  if (type == "object_to_point") {
    INTERLACER_RETURN_IF_ERROR(
        term.AllowOnly({"type", "weight", "bound", "region_min_m", "region_max_m", "target_m"}));
    INTERLACER_ASSIGN_OR_RETURN(const Vec3d target_m, ReadPoint(term, "target_m"));
    return ObjectToPoint(region, target_m);
  }
  if (type == "object_to_box" || type == "keep_out") {
    INTERLACER_RETURN_IF_ERROR(term.AllowOnly(
        {"type", "weight", "bound", "region_min_m", "region_max_m", "box_min_m", "box_max_m"}));
    INTERLACER_ASSIGN_OR_RETURN(const Box box, ReadBox(term, "box"));
    return type == "keep_out" ? KeepOut(region, box) : ObjectToBox(region, box);
  }
  if (type == "goal_cloud") {
    INTERLACER_RETURN_IF_ERROR(
        term.AllowOnly({"type", "weight", "bound", "region_min_m", "region_max_m", "points"}));
    return ReadGoal(term, region, read_points);
  }
  if (type != "keep_still" && type != kUncertaintyTerm) return term.Invalid("type", kTypes, type);
  INTERLACER_RETURN_IF_ERROR(
      term.AllowOnly({"type", "weight", "bound", "region_min_m", "region_max_m"}));
  return type == "keep_still" ? KeepStill(region) : Uncertainty(region);
}

}  // namespace

StatusOr<CostFile> ParseCosts(const nlohmann::json& document, const PointReader& read_points) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Make(document));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, root.Get<std::string>("schema"));
  if (schema != "interlacer.cost") return root.Invalid("schema", "interlacer.cost", schema);
  INTERLACER_ASSIGN_OR_RETURN(const int version, root.Get<int>("schema_version"));
  if (version != 1) return root.Invalid("schema_version", "1", std::to_string(version));
  INTERLACER_RETURN_IF_ERROR(root.AllowOnly({"schema", "schema_version", "terms"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> terms, root.GetObjects("terms"));
  if (terms.empty()) return root.Invalid("terms", "at least one", "none");
  CostFile file;
  for (const JsonObject& term : terms) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string type, term.Get<std::string>("type"));
    INTERLACER_ASSIGN_OR_RETURN(CostTerm read, ReadValue(term, type, read_points));
    INTERLACER_ASSIGN_OR_RETURN(read.weight, term.GetOr<double>("weight", 1.0));
    if (term.Has("bound")) {
      INTERLACER_ASSIGN_OR_RETURN(read.bound, term.Get<double>("bound"));
    }
    file.needs_all_steps = file.needs_all_steps || type == "keep_out";
    file.terms.push_back(std::move(read));
  }
  return file;
}

}  // namespace interlacer
