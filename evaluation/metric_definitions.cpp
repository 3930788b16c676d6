#include "evaluation/metric_definitions.h"

#include <string>

#include "common/json.h"
#include "evaluation/html.h"
#include "evaluation/score_text.h"
#include "evaluation/spread_scores.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

Json WithMask(Json definition, const char* mask) {
  definition["mask"] = mask;
  return definition;
}

constexpr char kMovingMask[] =
    "true colour differs from the newest observed frame by 16 or more in some channel, grown by 5 "
    "px; none below 100 px";
constexpr char kObjectsMask[] =
    "pixels that truly show an object at this step, grown by 5 px; none below 100 px";
constexpr char kWorkspaceMask[] = "valid true depth inside the workspace; none below 100 px";
constexpr char kCarriedMask[] =
    "held-out cameras of scenes where nothing moves: pixels that the pixels of the input views, "
    "taken at the size of the views and drawn as discs where they were seen, cover by one half or "
    "more, the drawn depth inside the workspace and the depth range; none below 100 px";
constexpr std::string_view kSpreadMetric = "l2_m@spread:LOW-HIGH";
constexpr char kMovedMask[] =
    "objects of which some particle truly is 0.01 m or more from its start at some step of the "
    "rollout, at every step from 1 on; arms are left out";

Json ParticleDistance(const char* mask) {
  return {{"definition",
           "mean distance in metres of particles to the true places of the points that they were "
           "lifted from; objects move by their true rigid motion, links of the robot by measured "
           "joints, all else stands still"},
          {"particles", "lifted from a pixel of the view at step 0; none below 5"},
          {"mask", mask}};
}

void AddParticleMetrics(Json* all) {
  const auto add = [&](std::string_view metric, const std::string& mask) {
    (*all)[std::string(metric)] = ParticleDistance(mask.c_str());
  };
  const std::string moved = kMovedMask;
  add(kL2Moved, moved);
  add(kL2Static, "all other tracked particles but those of arms: table, room, objects at rest");
  add(kL2StillObjects,
      "objects of which no particle truly is 0.01 m or more from its start at any step of the "
      "rollout, at every step from 1 on");
  add(kL2MovedBefore,
      moved + "; of these the ones that no arm has touched since the recording began");
  add(kL2MovedTouched, moved + "; of these the ones that an arm touches at this step");
  add(kL2MovedAfter, moved + "; of these the ones that an arm has touched and none touches now");
  add(kL2Robot, "pixels of arms, each with the nearest link of the robot");
  add(ObjectMetric("NAME"), "particles of one object, whether it moves or not");
  add(kSpreadMetric,
      "particles, those of arms left out, whose predicted spread (root mean square distance of "
      "four "
      "predictions, of the scene seen from four sides, from their mean) lies between LOW and HIGH "
      "metres at this step");
}

}  // namespace

Json MetricDefinitions() {
  const Json ssim = {
      {"window_px", 11},   {"window", "gaussian"}, {"sigma_px", 1.5},
      {"k1", 0.01},        {"k2", 0.03},           {"covariance", "population"},
      {"data_range", 255}, {"border_px", 5},       {"color", "mean over R, G, B of 8-bit images"},
      {"clipping", "none"}};
  const Json psnr = {
      {"definition", "10 log10(255^2 / MSE) of 8-bit images; null for equal images"}};
  Json masked_psnr = psnr;
  masked_psnr["border_px"] = 5;
  Json all = Json::object();
  AddParticleMetrics(&all);
  all[std::string(kDepthAbs)] = {
      {"definition",
       "mean |predicted - true depth| in metres where both are valid and the true point lies "
       "in the workspace; empty rays count with the far limit"}};
  all[std::string(kChamferHalf)] = {
      {"definition",
       "half the sum of the mean distances from seen particles to the nearest true point and "
       "from true points to the nearest seen particle, in metres"},
      {"particles", "of the subject; of copy_last those of step 0"},
      {"true_points", "valid depth pixels of the camera inside the workspace"},
      {"seen",
       "projects into the image at most 0.02 m behind the z-buffer of all particles, "
       "discs of 1.5 px"}};
  all[std::string(kSsim)] = ssim;
  all[std::string(kPsnr)] = psnr;
  all[std::string(kSsimMoving)] = WithMask(ssim, kMovingMask);
  all[std::string(kPsnrMoving)] = WithMask(masked_psnr, kMovingMask);
  all[std::string(kSsimObjects)] = WithMask(ssim, kObjectsMask);
  all[std::string(kPsnrObjects)] = WithMask(masked_psnr, kObjectsMask);
  all[std::string(kSsimWorkspace)] = WithMask(ssim, kWorkspaceMask);
  all[std::string(kPsnrWorkspace)] = WithMask(masked_psnr, kWorkspaceMask);
  all[std::string(kSsimCarried)] = WithMask(ssim, kCarriedMask);
  all[std::string(kPsnrCarried)] = WithMask(masked_psnr, kCarriedMask);
  return all;
}

std::string MetricDefinitionsHtml(const std::vector<std::string>& metrics,
                                  const Json& definitions) {
  HtmlTable table{"", {"metric", "name in files", "definition"}, {}, false};
  for (const std::string& metric : metrics) {
    // All objects share one definition, and so do all spreads.
    const std::string name = definitions.contains(metric)              ? metric
                             : metric.starts_with(kSpreadMetricPrefix) ? std::string(kSpreadMetric)
                                                                       : ObjectMetric("NAME");
    std::string text;
    const Json definition = definitions.contains(name) ? definitions.at(name) : Json::object();
    for (const auto& [key, value] : definition.items()) {
      text += (text.empty() ? "" : "; ") + (key == "definition" ? "" : key + ": ") +
              (value.is_string() ? value.get<std::string>() : value.dump());
    }
    table.rows.push_back({MetricLabel(metric), metric, text});
  }
  return DetailsHtml("What the metrics are", TableHtml(table));
}

}  // namespace interlacer
