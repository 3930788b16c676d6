#pragma once

/// One small use of each heavy library. They live in files of their own because their headers must
/// not meet; the test calls all of them in one process, where their symbols and runtimes do.
namespace interlacer::one_process {

/// Derivative of sum(w^2) at w = 3 by back-propagation: 6 when LibTorch works.
double TorchGradientOfSquareAtThree();

/// Streams a PredictRollout call through an in-process server; returns how many messages arrived,
/// or -1 on an error.
int GrpcStreamedMessages(int sent);

/// Index that FAISS finds nearest to the point (7, 0, 0) among (i, 0, 0), i = 0..9.
long FaissNearestToSeven();

/// Number of points of a cloud that Open3D wrote to `path` and read back, or -1 on an error.
long Open3dPointsReadBack(const char* path, long written);

}  // namespace interlacer::one_process
