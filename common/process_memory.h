#pragma once

/// What the C library does with memory that the process has freed. glibc only; elsewhere, and under
/// a sanitizer's own allocator, the functions do nothing. Thread-safe.

namespace interlacer {

/// Freed memory stays with the process, blocks of any size come from the heap. For a program whose
/// large blocks live briefly and come again: what goes back to the kernel returns page by page.
/// Call ReleaseIdleMemory when nothing is left to do.
void KeepFreedMemory();

/// Gives the kernel every whole page of freed memory. Takes milliseconds for each 100 MB, in which
/// other threads may wait for memory; the next block of each page is cleared anew.
void ReleaseIdleMemory();

}  // namespace interlacer
