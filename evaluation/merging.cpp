#include "evaluation/merging.h"

#include <algorithm>
#include <map>

#include "evaluation/resumption.h"

namespace interlacer {
namespace {

template <typename T>
void Append(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

/// Everything but the episodes: settings of the first part, sums over all parts.
StatusOr<Results> MergeHeads(const std::vector<Results>& parts) {
  Results merged = parts[0];
  merged.episodes.clear();
  merged.values.clear();
  merged.particles.clear();
  merged.failures.clear();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    INTERLACER_RETURN_IF_ERROR(CheckResumable(parts[0], parts[i]));
    merged.duration_s += parts[i].duration_s;
    merged.metrics.update(parts[i].metrics);
    Append(parts[i].timings, &merged.timings);
    for (const auto& [finding, count] : parts[i].warnings) merged.warnings[finding] += count;
  }
  return merged;
}

}  // namespace

StatusOr<Results> MergeResults(const std::vector<Results>& parts,
                               const std::vector<std::string>& episode_ids) {
  INTERLACER_ASSIGN_OR_RETURN(Results merged, MergeHeads(parts));
  std::map<std::string, const Results*> finished, failed;
  for (const Results& part : parts) {
    for (const ResultEpisode& episode : part.episodes) finished.emplace(episode.id, &part);
    for (const ResultFailure& failure : part.failures) failed.emplace(failure.episode, &part);
  }
  std::map<std::string, std::vector<ResultValue>> values;
  std::map<std::string, std::vector<ResultParticles>> particles;
  for (const Results& part : parts) {
    // Each entry from the part that its episode is taken from.
    const auto sort = [&](const auto& entries, auto* by_episode) {
      for (const auto& entry : entries) {
        const auto owner = finished.find(entry.episode);
        if (owner == finished.end() || owner->second != &part) continue;
        (*by_episode)[entry.episode].push_back(entry);
      }
    };
    sort(part.values, &values);
    sort(part.particles, &particles);
  }
  for (const std::string& id : episode_ids) {
    if (const auto owner = finished.find(id); owner != finished.end()) {
      const auto& episodes = owner->second->episodes;
      merged.episodes.push_back(*std::find_if(episodes.begin(), episodes.end(),
                                              [&](const ResultEpisode& e) { return e.id == id; }));
      Append(values[id], &merged.values);
      Append(particles[id], &merged.particles);
    } else if (const auto part = failed.find(id); part != failed.end()) {
      const auto& failures = part->second->failures;
      merged.failures.push_back(
          *std::find_if(failures.begin(), failures.end(),
                        [&](const ResultFailure& f) { return f.episode == id; }));
    } else {
      return NotFound(reason::FILE_NOT_FOUND,
                      "no part has the episode " + id + "; a shard is missing or unfinished")
          .WithField(id);
    }
  }
  return merged;
}

}  // namespace interlacer
