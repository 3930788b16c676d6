#pragma once

/// Process-wide settings for programs that run the model, each worth its measured gain. Free of
/// torch. A program that links the model and does not call this keeps its own settings. Such
/// programs link interlacer::passive_waiting too (passive_waiting.cpp).

namespace interlacer {

/// Must be the first line of main, before any thread or tensor:
///
/// 1. Freed memory stays with the process (common/process_memory.h). Activations are tens of MB and
///    live for one layer: to get them anew from the kernel took a sixth of a step's processor time
///    at 65536 tokens, measured.
/// 2. torch's tensors on the host come from our allocator (tensor_memory.h).
void PrepareProcess();

}  // namespace interlacer
