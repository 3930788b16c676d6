#include "evaluation/results.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "common/json.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSchema[] = "interlacer.results";

Json NumberOrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// By metric, camera and step; "all" and "held_out" are means over these cameras.
Json Aggregates(const Results& all, std::string_view subject) {
  // The subject's values alone, which are looked through once a mean.
  Results results;
  std::copy_if(all.values.begin(), all.values.end(), std::back_inserter(results.values),
               [&](const ResultValue& value) { return value.subject == subject; });
  struct Group {
    std::string name;
    std::string camera;
    std::optional<bool> is_input;
  };
  std::vector<Group> groups{{"all", "", {}}, {"held_out", "", false}};
  for (const std::string& camera : CamerasOf(results)) groups.push_back({camera, camera, {}});
  Json out = Json::array();
  for (const std::string& metric : MetricsOf(results)) {
    for (const Group& group : groups) {
      for (const int step : StepsOf(results)) {
        const auto estimate =
            Aggregate(results, {subject, metric, step, group.camera, group.is_input});
        if (!estimate) continue;
        Json entry = {{"metric", metric}, {"camera", group.name}, {"step", step}};
        entry.update(ToJson(*estimate));
        out.push_back(std::move(entry));
      }
    }
  }
  return out;
}

Json Percentiles(const Results& results, double ResultTiming::*stage) {
  std::vector<double> seconds;
  for (const ResultTiming& timing : results.timings) seconds.push_back(timing.*stage);
  return {{"p50", NumberOrNull(Percentile(seconds, 0.5))},
          {"p90", NumberOrNull(Percentile(seconds, 0.9))},
          {"p99", NumberOrNull(Percentile(seconds, 0.99))}};
}

Json ToJson(const ResultValue& v) {
  Json out = {{"subject", v.subject},
              {"episode", v.episode},
              {"start_step", v.start_step},
              {"camera", v.camera},
              {"is_input_camera", v.is_input_camera},
              {"step", v.step},
              {"metric", v.metric},
              {"value", NumberOrNull(v.value)}};
  if (!v.value) out["reason"] = v.reason;
  return out;
}

Json ToJson(const ResultParticles& p) {
  return {{"episode", p.episode},     {"start_step", p.start_step},
          {"camera", p.camera},       {"moved", p.moved},
          {"static", p.still},        {"robot", p.robot},
          {"untracked", p.untracked}, {"moved_objects", p.moved_objects}};
}

StatusOr<ResultParticles> ParseParticles(const JsonObject& object) {
  ResultParticles p;
  INTERLACER_ASSIGN_OR_RETURN(p.episode, object.Get<std::string>("episode"));
  INTERLACER_ASSIGN_OR_RETURN(p.start_step, object.Get<int>("start_step"));
  INTERLACER_ASSIGN_OR_RETURN(p.camera, object.Get<std::string>("camera"));
  INTERLACER_ASSIGN_OR_RETURN(p.moved, object.Get<std::int64_t>("moved"));
  INTERLACER_ASSIGN_OR_RETURN(p.still, object.Get<std::int64_t>("static"));
  INTERLACER_ASSIGN_OR_RETURN(p.robot, object.Get<std::int64_t>("robot"));
  INTERLACER_ASSIGN_OR_RETURN(p.untracked, object.Get<std::int64_t>("untracked"));
  INTERLACER_ASSIGN_OR_RETURN(p.moved_objects,
                              object.Get<std::vector<std::string>>("moved_objects"));
  return p;
}

StatusOr<ResultValue> ParseValue(const JsonObject& object, const nlohmann::json& raw) {
  ResultValue v;
  INTERLACER_ASSIGN_OR_RETURN(v.subject, object.Get<std::string>("subject"));
  INTERLACER_ASSIGN_OR_RETURN(v.episode, object.Get<std::string>("episode"));
  INTERLACER_ASSIGN_OR_RETURN(v.start_step, object.Get<int>("start_step"));
  INTERLACER_ASSIGN_OR_RETURN(v.camera, object.Get<std::string>("camera"));
  INTERLACER_ASSIGN_OR_RETURN(v.is_input_camera, object.Get<bool>("is_input_camera"));
  INTERLACER_ASSIGN_OR_RETURN(v.step, object.Get<int>("step"));
  INTERLACER_ASSIGN_OR_RETURN(v.metric, object.Get<std::string>("metric"));
  for (const auto& [key, step] : {std::pair("start_step", v.start_step), {"step", v.step}}) {
    if (step < 0) return object.Invalid(key, "0 or more", std::to_string(step));
  }
  if (raw.contains("value") && raw["value"].is_null()) {
    INTERLACER_ASSIGN_OR_RETURN(v.reason, object.GetOr<std::string>("reason", ""));
    return v;
  }
  INTERLACER_ASSIGN_OR_RETURN(v.value, object.Get<double>("value"));
  return v;
}

