#include "evaluation/report_scene.h"

#include <filesystem>
#include <map>

#include "common/file_io.h"
#include "evaluation/episode_run.h"
#include "evaluation/html.h"
#include "evaluation/report_strips.h"
#include "evaluation/scene_view.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

StatusOr<std::string> ReadScene(const std::string& path, const std::string& of_text) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string data, ReadTextFile(path, kMaxSceneDataBytes + 1));
  return SceneDataHtml(data, path, of_text);
}

}  // namespace

std::string ReportSceneHtml(const ReportInput& in) {
  const Variant& reference = in.variants[0];
  if (reference.frames_dir.empty()) return "";
  std::map<std::string, std::string> chosen;  // by rank
  for (const RankedEpisode& episode : ChosenEpisodes(in)) chosen[episode.rank] = episode.id;
  for (const char* rank : {"median", "best", "worst"}) {
    const auto found = chosen.find(rank);
    if (found == chosen.end()) continue;
    const std::string& episode = found->second;
    for (const ResultValue& value : in.reference().values) {
      if (value.episode != episode) continue;
      const fs::path path = ScenePath(reference.frames_dir, episode, value.start_step);
      std::error_code error;
      if (!fs::is_regular_file(path, error)) break;
      const auto html =
          ReadScene(path.string(), episode + ", start step " + std::to_string(value.start_step) +
                                       ": " + rank + " by mean SSIM, as among the frames below.");
      if (html.ok()) return *html;
      return SectionHtml("In 3-D",
                         "<p class=\"missing\">" + EscapeHtml(html.status().ToString()) + "</p>\n");
    }
  }
  return "";
}

}  // namespace interlacer
