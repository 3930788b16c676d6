#include "experiments/hdvpd/failures.h"

#include <algorithm>
#include <utility>

#include "common/json.h"

namespace interlacer {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string PlaceOf(const PieceFailure& failure) {
  if (failure.condition.empty()) return failure.episode;
  return failure.episode + " (" + failure.condition + ")";
}

std::string LineOf(const std::vector<const PieceFailure*>& alike) {
  std::string places;
  if (alike.size() <= kMostNamed) {
    for (const PieceFailure* failure : alike) {
      places += (places.empty() ? "" : ", ") + PlaceOf(*failure);
    }
  } else {
    places = std::to_string(alike.size()) + " evaluations from " + PlaceOf(*alike.front()) +
             " to " + PlaceOf(*alike.back());
  }
  const PieceFailure& first = *alike.front();
  return (first.run.empty() ? "every run" : first.run) + " on " + places + ": " + first.reason +
         " " + first.message;
}

/// Messages that name a field begin with its last part: the folder came later, as a prefix.
std::string MessageWithField(const Status& why) {
  const std::string &message = why.message(), &field = why.field();
  const std::string named = message.substr(0, message.find(": "));
  if (field.ends_with(named)) return field + message.substr(named.size());
  return message.find(field) != std::string::npos ? message : field + ": " + message;
}

}  // namespace

PieceFailure MakeFailure(std::string run, std::string_view condition, std::string episode,
                         const Status& why) {
  return {std::move(run), std::string(condition), std::move(episode), why.reason(),
          MessageWithField(why)};
}

bool AreAlike(const PieceFailure& a, const PieceFailure& b) {
  return a.run == b.run && a.reason == b.reason && a.message == b.message;
}

bool EndsStudy(const Status& status) {
  return status.code() == StatusCode::kCancelled || status.reason() == reason::DEVICE_ABSENT ||
         status.reason() == reason::DEVICE_LOST || status.reason() == reason::FILE_UNWRITABLE;
}

std::vector<std::string> FailureLines(const std::vector<PieceFailure>& failures) {
  std::vector<std::vector<const PieceFailure*>> groups;
  for (const PieceFailure& failure : failures) {
    const auto is_alike = [&](const auto& group) { return AreAlike(*group.front(), failure); };
    const auto group = std::find_if(groups.begin(), groups.end(), is_alike);
    (group == groups.end() ? groups.emplace_back() : *group).push_back(&failure);
  }
  std::vector<std::string> lines;
  for (const auto& group : groups) lines.push_back(LineOf(group));
  return lines;
}

nlohmann::ordered_json FailuresToJson(const std::vector<PieceFailure>& failures) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PieceFailure& failure : failures) {
    list.push_back({{"run", failure.run},
                    {"condition", failure.condition},
                    {"episode", failure.episode},
                    {"reason", failure.reason},
                    {"message", failure.message}});
  }
  return list;
}

}  // namespace interlacer