Status ParseLists(const JsonObject& root, const nlohmann::json& document, Results* r) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject dataset, root.GetObject("dataset"));
  INTERLACER_ASSIGN_OR_RETURN(r->dataset_name, dataset.Get<std::string>("name"));
  INTERLACER_ASSIGN_OR_RETURN(r->dataset_sha256, dataset.Get<std::string>("dataset_sha256"));
  INTERLACER_ASSIGN_OR_RETURN(r->split, dataset.Get<std::string>("split"));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> episodes,
                              dataset.GetObjects("episodes"));
  for (const JsonObject& object : episodes) {
    ResultEpisode episode;
    INTERLACER_ASSIGN_OR_RETURN(episode.id, object.Get<std::string>("id"));
    INTERLACER_ASSIGN_OR_RETURN(episode.manifest_sha256,
                                object.Get<std::string>("manifest_sha256"));
    INTERLACER_ASSIGN_OR_RETURN(episode.task, object.GetOr<std::string>("task", ""));
    r->episodes.push_back(std::move(episode));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> values, root.GetObjects("values"));
  std::set<std::tuple<std::string, std::string, std::string, int, std::string, int>> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    INTERLACER_ASSIGN_OR_RETURN(ResultValue value, ParseValue(values[i], document["values"][i]));
    const bool is_new = seen.emplace(value.subject, value.metric, value.episode, value.start_step,
                                     value.camera, value.step)
                            .second;
    // Rollouts of a static scene all start at step 0 and may share cameras.
    if (!is_new && value.start_step > 0) {
      return values[i].Invalid("metric",
                               "one value of each subject, metric, episode, start, camera and step",
                               value.metric + " of " + value.subject + " in " + value.episode +
                                   " at step " + std::to_string(value.step) + " again");
    }
    r->values.push_back(std::move(value));
  }
  if (root.Has("particles")) {
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> particles,
                                root.GetObjects("particles"));
    for (const JsonObject& object : particles) {
      INTERLACER_ASSIGN_OR_RETURN(ResultParticles counts, ParseParticles(object));
      r->particles.push_back(std::move(counts));
    }
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> failures, root.GetObjects("failures"));
  for (const JsonObject& object : failures) {
    ResultFailure failure;
    INTERLACER_ASSIGN_OR_RETURN(failure.episode, object.Get<std::string>("episode"));
    INTERLACER_ASSIGN_OR_RETURN(failure.reason, object.Get<std::string>("reason"));
    INTERLACER_ASSIGN_OR_RETURN(failure.message, object.Get<std::string>("message"));
    r->failures.push_back(std::move(failure));
  }
  return Status::Ok();
}

Status ParseTiming(const JsonObject& root, Results* r) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject timing, root.GetObject("timing"));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> runs, timing.GetObjects("predictions"));
  for (const JsonObject& object : runs) {
    ResultTiming run;
    INTERLACER_ASSIGN_OR_RETURN(run.lift_s, object.Get<double>("lift_s"));
    INTERLACER_ASSIGN_OR_RETURN(run.step_s, object.Get<double>("step_s"));
    INTERLACER_ASSIGN_OR_RETURN(run.view_s, object.Get<double>("view_s"));
    r->timings.push_back(run);
  }
  return Status::Ok();
}

