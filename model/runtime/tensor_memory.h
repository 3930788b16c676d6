#pragma once

/// Allocator for torch's tensors on the host that avoids heap fragmentation.
///
/// torch requests aligned blocks from the C library. glibc 2.36 looks for a block that is larger by
/// the alignment, gives the surplus back, and so cannot reuse the freed block for the next tensor
/// of the same size: the heap breaks into pieces that every later search traverses. This allocator
/// requests blocks with their surplus and keeps it. Sizes are rounded up to eight per power of two,
/// because clouds differ by a few particles from frame to frame.
///
/// Errors: std::bad_alloc. Thread-safe.

#include <c10/core/Allocator.h>

#include <cstddef>

namespace interlacer {

/// Bytes allocated for `size_bytes`: at most an eighth or 63 more, whichever is larger, without the
/// surplus for the alignment.
std::size_t TensorBlockBytes(std::size_t size_bytes);

/// The allocator; lives as long as the program. Blocks are aligned to 64 bytes.
c10::Allocator* TensorMemory();

/// Makes this the allocator of torch's host tensors. To be called by a program's main
/// (process_setup.h).
void UseTensorMemory();

}  // namespace interlacer
