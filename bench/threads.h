#pragma once

/// Sets one thread count for both sides: our pool, LibTorch, and the OpenMP runtime that FAISS
/// shares with LibTorch. Call once, before anything else.

namespace interlacer::bench {

void UseThreads(int count);

}  // namespace interlacer::bench