Status ParseSetup(const JsonObject& root, Results* r) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject setup, root.GetObject("setup"));
  INTERLACER_ASSIGN_OR_RETURN(r->step_count, setup.Get<int>("steps"));
  INTERLACER_ASSIGN_OR_RETURN(r->step_duration_s, setup.Get<double>("step_duration_s"));
  INTERLACER_ASSIGN_OR_RETURN(r->image_width_px, setup.Get<int>("image_width_px"));
  INTERLACER_ASSIGN_OR_RETURN(r->image_height_px, setup.Get<int>("image_height_px"));
  INTERLACER_ASSIGN_OR_RETURN(r->target_background, setup.Get<std::string>("target_background"));
  INTERLACER_ASSIGN_OR_RETURN(r->seed, setup.Get<std::int64_t>("seed"));
  INTERLACER_ASSIGN_OR_RETURN(r->location, setup.Get<std::string>("location"));
  INTERLACER_ASSIGN_OR_RETURN(r->render_mode, setup.GetOr<std::string>("render_mode", ""));
  INTERLACER_ASSIGN_OR_RETURN(r->measures_spread, setup.GetOr<bool>("spread", false));
  INTERLACER_ASSIGN_OR_RETURN(r->subjects, setup.GetOr<std::vector<std::string>>("subjects", {}));
  INTERLACER_ASSIGN_OR_RETURN(r->robot_sha256, setup.GetOr<std::string>("robot_sha256", ""));
  if (!setup.Has("plan")) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject plan, setup.GetObject("plan"));
  ResultPlan& out = r->plan.emplace();
  INTERLACER_ASSIGN_OR_RETURN(out.window_count, plan.Get<int>("windows"));
  INTERLACER_ASSIGN_OR_RETURN(out.start_step, plan.Get<int>("start_step"));
  INTERLACER_ASSIGN_OR_RETURN(out.input_cameras, plan.Get<std::vector<std::string>>("cameras"));
  INTERLACER_ASSIGN_OR_RETURN(out.target_cameras,
                              plan.Get<std::vector<std::string>>("target_cameras"));
  return Status::Ok();
}

Json SetupToJson(const Results& r) {
  Json setup = {{"steps", r.step_count},
                {"step_duration_s", r.step_duration_s},
                {"image_width_px", r.image_width_px},
                {"image_height_px", r.image_height_px},
                {"target_background", r.target_background},
                {"seed", r.seed},
                {"location", r.location},
                {"render_mode", r.render_mode},
                {"subjects", r.subjects}};
  if (r.measures_spread) setup["spread"] = true;
  if (!r.robot_sha256.empty()) setup["robot_sha256"] = r.robot_sha256;
  if (!r.plan) return setup;
  setup["plan"] = {{"windows", r.plan->window_count},
                   {"start_step", r.plan->start_step},
                   {"cameras", r.plan->input_cameras},
                   {"target_cameras", r.plan->target_cameras}};
  return setup;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// The types of what readers of `model` take from it; the rest is passed on as it is.
Status CheckModel(const JsonObject& root) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject model, root.GetObject("model"));
  for (const char* key : {"name", "variant", "weights_sha256", "config_sha256"}) {
    INTERLACER_RETURN_IF_ERROR(model.GetOr<std::string>(key, "").status());
  }
  for (const char* key : {"parameter_count", "particle_count", "trained_step_count"}) {
    INTERLACER_RETURN_IF_ERROR(model.GetOr<std::int64_t>(key, 0).status());
  }
  return Status::Ok();
}

/// Whether a value or the lack of one is in the filter.
bool IsIn(const ValueFilter& f, const ResultValue& v) {
  return (f.step < 0 || v.step == f.step) && (f.subject.empty() || v.subject == f.subject) &&
         (f.metric.empty() || v.metric == f.metric) && (f.camera.empty() || v.camera == f.camera) &&
         (!f.is_input_camera || v.is_input_camera == *f.is_input_camera);
}

/// Numbers the values of a filter, also those that are null, in their order.
class PlaceCounter {
 public:
  ValuePlace Next(const ResultValue& v) {
    ValuePlace place{v.episode, v.start_step, v.camera, v.step, 0};
    std::get<4>(place) = counts_[place]++;
    return place;
  }

 private:
  std::map<ValuePlace, int> counts_;
};

Json IntervalJson(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

}  // namespace

Json ToJson(const MeanEstimate& estimate) {
  return {{"mean", estimate.mean},
          {"std", estimate.std_dev},
          {"n", estimate.n},
          {"interval_95", IntervalJson(estimate.interval)}};
}

