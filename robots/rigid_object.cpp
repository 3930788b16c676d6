#include "robots/rigid_object.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/box_around.h"
#include "common/transforms.h"
#include "common/vectors.h"

namespace interlacer {
namespace {

constexpr double kTouchM = 0.01;
/// Share of a surface point's way by which a gap grows when its link draws back.
constexpr double kDrawnBackShare = 0.5;
/// Fingers hide the particles between them: those that are seen may be this far from one of them.
constexpr double kGripM = 0.02;
/// Around a link's surface point, to see on which side of it the object is.
constexpr double kAroundM = 0.03;
/// What is under less of an object's edge than this does not keep it from falling.
constexpr double kOverhangM = 0.02;
/// Between two links in a substep.
constexpr double kOpenedM = 0.001;
constexpr double kPushCosine = 0.3;
constexpr double kBearCosine = 0.7;

Vec3d Level(const Vec3d& a) { return {a[0], a[1], 0}; }

/// Whether the angle between two directions is less than that of the cosine; never of none.
bool IsWithin(double cosine, const Vec3d& a, const Vec3d& b) {
  return Dot(a, b) > cosine * Length(a) * Length(b);
}

}  // namespace

double LowestOf(std::span<const Vec3d> points_m) {
  double lowest_m = std::numeric_limits<double>::infinity();
  for (const Vec3d& p : points_m) lowest_m = std::min(lowest_m, p[2]);
  return lowest_m;
}

RigidObject::RigidObject(std::vector<Vec3d> start_m, double rest_m)
    : start_m_(std::move(start_m)), now_m_(start_m_), rest_m_(rest_m) {
  for (const Vec3d& p : start_m_) {
    radius_m_ = std::max(radius_m_, DistanceM(p, start_m_.front()));
  }
}

RigidObject::Gap RigidObject::GapTo(const LinkSurface& surface, const Transform& link_from_world,
                                    double reach_m) const {
  Gap gap;
  if (surface.IsFarther(Apply(link_from_world, now_m_.front()), radius_m_ + reach_m)) return gap;
  for (const Vec3d& p : now_m_) {
    const NearestPoint::Found found =
        surface.NearestTo(Apply(link_from_world, p), std::min(reach_m, gap.m));
    if (found.distance_m < gap.m) gap = {found.distance_m, found.position_m, p};
  }
  return gap;
}

std::vector<RigidObject::NearLink> RigidObject::NearLinks(
    std::span<const LinkSurface* const> surfaces, const PosedLinks& now, double reach_m) const {
  std::vector<NearLink> near;
  for (std::size_t link = 0; link < surfaces.size(); ++link) {
    if (surfaces[link] == nullptr) continue;
    const Gap gap = GapTo(*surfaces[link], now.link_from_world[link], reach_m);
    if (!(gap.m < reach_m)) continue;
    const Vec3d at_m = Apply(now.world_from_link[link], gap.surface_m);
    Vec3d inward{};
    for (const Vec3d& p : now_m_) {
      if (DistanceM(p, at_m) > kAroundM) continue;
      for (std::size_t axis = 0; axis < 3; ++axis) inward[axis] += p[axis] - at_m[axis];
    }
    near.push_back({link, gap, at_m, inward});
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const NearLink& a, const NearLink& b) { return a.gap.m < b.gap.m; });
  return near;
}

bool RigidObject::AreOnEitherSide(const NearLink& a, const NearLink& b) {
  const Vec3d across_m = Level(Minus(b.at_m, a.at_m));
  return Dot(a.inward, across_m) > 0 && Dot(b.inward, across_m) < 0;
}

bool RigidObject::IsGripped(std::span<const NearLink> near) {
  for (std::size_t i = 0; i < near.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (AreOnEitherSide(near[i], near[j])) return true;
    }
  }
  return false;
}

bool RigidObject::LetGo(std::span<const NearLink> near, const PosedLinks& next) {
  const auto at_next = [&](const NearLink& of) {
    return Apply(next.world_from_link[of.link], of.gap.surface_m);
  };
  for (std::size_t i = 0; i < near.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double opened_m =
          DistanceM(at_next(near[i]), at_next(near[j])) - DistanceM(near[i].at_m, near[j].at_m);
      if (opened_m > kOpenedM && AreOnEitherSide(near[i], near[j])) return true;
    }
  }
  return false;
}

