#include "evaluation/metric_definitions.h"

#include <string>

#include "common/json.h"
#include "evaluation/view_scores.h"

namespace interlacer {

nlohmann::ordered_json MetricDefinitions() {
  using Json = nlohmann::ordered_json;
  const Json ssim = {
      {"window_px", 11},   {"window", "gaussian"}, {"sigma_px", 1.5},
      {"k1", 0.01},        {"k2", 0.03},           {"covariance", "population"},
      {"data_range", 255}, {"border_px", 5},       {"color", "mean over R, G, B of 8-bit images"},
      {"clipping", "none"}};
  Json moving = ssim;
  moving["mask"] =
      "true colour differs from the newest observed frame by 16 or more in some channel, grown by "
      "5 px; none below 100 px";
  Json workspace = ssim;
  workspace["mask"] = "valid true depth inside the workspace; none below 100 px";
  const Json tracked = {
      {"definition",
       "mean distance in metres of particles to the true places of the points that they were "
       "lifted from; objects move by their true rigid motion, arms are left out; copy_last: "
       "particles that stay"},
      {"particles", "lifted from a pixel of the view at step 0; none below 5"}};
  Json tracked_moving = tracked;
  tracked_moving["mask"] = "particles that truly are 0.01 m or more from where they began";
  return {{std::string(kSsim), ssim},
          {std::string(kSsimMoving), moving},
          {std::string(kSsimWorkspace), workspace},
          {std::string(kPsnr),
           {{"definition", "10 log10(255^2 / MSE) of 8-bit images; null for equal images"}}},
          {std::string(kDepthAbs),
           {{"definition",
             "mean |predicted - true depth| in metres where both are valid and the true point lies "
             "in the workspace; empty rays count with the far limit"}}},
          {std::string(kChamferHalf),
           {{"definition",
             "half the sum of the mean distances from seen particles to the nearest true point and "
             "from true points to the nearest seen particle, in metres"},
            {"true_points", "valid depth pixels of the camera inside the workspace"},
            {"seen",
             "projects into the image at most 0.02 m behind the z-buffer of all particles, "
             "discs of 1.5 px"}}},
          {std::string(kTracked), tracked},
          {std::string(kTrackedMoving), tracked_moving}};
}

}  // namespace interlacer