Json ToJson(const RatioEstimate& estimate) {
  return {{"ratio", estimate.ratio},
          {"n", estimate.n},
          {"interval_95", IntervalJson(estimate.interval)}};
}

Json ResultsToJson(const Results& r, Aggregation aggregation) {
  Json episodes = Json::array(), values = Json::array(), failures = Json::array(),
       runs = Json::array(), particles = Json::array(), baselines = Json::object(),
       warnings = Json::object();
  for (const ResultEpisode& e : r.episodes) {
    episodes.push_back({{"id", e.id}, {"manifest_sha256", e.manifest_sha256}, {"task", e.task}});
  }
  for (const ResultValue& value : r.values) values.push_back(ToJson(value));
  for (const ResultFailure& f : r.failures) {
    failures.push_back({{"episode", f.episode}, {"reason", f.reason}, {"message", f.message}});
  }
  for (const ResultTiming& t : r.timings) {
    runs.push_back({{"lift_s", t.lift_s}, {"step_s", t.step_s}, {"view_s", t.view_s}});
  }
  for (const ResultParticles& p : r.particles) particles.push_back(ToJson(p));
  for (const auto& [finding, count] : r.warnings) warnings[finding] = count;
  const bool has_means = aggregation == Aggregation::kAll;
  for (const std::string& subject : BaselinesOf(r)) {
    baselines[subject] = has_means ? Aggregates(r, subject) : Json::array();
  }
  return {{"schema", kSchema},
          {"schema_version", kResultsSchemaVersion},
          {"tool_version", r.tool_version},
          {"command", r.command},
          {"created_time", r.created_time},
          {"device", r.device},
          {"duration_s", r.duration_s},
          {"model", r.model},
          {"dataset",
           {{"name", r.dataset_name},
            {"dataset_sha256", r.dataset_sha256},
            {"split", r.split},
            {"episodes", episodes}}},
          {"setup", SetupToJson(r)},
          {"metrics", r.metrics},
          {"aggregates", has_means ? Aggregates(r, kModelSubject) : Json::array()},
          {"baselines", baselines},
          {"timing",
           {{"lift_s", Percentiles(r, &ResultTiming::lift_s)},
            {"step_s", Percentiles(r, &ResultTiming::step_s)},
            {"view_s", Percentiles(r, &ResultTiming::view_s)},
            {"predictions", runs}}},
          {"particles", particles},
          {"failures", failures},
          {"warnings", warnings},
          {"values", values}};
}

StatusOr<Results> ParseResults(const nlohmann::json& document) {
  Results r;
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Make(document));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, root.Get<std::string>("schema"));
  if (schema != kSchema) return root.Invalid("schema", kSchema, schema);
  INTERLACER_ASSIGN_OR_RETURN(const int version, root.Get<int>("schema_version"));
  if (version < 1 || version > kResultsSchemaVersion) {
    return Mismatch(reason::SCHEMA_VERSION_UNSUPPORTED, "schema_version",
                    "1 to " + std::to_string(kResultsSchemaVersion), std::to_string(version));
  }
  INTERLACER_ASSIGN_OR_RETURN(r.tool_version, root.Get<std::string>("tool_version"));
  INTERLACER_ASSIGN_OR_RETURN(r.command, root.Get<std::string>("command"));
  INTERLACER_ASSIGN_OR_RETURN(r.created_time, root.Get<std::string>("created_time"));
  INTERLACER_ASSIGN_OR_RETURN(r.device, root.Get<std::string>("device"));
  INTERLACER_ASSIGN_OR_RETURN(r.duration_s, root.Get<double>("duration_s"));
  INTERLACER_RETURN_IF_ERROR(CheckModel(root));
  r.model = document["model"];
  INTERLACER_RETURN_IF_ERROR(ParseSetup(root, &r));
  r.metrics = nlohmann::ordered_json::object();
  if (root.Has("metrics")) {
    INTERLACER_RETURN_IF_ERROR(root.GetObject("metrics").status());
    r.metrics = document["metrics"];
  }
  INTERLACER_RETURN_IF_ERROR(ParseLists(root, document, &r));
  INTERLACER_RETURN_IF_ERROR(ParseTiming(root, &r));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject warnings, root.GetObject("warnings"));
  for (const auto& [finding, count] : document["warnings"].items()) {
    INTERLACER_ASSIGN_OR_RETURN(r.warnings[finding], warnings.Get<int>(finding));
  }
  return r;
}

