#pragma once

/// A cloud indexed on the device, for tests.

#include <cstdint>
#include <vector>

#include "render/kernels/cloud_index_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {

struct CloudOnDevice {
  CheckedStream stream;
  std::int64_t n;
  int feature_width;
  DeviceArray<char> memory;
  CloudIndex index;

  CloudOnDevice(const std::vector<float>& positions_m, const std::vector<float>& features,
                float radius_m)
      : n(static_cast<std::int64_t>(positions_m.size()) / 3),
        feature_width(n == 0 ? 1 : static_cast<int>(features.size() / n)),
        memory(stream,
               static_cast<std::int64_t>(LayOutCloudIndex(nullptr, n, feature_width).size_bytes)),
        index(LayOutCloudIndex(memory.get(), n, feature_width)) {
    const DeviceArray<float> positions(stream, positions_m), features_device(stream, features);
    const DeviceArray<char> workspace(stream,
                                      static_cast<std::int64_t>(CloudIndexWorkspaceBytes(n)));
    EXPECT_EQ(LaunchCloudIndex(index, positions.get(), features_device.get(), n, feature_width,
                               radius_m, workspace.get(), stream.get()),
              0);
    stream.Wait();
  }

  template <typename T>
  std::vector<T> Read(const T* from, std::int64_t count) const {
    return ReadArray(stream.get(), from, count);
  }
  OccupancyBox Box() const { return Read(index.box, 1)[0]; }
};

}  // namespace interlacer::testing
