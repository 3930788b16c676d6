#include "common/process_memory.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>

#include <limits>
#endif

namespace interlacer {
namespace {

/// The number after a word of a file of words and numbers, in the file's unit.
std::optional<std::int64_t> NumberAfter(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::int64_t value = 0;
    if (words >> word && word == wanted && words >> value) return value;
  }
  return std::nullopt;
}

/// A file of one number; absent also for the word that stands where there is no limit.
std::optional<std::int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

/// Names of the files of one version of control groups.
struct GroupFiles {
  const char* controllers;  ///< between the colons of /proc/self/cgroup
  const char* root;
  const char* limit;
  const char* used;
  const char* cached;  ///< word of memory.stat
};
constexpr GroupFiles kGroupFiles[] = {
    {"", "/sys/fs/cgroup", "/memory.max", "/memory.current", "file"},
    {"memory", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes",
     "total_cache"}};

/// Takes the limits of one group after another from the process's own up to the root of all.
void ApplyGroups(const std::string& root, const GroupFiles& files, std::string group,
                 HostRoom* room) {
  while (true) {
    const std::string folder = root + files.root + (group == "/" ? "" : group);
    const auto limit = NumberIn(folder + files.limit), used = NumberIn(folder + files.used);
    if (limit && used) {
      const auto cached = NumberAfter(folder + "/memory.stat", files.cached);
      room->total_bytes = std::min(room->total_bytes, *limit);
      room->free_bytes = std::min(room->free_bytes, *limit - *used + cached.value_or(0));
    }
    const std::size_t slash = group.rfind('/');
    if (group.size() <= 1 || slash == std::string::npos) return;
    group.resize(std::max<std::size_t>(slash, 1));
  }
}

}  // namespace

void RetainFreedMemory() {
#if defined(__GLIBC__)
  // Without mmap every block comes from the heap, whose top is never trimmed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // malloc_trim gives back the top of the main heap alone; a burst leaves most of what it took in
  // the tops of other threads' heaps.
  mallopt(M_ARENA_MAX, 1);
#endif
}

void ReleaseIdleMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

std::optional<ResidentMemory> ReadResidentMemory() {
  std::ifstream status("/proc/self/status");
  std::optional<std::int64_t> now, peak;
  std::string word;
  std::int64_t kibibytes = 0;
  while (status >> word) {
    if (word == "VmRSS:" && status >> kibibytes) now = kibibytes * 1024;
    if (word == "VmHWM:" && status >> kibibytes) peak = kibibytes * 1024;
  }
  if (!now || !peak) return std::nullopt;
  return ResidentMemory{*now, *peak};
}

bool ResetPeakMemory() {
  std::ofstream control("/proc/self/clear_refs");
  control << "5" << std::flush;
  return control.good();
}

std::optional<std::int64_t> ReadHeapBytes() {
#if defined(__GLIBC__)
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
#else
  return std::nullopt;
#endif
}

std::optional<HostRoom> ReadHostRoom(const std::string& root) {
  const auto available = NumberAfter(root + "/proc/meminfo", "MemAvailable:");
  const auto total = NumberAfter(root + "/proc/meminfo", "MemTotal:");
  if (!available || !total) return std::nullopt;
  HostRoom room{*available * 1024, *total * 1024};
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {  // number:controllers:/group
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    for (const GroupFiles& files : kGroupFiles) {
      if (line.substr(first + 1, second - first - 1) != files.controllers) continue;
      ApplyGroups(root, files, line.substr(second + 1), &room);
    }
  }
  room.free_bytes = std::max<std::int64_t>(room.free_bytes, 0);
  return room;
}

}  // namespace interlacer
