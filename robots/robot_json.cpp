#include <algorithm>
#include <map>

#include "common/json.h"
#include "common/transform_json.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "interlacer.robot";

Json JointToJson(const Robot& robot, const RobotJoint& joint) {
  Json json;
  if (!joint.name.empty()) json["name"] = joint.name;
  json["type"] = NameOf(joint.type);
  json["origin"] = TransformToJson(joint.parent_from_joint);
  if (joint.type == JointType::kFixed) return json;
  const std::string unit(UnitOf(joint.type));
  json["axis"] = joint.axis;
  if (joint.limits) json["limits_" + unit] = {joint.limits->min, joint.limits->max};
  if (joint.max_speed) json["max_speed_" + unit + "_per_s"] = *joint.max_speed;
  if (joint.mimic) {
    json["mimic"] = {{"joint", robot.links[joint.mimic->link].joint.name},
                     {"factor", joint.mimic->factor},
                     {"offset_" + unit, joint.mimic->offset}};
  }
  return json;
}

template <typename T>
StatusOr<T> ParseWord(const JsonObject& object, std::string_view key,
                      std::initializer_list<T> values) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string word, object.Get<std::string>(key));
  std::string known;
  for (const T value : values) {
    if (NameOf(value) == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(NameOf(value));
  }
  return object.Invalid(key, "one of " + known, "'" + word + "'");
}

/// `followed` gets the name of the joint that a mimic joint follows.
StatusOr<RobotJoint> ParseJoint(const JsonObject& object, std::string* followed) {
  RobotJoint joint;
  INTERLACER_ASSIGN_OR_RETURN(
      joint.type, ParseWord(object, "type",
                            {JointType::kFixed, JointType::kRevolute, JointType::kContinuous,
                             JointType::kPrismatic}));
  INTERLACER_ASSIGN_OR_RETURN(joint.name, object.GetOr<std::string>("name", ""));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject origin, object.GetObject("origin"));
  INTERLACER_RETURN_IF_ERROR(origin.AllowOnly({"translation_m", "rotation_xyzw"}));
  INTERLACER_ASSIGN_OR_RETURN(joint.parent_from_joint, TransformFromJson(origin));
  if (joint.type == JointType::kFixed) {
    INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"name", "type", "origin"}));
    return joint;
  }
  const std::string unit(UnitOf(joint.type));
  const std::string limits_key = "limits_" + unit, offset_key = "offset_" + unit,
                    speed_key = "max_speed_" + unit + "_per_s";
  INTERLACER_RETURN_IF_ERROR(
      object.AllowOnly({"name", "type", "origin", "axis", limits_key, speed_key, "mimic"}));
  INTERLACER_ASSIGN_OR_RETURN(const auto axis, object.GetNumbers("axis", 3));
  std::copy(axis.begin(), axis.end(), joint.axis.begin());
  if (object.Has(limits_key)) {
    INTERLACER_ASSIGN_OR_RETURN(const auto limits, object.GetNumbers(limits_key, 2));
    joint.limits = JointLimits{limits[0], limits[1]};
  }
  if (object.Has(speed_key)) {
    INTERLACER_ASSIGN_OR_RETURN(joint.max_speed, object.Get<double>(speed_key));
  }
  if (object.Has("mimic")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject mimic, object.GetObject("mimic"));
    INTERLACER_RETURN_IF_ERROR(mimic.AllowOnly({"joint", "factor", offset_key}));
    joint.mimic.emplace();
    INTERLACER_ASSIGN_OR_RETURN(*followed, mimic.Get<std::string>("joint"));
    INTERLACER_ASSIGN_OR_RETURN(joint.mimic->factor, mimic.Get<double>("factor"));
    INTERLACER_ASSIGN_OR_RETURN(joint.mimic->offset, mimic.Get<double>(offset_key));
  }
  return joint;
}

/// Names of a link's parent and of the joint that its own follows; empty where there is none.
struct LinkNames {
  std::string parent;
  std::string followed;
};