StatusOr<Results> ReadResults(const std::string& path) {
  std::error_code error;
  const std::string file = std::filesystem::is_directory(path, error)
                               ? (std::filesystem::path(path) / kResultsFile).string()
                               : path;
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(file));
  StatusOr<Results> results = ParseResults(document);
  if (!results.ok()) return results.status().WithFieldPrefix(file);
  return results;
}

Status WriteResults(const std::string& path, const Results& results, Aggregation aggregation) {
  return WriteJsonFile(path, ResultsToJson(results, aggregation));
}

std::string ResultsToCsv(const Results& results) {
  std::string out = "subject,episode,start_step,camera,is_input_camera,step,metric,value,reason\n";
  for (const ResultValue& v : results.values) {
    char number[40] = "";
    if (v.value) std::snprintf(number, sizeof number, "%.17g", *v.value);
    out += v.subject + "," + CsvField(v.episode) + "," + std::to_string(v.start_step) + "," +
           CsvField(v.camera) + "," + (v.is_input_camera ? "1" : "0") + "," +
           std::to_string(v.step) + "," + CsvField(v.metric) + "," + number + "," +
           CsvField(v.reason) + "\n";
  }
  return out;
}

std::set<ValuePlace> PlacesOf(const Results& results, const ValueFilter& filter) {
  PlaceCounter counter;
  std::set<ValuePlace> places;
  for (const ResultValue& value : results.values) {
    if (!IsIn(filter, value)) continue;
    const ValuePlace place = counter.Next(value);
    if (value.value) places.insert(place);
  }
  return places;
}

std::map<std::string, double> EpisodeMeans(const Results& results, const ValueFilter& filter,
                                           const std::set<ValuePlace>* places) {
  PlaceCounter counter;
  std::map<std::string, std::pair<double, int>> sums;
  for (const ResultValue& value : results.values) {
    if (!IsIn(filter, value)) continue;
    if (places != nullptr && !places->contains(counter.Next(value))) continue;
    if (!value.value) continue;
    auto& [sum, count] = sums[value.episode];
    sum += *value.value;
    ++count;
  }
  std::map<std::string, double> means;
  for (const auto& [episode, sum] : sums) means[episode] = sum.first / sum.second;
  return means;
}

std::optional<MeanEstimate> Aggregate(const Results& results, const ValueFilter& filter) {
  std::vector<double> means;
  for (const auto& [episode, mean] : EpisodeMeans(results, filter)) means.push_back(mean);
  return EstimateMean(means);
}

std::vector<std::string> MetricsOf(const Results& results) {
  std::set<std::string, std::less<>> left;
  for (const ResultValue& value : results.values) left.insert(value.metric);
  std::vector<std::string> metrics;
  const auto take = [&](const auto& wanted) {
    for (auto it = left.begin(); it != left.end();) {
      if (wanted(*it)) {
        metrics.push_back(*it);
        it = left.erase(it);
      } else {
        ++it;
      }
    }
  };
  for (const std::string_view known : kMetrics) {
    take([&](const std::string& metric) { return metric == known; });
    if (known != kL2Robot) continue;
    take([](const std::string& metric) { return metric.starts_with(kObjectMetricPrefix); });
  }
  take([](const std::string&) { return true; });
  return metrics;
}

std::vector<std::string> BaselinesOf(const Results& results) {
  std::set<std::string, std::less<>> scored;
  for (const ResultValue& value : results.values) {
    if (value.value) scored.insert(value.subject);
  }
  std::vector<std::string> baselines;
  for (const std::string_view subject : kSubjects) {
    if (subject != kModelSubject && scored.contains(subject)) baselines.emplace_back(subject);
  }
  return baselines;
}

std::vector<int> StepsOf(const Results& results) {
  std::set<int> steps;
  for (const ResultValue& value : results.values) steps.insert(value.step);
  return {steps.begin(), steps.end()};
}

std::vector<std::string> CamerasOf(const Results& results) {
  std::set<std::string> cameras;
  for (const ResultValue& value : results.values) cameras.insert(value.camera);
  return {cameras.begin(), cameras.end()};
}

}  // namespace interlacer
