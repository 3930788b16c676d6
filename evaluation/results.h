#pragma once

/// results.json: every score of an evaluation, with all that is needed to repeat and to compare it.
///
/// One value for each episode, start step, camera, step, subject (the model or a baseline) and
/// metric; null values carry a reason. Numbers are written so that reading gives the same bits; NaN
/// and infinity never. Files of earlier versions stay readable: their metrics keep the names and
/// definitions that they were written with. A value that stands twice is refused, but for static
/// scenes (ValuePlace). Errors: those of common/json.h; SCHEMA_VERSION_UNSUPPORTED. Value types.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/json.h"
#include "common/status.h"
#include "evaluation/metric_definitions.h"
#include "evaluation/statistics.h"

namespace interlacer {

inline constexpr char kResultsFile[] = "results.json";
/// 2: l2_moved_m and l2_static_m stand in the place of mde_m_v1; subjects, render_mode, particles.
inline constexpr int kResultsSchemaVersion = 2;

struct ResultValue {
  std::string subject;  ///< a name of evaluation/subjects.h
  std::string episode;
  int start_step = 0;
  std::string camera;
  bool is_input_camera = true;
  int step = 0;
  std::string metric;
  std::optional<double> value;
  std::string reason;
};

struct ResultEpisode {
  std::string id;
  std::string manifest_sha256;
  std::string task;
  bool operator==(const ResultEpisode&) const = default;
};

struct ResultFailure {
  std::string episode;
  std::string reason;
  std::string message;
};

/// Seconds of one prediction.
struct ResultTiming {
  double lift_s = 0;
  double step_s = 0;  ///< mean of its dynamics steps
  double view_s = 0;  ///< mean of its views
};

/// How many particles of a view the scores of particles are about (evaluation/tracked_particles.h).
struct ResultParticles {
  std::string episode;
  int start_step = 0;
  std::string camera;
  std::int64_t moved = 0;  ///< of objects that move at some step of the rollout
  std::int64_t still = 0;  ///< of all else but arms
  std::int64_t robot = 0;
  std::int64_t untracked = 0;  ///< of other views
  std::vector<std::string> moved_objects;
  bool operator==(const ResultParticles&) const = default;
};

/// Which predictions of each episode were asked for, as in evaluation_plan.h.
struct ResultPlan {
  int window_count = 1;
  int start_step = -1;                     ///< negative: spread over the episode
  std::vector<std::string> input_cameras;  ///< empty: the model's, or chosen by the plan
  std::vector<std::string> target_cameras;
};

struct Results {
  std::string tool_version;
  std::string command;
  std::string created_time;
  std::string device;
  double duration_s = 0;

  nlohmann::ordered_json model;  ///< name, variant, hashes, trained_step_count

  std::string dataset_name;
  std::string dataset_sha256;
  std::string split;
  std::vector<ResultEpisode> episodes;

  int step_count = 0;
  double step_duration_s = 0;
  int image_width_px = 0;
  int image_height_px = 0;
  std::string target_background;  ///< "white_outside_workspace" or "none"
  std::int64_t seed = 0;
  std::string location;     ///< "local", "remote" or "none"
  std::string render_mode;  ///< of the model: "observed" or "field"
  bool measures_spread = false;
  std::string robot_sha256;           ///< of another robot than the episodes'; else empty
  std::vector<std::string> subjects;  ///< asked for; empty in files that earlier versions wrote
  /// Absent in files that earlier versions have written.
  std::optional<ResultPlan> plan;
  /// Definitions by metric; for a file, those that it was written with.
  nlohmann::ordered_json metrics = MetricDefinitions();

  std::vector<ResultValue> values;
  std::vector<ResultTiming> timings;
  std::vector<ResultParticles> particles;
  std::vector<ResultFailure> failures;
  std::map<std::string, int> warnings;  ///< findings with counts
};

/// mean, std, n and interval_95 (null where there is none).
nlohmann::ordered_json ToJson(const MeanEstimate& estimate);
/// ratio, n and interval_95.
nlohmann::ordered_json ToJson(const RatioEstimate& estimate);
/// Means take long to estimate, so that a file which is not final may do without.
enum class Aggregation { kAll, kNone };
nlohmann::ordered_json ResultsToJson(const Results& results,
                                     Aggregation aggregation = Aggregation::kAll);
StatusOr<Results> ParseResults(const nlohmann::json& document);
/// `path` is the file or the folder that holds it.
StatusOr<Results> ReadResults(const std::string& path);
Status WriteResults(const std::string& path, const Results& results,
                    Aggregation aggregation = Aggregation::kAll);
/// One line a value; for spreadsheets.
std::string ResultsToCsv(const Results& results);

/// Which values take part in a mean. Empty or negative fields take all.
struct ValueFilter {
  std::string_view subject;
  std::string_view metric;
  int step = -1;
  std::string_view camera;
  std::optional<bool> is_input_camera;
};

/// What a value is of, beside subject and metric: episode, start step, camera, step, and the how
/// manieth it is, since rollouts of a static scene all start at step 0 and may share cameras.
using ValuePlace = std::tuple<std::string_view, int, std::string_view, int, int>;
/// Places of the values in the filter, which names subject and metric; they point into the results.
std::set<ValuePlace> PlacesOf(const Results& results, const ValueFilter& filter);

/// One mean for each episode that has values, over its cameras, starts and steps in the filter, and
/// of those at `places` alone where they are given.
std::map<std::string, double> EpisodeMeans(const Results& results, const ValueFilter& filter,
                                           const std::set<ValuePlace>* places = nullptr);
/// Mean of the episodes' means with its interval.
std::optional<MeanEstimate> Aggregate(const Results& results, const ValueFilter& filter);

/// Metrics that occur in the values: kMetrics in their order, those of single objects after the
/// other particle scores, last what only other versions know.
std::vector<std::string> MetricsOf(const Results& results);
/// Subjects other than the model that have a score, in the order of kSubjects.
std::vector<std::string> BaselinesOf(const Results& results);
/// Ascending; what occurs in the values.
std::vector<int> StepsOf(const Results& results);
std::vector<std::string> CamerasOf(const Results& results);

}  // namespace interlacer
