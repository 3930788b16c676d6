#pragma once

/// Schedules as JSON: a list of {"from_step", "value"}. Errors: those of the document, and
/// CONFIG_INVALID at the field for a list that does not ascend from 0. Pure functions.

#include <string>

#include "common/json.h"
#include "model/training/schedule.h"

namespace interlacer {

template <typename T>
nlohmann::ordered_json ScheduleToJson(const Schedule<T>& schedule) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& entry : schedule) {
    list.push_back({{"from_step", entry.from_step}, {"value", entry.value}});
  }
  return list;
}

template <typename T>
StatusOr<Schedule<T>> ScheduleOr(const JsonObject& object, const char* key, Schedule<T> fallback) {
  if (!object.Has(key)) return fallback;
  INTERLACER_ASSIGN_OR_RETURN(const auto entries, object.GetObjects(key));
  Schedule<T> schedule;
  for (const JsonObject& entry : entries) {
    INTERLACER_RETURN_IF_ERROR(entry.AllowOnly({"from_step", "value"}));
    INTERLACER_ASSIGN_OR_RETURN(const std::int64_t from, entry.Get<std::int64_t>("from_step"));
    INTERLACER_ASSIGN_OR_RETURN(const T value, entry.Get<T>("value"));
    schedule.push_back({from, value});
  }
  return schedule;
}

template <typename T>
Status CheckSchedule(const Schedule<T>& schedule, const std::string& field) {
  if (IsValidSchedule(schedule)) return Status::Ok();
  std::string got;
  for (const auto& entry : schedule) {
    got += (got.empty() ? "from_step " : ", ") + std::to_string(entry.from_step);
  }
  return Mismatch(reason::CONFIG_INVALID, field, "a list that starts at from_step 0 and ascends",
                  got.empty() ? "an empty list" : got);
}

}  // namespace interlacer
