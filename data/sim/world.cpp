#include "data/sim/world.h"

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "data/sim/mjcf.h"

namespace interlacer::sim {
namespace {

constexpr int kActuatorsPerArm = kJointCount + 2;
constexpr char kMjcfName[] = "scene.xml";

/// MuJoCo's in-memory files for one load.
class VirtualFiles {
 public:
  VirtualFiles() { mj_defaultVFS(&vfs_); }
  ~VirtualFiles() { mj_deleteVFS(&vfs_); }
  VirtualFiles(const VirtualFiles&) = delete;
  VirtualFiles& operator=(const VirtualFiles&) = delete;

  Status Add(const std::string& name, std::string_view bytes) {
    if (mj_addBufferVFS(&vfs_, name.c_str(), bytes.data(), static_cast<int>(bytes.size())) != 0) {
      return Internal("MuJoCo refused the in-memory file " + name);
    }
    return Status::Ok();
  }
  const mjVFS* get() const { return &vfs_; }

 private:
  mjVFS vfs_;
};

void WriteControls(const ArmStates& position, const ArmStates& speed, mjtNum* ctrl) {
  const int arm_count = static_cast<int>(position.size()) / kArmColumns;
  for (int arm = 0; arm < arm_count; ++arm) {
    mjtNum* const out = ctrl + arm * kActuatorsPerArm;
    const double* const q = position.data() + arm * kArmColumns;
    const double* const dq = speed.data() + arm * kArmColumns;
    // The damping term would hold a moving joint back; the lead cancels it.
    for (int j = 0; j < kJointCount; ++j) out[j] = q[j] + kJointDamping / kJointStiffness * dq[j];
    const double lead_m = kFingerDamping / kFingerStiffness * dq[kJointCount];
    out[kJointCount] = out[kJointCount + 1] = q[kJointCount] + lead_m;
  }
}

}  // namespace

void World::ModelDeleter::operator()(mjModel_* model) const { mj_deleteModel(model); }
void World::DataDeleter::operator()(mjData_* data) const { mj_deleteData(data); }
World::World(World&&) noexcept = default;
World& World::operator=(World&&) noexcept = default;
World::~World() = default;

StatusOr<World> World::Create(const Scene& scene, const std::string& mjcf,
                              const std::vector<Asset>& assets) {
  VirtualFiles files;
  for (const Asset& asset : assets) INTERLACER_RETURN_IF_ERROR(files.Add(asset.name, asset.bytes));
  INTERLACER_RETURN_IF_ERROR(files.Add(kMjcfName, mjcf));
  char error[1024] = "";
  World world;
  world.model_.reset(mj_loadXML(kMjcfName, files.get(), error, sizeof error));
  if (world.model_ == nullptr) return Internal(std::string("MuJoCo model: ") + error);
  const mjModel* const model = world.model_.get();
  world.data_.reset(mj_makeData(model));

  for (const SceneObject& object : scene.objects) {
    world.object_bodies_.push_back(mj_name2id(model, mjOBJ_BODY, object.name.c_str()));
    world.holder_of_object_.push_back(object.holder_arm.value_or(-1));
  }
  world.arm_count_ = scene.robot.arm_count;
  world.arm_touches_object_.assign(world.arm_count_ * scene.objects.size(), 0);
  for (int body = 0; body < model->nbody; ++body) {
    const std::string_view name = mj_id2name(model, mjOBJ_BODY, body);
    int owner = -1;
    for (int arm = 0; arm < world.arm_count_; ++arm) {
      if (name.starts_with(ArmBodyPrefix(arm))) owner = arm;
    }
    world.arm_of_body_.push_back(owner);
  }

  // Free bodies come last in the tree, so the robot's coordinates are the first ones, per arm seven
  // joints and two fingers.
  mjData* const data = world.data_.get();
  for (int arm = 0; arm < world.arm_count_; ++arm) {
    mjtNum* const out = data->qpos + arm * kActuatorsPerArm;
    const double* const state = scene.first_state.data() + arm * kArmColumns;
    std::copy_n(state, kJointCount, out);
    out[kJointCount] = out[kJointCount + 1] = state[kJointCount];
  }
  world.commanded_ = scene.first_state;
  mj_forward(model, data);
  return world;
}

void World::Advance(const ArmStates& target, double duration_s) {
  const int count = static_cast<int>(std::lround(duration_s / kPhysicsStepS));
  const ArmStates from = commanded_;
  std::fill(arm_touches_object_.begin(), arm_touches_object_.end(), 0);
  for (int i = 1; i <= count; ++i) {
    // Quintic s(x) = x^3 (10 - 15 x + 6 x^2): no speed, no acceleration at either end.
    const double x = static_cast<double>(i) / count;
    const double share = x * x * x * (10 - 15 * x + 6 * x * x);
    const double share_per_s = 30 * x * x * (1 - x) * (1 - x) / duration_s;
    ArmStates position(from.size());
    ArmStates speed(from.size());
    for (std::size_t c = 0; c < from.size(); ++c) {
      position[c] = from[c] + share * (target[c] - from[c]);
      speed[c] = share_per_s * (target[c] - from[c]);
    }
    WriteControls(position, speed, data_->ctrl);
    mj_step(model_.get(), data_.get());
    NoteContacts();
  }
  mj_forward(model_.get(), data_.get());
  commanded_ = target;
}

int World::SideOfBody(int body) const {
  const int object = ObjectOfBody(body);
  return object < 0 ? ArmOfBody(body) : holder_of_object_[object];
}

void World::NoteContacts() {
  for (int i = 0; i < data_->ncon; ++i) {
    const mjContact& contact = data_->contact[i];
    if (contact.exclude != 0) continue;
    int body = model_->geom_bodyid[contact.geom[0]];
    int other = model_->geom_bodyid[contact.geom[1]];
    if (SideOfBody(body) < 0) std::swap(body, other);
    const int arm = SideOfBody(body);
    if (arm < 0) continue;
    const int object = ObjectOfBody(other);
    if (object >= 0) arm_touches_object_[arm * object_bodies_.size() + object] = 1;
    // A contact with something that is neither a free object nor of this arm: the other arm, its
    // tool, the table.
    if (object < 0 || SideOfBody(other) >= 0) arm_collided_ = true;
  }
}

double World::DeepestContactM() const {
  double deepest_m = 0;
  for (int i = 0; i < data_->ncon; ++i) deepest_m = std::max(deepest_m, -data_->contact[i].dist);
  return deepest_m;
}

ArmStates World::Measured() const {
  ArmStates state(commanded_.size());
  for (int arm = 0; arm < arm_count_; ++arm) {
    const mjtNum* const q = data_->qpos + arm * kActuatorsPerArm;
    double* const out = state.data() + arm * kArmColumns;
    std::copy_n(q, kJointCount, out);
    out[kJointCount] = (q[kJointCount] + q[kJointCount + 1]) / 2;
  }
  return state;
}

std::vector<Transform> World::ObjectPoses() const {
  std::vector<Transform> poses;
  for (const int body : object_bodies_) {
    const mjtNum* const p = data_->xpos + 3 * body;
    const mjtNum* const q = data_->xquat + 4 * body;
    poses.push_back({{p[0], p[1], p[2]}, {q[1], q[2], q[3], q[0]}});
  }
  return poses;
}

int World::ObjectOfBody(int body) const {
  const auto found = std::find(object_bodies_.begin(), object_bodies_.end(), body);
  return found == object_bodies_.end() ? -1 : static_cast<int>(found - object_bodies_.begin());
}

WorldSnapshot World::Snapshot() const { return {{data_->qpos, data_->qpos + model_->nq}}; }

void World::Restore(const WorldSnapshot& snapshot) {
  std::copy(snapshot.generalized_positions.begin(), snapshot.generalized_positions.end(),
            data_->qpos);
  mj_forward(model_.get(), data_.get());
}

void World::Resume(const WorldSnapshot& snapshot, const ArmStates& commanded) {
  mj_resetData(model_.get(), data_.get());
  commanded_ = commanded;
  std::fill(arm_touches_object_.begin(), arm_touches_object_.end(), 0);
  arm_collided_ = false;
  Restore(snapshot);
}

}  // namespace interlacer::sim
