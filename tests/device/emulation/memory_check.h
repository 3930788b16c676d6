#pragma once

/// What the GPU's memcheck, initcheck and racecheck look for, in emulated kernels that are compiled
/// with -fsanitize=thread,alignment,bounds,shift: the compiler reports every access, and
/// access_hooks.cpp takes the place of the sanitizers' libraries. Without such kernels nothing is
/// checked and nothing is kept.
///
/// Checked are device memory, launched shared memory and declared shared memory:
///  - bounds: what no allocation or launch holds, or is freed, is not touched;
///  - alignment: an access of 2, 4, 8 or 16 bytes begins at a multiple of its size, and a type at a
///    multiple of its alignment;
///  - initialisation: no byte is read that nothing wrote; shared memory begins anew with each
///  block;
///  - races: two accesses to a byte, one a write, not both atomic or volatile, by threads that
///    nothing orders.
/// Threads of a block are ordered by __syncthreads, lanes of a warp by __syncwarp as well, launches
/// by their stream, and blocks of one launch by nothing. Other collectives order no memory, as the
/// CUDA programming guide says. Unlike the GPU's racecheck this sees device memory and other
/// blocks.
///
/// Findings go to stderr, equal ones once. Errors: ends the program where memory for the traces
/// cannot be had. Threads: one, like all of the emulation.

#include <cstddef>
#include <cstdint>
#include <string>

namespace interlacer::emulation {

/// The thread that runs and what ordered it last; kept up by the emulated runtime.
struct RunningThread {
  bool in_kernel = false;
  std::uint32_t launch_begin = 1;  ///< `block_run` of the launch's first block
  std::uint32_t block_run = 0;     ///< counts the blocks of all launches
  std::uint16_t thread = 0;
  std::uint16_t block_order = 0;  ///< barriers that the block passed
  std::uint16_t warp_order = 0;   ///< __syncwarps that the warp passed
};
extern RunningThread running_thread;

/// Called by code that reports its accesses, before its first.
void BeginChecking();
bool IsChecking();

/// Device memory, its bytes not written yet; freed memory is never given out again.
void* AllocateChecked(std::size_t size_bytes);
void FreeChecked(void* memory);

/// The host wrote, or copied from device memory with what is known of its bytes.
void HostWrote(const void* memory, std::size_t size_bytes);
void HostCopied(const void* to, const void* from, std::size_t size_bytes);

/// A block begins: declared shared memory and `size_bytes` of launched memory are not written yet.
void BeginSharedMemory(const void* launched, std::size_t size_bytes);

enum class Access { kRead, kWrite, kAtomic, kVolatileWrite };

/// `caller`: an address behind the access in the program's code.
void OnAccess(const void* address, std::size_t size, Access access, const void* caller);
/// Bytes that a copy will overwrite at some time before it is awaited.
void OnBeginCopy(const void* to, std::size_t size, const void* caller);

/// Faults that the compiler itself saw: an address beside its boundary, or an index or shift out of
/// its range.
void OnMisaligned(const void* caller);
void OnOutOfRange(const void* caller);

/// Texts of the different findings since this was asked, one a line.
std::string TakeFindings();

}  // namespace interlacer::emulation
