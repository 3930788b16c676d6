#include "evaluation/contact_motion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

#include "common/transforms.h"
#include "evaluation/nearest_point.h"
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

/// What touches things of a link, in its own frame.
class LinkSurface {
 public:
  /// positions_m [n,3], n > 0.
  explicit LinkSurface(const std::vector<float>& positions_m)
      : positions_m_(positions_m), nearest_(positions_m) {
    for (std::size_t i = 0; i < positions_m.size() / 3; ++i) {
      radius_m_ = std::max(radius_m_, DistanceM(At(i), At(0)));
    }
  }

  /// Whether all of it is farther than `distance_m` from a point.
  bool IsFarther(const Vec3d& point_m, double distance_m) const {
    return DistanceM(point_m, At(0)) > radius_m_ + distance_m;
  }
  double DistanceTo(const Vec3d& point_m) const { return nearest_.DistanceM(point_m); }
  Vec3d NearestTo(const Vec3d& point_m) const { return At(nearest_.IndexOf(point_m)); }

 private:
  Vec3d At(std::size_t i) const {
    return {positions_m_[3 * i], positions_m_[3 * i + 1], positions_m_[3 * i + 2]};
  }

  std::vector<float> positions_m_;
  NearestPoint nearest_;
  double radius_m_ = 0;  ///< of a sphere around the first point
};

/// By link; nothing of links without a surface.
std::vector<std::optional<LinkSurface>> SurfacesOf(const Robot& robot) {
  std::vector<std::vector<float>> positions_m(robot.links.size());
  for (std::size_t i = 0; i < robot.surface.size(); ++i) {
    std::vector<float>& of_link = positions_m[static_cast<std::size_t>(robot.surface.links[i])];
    const Vec3f& point_m = robot.surface.positions_m[i];
    of_link.insert(of_link.end(), point_m.begin(), point_m.end());
  }
  std::vector<std::optional<LinkSurface>> surfaces(robot.links.size());
  for (std::size_t link = 0; link < surfaces.size(); ++link) {
    if (!positions_m[link].empty()) surfaces[link].emplace(positions_m[link]);
  }
  return surfaces;
}

/// The least distance of an object to a link, and the particle in the link's frame.
struct Gap {
  double m = std::numeric_limits<double>::infinity();
  Vec3d particle_m{};
};

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

  /// A gap that is surely wider than `reach_m` need not be measured.
  Gap GapTo(const LinkSurface& surface, const Transform& world_from_link, double reach_m) const {
    const Transform link_from_world = Inverse(world_from_link);
    Gap gap;
    if (surface.IsFarther(Apply(link_from_world, now_m_.front()), radius_m_ + reach_m)) return gap;
    for (const Vec3d& p : now_m_) {
      const Vec3d particle_m = Apply(link_from_world, p);
      const double distance_m = surface.DistanceTo(particle_m);
      if (distance_m < gap.m) gap = {distance_m, particle_m};
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

/// world_from_link at one place between two rows.
std::vector<Transform> PosesBetween(const Robot& robot, const std::vector<double>& from,
                                    const std::vector<double>& to, double share) {
  std::vector<double> joints;
  for (std::size_t c = 0; c < from.size(); ++c) {
    const RobotJoint& joint = robot.links[static_cast<std::size_t>(robot.columns[c])].joint;
    double way = to[c] - from[c];
    // A joint that may turn for ever goes the shorter way round.
    if (joint.type == JointType::kContinuous) way = std::remainder(way, 2 * std::numbers::pi);
    joints.push_back(from[c] + share * way);
  }
  return LinkPoses(robot, joints);
}

struct ClusterContact {
  bool is_touched = false;
  std::optional<std::size_t> link;  ///< that the object goes with
};

/// Of an object while the links go from `now` to `next`.
ClusterContact ContactOf(const RigidCluster& object,
                         const std::vector<std::optional<LinkSurface>>& surfaces,
                         const std::vector<Transform>& now, const std::vector<Transform>& next) {
  std::vector<std::pair<Gap, std::size_t>> touching;
  for (std::size_t link = 0; link < surfaces.size(); ++link) {
    if (!surfaces[link]) continue;
    const Gap gap = object.GapTo(*surfaces[link], now[link], kTouchM);
    if (gap.m < kTouchM) touching.emplace_back(gap, link);
  }
  std::stable_sort(touching.begin(), touching.end(),
                   [](const auto& a, const auto& b) { return a.first.m < b.first.m; });
  for (const auto& [gap, link] : touching) {
    const Vec3d point_m = surfaces[link]->NearestTo(gap.particle_m);
    const double way_m = DistanceM(Apply(now[link], point_m), Apply(next[link], point_m));
    const double draws_back_m = kDrawnBackShare * way_m;
    const Gap later = object.GapTo(*surfaces[link], next[link], kTouchM + draws_back_m);
    if (later.m - gap.m <= draws_back_m) return {true, link};
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
  const std::vector<std::optional<LinkSurface>> surfaces = SurfacesOf(robot);
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
  std::vector<Transform> now = LinkPoses(robot, motion.joints.front());
  for (std::size_t step = 1; step <= motion.later.size(); ++step) {
    for (int substep = 1; substep <= kSubsteps; ++substep) {
      std::vector<Transform> next =
          PosesBetween(robot, motion.joints[step - 1], motion.joints[step],
                       static_cast<double>(substep) / kSubsteps);
      for (std::size_t k = 0; k < objects.size(); ++k) {
        const ClusterContact contact = ContactOf(objects[k], surfaces, now, next);
        if (contact.is_touched) was_touched[k] = 1;
        if (contact.link) {
          objects[k].Follow(now[*contact.link], next[*contact.link]);
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
