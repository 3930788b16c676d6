#include <mujoco/mujoco.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/primitives.h"
#include "robots/robot_draft.h"

namespace interlacer {
namespace {

struct SpecDeleter {
  void operator()(mjSpec* spec) const { mj_deleteSpec(spec); }
};
struct ModelDeleter {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
};
using Spec = std::unique_ptr<mjSpec, SpecDeleter>;
using Model = std::unique_ptr<mjModel, ModelDeleter>;

constexpr int kErrorBytes = 1024;
/// Least mass and inertia of a body: kinematics needs none, MuJoCo's compiler does.
constexpr double kLeastMassKg = 1e-3;
constexpr double kLeastInertia = 1e-9;

std::string Name(const mjModel* model, int type, int id, const char* kind) {
  const char* const name = mj_id2name(model, type, id);
  return name != nullptr && *name != 0 ? name : std::string(kind) + "_" + std::to_string(id);
}

Transform PoseOf(const mjtNum* position, const mjtNum* quaternion_wxyz) {
  const mjtNum* const q = quaternion_wxyz;
  return {{position[0], position[1], position[2]}, {q[1], q[2], q[3], q[0]}};
}

/// Name of the body that shows a mesh, for messages.
std::string LinkOfMesh(mjSpec* spec, const std::string& mesh_name) {
  for (mjsElement* e = mjs_firstElement(spec, mjOBJ_GEOM); e != nullptr;
       e = mjs_nextElement(spec, e)) {
    if (mjs_getString(mjs_asGeom(e)->meshname) != mesh_name) continue;
    return mjs_getString(mjs_getName(mjs_getParent(e)->element));
  }
  return "";
}

struct MeshFile {
  std::string path;
  std::string link;
};

/// The mesh files of a specification; changes the way their mass is found, which is not needed here
/// and fails for meshes that are not closed.
std::vector<MeshFile> PrepareMeshes(mjSpec* spec, const std::string& folder) {
  std::vector<MeshFile> files;
  for (mjsElement* e = mjs_firstElement(spec, mjOBJ_MESH); e != nullptr;
       e = mjs_nextElement(spec, e)) {
    mjsMesh* const mesh = mjs_asMesh(e);
    mesh->inertia = mjMESH_INERTIA_SHELL;
    const std::filesystem::path file = mjs_getString(mesh->file);
    if (file.empty()) continue;
    std::string name = mjs_getString(mjs_getName(e));
    if (name.empty()) name = file.stem().string();
    const auto path = std::filesystem::path(folder) / mjs_getString(spec->compiler.meshdir) /
                      (spec->strippath ? file.filename() : file);
    files.push_back({path.string(), LinkOfMesh(spec, name)});
  }
  return files;
}

StatusOr<Model> Compile(const std::string& path) {
  char error[kErrorBytes] = "";
  const Spec spec(mj_parseXML(path.c_str(), nullptr, error, kErrorBytes));
  if (spec == nullptr) {
    return Mismatch(reason::SCHEMA_INVALID, path, "a sound MJCF model", error);
  }
  spec->compiler.fusestatic = 0;
  spec->compiler.discardvisual = 0;
  spec->compiler.boundmass = std::max(spec->compiler.boundmass, kLeastMassKg);
  spec->compiler.boundinertia = std::max(spec->compiler.boundinertia, kLeastInertia);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const std::vector<MeshFile> meshes = PrepareMeshes(spec.get(), folder);
  std::int64_t total_bytes = 0;
  std::error_code ignored;
  for (const MeshFile& mesh : meshes) {
    // MuJoCo finds files in more ways; what it does not find it names.
    if (!std::filesystem::exists(mesh.path, ignored)) continue;
    INTERLACER_RETURN_IF_ERROR(CheckMeshSize(mesh.path, mesh.link, &total_bytes));
  }
  Model model(mj_compile(spec.get(), nullptr));
  if (model != nullptr) return model;
  const std::string problem = mjs_getError(spec.get());
  for (const MeshFile& mesh : meshes) {
    const std::string file = std::filesystem::path(mesh.path).filename().string();
    if (problem.find(file) != std::string::npos) return MeshError(mesh.path, mesh.link, problem);
  }
  return Mismatch(reason::SCHEMA_INVALID, path, "a sound MJCF model", problem);
}

class MjcfReader {
 public:
  MjcfReader(const mjModel* model, const MakeRobotOptions& options)
      : model_(model),
        options_(options),
        link_of_body_(model->nbody),
        link_of_joint_(model->njnt) {}

