#include "evaluation/contact_motion.h"

#include <utility>

#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/contact_rule.h"
#include "robots/seen_objects.h"

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
      if (later_from_now[k] != Transform{}) moved[k] = Compose(later_from_now[k], moved[k]);
    }
    rule.Carry(moved, particles_m, now_m);
    at_steps.push_back(moved);
  }
  std::vector<std::int32_t> bodies(moved.size(), kNotAttached);  // [objects]
  for (std::size_t k = 0; k < moved.size(); ++k) {
    if (moved[k] == Transform{}) continue;
    bodies[k] = static_cast<std::int32_t>(motion.start.size());
    motion.start.emplace_back();
    for (std::size_t step = 0; step < motion.later.size(); ++step) {
      motion.later[step].push_back(at_steps[step][k]);
    }
  }
  for (std::size_t i = 0; i < out.bodies.size(); ++i) {
    const std::int32_t object = rule.objects()[i];
    if (object != kNotAttached) out.bodies[i] = bodies[static_cast<std::size_t>(object)];
  }
  return out;
}

std::vector<std::int32_t> BodiesOfParticles(const ContactMotion& contact,
                                            std::span<const float> seen_m,
                                            std::span<const float> particles_m) {
  std::vector<std::int32_t> bodies = BodiesOfRobot(contact.motion, particles_m);
  const auto first_object = static_cast<std::int32_t>(contact.motion.link_count);
  std::vector<std::int32_t> of_seen;
  for (const std::int32_t body : contact.bodies) {
    of_seen.push_back(body < first_object ? kNotAttached : body - first_object);
  }
  const std::vector<std::int32_t> objects =
      ObjectsOfParticles({particles_m, bodies}, seen_m, of_seen,
                         contact.motion.start.size() - contact.motion.link_count);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (objects[i] != kNotAttached) bodies[i] = first_object + objects[i];
  }
  return bodies;
}

}  // namespace interlacer
