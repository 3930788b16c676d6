#pragma once

/// Memory of torch's tensors on the host.
///
/// torch asks the C library for aligned blocks. glibc 2.36 looks for a block that is larger by the
/// alignment, gives the surplus back and so cannot use the freed block for the next tensor of the
/// same size: the heap falls to pieces that every later search walks along. Here a block is asked
/// for with its surplus and keeps it. Blocks of one power of two share eight sizes, for clouds
/// differ by a few particles from frame to frame.
///
/// Errors: std::bad_alloc. Thread-safe.

#include <c10/core/Allocator.h>

#include <cstddef>

namespace interlacer {

/// Bytes held in place of `size_bytes`: at most an eighth or 63 more, whichever is larger. The
/// surplus for the alignment comes on top.
std::size_t TensorBlockBytes(std::size_t size_bytes);

/// The allocator; lives as long as the program. Blocks are aligned to 64 bytes.
c10::Allocator* TensorMemory();

/// torch's tensors on the host come from here from now on. For a program's main (process_setup.h).
void UseTensorMemory();

}  // namespace interlacer
