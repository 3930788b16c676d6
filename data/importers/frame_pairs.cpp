#include "data/importers/frame_pairs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "data/importers/source_files.h"
#include "data/system_files.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

/// Numbers that fewer images share than this are not the frame's.
constexpr double kMinSharedPart = 0.5;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsImage(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

/// The runs of digits of a file's name without its extension; too long ones are capped.
std::vector<long> DigitRuns(const std::string& path) {
  const std::string stem = fs::path(path).stem().string();
  std::vector<long> runs;
  for (std::size_t i = 0; i < stem.size();) {
    if (!IsDigit(stem[i])) {
      ++i;
      continue;
    }
    long number = 0;
    const auto [end, error] = std::from_chars(&stem[i], stem.data() + stem.size(), number);
    runs.push_back(error == std::errc() ? number : std::numeric_limits<long>::max());
    i = static_cast<std::size_t>(end - stem.data());
  }
  return runs;
}

using Numbered = std::map<long, std::string>;

/// Files by their `run`-th number; nothing where a name has none or two names share one.
std::optional<Numbered> NumberBy(const std::vector<std::string>& paths, std::size_t run) {
  Numbered numbered;
  for (const std::string& path : paths) {
    const std::vector<long> runs = DigitRuns(path);
    if (run >= runs.size() || !numbered.emplace(runs[run], path).second) return std::nullopt;
  }
  return numbered;
}

std::vector<Numbered> Numberings(const std::vector<std::string>& paths) {
  std::vector<Numbered> all;
  for (std::size_t run = 0; run < DigitRuns(paths.front()).size(); ++run) {
    if (auto numbered = NumberBy(paths, run)) all.push_back(*std::move(numbered));
  }
  return all;
}

std::size_t SharedCount(const Numbered& a, const Numbered& b) {
  return static_cast<std::size_t>(
      std::count_if(a.begin(), a.end(), [&](const auto& item) { return b.contains(item.first); }));
}

/// The first "000001 copy" or "000001 (1)" beside a "000001", as file managers name copies; else
/// empty.
std::string FindCopy(const std::vector<std::string>& paths) {
  std::set<std::string> stems;
  for (const std::string& path : paths) stems.insert(fs::path(path).stem().string());
  for (const std::string& path : paths) {
    const std::string stem = fs::path(path).stem().string();
    const std::string original = stem.substr(0, stem.find_first_of(" ("));
    if (original != stem && stems.contains(original)) return fs::path(path).filename().string();
  }
  return "";
}

FramePairs PairByNumber(const Numbered& color, const Numbered& depth) {
  std::set<long> numbers;
  for (const Numbered* side : {&color, &depth}) {
    for (const auto& item : *side) numbers.insert(item.first);
  }
  FramePairs result;
  result.smallest_number = *numbers.begin();
  int position = -1;
  for (const long number : numbers) {
    ++position;
    const auto c = color.find(number), d = depth.find(number);
    if (c == color.end()) {
      result.unpaired.push_back(d->second);
    } else if (d == depth.end()) {
      result.unpaired.push_back(c->second);
    } else {
      result.pairs.push_back({c->second, d->second, number, position});
    }
  }
  return result;
}

}  // namespace

bool NaturalLess(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!IsDigit(a[i]) || !IsDigit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    while (i < a.size() && a[i] == '0') ++i;
    while (j < b.size() && b[j] == '0') ++j;
    std::size_t i_end = i, j_end = j;
    while (i_end < a.size() && IsDigit(a[i_end])) ++i_end;
    while (j_end < b.size() && IsDigit(b[j_end])) ++j_end;
    if (i_end - i != j_end - j) return i_end - i < j_end - j;
    const int order = a.compare(i, i_end - i, b, j, j_end - j);
    if (order != 0) return order < 0;
    i = i_end, j = j_end;
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;  // 1 and 01
}

StatusOr<std::vector<std::string>> ListImages(const std::string& folder) {
  std::vector<std::string> paths, others;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (IsSystemFile(entry.path().filename().string())) continue;
    const bool is_image = IsImage(entry.path()) && HasContent(entry.path().string());
    (is_image ? paths : others).push_back(entry.path().string());
  }
  if (error) {
    return NotFound(reason::FILE_NOT_FOUND, folder + ": " + error.message()).WithField(folder);
  }
  if (paths.empty()) {
    std::sort(others.begin(), others.end());
    return Mismatch(reason::NO_DEPTH, folder, "PNG or JPEG images, of depth 16-bit PNG",
                    others.empty() ? "no files" : AbbreviatedList(others));
  }
  std::sort(paths.begin(), paths.end(), NaturalLess);
  return paths;
}

StatusOr<FramePairs> PairImages(const std::string& color_folder, const std::string& depth_folder) {
  INTERLACER_ASSIGN_OR_RETURN(const auto color, ListImages(color_folder));
  INTERLACER_ASSIGN_OR_RETURN(const auto depth, ListImages(depth_folder));
  const Numbered *best_color = nullptr, *best_depth = nullptr;
  std::size_t most = 0;
  const std::vector<Numbered> of_color = Numberings(color), of_depth = Numberings(depth);
  for (const Numbered& c : of_color) {
    for (const Numbered& d : of_depth) {
      const std::size_t shared = SharedCount(c, d);
      if (shared <= most) continue;
      most = shared;
      best_color = &c;
      best_depth = &d;
    }
  }
  const std::size_t fewer = std::min(color.size(), depth.size());
  if (static_cast<double>(most) >= kMinSharedPart * static_cast<double>(fewer)) {
    return PairByNumber(*best_color, *best_depth);
  }
  if (color.size() != depth.size()) {
    std::string copy = FindCopy(color);
    if (copy.empty()) copy = FindCopy(depth);
    return Mismatch(reason::SCHEMA_INVALID, depth_folder,
                    "the numbers of " + color_folder + " in the names, or as many images (" +
                        std::to_string(color.size()) + ")",
                    std::to_string(depth.size()) + " images, such as " +
                        fs::path(depth.front()).filename().string() + " beside " +
                        fs::path(color.front()).filename().string() +
                        (copy.empty() ? "" : ", and " + copy + ", which seems to be a copy"));
  }
  FramePairs result;
  result.is_by_order = true;
  for (std::size_t i = 0; i < color.size(); ++i) {
    result.pairs.push_back({color[i], depth[i], static_cast<long>(i), static_cast<int>(i)});
  }
  return result;
}

}  // namespace interlacer
