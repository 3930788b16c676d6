#include "robots/contact_rule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/box_around.h"
#include "common/check.h"
#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/forward_kinematics.h"
#include "robots/particle_clusters.h"
#include "robots/rigid_object.h"

namespace interlacer {
namespace {

constexpr int kSubsteps = 5;
/// Above the support: the lowest particle of what lies, at most, and that of what was lifted at the
/// observation, once it lies.
constexpr double kHighestRestM = 0.02, kLandedM = 0.005;
/// What is no farther above something lies on it.
constexpr double kLiftedM = 0.01;

std::vector<Vec3d> PositionsOf(std::span<const float> positions_m,
                               const std::vector<std::size_t>& members) {
  std::vector<Vec3d> out;
  for (const std::size_t i : members) out.push_back(PositionOf(positions_m, i));
  return out;
}

/// Diagonal of the box around the points.
double ExtentOf(const std::vector<Vec3d>& points_m) {
  Box box = NoBox();
  for (const Vec3d& point_m : points_m) Include(point_m, &box);
  return DistanceM(box.min_m, box.max_m);
}

/// At a share in [0, 1] of the straight way from one row to the next.
PosedLinks LinksBetween(const Robot& robot, std::span<const double> from,
                        std::span<const double> to, double share) {
  std::vector<double> joints;
  for (std::size_t c = 0; c < from.size(); ++c) {
    const RobotJoint& joint = robot.links[static_cast<std::size_t>(robot.columns[c])].joint;
    double way = to[c] - from[c];
    // A joint that may turn for ever goes the shorter way round.
    if (joint.type == JointType::kContinuous) way = std::remainder(way, 2 * std::numbers::pi);
    joints.push_back(from[c] + share * way);
  }
  PosedLinks links{LinkPoses(robot, joints), {}};
  for (const Transform& pose : links.world_from_link)
    links.link_from_world.push_back(Inverse(pose));
  return links;
}

PosedLinks PosesOf(const std::vector<RigidObject>& objects) {
  PosedLinks poses;
  for (const RigidObject& object : objects) {
    poses.world_from_link.push_back(object.moved());
    poses.link_from_world.push_back(Inverse(object.moved()));
  }
  return poses;
}

/// What hangs is not touched before the links let go of it.
RigidObject::Contact ContactOf(const RigidObject& object, bool hangs,
                               std::span<const LinkSurface* const> links, const PosedLinks& now,
                               const PosedLinks& next, std::uint8_t* touched) {
  if (hangs && *touched == 0) {
    const RigidObject::Contact contact = object.HangingFrom(links, now, next);
    if (contact.link) return contact;
    if (contact.is_held) *touched = 1;
  }
  const RigidObject::Contact contact = object.ContactWith(links, now, next);
  if (contact.is_held || contact.link) *touched = 1;
  return contact;
}

void Follow(const RigidObject::Contact& contact, const PosedLinks& from, const PosedLinks& to,
            RigidObject* object) {
  if (!contact.link) return;
  object->Follow(from.world_from_link[*contact.link], to.world_from_link[*contact.link],
                 /*keeps_height=*/!contact.is_held);
}

/// What has moved since `before` pushes or bears what it touches, and that what it touches in turn.
/// `surfaces` [objects] are made when they are needed.
void PassOn(const PosedLinks& before, std::vector<std::optional<LinkSurface>>* surfaces,
            std::vector<RigidObject>* objects, std::vector<RigidObject::Contact>* contacts,
            ContactRule::Touched* touched) {
  std::vector<const LinkSurface*> movers(objects->size(), nullptr);
  for (bool has_new = true; has_new;) {
    has_new = false;
    const PosedLinks after = PosesOf(*objects);
    for (std::size_t k = 0; k < objects->size(); ++k) {
      if (movers[k] != nullptr || after.world_from_link[k] == before.world_from_link[k]) continue;
      if (!(*surfaces)[k]) (*surfaces)[k].emplace((*objects)[k].Surface());
      movers[k] = &*(*surfaces)[k];
      has_new = true;
    }
    for (std::size_t k = 0; has_new && k < objects->size(); ++k) {
      if ((*contacts)[k].is_held || (*contacts)[k].link) continue;
      (*contacts)[k] = (*objects)[k].PushedBy(movers, before, after);
      if ((*contacts)[k].link) (*touched)[k] = 1;
      Follow((*contacts)[k], before, after, &(*objects)[k]);
    }
  }
}

/// How far one of the objects can fall onto the others and furniture.
double AboveOthersM(const std::vector<RigidObject>& objects, std::size_t of,
                    std::span<const Vec3d> furniture_m) {
  double above_m = objects[of].AboveM(furniture_m);
  for (std::size_t k = 0; k < objects.size(); ++k) {
    if (k != of) above_m = std::min(above_m, objects[of].AboveM(objects[k].now_m()));
  }
  return above_m;
}

}  // namespace

ContactRule::ContactRule(std::shared_ptr<const Robot> robot, std::span<const float> positions_m,
                         std::span<const std::int32_t> links)
    : robot_(std::move(robot)), objects_(links.size(), kNotAttached) {
  std::vector<std::vector<float>> of_links_m(robot_->links.size());
  for (std::size_t i = 0; i < robot_->surface.size(); ++i) {
    std::vector<float>& of_link_m = of_links_m[static_cast<std::size_t>(robot_->surface.links[i])];
    const Vec3f& point_m = robot_->surface.positions_m[i];
    of_link_m.insert(of_link_m.end(), point_m.begin(), point_m.end());
  }
  surfaces_.resize(of_links_m.size());
  for (std::size_t link = 0; link < surfaces_.size(); ++link) {
    if (!of_links_m[link].empty()) surfaces_[link].emplace(of_links_m[link]);
  }
  const ParticleClusters clusters = ClusterParticles(positions_m, links);
  for (const std::vector<std::size_t>& members : clusters.members) {
    const std::vector<Vec3d> points_m = PositionsOf(positions_m, members);
    if (ExtentOf(points_m) > kLargestObjectM) {
      furniture_m_.insert(furniture_m_.end(), points_m.begin(), points_m.end());
      continue;
    }
    for (const std::size_t i : members) objects_[i] = static_cast<std::int32_t>(rests_m_.size());
    const double lowest_m = LowestOf(points_m);
    hangs_.push_back(lowest_m > clusters.support_m + kHighestRestM);
    rests_m_.push_back(hangs_.back() ? clusters.support_m + kLandedM : lowest_m);
  }
}

std::int64_t ContactRule::size_bytes() const {
  std::size_t bytes = rests_m_.size() * (sizeof(double) + 1) +
                      objects_.size() * sizeof(std::int32_t) + furniture_m_.size() * sizeof(Vec3d);
  for (const std::optional<LinkSurface>& surface : surfaces_) {
    bytes += sizeof(surface) + (surface ? surface->size_bytes() : 0);
  }
  return static_cast<std::int64_t>(bytes);
}

std::vector<Transform> ContactRule::Step(std::span<const double> from_joints,
                                         std::span<const double> to_joints,
                                         std::span<const float> positions_m,
                                         Touched* touched) const {
  INTERLACER_CHECK(positions_m.size() == 3 * objects_.size() && touched->size() == object_count(),
                   "sizes of a contact rule's step");
  std::vector<std::vector<Vec3d>> points_m(object_count());
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    if (objects_[i] == kNotAttached) continue;
    points_m[static_cast<std::size_t>(objects_[i])].push_back(PositionOf(positions_m, i));
  }
  std::vector<RigidObject> objects;
  for (std::size_t k = 0; k < points_m.size(); ++k) {
    objects.emplace_back(std::move(points_m[k]), rests_m_[k]);
  }
  std::vector<const LinkSurface*> links;
  for (const std::optional<LinkSurface>& surface : surfaces_) {
    links.push_back(surface ? &*surface : nullptr);
  }
  std::vector<std::optional<LinkSurface>> object_surfaces(objects.size());
  PosedLinks now = LinksBetween(*robot_, from_joints, to_joints, 0);
  for (int substep = 1; substep <= kSubsteps; ++substep) {
    PosedLinks next =
        LinksBetween(*robot_, from_joints, to_joints, static_cast<double>(substep) / kSubsteps);
    const PosedLinks before = PosesOf(objects);
    std::vector<RigidObject::Contact> contacts;
    for (std::size_t k = 0; k < objects.size(); ++k) {
      contacts.push_back(ContactOf(objects[k], hangs_[k], links, now, next, &(*touched)[k]));
      Follow(contacts.back(), now, next, &objects[k]);
    }
    PassOn(before, &object_surfaces, &objects, &contacts, touched);
    for (std::size_t k = 0; k < objects.size(); ++k) {
      if (contacts[k].link || (*touched)[k] == 0) continue;
      double above_m = objects[k].AboveRestM();
      if (above_m > kLiftedM) {
        above_m = std::min(above_m, AboveOthersM(objects, k, furniture_m_));
      }
      if (above_m > kLiftedM) objects[k].Raise(-above_m);
    }
    now = std::move(next);
  }
  std::vector<Transform> moved;
  for (const RigidObject& object : objects) moved.push_back(object.moved());
  return moved;
}

void ContactRule::Carry(std::span<const Transform> moved, std::span<const float> positions_m,
                        std::span<float> carried_m) const {
  CarryPoints(objects_, std::vector<Transform>(moved.size()), moved, positions_m, carried_m);
}

}  // namespace interlacer