StatusOr<RobotLink> ParseLink(const JsonObject& object, LinkNames* names) {
  INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"name", "parent", "part", "joint"}));
  RobotLink link;
  INTERLACER_ASSIGN_OR_RETURN(link.name, object.Get<std::string>("name"));
  INTERLACER_ASSIGN_OR_RETURN(names->parent, object.GetOr<std::string>("parent", ""));
  INTERLACER_ASSIGN_OR_RETURN(
      link.part,
      ParseWord(object, "part", {LinkPart::kBody, LinkPart::kGripper, LinkPart::kFinger}));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject joint, object.GetObject("joint"));
  INTERLACER_ASSIGN_OR_RETURN(link.joint, ParseJoint(joint, &names->followed));
  return link;
}

}  // namespace

Json RobotToJson(const Robot& robot) {
  Json json = {{"schema", kSchema},
               {"schema_version", kRobotSchemaVersion},
               {"name", robot.name},
               {"source", robot.source}};
  json["columns"] = Json::array();
  for (int link : robot.columns) json["columns"].push_back(robot.links[link].joint.name);
  for (const RobotLink& link : robot.links) {
    Json item = {{"name", link.name}};
    if (link.parent >= 0) item["parent"] = robot.links[link.parent].name;
    item["part"] = NameOf(link.part);
    item["joint"] = JointToJson(robot, link.joint);
    json["links"].push_back(std::move(item));
  }
  return json;
}

StatusOr<Robot> RobotFromJson(const nlohmann::json& document) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, JsonObject::Make(document));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, object.Get<std::string>("schema"));
  if (schema != kSchema) return object.Invalid("schema", kSchema, schema);
  INTERLACER_ASSIGN_OR_RETURN(const int version, object.Get<int>("schema_version"));
  if (version != kRobotSchemaVersion) {
    return Mismatch(reason::SCHEMA_VERSION_UNSUPPORTED, "schema_version",
                    std::to_string(kRobotSchemaVersion), std::to_string(version));
  }
  INTERLACER_RETURN_IF_ERROR(
      object.AllowOnly({"schema", "schema_version", "name", "source", "columns", "links"}));
  Robot robot;
  INTERLACER_ASSIGN_OR_RETURN(robot.name, object.Get<std::string>("name"));
  INTERLACER_ASSIGN_OR_RETURN(robot.source, object.Get<std::string>("source"));
  INTERLACER_ASSIGN_OR_RETURN(const auto columns, object.Get<std::vector<std::string>>("columns"));
  INTERLACER_ASSIGN_OR_RETURN(const auto links, object.GetObjects("links"));
  if (links.size() > kMaxRobotLinks) {
    return object.Invalid("links", "at most " + std::to_string(kMaxRobotLinks),
                          std::to_string(links.size()));
  }
  std::vector<LinkNames> names(links.size());
  std::map<std::string, int, std::less<>> link_of_name, link_of_joint;
  for (std::size_t i = 0; i < links.size(); ++i) {
    INTERLACER_ASSIGN_OR_RETURN(RobotLink link, ParseLink(links[i], &names[i]));
    link_of_name.emplace(link.name, static_cast<int>(i));
    if (!link.joint.name.empty()) link_of_joint.emplace(link.joint.name, static_cast<int>(i));
    robot.links.push_back(std::move(link));
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    RobotLink& link = robot.links[i];
    if (links[i].Has("parent")) {
      const auto parent = link_of_name.find(names[i].parent);
      if (parent == link_of_name.end()) {
        return links[i].Invalid("parent", "a link of this robot",
                                "'" + names[i].parent + "' (link '" + link.name + "')");
      }
      link.parent = parent->second;
    }
    if (link.joint.mimic) {
      const auto followed = link_of_joint.find(names[i].followed);
      if (followed == link_of_joint.end()) {
        return links[i].Invalid("joint.mimic.joint", "a joint of this robot",
                                "'" + names[i].followed + "' (link '" + link.name + "')");
      }
      link.joint.mimic->link = followed->second;
    }
  }
  for (const std::string& column : columns) {
    const auto link = link_of_joint.find(column);
    if (link == link_of_joint.end()) {
      return object.Invalid("columns", "joints of this robot", "'" + column + "'");
    }
    robot.columns.push_back(link->second);
  }
  return robot;
}

}  // namespace interlacer