bool RigidObject::IsBorneBy(const NearLink& of) const {
  return LowestOf(now_m_) > of.at_m[2] &&
         IsWithin(kBearCosine, Minus(of.gap.particle_m, of.at_m), {0, 0, 1});
}

RigidObject::Contact RigidObject::HangingFrom(std::span<const LinkSurface* const> surfaces,
                                              const PosedLinks& now, const PosedLinks& next) const {
  const std::vector<NearLink> near = NearLinks(surfaces, now, kAroundM);
  if (near.size() < 2) return {};
  if (LetGo(near, next)) return {true, std::nullopt};
  return {true, near.front().link};
}

RigidObject::Contact RigidObject::ContactWith(std::span<const LinkSurface* const> surfaces,
                                              const PosedLinks& now, const PosedLinks& next) const {
  const std::vector<NearLink> near = NearLinks(surfaces, now, kGripM);
  if (near.empty() || !(near.front().gap.m < kTouchM)) return {};
  return ContactOf(near, IsGripped(near), surfaces, next);
}

RigidObject::Contact RigidObject::PushedBy(std::span<const LinkSurface* const> surfaces,
                                           const PosedLinks& now, const PosedLinks& next) const {
  return ContactOf(NearLinks(surfaces, now, kGripM), false, surfaces, next);
}

LinkSurface RigidObject::Surface() const {
  std::vector<float> positions_m;
  for (const Vec3d& p : start_m_) positions_m.insert(positions_m.end(), p.begin(), p.end());
  return LinkSurface(positions_m);
}

RigidObject::Contact RigidObject::ContactOf(std::span<const NearLink> near, bool is_gripped,
                                            std::span<const LinkSurface* const> surfaces,
                                            const PosedLinks& next) const {
  for (const NearLink& of : near) {
    if (!(of.gap.m < kTouchM)) break;
    if (!is_gripped && IsBorneBy(of)) return {true, of.link};
    const Vec3d way_m = Minus(Apply(next.world_from_link[of.link], of.gap.surface_m), of.at_m);
    const double draws_back_m = kDrawnBackShare * Length(way_m);
    const Gap later =
        GapTo(*surfaces[of.link], next.link_from_world[of.link], kTouchM + draws_back_m);
    if (later.m - of.gap.m > draws_back_m) continue;
    if (is_gripped || IsWithin(kPushCosine, Level(way_m), Level(of.inward))) {
      return {is_gripped, of.link};
    }
  }
  return {is_gripped, std::nullopt};
}

void RigidObject::Follow(const Transform& from, const Transform& to, bool keeps_height) {
  if (from == to) return;
  const double height_m = LowestOf(now_m_);
  moved_ = Compose(Compose(to, Inverse(from)), moved_);
  Place();
  const double raised_m = LowestOf(now_m_) - (keeps_height ? height_m : rest_m_);
  if (keeps_height || raised_m < 0) Raise(-raised_m);
}

double RigidObject::AboveM(std::span<const Vec3d> others_m) const {
  Box around = NoBox();
  for (const Vec3d& p : now_m_) Include(p, &around);
  std::vector<Vec3d> inset_points_m;
  for (const Vec3d& p : now_m_) {
    const Vec3d in_m{(around.min_m[0] + around.max_m[0]) / 2 - p[0],
                     (around.min_m[1] + around.max_m[1]) / 2 - p[1], 0};
    const double share = std::min(1.0, kOverhangM / Length(in_m));
    inset_points_m.push_back({p[0] + share * in_m[0], p[1] + share * in_m[1], p[2]});
  }
  around = Grown(around, kTouchM);
  double above_m = std::numeric_limits<double>::infinity();
  for (const Vec3d& other_m : others_m) {
    bool is_out = other_m[2] > around.max_m[2];
    for (const std::size_t axis : {0, 1}) {
      is_out |= other_m[axis] < around.min_m[axis] || other_m[axis] > around.max_m[axis];
    }
    if (is_out) continue;
    for (const Vec3d& p : inset_points_m) {
      const double by_m = p[2] - other_m[2];
      if (by_m < 0 || by_m >= above_m) continue;
      if (Length(Level(Minus(p, other_m))) < kTouchM) above_m = by_m;
    }
  }
  return above_m;
}

void RigidObject::Raise(double by_m) {
  moved_.translation_m[2] += by_m;
  Place();
}

void RigidObject::Place() {
  for (std::size_t i = 0; i < start_m_.size(); ++i) now_m_[i] = Apply(moved_, start_m_[i]);
}

}  // namespace interlacer
