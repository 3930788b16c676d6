/// To be preloaded: from the moment at which the file INTERLACER_LOST_DEVICE_FILE is there, every
/// tensor that is made fails as on a CUDA device after an error that stays.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_ops.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

// Within this class `std` is an operator of tensors.
at::Tensor at::_ops::empty_memory_format::call(c10::SymIntArrayRef size,
                                               ::std::optional<at::ScalarType> dtype,
                                               ::std::optional<at::Layout> layout,
                                               ::std::optional<at::Device> device,
                                               ::std::optional<bool> pin_memory,
                                               ::std::optional<at::MemoryFormat> memory_format) {
  constexpr int kLaunchFailed = 719;
  static const char* const sign = ::std::getenv("INTERLACER_LOST_DEVICE_FILE");
  if (sign != nullptr && access(sign, F_OK) == 0) {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, kLaunchFailed,
                                "CUDA error: unspecified launch failure");
  }
  static const auto next =
      c10::Dispatcher::singleton().findSchemaOrThrow(name, overload_name).typed<schema>();
  return next.call(size, dtype, layout, device, pin_memory, memory_format);
}
