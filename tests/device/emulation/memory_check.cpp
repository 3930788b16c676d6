#include "memory_check.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "access_trace.h"
#include "machine.h"

namespace interlacer::emulation {

RunningThread running_thread;

namespace {

constexpr std::size_t kDeviceBytes = std::size_t{64} << 30;  // of address space, never reused
constexpr std::size_t kGapBytes = 256;
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kWordBytes = 16;  // largest size of one access
enum ByteState : std::uint8_t { kOutside, kUnwritten, kWritten };

/// A range of addresses with a state and traces for each byte.
struct Memory {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  bool is_of_block = false;  ///< reset for each block
  std::uint8_t* states = nullptr;
  Byte* bytes = nullptr;

  bool Holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin < size;
  }
  std::size_t Offset(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - begin;
  }
};

template <typename T>
T* MapZeros(std::size_t count) {
  void* const memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) return static_cast<T*>(memory);
  std::fprintf(stderr, "memory check: no addresses for %zu items of %zu bytes\n", count, sizeof(T));
  std::abort();
}

Memory Cover(std::uintptr_t begin, std::size_t size, bool is_of_block) {
  return {begin, size, is_of_block, MapZeros<std::uint8_t>(size), MapZeros<Byte>(size)};
}

struct Checker {
  Memory device, launched, declared;
  std::size_t device_used = 0;
  std::map<std::size_t, std::size_t> allocations;  // size by offset
  std::uintptr_t program = 0;
  std::set<std::tuple<int, std::uint32_t, std::uint32_t>> found;
  std::string findings;
};
/// Created by the first code that reports; never destroyed, because later code may still report.
Checker* checker = nullptr;

/// Declared shared memory is compiled as thread-local memory of the program.
int FindProgram(dl_phdr_info* info, std::size_t, void* found) {
  auto* const to = static_cast<Checker*>(found);
  to->program = info->dlpi_addr;
  for (int h = 0; h < info->dlpi_phnum; ++h) {
    if (info->dlpi_phdr[h].p_type != PT_TLS || info->dlpi_tls_data == nullptr) continue;
    to->declared = Cover(reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data),
                         info->dlpi_phdr[h].p_memsz, true);
  }
  return 1;  // the program itself is the first entry
}

std::string Line(std::uint32_t place) {
  char command[256];
  std::snprintf(command, sizeof(command), "addr2line -Cse /proc/%d/exe 0x%x 2>/dev/null",
                static_cast<int>(getpid()), place);
  char line[256] = "";
  if (std::FILE* const pipe = popen(command, "r"); pipe != nullptr) {
    if (std::fgets(line, sizeof(line), pipe) == nullptr) line[0] = 0;
    pclose(pipe);
  }
  const std::string text(line, std::strcspn(line, "\n"));
  return text.empty() ? "place " + std::to_string(place) : text;
}

std::uint32_t PlaceOf(const void* caller) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(caller) - 1 -
                                    checker->program);
}

enum Kind { kBounds, kAlignment, kInitialisation, kRace, kRange };

void Report(Kind kind, std::uint32_t place, std::uint32_t other = 0) {
  constexpr const char* kTexts[] = {"outside of what was allocated", "beside its boundary",
                                    "read before it was written", "a race",
                                    "an index or shift out of range"};
  if (!checker->found.insert({kind, place, other}).second) return;
  std::string text = std::string(kTexts[kind]) + ": " + Line(place);
  if (other != 0) text += " and " + Line(other);
  std::fprintf(stderr, "memory check: %s (block run %u, thread %u)\n", text.c_str(),
               running_thread.block_run, running_thread.thread);
  checker->findings += text + "\n";
}

void Touch(Byte& byte, Access access, std::uint32_t begin, std::uint32_t place) {
  if (!ComesBefore(byte.write, begin)) Report(kRace, place, byte.write.place);
  const bool may_meet = access == Access::kAtomic || access == Access::kVolatileWrite;
  if (!may_meet && !ComesBefore(byte.atomic, begin)) Report(kRace, place, byte.atomic.place);
  if (access != Access::kRead && !ComesBefore(byte.read, begin)) {
    Report(kRace, place, byte.read.place);
  }
  if (access == Access::kRead) return Add(byte.read, begin, place);
  if (may_meet) return Add(byte.atomic, begin, place);
  byte = {};
  Add(byte.write, begin, place);
}

const Memory* MemoryOf(const void* address) {
  for (const Memory* memory : {&checker->device, &checker->launched, &checker->declared}) {
    if (memory->Holds(address)) return memory;
  }
  return nullptr;
}

void SetStates(const Memory& memory, const void* address, std::size_t size, ByteState state) {
  std::memset(memory.states + memory.Offset(address), state, size);
}

}  // namespace

void BeginChecking() {
  if (checker != nullptr) return;
  checker = new Checker;
  checker->device =
      Cover(reinterpret_cast<std::uintptr_t>(MapZeros<char>(kDeviceBytes)), kDeviceBytes, false);
  dl_iterate_phdr(FindProgram, checker);
}

