#pragma once

/// Process-wide settings for programs that run the model, each worth its measured gain. Free of
/// torch. A program that links the model and does not call this keeps its own settings.

namespace interlacer {

/// Must be the first line of main, before any thread or tensor. In this order:
///
/// 1. Re-executes the program with OMP_WAIT_POLICY=passive, once. torch's OpenMP threads spin for
///    milliseconds after each operation and take the cores from our kernels' threads: a step of
///    8192 tokens took twice as long, measured. libgomp reads its policy in its constructor, which
///    has run by now, so that setenv would change nothing for this process. A variable set by
///    whoever starts the program, to any value, stays and saves the second loading of the
///    libraries. The process keeps its id, arguments and open files. Nothing happens where /proc is
///    absent or the program was started through the loader; the program goes on as it is.
/// 2. Freed memory stays with the process (common/process_memory.h). Activations are tens of MB and
///    live for one layer: to get them anew from the kernel took a sixth of a step's processor time
///    at 65536 tokens, measured.
/// 3. torch's tensors on the host come from our allocator (tensor_memory.h).
void PrepareProcess(char** argv);

}  // namespace interlacer