  StatusOr<RobotDraft> Read() {
    draft_.robot.name = model_->names;
    if (draft_.robot.name.empty()) draft_.robot.name = "robot";
    for (int body = 0; body < model_->nbody; ++body) {
      INTERLACER_RETURN_IF_ERROR(AddBody(body));
    }
    FollowEqualities();
    return std::move(draft_);
  }

 private:
  /// A body's joints act one after the other, each around a point of its own: a link for each
  /// joint, and where the last one does not turn around the body's origin, one more for the body.
  Status AddBody(int body) {
    const std::string name = Name(model_, mjOBJ_BODY, body, "body");
    int parent = body == 0 ? -1 : link_of_body_[model_->body_parentid[body]];
    Transform from = PoseOf(model_->body_pos + 3 * body, model_->body_quat + 4 * body);
    const int first = model_->body_jntadr[body], count = model_->body_jntnum[body];
    bool has_body_link = false;
    for (int joint = first; joint < first + count; ++joint) {
      const int type = model_->jnt_type[joint];
      const std::string joint_name = Name(model_, mjOBJ_JOINT, joint, "joint");
      if (type == mjJNT_FREE) {
        draft_.notes.push_back("body '" + name + "' moves freely: held where the model puts it");
        link_of_joint_[joint] = -1;
        continue;
      }
      if (type == mjJNT_BALL) {
        return Mismatch(reason::SCHEMA_INVALID, "joint '" + joint_name + "'.type", "hinge or slide",
                        "ball (body '" + name + "')");
      }
      RobotLink link;
      link.parent = parent;
      link.joint = ReadJoint(joint, joint_name, &from);
      has_body_link = joint + 1 == first + count && from == Transform();
      link.name = has_body_link ? name : name + "/" + joint_name;
      parent = draft_.AddLink(std::move(link), model_->qpos0[model_->jnt_qposadr[joint]]);
      link_of_joint_[joint] = parent;
    }
    if (!has_body_link) {
      RobotLink link;
      link.name = name;
      link.parent = parent;
      link.joint.parent_from_joint = from;
      parent = draft_.AddLink(std::move(link), 0);
    }
    link_of_body_[body] = parent;
    return AddGeoms(body, name);
  }

  /// `from` is the frame before the joint, then that of what comes after it in the joint's.
  RobotJoint ReadJoint(int id, const std::string& name, Transform* from) const {
    const mjtNum* const axis = model_->jnt_axis + 3 * id;
    const mjtNum* const anchor = model_->jnt_pos + 3 * id;
    const bool is_hinge = model_->jnt_type[id] == mjJNT_HINGE;
    const bool is_limited = model_->jnt_limited[id] != 0;
    RobotJoint joint;
    joint.name = name;
    joint.type = !is_hinge    ? JointType::kPrismatic
                 : is_limited ? JointType::kRevolute
                              : JointType::kContinuous;
    joint.axis = {axis[0], axis[1], axis[2]};
    if (is_limited) {
      joint.limits = JointLimits{model_->jnt_range[2 * id], model_->jnt_range[2 * id + 1]};
    }
    Transform to_anchor, from_anchor;
    if (is_hinge) {
      for (int i = 0; i < 3; ++i) {
        to_anchor.translation_m[i] = anchor[i];
        from_anchor.translation_m[i] = 0 - anchor[i];
      }
    }
    // The model is drawn at qpos0, which need not be 0.
    const Transform unmoved = JointMotion(joint, -model_->qpos0[model_->jnt_qposadr[id]]);
    joint.parent_from_joint = Compose(*from, Compose(to_anchor, unmoved));
    *from = from_anchor;
    return joint;
  }

  /// joint1 - joint1_0 = a0 + a1 (joint2 - joint2_0) makes joint1 a mimic joint.
  void FollowEqualities() {
    for (int e = 0; e < model_->neq; ++e) {
      const mjtNum* const a = model_->eq_data + mjNEQDATA * e;
      if (!model_->eq_active0[e]) {
        draft_.notes.push_back("constraint '" + Name(model_, mjOBJ_EQUALITY, e, "equality") +
                               "' is left out: it is not active");
        continue;
      }
      const bool is_linear = a[2] == 0 && a[3] == 0 && a[4] == 0;
      const bool is_joint = model_->eq_type[e] == mjEQ_JOINT;
      const int link = is_joint ? link_of_joint_[model_->eq_obj1id[e]] : -1;
      if (!is_linear || link < 0 || draft_.robot.links[link].joint.mimic) {
        draft_.notes.push_back("constraint '" + Name(model_, mjOBJ_EQUALITY, e, "equality") +
                               "' is left out: only linear equalities of joints are followed");
        continue;
      }
      const int other = model_->eq_obj2id[e] < 0 ? -1 : link_of_joint_[model_->eq_obj2id[e]];
      const double start = draft_.rest_values[link] + a[0];
      if (other < 0) {
        draft_.Hold(link, start);
      } else {
        draft_.robot.links[link].joint.mimic =
            JointMimic{other, a[1], start - a[1] * draft_.rest_values[other]};
      }
    }
  }

