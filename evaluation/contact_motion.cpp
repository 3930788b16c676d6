#include "evaluation/contact_motion.h"

#include <algorithm>
#include <utility>

#include "common/transforms.h"
#include "robots/contact_rule.h"

namespace interlacer {

ContactMotion FollowContacts(BodyMotion commanded, std::span<const float> particles_m) {
  ContactMotion out;
  out.bodies = BodiesOfRobot(commanded, particles_m);
  out.motion = std::move(commanded);
  BodyMotion& motion = out.motion;
  if (motion.robot == nullptr) return out;
  const ContactRule rule(motion.robot, particles_m, out.bodies);
  ContactRule::Touched touched = rule.Untouched();
  std::vector<Transform> moved(rule.object_count());  // since the observation
  std::vector<std::vector<Transform>> at_steps;       // [steps][objects]
  std::vector<float> now_m(particles_m.begin(), particles_m.end());
  for (std::size_t step = 1; step < motion.joints.size(); ++step) {
    const std::vector<Transform> later_from_now =
        rule.Step(motion.joints[step - 1], motion.joints[step], now_m, &touched);
    for (std::size_t k = 0; k < moved.size(); ++k) {
      if (later_from_now[k] == Transform{}) continue;
      moved[k] = Compose(later_from_now[k], moved[k]);
      for (const std::size_t i : rule.members()[k]) {
        const float* start = particles_m.data() + 3 * i;
        const Vec3d at_m = Apply(moved[k], {start[0], start[1], start[2]});
        std::copy(at_m.begin(), at_m.end(), now_m.begin() + static_cast<std::ptrdiff_t>(3 * i));
      }
    }
    at_steps.push_back(moved);
  }
  for (std::size_t k = 0; k < moved.size(); ++k) {
    if (moved[k] == Transform{}) continue;
    for (const std::size_t i : rule.members()[k]) {
      out.bodies[i] = static_cast<std::int32_t>(motion.start.size());
    }
    motion.start.emplace_back();
    for (std::size_t step = 0; step < motion.later.size(); ++step) {
      motion.later[step].push_back(at_steps[step][k]);
    }
  }
  return out;
}

}  // namespace interlacer
