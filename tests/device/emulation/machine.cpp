#include "machine.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace interlacer::emulation {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr unsigned kMaxThreads = 1024;
constexpr std::size_t kCopyBytes = 16;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "CUDA emulation: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
  std::abort();
}

/// A barrier of a block or warp; `generation` counts how many times it opened.
struct Barrier {
  int members = 0;
  int arrived = 0;
  std::uint64_t generation = 0;
};

struct Warp {
  Barrier barrier;
  /// Whether the collective in which lanes wait orders memory.
  bool syncs = false;
  std::uint16_t memory_order = 0;
  /// A lane can be at most one exchange ahead of another.
  std::uint64_t values[2][kLanes] = {};
};

struct Copy {
  void* to;
  const void* from;
};

/// Runs one thread at a time on a stack of its own. Entering it first costs a system call; later
/// switches are jumps.
struct Fiber {
  ucontext_t first_entry;
  jmp_buf place;
  std::unique_ptr<char[]> stack;
  std::vector<Copy> copies;
  bool done = true;
};

/// State of the running block; fibers and their stacks are reused by later blocks.
struct Machine {
  Fiber fibers[kMaxThreads];
  std::vector<Warp> warps;
  Barrier block;
  /// Poisoned while no block runs.
  alignas(16) char shared[kMaxSharedBytes];
  std::map<const void*, int> shared_limits;
  jmp_buf scheduler;
  const std::function<void()>* thread = nullptr;
  unsigned running = 0;
  bool progress = false;

  Machine() { std::memset(shared, kPoison, sizeof(shared)); }
};
Machine machine;

bool IsPoison(const char* bytes, std::size_t count) {
  return count == 0 || (static_cast<unsigned char>(bytes[0]) == kPoison &&
                        std::memcmp(bytes, bytes + 1, count - 1) == 0);
}

void Open(Barrier& barrier) {
  barrier.arrived = 0;
  ++barrier.generation;
  machine.progress = true;
}

/// Checks that a count of orders fits 16 bits.
std::uint16_t CountOrder(std::uint64_t count) {
  if (count > 0xFFFF) Die("more barriers than are counted");
  return static_cast<std::uint16_t>(count);
}

/// Tells the checks which fiber runs.
void ShowRunningThread() {
  running_thread.thread = static_cast<std::uint16_t>(machine.running);
  running_thread.block_order = CountOrder(machine.block.generation);
  running_thread.warp_order = machine.warps[machine.running / kLanes].memory_order;
}

/// Switches from the running fiber to the scheduler; returns when the fiber is resumed.
void Yield() {
  const bool in_kernel = running_thread.in_kernel;
  running_thread.in_kernel = false;
  if (_setjmp(machine.fibers[machine.running].place) == 0) _longjmp(machine.scheduler, 1);
  running_thread.in_kernel = in_kernel;
}

void RunThreads();

/// Switches from the scheduler to a fiber; returns when it yields.
void Resume(Fiber& fiber) {
  if (_setjmp(machine.scheduler) != 0) return;
  if (fiber.stack != nullptr) _longjmp(fiber.place, 1);
  fiber.stack.reset(new char[kStackBytes]);
  getcontext(&fiber.first_entry);
  fiber.first_entry.uc_stack.ss_sp = fiber.stack.get();
  fiber.first_entry.uc_stack.ss_size = kStackBytes;
  makecontext(&fiber.first_entry, RunThreads, 0);
  setcontext(&fiber.first_entry);
}

void Wait(Barrier& barrier) {
  const std::uint64_t generation = barrier.generation;
  if (++barrier.arrived == barrier.members) Open(barrier);
  while (barrier.generation == generation) Yield();
  ShowRunningThread();
}

void Leave(Barrier& barrier) {
  --barrier.members;
  if (barrier.members > 0 && barrier.arrived == barrier.members) Open(barrier);
}

void RunThreads() {
  while (true) {
    ShowRunningThread();
    running_thread.in_kernel = true;
    (*machine.thread)();
    running_thread.in_kernel = false;
    if (!machine.fibers[machine.running].copies.empty()) Die("a copy that nobody awaits");
    machine.fibers[machine.running].done = true;
    machine.progress = true;
    Leave(machine.block);
    Warp& warp = machine.warps[machine.running / kLanes];
    if (warp.barrier.arrived > 0) Die("a lane ended while its warp waits for it");
    --warp.barrier.members;
    Yield();
  }
}

