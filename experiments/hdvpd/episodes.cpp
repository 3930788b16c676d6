#include "experiments/hdvpd/episodes.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "data/dataset.h"
#include "data/episode_reader.h"
#include "data/view_choice.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

/// Planned rows that differ by less do not move an arm, radians and metres alike.
constexpr double kStillActions = 1e-6;

struct Candidate {
  StudyEpisode episode;
  Status status;  ///< of opening it
};

bool IsStill(const NumberTable& actions) {
  for (std::size_t i = 0; i < actions.values.size(); ++i) {
    const double first = actions.values[i % static_cast<std::size_t>(actions.column_count)];
    if (std::abs(actions.values[i] - first) > kStillActions) return false;
  }
  return true;
}

/// Selects at most `limit` candidates (0: all), in order: moving and still ones are each spread
/// over their own list, so that of a data set with a still twin beside each episode an even number
/// keeps its twins.
std::vector<Candidate> Spread(std::vector<Candidate> all, std::int64_t limit) {
  const auto count = static_cast<std::size_t>(limit);
  if (limit <= 0 || count >= all.size()) return all;
  std::vector<std::size_t> groups[2];  // moving, still
  for (std::size_t i = 0; i < all.size(); ++i) groups[all[i].episode.is_still].push_back(i);
  const std::size_t still_count = count * groups[1].size() / all.size();
  std::set<std::size_t> chosen;
  for (const bool is_still : {false, true}) {
    const std::vector<std::size_t>& group = groups[is_still];
    for (const std::size_t i :
         SpreadIndices(group.size(), is_still ? still_count : count - still_count)) {
      chosen.insert(group[i]);
    }
  }
  std::vector<Candidate> candidates;
  for (const std::size_t i : chosen) candidates.push_back(std::move(all[i]));
  return candidates;
}

StatusOr<StudyEpisode> ReadEpisode(const std::string& dir) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader reader, EpisodeReader::Open(dir));
  INTERLACER_ASSIGN_OR_RETURN(std::string sha256, reader.ManifestSha256());
  const EpisodeManifest& manifest = reader.manifest();
  if (manifest.kind != EpisodeKind::kManipulation) {
    return Mismatch(reason::ARGUMENT_INVALID, dir + ": kind", "manipulation", "another kind");
  }
  return StudyEpisode{manifest.episode_id, dir, std::move(sha256), manifest.task_name,
                      IsStill(reader.actions())};
}

}  // namespace

StatusOr<StudyEpisodes> ListStudyEpisodes(const std::string& dataset, const std::string& split,
                                          std::int64_t limit) {
  std::map<std::string, Status> damaged;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> dirs,
                              ListEpisodes(dataset, split, &damaged));
  std::vector<Candidate> all;
  for (const std::string& dir : dirs) {
    const auto damage = damaged.find(dir);
    StatusOr<StudyEpisode> episode =
        damage == damaged.end() ? ReadEpisode(dir) : StatusOr<StudyEpisode>(damage->second);
    Status status = episode.status();
    if (status.reason() == reason::ARGUMENT_INVALID) return status;
    const std::string name = fs::path(dir).lexically_normal().filename().string();
    all.push_back({episode.ok() ? *std::move(episode) : StudyEpisode{name, dir, "", "", false},
                   std::move(status)});
  }
  if (all.empty()) {
    return NotFound(reason::FILE_NOT_FOUND, "no episode in split \"" + split + "\"")
        .WithField(dataset);
  }
  StudyEpisodes episodes;
  const std::vector<Candidate> chosen = Spread(std::move(all), limit);
  for (const Candidate& candidate : chosen) {
    if (candidate.status.ok()) {
      episodes.readable.push_back(candidate.episode);
    } else {
      episodes.unreadable.push_back(MakeFailure("", "", candidate.episode.id, candidate.status));
    }
  }
  if (episodes.readable.empty()) return chosen.front().status;
  return episodes;
}

std::vector<const StudyEpisode*> MovingEpisodes(const std::vector<StudyEpisode>& episodes) {
  std::vector<const StudyEpisode*> moving;
  for (const StudyEpisode& episode : episodes) {
    if (!episode.is_still) moving.push_back(&episode);
  }
  return moving;
}

}  // namespace interlacer
