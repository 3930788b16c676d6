#include <console_bridge/console.h>
#include <urdf_parser/urdf_parser.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>

#include "common/file_io.h"
#include "common/json.h"
#include "common/number_text.h"
#include "robots/mesh_file.h"
#include "robots/mesh_path.h"
#include "robots/primitives.h"
#include "robots/robot_draft.h"

namespace interlacer {
namespace {

/// Text without XML comments: a file that xacro wrote may carry those of its source.
std::string WithoutComments(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t begin = text.find("<!--", at);
    out += text.substr(at, begin - at);
    const std::size_t end = begin == std::string::npos ? begin : text.find("-->", begin);
    if (end == std::string::npos) return out;
    at = end + 3;
  }
}

Status RefuseXacro(const std::string& text, const std::string& path) {
  const std::string bare = WithoutComments(text);
  for (const char* const sign : {"<xacro:", "${", "$("}) {
    if (bare.find(sign) == std::string::npos) continue;
    return Mismatch(reason::SCHEMA_INVALID, path,
                    "a URDF; expand the macros first: xacro FILE.urdf.xacro > FILE.urdf "
                    "(Debian and PyPI package xacro)",
                    std::string("xacro text with ") + sign);
  }
  return Status::Ok();
}

/// Collects what urdfdom says instead of returning it.
class UrdfErrors : public console_bridge::OutputHandler {
 public:
  void log(const std::string& text, console_bridge::LogLevel level, const char*, int) override {
    if (level < console_bridge::CONSOLE_BRIDGE_LOG_ERROR) return;
    text_ += (text_.empty() ? "" : "; ") + text;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

StatusOr<urdf::ModelInterfaceSharedPtr> ParseUrdf(const std::string& text,
                                                  const std::string& path) {
  // The handler of messages belongs to the whole process.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  UrdfErrors errors;
  console_bridge::useOutputHandler(&errors);
  urdf::ModelInterfaceSharedPtr model;
  std::string problem;
  try {
    model = urdf::parseURDF(text);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  console_bridge::restorePreviousOutputHandler();
  // A link whose shape it cannot read it keeps without the shape.
  const bool is_whole = errors.text().find("Could not parse") == std::string::npos;
  if (model != nullptr && model->getRoot() != nullptr && is_whole) return model;
  return Mismatch(reason::SCHEMA_INVALID, path, "a sound URDF", problem + errors.text());
}

Transform ToTransform(const urdf::Pose& pose) {
  const auto& p = pose.position;
  const auto& q = pose.rotation;
  return {{p.x, p.y, p.z}, {q.x, q.y, q.z, q.w}};
}

class UrdfReader {
 public:
  UrdfReader(std::string path, const MakeRobotOptions& options)
      : path_(std::move(path)),
        folder_(std::filesystem::path(path_).parent_path().string()),
        options_(options) {}

  StatusOr<RobotDraft> Read() {
    INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path_, kMaxJsonBytes));
    INTERLACER_RETURN_IF_ERROR(RefuseXacro(text, path_));
    INTERLACER_ASSIGN_OR_RETURN(const auto model, ParseUrdf(text, path_));
    draft_.robot.name = model->getName();
    // Before the tree is walked, which takes time in the square of its links.
    if (model->links_.size() > kMaxRobotLinks) {
      return Refused("links", "1 to " + std::to_string(kMaxRobotLinks),
                     std::to_string(model->links_.size()));
    }
    INTERLACER_RETURN_IF_ERROR(CheckParents(*model));
    INTERLACER_RETURN_IF_ERROR(AddTree(*model));
    INTERLACER_RETURN_IF_ERROR(ConnectMimics(*model));
    return std::move(draft_);
  }

 private:
  Status Refused(const std::string& where, std::string expected, std::string got) const {
    return Mismatch(reason::SCHEMA_INVALID, where, std::move(expected), std::move(got));
  }

  static Status CheckParents(const urdf::ModelInterface& model) {
    std::map<std::string, std::string> joint_of_link;
    for (const auto& [name, joint] : model.joints_) {
      const auto [other, is_first] = joint_of_link.emplace(joint->child_link_name, name);
      if (is_first) continue;
      return Mismatch(reason::SCHEMA_INVALID, "link '" + joint->child_link_name + "'",
                      "one joint that it hangs on", "'" + other->second + "' and '" + name + "'");
    }
    return Status::Ok();
  }

  /// Depth first; brothers in the order of urdfdom, that of their joints' names.
  Status AddTree(const urdf::ModelInterface& model) {
    struct Pending {
      const urdf::Link* link;
      int parent;
    };
    std::vector<Pending> pending = {{model.getRoot().get(), -1}};
    while (!pending.empty()) {
      const Pending next = pending.back();
      pending.pop_back();
      INTERLACER_ASSIGN_OR_RETURN(const int index, AddLink(*next.link, next.parent));
      const auto& children = next.link->child_links;
      for (auto child = children.rbegin(); child != children.rend(); ++child) {
        pending.push_back({child->get(), index});
      }
    }
    for (const auto& [name, link] : model.links_) {
      if (FindLink(draft_.robot, name) >= 0) continue;
      return Refused("link '" + name + "'", "a tree below '" + model.getRoot()->name + "'",
                     "a cycle of joints");
    }
    return Status::Ok();
  }

  StatusOr<int> AddLink(const urdf::Link& from, int parent) {
    RobotLink link;
    link.name = from.name;
    link.parent = parent;
    double rest_value = 0;
    if (from.parent_joint != nullptr) {
      INTERLACER_ASSIGN_OR_RETURN(link.joint, ReadJoint(*from.parent_joint));
      if (link.joint.limits) {
        rest_value = std::clamp(0.0, link.joint.limits->min,
                                std::max(link.joint.limits->min, link.joint.limits->max));
      }
    }
    const int index = draft_.AddLink(std::move(link), rest_value);
    const auto& limits = draft_.robot.links[index].joint.limits;
    if (limits && limits->min == limits->max) {
      draft_.notes.push_back("joint '" + from.parent_joint->name + "' has no range: held still");
      draft_.Hold(index, limits->min);
    }
    INTERLACER_RETURN_IF_ERROR(AddShapes(from, index));
    return index;
  }

  StatusOr<RobotJoint> ReadJoint(const urdf::Joint& from) {
    RobotJoint joint;
    joint.name = from.name;
    joint.parent_from_joint = ToTransform(from.parent_to_joint_origin_transform);
    switch (from.type) {
      case urdf::Joint::FIXED:
        return joint;
      case urdf::Joint::REVOLUTE:
        joint.type = JointType::kRevolute;
        break;
      case urdf::Joint::CONTINUOUS:
        joint.type = JointType::kContinuous;
        break;
      case urdf::Joint::PRISMATIC:
        joint.type = JointType::kPrismatic;
        break;
      case urdf::Joint::FLOATING:
      case urdf::Joint::PLANAR:
        draft_.notes.push_back("joint '" + from.name + "' is floating or planar: held still");
        return joint;
      default:
        return Refused("joint '" + from.name + "'.type", "fixed, revolute, continuous or prismatic",
                       "another type");
    }
    const double length = std::hypot(from.axis.x, from.axis.y, from.axis.z);
    if (!(length > 0) || !std::isfinite(length)) {
      return Refused("joint '" + from.name + "'.axis", "a vector longer than 0", "0 0 0");
    }
    joint.axis = {from.axis.x / length, from.axis.y / length, from.axis.z / length};
    if (joint.type != JointType::kContinuous && from.limits != nullptr) {
      joint.limits = JointLimits{from.limits->lower, from.limits->upper};
    }
    if (options_.max_speeds && from.limits != nullptr && from.limits->velocity > 0) {
      joint.max_speed = from.limits->velocity;
    }
    return joint;
  }

  Status ConnectMimics(const urdf::ModelInterface& model) {
    for (std::size_t i = 0; i < draft_.robot.links.size(); ++i) {
      RobotJoint& joint = draft_.robot.links[i].joint;
      const auto from = joint.type == JointType::kFixed ? nullptr : model.getJoint(joint.name);
      if (from == nullptr || from->mimic == nullptr) continue;
      const int followed = FindJoint(draft_.robot, from->mimic->joint_name);
      if (followed < 0) {
        return Refused("joint '" + joint.name + "'.mimic", "a joint of this robot",
                       "'" + from->mimic->joint_name + "'");
      }
      joint.mimic = JointMimic{followed, from->mimic->multiplier, from->mimic->offset};
    }
    return Status::Ok();
  }

  Status AddShapes(const urdf::Link& from, int index) {
    if (!WantsSurface(options_, from.name, true)) return Status::Ok();
    SurfaceSampler sampler(options_.points_per_link, options_.seed,
                           static_cast<std::uint32_t>(index));
    for (const auto& visual : from.visual_array) {
      INTERLACER_RETURN_IF_ERROR(
          AddShape(from.name, visual->geometry.get(), visual->origin, &sampler));
    }
    if (from.visual_array.empty() && !from.collision_array.empty()) {
      draft_.notes.push_back("link '" + from.name +
                             "' has no visual: its collision shapes are used");
      for (const auto& shape : from.collision_array) {
        INTERLACER_RETURN_IF_ERROR(
            AddShape(from.name, shape->geometry.get(), shape->origin, &sampler));
      }
    }
    AddSurface(sampler, index, &draft_.robot);
    return Status::Ok();
  }

  Status AddShape(const std::string& link, const urdf::Geometry* geometry, const urdf::Pose& origin,
                  SurfaceSampler* sampler) {
    if (geometry == nullptr) return Refused("link '" + link + "'", "a geometry", "none");
    TriangleStream surface;
    std::string what = "a shape";
    Vec3d scale{1, 1, 1};
    const auto check = [&](const std::string& shape, std::initializer_list<double> sizes_m) {
      for (const double size_m : sizes_m) {
        if (size_m > 0 && std::isfinite(size_m)) continue;
        return Refused("link '" + link + "'", "a " + shape + " of positive size in metres",
                       NumberText(size_m));
      }
      return Status::Ok();
    };
    switch (geometry->type) {
      case urdf::Geometry::SPHERE: {
        const double r = static_cast<const urdf::Sphere*>(geometry)->radius;
        INTERLACER_RETURN_IF_ERROR(check("sphere", {r}));
        surface = EllipsoidSurface({r, r, r});
        break;
      }
      case urdf::Geometry::BOX: {
        const urdf::Vector3& sides = static_cast<const urdf::Box*>(geometry)->dim;
        INTERLACER_RETURN_IF_ERROR(check("box", {sides.x, sides.y, sides.z}));
        surface = BoxSurface({sides.x / 2, sides.y / 2, sides.z / 2});
        break;
      }
      case urdf::Geometry::CYLINDER: {
        const auto* cylinder = static_cast<const urdf::Cylinder*>(geometry);
        INTERLACER_RETURN_IF_ERROR(check("cylinder", {cylinder->radius, cylinder->length}));
        surface = CylinderSurface(cylinder->radius, cylinder->length / 2);
        break;
      }
      case urdf::Geometry::MESH: {
        const auto* mesh = static_cast<const urdf::Mesh*>(geometry);
        scale = {mesh->scale.x, mesh->scale.y, mesh->scale.z};
        what = mesh->filename;
        INTERLACER_ASSIGN_OR_RETURN(surface, LoadMesh(link, mesh->filename));
        break;
      }
    }
    if (sampler->Add(Moved(std::move(surface), ToTransform(origin), scale))) return Status::Ok();
    return Refused("link '" + link + "'", "a surface with an area", what + " without one");
  }

  StatusOr<TriangleStream> LoadMesh(const std::string& link, const std::string& uri) {
    StatusOr<std::string> file = FindMeshFile(uri, folder_, options_.package_paths);
    if (!file.ok()) return MeshError(uri, link, file.status().message());
    INTERLACER_RETURN_IF_ERROR(CheckMeshSize(*file, link, &mesh_bytes_));
    StatusOr<TriangleStream> mesh = ReadMesh(*file);
    if (!mesh.ok()) return MeshError(*file, link, mesh.status().message());
    return mesh;
  }

  const std::string path_;
  const std::string folder_;
  const MakeRobotOptions& options_;
  RobotDraft draft_;
  std::int64_t mesh_bytes_ = 0;
};

}  // namespace

StatusOr<RobotDraft> ReadUrdf(const std::string& path, const MakeRobotOptions& options) {
  return UrdfReader(path, options).Read();
}

}  // namespace interlacer
