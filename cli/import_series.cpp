#include "cli/import_series.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "cli/dataset_folder.h"
#include "cli/describe.h"
#include "cli/validation_text.h"
#include "common/json.h"
#include "data/importers/importers.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kOption[] = "--episodes";

class Series {
 public:
  Series(std::string format, ImportOptions import, const ImportSeriesOptions& series,
         const std::string& command, const VerbContext& context)
      : format_(std::move(format)),
        import_(std::move(import)),
        series_(series),
        command_(command),
        context_(context),
        output_(import_.episode_dir) {}

  StatusOr<ExitCode> Run() {
    INTERLACER_ASSIGN_OR_RETURN(const std::int64_t count,
                                CountEpisodes(format_, import_.source_dir));
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::int64_t> numbers,
                                ParseEpisodeNumbers(series_.episodes, count));
    INTERLACER_RETURN_IF_ERROR(CheckDatasetFolder(output_, series_.resume, import_.overwrite));
    progress_ = context_.MakeProgress("import", std::ssize(numbers));
    import_.on_frame = nullptr;
    Status status;
    for (const std::int64_t number : numbers) {
      status = ImportOne(number);
      if (!status.ok()) break;
    }
    progress_->Finish();
    // What is finished is kept, whatever ended the run.
    if (!made_.empty()) {
      Dataset fresh;
      // Of "set/" too.
      const fs::path source = (fs::path(import_.source_dir) / "").lexically_normal().parent_path();
      fresh.name = source.filename().string();
      if (fresh.name.empty()) fresh.name = format_;
      fresh.license = import_.license;
      INTERLACER_RETURN_IF_ERROR(AddToDataset(output_, series_.split, std::move(fresh), made_));
    }
    INTERLACER_RETURN_IF_ERROR(status);
    return Conclude();
  }

 private:
  Status ImportOne(std::int64_t number) {
    if (import_.stop.stop_requested()) return Stopped();
    const std::string id = Format("episode_%06lld", static_cast<long long>(number));
    const fs::path dir = fs::path(output_) / id;
    import_.command = command_ + " --episode " + std::to_string(number);
    if (series_.resume && IsEpisodeFolder(dir)) {
      INTERLACER_ASSIGN_OR_RETURN(MadeEpisode kept, KeepEpisode(dir, id, import_.command));
      made_.push_back(std::move(kept));
      progress_->Found(++done_);
      return Status::Ok();
    }
    import_.episode_dir = dir.string();
    import_.lerobot.episode = number;
    const StatusOr<ImportReport> report = ImportRecording(format_, import_);
    if (import_.stop.stop_requested()) return Stopped();
    if (!report.ok() && made_.empty()) return report.status();
    progress_->Update(++done_);
    if (!report.ok()) {
      context_.Message(id + ": " + report.status().ToString());
      failures_.push_back({{"episode", id},
                           {"reason", report.status().reason()},
                           {"message", report.status().message()}});
      return Status::Ok();
    }
    INTERLACER_ASSIGN_OR_RETURN(MadeEpisode episode, DescribeEpisode(dir, id));
    made_.push_back(std::move(episode));
    is_valid_ = is_valid_ && report->validation.ok();
    nlohmann::ordered_json json = ToJson(report->validation);
    json["path"] = dir.string();
    json["frame_count"] = report->frame_count;
    json["skipped_count"] = report->skipped_count;
    json["choices"] = report->choices;
    imported_.push_back(std::move(json));
    text_ += Format("%s: %d frames written, %d skipped\n", id.c_str(), report->frame_count,
                    report->skipped_count) +
             ValidationText(report->validation);
    return Status::Ok();
  }

  static Status Stopped() { return Cancelled("stopped; --resume goes on"); }

  ExitCode Conclude() {
    const auto there = std::count_if(made_.begin(), made_.end(),
                                     [](const MadeEpisode& episode) { return episode.was_there; });
    const nlohmann::ordered_json json = {{"dataset", output_},
                                         {"split", series_.split},
                                         {"episodes", imported_},
                                         {"kept_count", there},
                                         {"failures", failures_}};
    context_.Result(json,
                    text_ + Format("%d episodes in %s, %d of them from before, %d failed\n",
                                   static_cast<int>(made_.size()), output_.c_str(),
                                   static_cast<int>(there), static_cast<int>(failures_.size())));
    if (!failures_.empty()) return kExitBadInput;
    return is_valid_ ? kExitDone : kExitCheckFailed;
  }

  const std::string format_;
  ImportOptions import_;
  const ImportSeriesOptions& series_;
  const std::string& command_;
  const VerbContext& context_;
  const std::string output_;
  std::unique_ptr<Progress> progress_;
  std::int64_t done_ = 0;
  std::vector<MadeEpisode> made_;
  nlohmann::ordered_json imported_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json failures_ = nlohmann::ordered_json::array();
  bool is_valid_ = true;
  std::string text_;
};

Status BadNumbers(std::int64_t count, const std::string& got) {
  return Mismatch(reason::ARGUMENT_INVALID, kOption,
                  count < 1 ? "a set with episodes"
                            : "all, or numbers and ranges of 0 to " + std::to_string(count - 1) +
                                  " such as 0-4,7",
                  got);
}

}  // namespace

StatusOr<std::vector<std::int64_t>> ParseEpisodeNumbers(const std::string& text,
                                                        std::int64_t count) {
  if (count < 1) return BadNumbers(count, std::to_string(count));
  std::set<std::int64_t> numbers;
  const auto number = [&](std::string_view digits) -> std::int64_t {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
    return is_whole && value < count ? value : -1;
  };
  const std::string list = text == "all" ? "0-" : text;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view part = std::string_view(list).substr(at, end - at);
    const std::size_t dash = part.find('-');
    const std::int64_t first = number(part.substr(0, dash));
    std::int64_t last = first;
    if (dash != std::string_view::npos) {
      last = dash + 1 == part.size() ? count - 1 : number(part.substr(dash + 1));
    }
    if (first < 0 || last < first) return BadNumbers(count, text);
    for (std::int64_t i = first; i <= last; ++i) numbers.insert(i);
    at = end + 1;
  }
  return std::vector<std::int64_t>(numbers.begin(), numbers.end());
}

StatusOr<ExitCode> RunImportSeries(const std::string& format, ImportOptions import,
                                   const ImportSeriesOptions& series, const std::string& command,
                                   const VerbContext& context) {
  return Series(format, std::move(import), series, command, context).Run();
}

}  // namespace interlacer::cli
