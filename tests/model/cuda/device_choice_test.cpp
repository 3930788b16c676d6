#include "model/cuda/device_choice.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <string>

#include "model/kernels/grf_attention_cuda.h"

namespace interlacer {
namespace {

TEST(DeviceChoice, NamesADeviceThatIsTooOld) {
  EXPECT_EQ(WhyTooOld(0, 7, 5), "CUDA device 0 has compute capability 7.5, expected 8.0 or newer");
  EXPECT_EQ(WhyTooOld(1, 8, 0), "");
  EXPECT_EQ(WhyTooOld(0, 9, 0), "");
  EXPECT_EQ(WhyTooOld(0, 12, 1), "");
}

TEST(DeviceChoice, GraphAttentionWiderThanItsKernelsIsRefusedOnADeviceAlone) {
  InterlacerConfig config;
  NetworkConfig& network = config.network;
  network.width = network.local.key_width = kMaxGrfCudaWidth;
  EXPECT_TRUE(CheckFitsDevice(config, DeviceKind::kCuda).ok());
  network.local.key_width = kMaxGrfCudaWidth + 1;
  const std::string most = "graph attention at most " + std::to_string(kMaxGrfCudaWidth) + " wide";
  const std::string got = std::to_string(kMaxGrfCudaWidth + 1);
  const Status status = CheckFitsDevice(config, DeviceKind::kCuda);
  EXPECT_EQ(status.reason(), reason::FEATURE_NOT_BUILT);
  EXPECT_EQ(status.field(), "network.local.key_width");
  EXPECT_EQ(status.metadata().at("expected"), most);
  EXPECT_EQ(status.metadata().at("got"), got);
  EXPECT_EQ(status.message(), "network.local.key_width: a CUDA device has kernels for " + most +
                                  ", got " + got + "; use the device cpu");
  EXPECT_TRUE(CheckFitsDevice(config, DeviceKind::kCpu).ok());
  network.local.kind = LocalLayer::kMessagePassing;
  EXPECT_TRUE(CheckFitsDevice(config, DeviceKind::kCuda).ok());
  network = NetworkConfig();
  network.width = kMaxGrfCudaWidth + 1;
  EXPECT_EQ(CheckFitsDevice(config, DeviceKind::kCuda).field(), "network.width");
}

TEST(DeviceChoice, MechanismsOfTheLibraryStayOnTheCpu) {
  InterlacerConfig config;
  config.network.global.mechanism = MechanismConfig{"favor_pos"};
  const Status status = CheckFitsDevice(config, DeviceKind::kCuda);
  EXPECT_EQ(status.reason(), reason::FEATURE_NOT_BUILT);
  EXPECT_EQ(status.field(), "network.global.mechanism");
  EXPECT_EQ(status.metadata().at("got"), "favor_pos");
  EXPECT_TRUE(CheckFitsDevice(config, DeviceKind::kCpu).ok());
  config = {};
  config.network.local.mechanism = MechanismConfig{"rwgnk"};
  EXPECT_EQ(CheckFitsDevice(config, DeviceKind::kCuda).field(), "network.local.mechanism");
}

TEST(DeviceChoice, ADeviceHasTheExactGridAlone) {
  for (const KnnBackend index : {KnnBackend::kFaissFlat, KnnBackend::kFaissIvf}) {
    InterlacerConfig config;
    config.graph.index = index;
    const Status status = CheckFitsDevice(config, DeviceKind::kCuda);
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_EQ(status.reason(), reason::FEATURE_NOT_BUILT);
    EXPECT_EQ(status.field(), "graph.index");
    EXPECT_EQ(status.metadata().at("expected"), "grid");
    EXPECT_EQ(status.metadata().at("got"), KnnBackendName(index));
    EXPECT_TRUE(CheckFitsDevice(config, DeviceKind::kCpu).ok());
  }
}

TEST(DeviceChoice, ForbidsToRoundFloat32ToTf32) {
  at::globalContext().setAllowTF32CuDNN(true);
  at::globalContext().setAllowTF32CuBLAS(true);
  AllowTf32(false);
  EXPECT_FALSE(at::globalContext().allowTF32CuDNN());
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
}

TEST(DeviceChoice, RoundsFloat32ToTf32WhereAsked) {
  AllowTf32(true);
  EXPECT_TRUE(at::globalContext().allowTF32CuDNN());
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
  AllowTf32(false);
}

TEST(DeviceChoice, LeavesCudnnNoAlgorithmThatVaries) {
  at::globalContext().setDeterministicCuDNN(false);
  at::globalContext().setBenchmarkCuDNN(true);
  ConvolveReproducibly();
  EXPECT_TRUE(at::globalContext().deterministicCuDNN());
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
}

}  // namespace
}  // namespace interlacer
