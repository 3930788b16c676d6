#include "model/training/augmentation.h"

#include "common/transforms.h"

namespace interlacer {
namespace {

void TurnPoints(const Transform& turn, std::vector<float>* points_m) {
  for (std::size_t i = 0; i + 2 < points_m->size(); i += 3) {
    float* p = points_m->data() + i;
    const Vec3d turned = Apply(turn, {p[0], p[1], p[2]});
    for (int axis = 0; axis < 3; ++axis) p[axis] = static_cast<float>(turned[axis]);
  }
}

}  // namespace

void TurnSample(double yaw_rad, TrainingSample* sample) {
  const Vec3d center = BoxCenter(sample->workspace);
  const Transform turn = Compose(Transform{center, YawQuaternion(yaw_rad)},
                                 Transform{{-center[0], -center[1], -center[2]}, {0, 0, 0, 1}});
  TurnPoints(turn, &sample->older.positions_m);
  TurnPoints(turn, &sample->newer.positions_m);
  for (std::vector<float>& at_m : sample->tracks.positions_m) TurnPoints(turn, &at_m);
  for (std::vector<Transform>& poses : sample->robot_rows.link_poses) {
    for (Transform& world_from_link : poses) world_from_link = Compose(turn, world_from_link);
  }
  for (std::vector<SupervisedView>& views : sample->target_steps) {
    for (SupervisedView& view : views) {
      view.camera.world_from_camera = Compose(turn, view.camera.world_from_camera);
    }
  }
}

}  // namespace interlacer
