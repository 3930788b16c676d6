#include "evaluation/contact_motion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>

#include "common/transforms.h"
#include "evaluation/particle_clusters.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr int kSubsteps = 5;
constexpr double kTouchM = 0.01;
/// Share of a surface point's way by which a gap grows when its link draws back.
constexpr double kDrawnBackShare = 0.5;
constexpr double kHighestRestM = 0.02;
constexpr double kLiftedM = 0.01;

/// A cluster, which moves as a rigid body.
class RigidCluster {
 public:
  RigidCluster(const std::vector<Vec3d>& start_m, double support_m)
      : start_m_(start_m), now_m_(start_m) {
    for (const Vec3d& p : start_m) radius_m_ = std::max(radius_m_, DistanceM(p, start_m.front()));
    rest_m_ = std::min(Lowest(), support_m + kHighestRestM);
  }

  /// now_from_start, identity as long as nothing has moved it.
  const Transform& moved() const { return moved_; }

  /// Least distance to these of the surface points, and which it is; those that are farther than
  /// `reach_m` need not be looked at.
  std::pair<double, std::size_t> GapTo(const std::vector<Vec3d>& surface_m,
                                       const std::vector<std::size_t>& points,
                                       double reach_m) const {
    std::pair<double, std::size_t> gap{std::numeric_limits<double>::infinity(), 0};
    for (const std::size_t point : points) {
      if (DistanceM(surface_m[point], now_m_.front()) > reach_m + radius_m_) continue;
      for (const Vec3d& p : now_m_) {
        const double distance_m = DistanceM(surface_m[point], p);
        if (distance_m < gap.first) gap = {distance_m, point};
      }
    }
    return gap;
  }

  void Follow(const Transform& from, const Transform& to) {
    if (from == to) return;
    moved_ = Compose(Compose(to, Inverse(from)), moved_);
    Place();
    const double below_m = rest_m_ - Lowest();
    if (below_m > 0) Raise(below_m);
  }

  void FallIfLifted() {
    const double above_m = Lowest() - rest_m_;
    if (above_m > kLiftedM) Raise(-above_m);
  }

 private:
  double Lowest() const {
    double lowest_m = std::numeric_limits<double>::infinity();
    for (const Vec3d& p : now_m_) lowest_m = std::min(lowest_m, p[2]);
    return lowest_m;
  }

  void Raise(double by_m) {
    moved_.translation_m[2] += by_m;
    Place();
  }

  void Place() {
    for (std::size_t i = 0; i < start_m_.size(); ++i) now_m_[i] = Apply(moved_, start_m_[i]);
  }

  std::vector<Vec3d> start_m_, now_m_;
  double radius_m_ = 0;  ///< of a sphere around the first particle
  double rest_m_ = 0;
  Transform moved_;
};

/// The robot at one place between two rows.
struct PosedLinks {
  std::vector<Transform> poses;
  std::vector<Vec3d> surface_m;
};

PosedLinks PoseBetween(const Robot& robot, const std::vector<double>& from,
                       const std::vector<double>& to, double share) {
  std::vector<double> joints;
  for (std::size_t c = 0; c < from.size(); ++c) {
    const RobotJoint& joint = robot.links[static_cast<std::size_t>(robot.columns[c])].joint;
    double way = to[c] - from[c];
    // A joint that may turn for ever goes the shorter way round.
    if (joint.type == JointType::kContinuous) way = std::remainder(way, 2 * std::numbers::pi);
    joints.push_back(from[c] + share * way);
  }
  PosedLinks posed{LinkPoses(robot, joints), {}};
  posed.surface_m = PoseSurface(robot, posed.poses).positions_m;
  return posed;
}

struct ClusterContact {
  bool is_touched = false;
  std::optional<std::size_t> link;  ///< that the object goes with
};

/// Of an object while the robot moves from `now` to `next`.
ClusterContact ContactOf(const RigidCluster& object,
                         const std::vector<std::vector<std::size_t>>& points_of_link,
                         const PosedLinks& now, const PosedLinks& next) {
  std::vector<std::tuple<double, std::size_t, std::size_t>> touching;
  for (std::size_t link = 0; link < points_of_link.size(); ++link) {
    const auto [gap_m, point] = object.GapTo(now.surface_m, points_of_link[link], kTouchM);
    if (gap_m < kTouchM) touching.emplace_back(gap_m, link, point);
  }
  std::sort(touching.begin(), touching.end());
  for (const auto& [gap_m, link, point] : touching) {
    const double way_m = DistanceM(now.surface_m[point], next.surface_m[point]);
    const double later_m =
        object.GapTo(next.surface_m, points_of_link[link], std::numeric_limits<double>::infinity())
            .first;
    if (later_m - gap_m <= kDrawnBackShare * way_m) return {true, link};
  }
  return {!touching.empty(), std::nullopt};
}

}  // namespace

ContactMotion FollowContacts(BodyMotion commanded, std::span<const float> particles_m) {
  ContactMotion out;
  out.bodies = BodiesOfRobot(commanded, particles_m);
  out.motion = std::move(commanded);
  BodyMotion& motion = out.motion;
  if (motion.robot == nullptr) return out;
  const Robot& robot = *motion.robot;
  std::vector<std::vector<std::size_t>> points_of_link(robot.links.size());
  for (std::size_t i = 0; i < robot.surface.size(); ++i) {
    points_of_link[static_cast<std::size_t>(robot.surface.links[i])].push_back(i);
  }
  const ParticleClusters clusters = ClusterParticles(particles_m, out.bodies);
  std::vector<RigidCluster> objects;
  std::vector<char> was_touched(clusters.members.size(), 0);
  for (const std::vector<std::size_t>& members : clusters.members) {
    std::vector<Vec3d> points_m;
    for (const std::size_t i : members) {
      points_m.push_back({particles_m[3 * i], particles_m[3 * i + 1], particles_m[3 * i + 2]});
    }
    objects.emplace_back(points_m, clusters.support_m);
  }

  std::vector<std::vector<Transform>> moved(objects.size());  // [objects][steps]
  PosedLinks now = PoseBetween(robot, motion.joints[0], motion.joints[0], 0);
  for (std::size_t step = 1; step <= motion.later.size(); ++step) {
    for (int substep = 1; substep <= kSubsteps; ++substep) {
      PosedLinks next = PoseBetween(robot, motion.joints[step - 1], motion.joints[step],
                                    static_cast<double>(substep) / kSubsteps);
      for (std::size_t k = 0; k < objects.size(); ++k) {
        const ClusterContact contact = ContactOf(objects[k], points_of_link, now, next);
        if (contact.is_touched) was_touched[k] = 1;
        if (contact.link) {
          objects[k].Follow(now.poses[*contact.link], next.poses[*contact.link]);
        } else if (was_touched[k]) {
          objects[k].FallIfLifted();
        }
      }
      now = std::move(next);
    }
    for (std::size_t k = 0; k < objects.size(); ++k) moved[k].push_back(objects[k].moved());
  }

  for (std::size_t k = 0; k < objects.size(); ++k) {
    if (objects[k].moved() == Transform{}) continue;
    for (const std::size_t i : clusters.members[k]) {
      out.bodies[i] = static_cast<std::int32_t>(motion.start.size());
    }
    motion.start.emplace_back();
    for (std::size_t step = 0; step < motion.later.size(); ++step) {
      motion.later[step].push_back(moved[k][step]);
    }
  }
  return out;
}

}  // namespace interlacer