  /// As MuJoCo draws it: the material's where the geom has no colour of its own.
  float OpacityOf(int geom) const {
    constexpr float kNoColor[] = {0.5f, 0.5f, 0.5f, 1};
    const float* const own = model_->geom_rgba + 4 * geom;
    const int material = model_->geom_matid[geom];
    const bool is_of_material = material >= 0 && std::equal(own, own + 4, kNoColor);
    return is_of_material ? model_->mat_rgba[4 * material + 3] : own[3];
  }

  bool IsShown(int geom) const {
    const int type = model_->geom_type[geom];
    const bool has_surface = type == mjGEOM_SPHERE || type == mjGEOM_CAPSULE ||
                             type == mjGEOM_ELLIPSOID || type == mjGEOM_CYLINDER ||
                             type == mjGEOM_BOX || type == mjGEOM_MESH;
    return has_surface && OpacityOf(geom) > 0;
  }

  bool Collides(int geom) const {
    return model_->geom_contype[geom] != 0 || model_->geom_conaffinity[geom] != 0;
  }

  Status AddGeoms(int body, const std::string& name) {
    if (!WantsSurface(options_, name, body != 0)) return Status::Ok();
    std::vector<int> visual, colliding;
    for (int i = 0; i < model_->body_geomnum[body]; ++i) {
      const int geom = model_->body_geomadr[body] + i;
      if (IsShown(geom)) (Collides(geom) ? colliding : visual).push_back(geom);
    }
    if (visual.empty() && !colliding.empty()) {
      draft_.notes.push_back("link '" + name + "' has no visual: its collision shapes are used");
    }
    const int link = link_of_body_[body];
    SurfaceSampler sampler(options_.points_per_link, options_.seed,
                           static_cast<std::uint32_t>(link));
    for (const int geom : visual.empty() ? colliding : visual) {
      const Transform pose = PoseOf(model_->geom_pos + 3 * geom, model_->geom_quat + 4 * geom);
      if (sampler.Add(Moved(SurfaceOf(geom), pose))) continue;
      return Mismatch(reason::SCHEMA_INVALID, "link '" + name + "'", "a surface with an area",
                      "geom '" + Name(model_, mjOBJ_GEOM, geom, "geom") + "' without one");
    }
    AddSurface(sampler, link, &draft_.robot);
    return Status::Ok();
  }

  TriangleStream SurfaceOf(int geom) const {
    const mjtNum* const size = model_->geom_size + 3 * geom;
    switch (model_->geom_type[geom]) {
      case mjGEOM_SPHERE:
        return EllipsoidSurface({size[0], size[0], size[0]});
      case mjGEOM_CAPSULE:
        return CapsuleSurface(size[0], size[1]);
      case mjGEOM_ELLIPSOID:
        return EllipsoidSurface({size[0], size[1], size[2]});
      case mjGEOM_CYLINDER:
        return CylinderSurface(size[0], size[1]);
      case mjGEOM_BOX:
        return BoxSurface({size[0], size[1], size[2]});
      default:
        return [model = model_, mesh = model_->geom_dataid[geom]](const TriangleSink& sink) {
          const float* const vertices = model->mesh_vert + 3 * model->mesh_vertadr[mesh];
          const int* const faces = model->mesh_face + 3 * model->mesh_faceadr[mesh];
          for (int f = 0; f < model->mesh_facenum[mesh]; ++f) {
            Triangle triangle;
            for (int k = 0; k < 3; ++k) {
              const float* const v = vertices + 3 * faces[3 * f + k];
              triangle[k] = {v[0], v[1], v[2]};
            }
            sink(triangle);
          }
        };
    }
  }

  const mjModel* const model_;
  const MakeRobotOptions& options_;
  RobotDraft draft_;
  std::vector<int> link_of_body_;
  std::vector<int> link_of_joint_;  ///< -1 for free joints
};

}  // namespace

StatusOr<RobotDraft> ReadMjcf(const std::string& path, const MakeRobotOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const Model model, Compile(path));
  return MjcfReader(model.get(), options).Read();
}

}  // namespace interlacer