bool IsChecking() { return checker != nullptr; }

void* AllocateChecked(std::size_t size_bytes) {
  const std::size_t begin = checker->device_used + kGapBytes;
  if (size_bytes > kDeviceBytes || begin + size_bytes + kGapBytes > kDeviceBytes) return nullptr;
  checker->device_used = (begin + size_bytes + kGapBytes - 1) / kGapBytes * kGapBytes;
  checker->allocations[begin] = size_bytes;
  void* const memory = reinterpret_cast<void*>(checker->device.begin + begin);
  std::memset(memory, kPoison, size_bytes);
  SetStates(checker->device, memory, size_bytes, kUnwritten);
  return memory;
}

void FreeChecked(void* memory) {
  const std::size_t begin = checker->device.Offset(memory);
  const std::size_t size = checker->allocations.at(begin);
  checker->allocations.erase(begin);
  SetStates(checker->device, memory, size, kOutside);
  const auto give_back = [](std::uintptr_t from, std::uintptr_t to) {
    from = (from + kPageBytes - 1) / kPageBytes * kPageBytes;
    to = to / kPageBytes * kPageBytes;
    if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  };
  const auto traces = reinterpret_cast<std::uintptr_t>(checker->device.bytes + begin);
  give_back(checker->device.begin + begin, checker->device.begin + begin + size);
  give_back(traces, traces + size * sizeof(Byte));
}

void HostWrote(const void* memory, std::size_t size_bytes) {
  if (checker == nullptr || !checker->device.Holds(memory)) return;
  const std::size_t begin = checker->device.Offset(memory);
  const auto* const states = checker->device.states + begin;
  if (std::count(states, states + size_bytes, kOutside) > 0) return Report(kBounds, 0);
  SetStates(checker->device, memory, size_bytes, kWritten);
}

void HostCopied(const void* to, const void* from, std::size_t size_bytes) {
  HostWrote(to, size_bytes);
  if (checker == nullptr || !checker->device.Holds(from)) return;
  const auto* const states = checker->device.states + checker->device.Offset(from);
  if (std::count(states, states + size_bytes, kOutside) > 0) return Report(kBounds, 0);
  if (!checker->device.Holds(to)) return;
  std::memcpy(checker->device.states + checker->device.Offset(to), states, size_bytes);
}

void BeginSharedMemory(const void* launched, std::size_t size_bytes) {
  if (checker == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(launched);
  if (checker->launched.begin != begin) checker->launched = Cover(begin, kMaxSharedBytes, true);
  std::memset(checker->launched.states, kOutside, kMaxSharedBytes);
  std::memset(checker->launched.states, kUnwritten, size_bytes);
  if (checker->declared.size > 0) {
    std::memset(checker->declared.states, kUnwritten, checker->declared.size);
  }
}

void OnAccess(const void* address, std::size_t size, Access access, const void* caller) {
  if (checker == nullptr || !running_thread.in_kernel) return;
  const Memory* const memory = MemoryOf(address);
  if (memory == nullptr) return;
  const std::uint32_t place = PlaceOf(caller);
  const bool is_word = size <= kWordBytes && (size & (size - 1)) == 0;
  if (is_word && reinterpret_cast<std::uintptr_t>(address) % size != 0) Report(kAlignment, place);
  const bool writes = access == Access::kWrite || access == Access::kVolatileWrite;
  const std::uint32_t first_run =
      memory->is_of_block ? running_thread.block_run : running_thread.launch_begin;
  const std::size_t begin = memory->Offset(address);
  Byte before, after;
  for (std::size_t b = begin; b < begin + size; ++b) {
    if (b >= memory->size || memory->states[b] == kOutside) return Report(kBounds, place);
    if (!writes && memory->states[b] != kWritten) return Report(kInitialisation, place);
    if (writes) memory->states[b] = kWritten;
    Byte& byte = memory->bytes[b];
    if (b > begin && std::memcmp(&byte, &before, sizeof(Byte)) == 0) {
      byte = after;  // most neighbours have the same history
      continue;
    }
    before = byte;
    Touch(byte, access, first_run, place);
    after = byte;
  }
}

void OnBeginCopy(const void* to, std::size_t size, const void* caller) {
  OnAccess(to, size, Access::kWrite, caller);
  if (checker == nullptr) return;
  if (const Memory* const memory = MemoryOf(to); memory != nullptr) {
    SetStates(*memory, to, size, kUnwritten);
  }
}

void OnMisaligned(const void* caller) {
  if (running_thread.in_kernel) Report(kAlignment, PlaceOf(caller));
}
void OnOutOfRange(const void* caller) {
  if (running_thread.in_kernel) Report(kRange, PlaceOf(caller));
}

std::string TakeFindings() {
  if (checker == nullptr) return "";
  checker->found.clear();
  return std::exchange(checker->findings, "");
}

}  // namespace interlacer::emulation
