#include "model/device_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "model/kernels/grf_attention_cuda.h"

namespace interlacer {
namespace {

TEST(DeviceLimits, GraphAttentionWiderThanItsKernelsIsRefusedOnADeviceAlone) {
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

TEST(DeviceLimits, MechanismsOfTheLibraryStayOnTheCpu) {
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

TEST(DeviceLimits, ADeviceHasTheExactGridAlone) {
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

TEST(DeviceLimits, SayWhichGraphsAreLeftToTheHost) {
  InterlacerConfig config;
  EXPECT_TRUE(CheckDeviceGraph(config).ok());
  config.graph.edge_weight = EdgeWeight::kExpDistance;
  EXPECT_TRUE(CheckDeviceGraph(config).ok());
  config.graph.neighbor_count = 4;
  EXPECT_EQ(CheckDeviceGraph(config).code(), StatusCode::kUnimplemented);
  EXPECT_EQ(CheckDeviceGraph(config).field(), "graph.neighbor_count");
  config.graph.symmetrise = true;
  EXPECT_EQ(CheckDeviceGraph(config).field(), "graph.symmetrise");
  config.network.local.kind = LocalLayer::kGrfSampled;
  EXPECT_TRUE(CheckDeviceGraph(config).ok());
  config.network.local.walk_count = 1000;
  EXPECT_EQ(CheckDeviceGraph(config).field(), "network.local.walk_count");
  config.network.local.kind = LocalLayer::kMessagePassing;
  config.network.local.anchor_neighbor_count = 32;
  EXPECT_TRUE(CheckDeviceGraph(config).ok());
  config.network.local.anchor_neighbor_count = 33;
  const Status status = CheckDeviceGraph(config);
  EXPECT_EQ(status.field(), "network.local.anchor_neighbor_count");
  EXPECT_EQ(status.metadata().at("expected"), "at most 32 neighbours of an anchor");
  EXPECT_EQ(status.metadata().at("got"), "33");
  EXPECT_EQ(status.message(),
            "network.local.anchor_neighbor_count: a CUDA device has kernels for at most 32 "
            "neighbours of an anchor, got 33");
}

}  // namespace
}  // namespace interlacer
