#include "model/cuda/device_choice.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <string>

namespace interlacer {
namespace {

TEST(DeviceChoice, NamesADeviceThatIsTooOld) {
  EXPECT_EQ(WhyTooOld(0, 7, 5), "CUDA device 0 has compute capability 7.5, expected 8.0 or newer");
  EXPECT_EQ(WhyTooOld(1, 8, 0), "");
  EXPECT_EQ(WhyTooOld(0, 9, 0), "");
  EXPECT_EQ(WhyTooOld(0, 12, 1), "");
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