void RunBlock(unsigned threads) {
  machine.warps.assign((threads + kLanes - 1) / kLanes, Warp());
  machine.block = {static_cast<int>(threads), 0, 0};
  for (unsigned t = 0; t < threads; ++t) {
    machine.fibers[t].done = false;
    ++machine.warps[t / kLanes].barrier.members;
  }
  for (unsigned left = threads; left > 0;) {
    machine.progress = false;
    left = 0;
    // From the last thread to the first, so that code which silently relies on the usual order
    // fails.
    for (unsigned t = threads; t-- > 0;) {
      Fiber& fiber = machine.fibers[t];
      if (fiber.done) continue;
      machine.running = t;
      threadIdx = dim3(t, 0, 0);
      Resume(fiber);
      left += fiber.done ? 0 : 1;
    }
    if (!machine.progress) Die("threads wait for each other at different places");
  }
}

}  // namespace

cudaError_t RaiseSharedLimit(const void* kernel, int size_bytes) {
  if (size_bytes + kDeclaredSharedBytes > kMaxSharedBytes) return Answer(cudaErrorInvalidValue);
  machine.shared_limits[kernel] = size_bytes;
  return cudaSuccess;
}

void* LaunchedSharedMemory() { return machine.shared; }

void BeginCopy(void* to, const void* from) {
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) %
          kCopyBytes !=
      0) {
    Die("a copy beside its boundary");
  }
  OnAccess(from, kCopyBytes, Access::kRead, __builtin_return_address(0));
  OnBeginCopy(to, kCopyBytes, __builtin_return_address(0));
  machine.fibers[machine.running].copies.push_back({to, from});
}

void AwaitCopies() {
  std::vector<Copy>& copies = machine.fibers[machine.running].copies;
  for (const Copy& copy : copies) {
    OnAccess(copy.from, kCopyBytes, Access::kRead, __builtin_return_address(0));
    OnAccess(copy.to, kCopyBytes, Access::kWrite, __builtin_return_address(0));
    std::memcpy(copy.to, copy.from, kCopyBytes);
  }
  copies.clear();
}

cudaError_t RunGrid(const cudaLaunchConfig_t& config, const void* kernel,
                    const std::function<void()>& thread) {
  const dim3& block = config.blockDim;
  const std::size_t launched = config.dynamicSmemBytes;
  if (config.stream == nullptr) return Answer(cudaErrorInvalidValue);
  if (block.x == 0 || block.x > kMaxThreads || block.y != 1 || block.z != 1 ||
      config.gridDim.x == 0 || config.gridDim.y != 1 || config.gridDim.z != 1) {
    return Answer(cudaErrorInvalidConfiguration);
  }
  const auto limit = machine.shared_limits.find(kernel);
  if (launched > static_cast<std::size_t>(limit == machine.shared_limits.end()
                                              ? kPlainSharedBytes - kDeclaredSharedBytes
                                              : limit->second)) {
    return Answer(cudaErrorInvalidValue);
  }
  machine.thread = &thread;
  gridDim = config.gridDim;
  blockDim = block;
  running_thread.launch_begin = running_thread.block_run + 1;
  for (unsigned b = 0; b < config.gridDim.x; ++b) {
    blockIdx = dim3(b, 0, 0);
    ++running_thread.block_run;
    BeginSharedMemory(machine.shared, launched);
    RunBlock(block.x);
    std::memset(machine.shared, kPoison, launched);
  }
  if (!IsPoison(machine.shared + launched, sizeof(machine.shared) - launched)) {
    Die("shared memory was written behind what the launch asked for");
  }
  return cudaSuccess;
}

int Lane() { return static_cast<int>(machine.running % kLanes); }

namespace {

Warp& Join(unsigned mask, bool syncs) {
  Warp& warp = machine.warps[machine.running / kLanes];
  if (mask != 0xFFFFFFFFu || warp.barrier.members != kLanes) {
    Die("a collective without the whole warp");
  }
  if (warp.barrier.arrived > 0 && warp.syncs != syncs) Die("lanes in different collectives");
  warp.syncs = syncs;
  return warp;
}

}  // namespace

const std::uint64_t* Exchange(unsigned mask, std::uint64_t value) {
  Warp& warp = Join(mask, false);
  std::uint64_t* values = warp.values[warp.barrier.generation % 2];
  values[Lane()] = value;
  Wait(warp.barrier);
  return values;
}

void SyncWarp(unsigned mask) {
  Warp& warp = Join(mask, true);
  if (warp.barrier.arrived + 1 == kLanes) warp.memory_order = CountOrder(warp.memory_order + 1u);
  Wait(warp.barrier);
}

}  // namespace interlacer::emulation

void __syncthreads() { interlacer::emulation::Wait(interlacer::emulation::machine.block); }
