#pragma once

/// Checks of the GPU's memcheck, initcheck and racecheck for emulated kernels that are compiled
/// with -fsanitize=thread,alignment,bounds,shift: the compiler reports every access, and
/// access_hooks.cpp replaces the sanitizers' libraries. Without such kernels nothing is checked or
/// stored.
///
/// Checked are device memory, launched shared memory and declared shared memory:
///  - bounds: memory outside of allocations or launched sizes, or freed memory, is not accessed;
///  - alignment: an access of 2, 4, 8 or 16 bytes begins at a multiple of its size, and a type at a
///    multiple of its alignment;
///  - initialisation: no byte is read before it was written; shared memory starts anew with each
///    block;
///  - races: no two accesses to a byte, one a write, not both atomic or volatile, by unordered
///    threads.
/// __syncthreads orders the threads of a block, __syncwarp also the lanes of a warp, and streams
/// order launches; blocks of one launch are unordered. Other collectives order no memory, as the
/// CUDA programming guide says. Unlike the GPU's racecheck this covers device memory and other
/// blocks.
///
/// Findings are written to stderr, equal ones once. Errors: ends the program when there is no
/// memory for the traces. Threads: one, like all of the emulation.

#include <cstddef>
#include <cstdint>
#include <string>

namespace interlacer::emulation {

/// The running thread and its last synchronisation; updated by the emulated runtime.
struct RunningThread {
  bool in_kernel = false;
  std::uint32_t launch_begin = 1;  ///< `block_run` of the launch's first block
  std::uint32_t block_run = 0;     ///< counts the blocks of all launches
  std::uint16_t thread = 0;
  std::uint16_t block_order = 0;  ///< number of barriers that the block passed
  std::uint16_t warp_order = 0;   ///< number of __syncwarps that the warp passed
};
extern RunningThread running_thread;

/// Called by code with reported accesses before its first one.
void BeginChecking();
bool IsChecking();

/// Allocates device memory as unwritten; freed memory is never reused.
void* AllocateChecked(std::size_t size_bytes);
void FreeChecked(void* memory);

/// Records a write by the host, or a copy from device memory together with the state of its bytes.
void HostWrote(const void* memory, std::size_t size_bytes);
void HostCopied(const void* to, const void* from, std::size_t size_bytes);

/// Starts a block: declared shared memory and `size_bytes` of launched memory become unwritten.
void BeginSharedMemory(const void* launched, std::size_t size_bytes);

enum class Access { kRead, kWrite, kAtomic, kVolatileWrite };

/// `caller` is an address after the access in the program's code.
void OnAccess(const void* address, std::size_t size, Access access, const void* caller);
/// Bytes that a copy may overwrite at any time until it is awaited.
void OnBeginCopy(const void* to, std::size_t size, const void* caller);

/// Faults reported by the compiler: a misaligned address, or an index or shift out of range.
void OnMisaligned(const void* caller);
void OnOutOfRange(const void* caller);

/// Distinct findings since the last query, one per line.
std::string TakeFindings();

}  // namespace interlacer::emulation
