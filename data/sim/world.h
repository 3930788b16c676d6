#pragma once

/// A MuJoCo model and its state: the physics of one scene.
///
/// Metres, radians, seconds, frame of data/sim/robot.h. The robot's state is kept by position
/// servos with gravity compensated. Deterministic on one machine. Errors: INTERNAL when the model
/// does not compile, with MuJoCo's words. Thread-safety: one thread at a time per object.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "data/sim/arm_model.h"
#include "data/sim/assets.h"
#include "data/sim/scene.h"

struct mjModel_;
struct mjData_;

namespace interlacer::sim {

/// Everything of a world that changes and that a picture needs.
struct WorldSnapshot {
  std::vector<double> generalized_positions;
};

class World {
 public:
  static StatusOr<World> Create(const Scene& scene, const std::string& mjcf,
                                const std::vector<Asset>& assets);
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  /// Moves the servos' targets from the present one to `target` over `duration_s` with zero speed
  /// at both ends (quintic), while physics runs.
  void Advance(const ArmStates& target, double duration_s);

  ArmStates Measured() const;
  const ArmStates& Commanded() const { return commanded_; }
  std::vector<Transform> ObjectPoses() const;
  /// [arm,object] 1 where an arm or its tool touched an object during the last Advance.
  const std::vector<std::uint8_t>& ArmTouchesObject() const { return arm_touches_object_; }
  /// True once an arm has touched the table, or an arm or its tool the other arm or its tool,
  /// since Create.
  bool ArmCollided() const { return arm_collided_; }

  /// Depth of the deepest overlap of two bodies now, 0 without an overlap.
  double DeepestContactM() const;

  WorldSnapshot Snapshot() const;
  void Restore(const WorldSnapshot& snapshot);
  /// Goes on from a snapshot, everything at rest, with the servos' targets of that time; what was
  /// noted of contacts is forgotten.
  void Resume(const WorldSnapshot& snapshot, const ArmStates& commanded);

  /// Number of the arm or object that a body of the model belongs to, or -1.
  int ArmOfBody(int body) const { return arm_of_body_[body]; }
  int ObjectOfBody(int body) const;

  const mjModel_* model() const { return model_.get(); }
  mjData_* data() const { return data_.get(); }

 private:
  struct ModelDeleter {
    void operator()(mjModel_* model) const;
  };
  struct DataDeleter {
    void operator()(mjData_* data) const;
  };
  World() = default;
  void NoteContacts();
  /// The arm that a body belongs to or whose tool it is, or -1.
  int SideOfBody(int body) const;

  std::unique_ptr<mjModel_, ModelDeleter> model_;
  std::unique_ptr<mjData_, DataDeleter> data_;
  int arm_count_ = 0;
  ArmStates commanded_;
  std::vector<int> object_bodies_;
  std::vector<int> holder_of_object_;  ///< arm that has it as a tool, or -1
  std::vector<int> arm_of_body_;       ///< 0, 1, or -1 for every body of the model
  std::vector<std::uint8_t> arm_touches_object_;
  bool arm_collided_ = false;
};

}  // namespace interlacer::sim
