#include "model/kernels/kinematic_path.h"

namespace interlacer {
namespace {

constexpr std::int64_t kPointsOfATask = 64;

}  // namespace

/// Bound: arithmetic, 18 sines and cosines for each point and octave; what is read is a few bodies.
/// Sizes: points share nothing, so a task of 64 only has to be worth handing over.
/// Layout: a point's three rows are written together, because its ring at one time starts from that
/// of the time before; rows of one time lie one after another.
void WriteKinematicTokens(const KinematicTokens& tokens, const KinematicTokenOutputs& out,
                          ParallelForFunction parallel_for) {
  const std::int64_t points = KinematicPointCount(tokens);
  const int width = KinematicTokenWidth(tokens);
  parallel_for(points, kPointsOfATask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t point = begin; point < end; ++point) {
      const KinematicPath path = KinematicPathOf(tokens, static_cast<int>(point));
      for (int time = 0; time < kRobotTimes; ++time) {
        const std::int64_t row = time * points + point;
        for (int c = 0; c < 3; ++c) out.points_m[3 * row + c] = path.point_m[time].at(c);
        for (int c = 0; c < width; ++c) {
          out.rows[row * width + c] = KinematicColumn(tokens, path, time, c);
        }
      }
    }
  });
}

}  // namespace interlacer
