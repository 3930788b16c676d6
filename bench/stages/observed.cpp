/// A free view of all pixels of two RGB-D frames after a part of them moved: our discs against
/// Open3D's projection of the same points.

#include <cmath>
#include <utility>

#include "bench/errors.h"
#include "bench/host_platform.h"
#include "bench/observed_problem.h"
#include "bench/peers/open3d_projection.h"
#include "common/random.h"
#include "tests/support/observed_twin.h"

namespace interlacer::bench {
namespace {

/// Pixels that the twin draws, each from all surfels.
constexpr int kTwinPixels = 300;
/// A few shares cut to 1/1024. A pixel on the edge of a core or of the depth band may differ more.
constexpr double kTwinBound = 4e-3;
constexpr double kTwinQuantile = 0.98;
/// A point's depth in the peer's pixel and the mean of discs in ours lie on one surface.
constexpr double kPeerMedianM = 5e-3;

ObservedPicture Draw(const ObservedProblem& p) {
  return p.renderer->Render(p.camera, p.positions_m).value();
}

GateResult CheckAgainstTwin(const ObservedProblem& p, std::uint64_t seed) {
  const ObservedPicture picture = Draw(p);
  const testing::ObservedTwin twin(p.frames, p.camera, p.renderer->positions_m(), p.positions_m,
                                   -1);
  RandomSequence random(seed, RandomStream::kDataGeneration, 1);
  std::vector<double> got, expected;
  for (int k = 0; k < kTwinPixels; ++k) {
    const auto pixel = static_cast<int>(random.Below(picture.coverage.size()));
    const testing::TwinPixel by_twin = twin.At(pixel);
    for (std::size_t c = 0; c < 3; ++c) {
      got.push_back(picture.color.pixels[3 * static_cast<std::size_t>(pixel) + c]);
      expected.push_back(by_twin.rgb[c]);
    }
    got.push_back(picture.coverage[static_cast<std::size_t>(pixel)]);
    expected.push_back(by_twin.coverage);
  }
  GateResult gate;
  gate.error = AbsQuantile(got, expected, kTwinQuantile);
  gate.error_kind = "abs_q98";
  gate.error_bound = kTwinBound;
  gate.reference = "float64 twin, " + std::to_string(kTwinPixels) + " pixels";
  return gate;
}

/// Where both have a depth it is that of one surface.
bool SeesTheSame(const ObservedProblem& p, const std::vector<float>& peer_depth_m) {
  const ObservedPicture picture = Draw(p);
  std::vector<double> ours, peers;
  for (std::size_t i = 0; i < peer_depth_m.size(); ++i) {
    if (std::isnan(picture.depth.pixels_m[i]) || !(peer_depth_m[i] > 0)) continue;
    ours.push_back(picture.depth.pixels_m[i]);
    peers.push_back(peer_depth_m[i]);
  }
  return 2 * ours.size() > peer_depth_m.size() && AbsQuantile(ours, peers, 0.5) <= kPeerMedianM;
}

}  // namespace

std::vector<Case> MakeObservedCases(const Options& options) {
  const auto problem = MakeObservedProblem(options);
  Case base = ObservedCase("observed/", *problem, options);
  base.ours = "elliptical discs";
  Case item = Against(base, "open3d");
  item.run_ours = Timed([problem] { Draw(*problem); });
  item.gate = [problem, seed = options.seed] { return CheckAgainstTwin(*problem, seed); };
  const PointProjection library = Open3dProjection();
  item.peer_version = library.version;
  if (library.prepare) {
    const auto project = library.prepare(problem->positions_m, problem->colors, problem->camera);
    if (SeesTheSame(*problem, project())) {
      item.run_peer = Timed([project] { project(); });
    } else {
      item.skipped = "its picture shows another surface";
    }
  } else {
    item.skipped = library.missing;
  }
  return {std::move(item)};
}

}  // namespace interlacer::bench
