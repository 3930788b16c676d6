#include "model/runtime/memory_meter.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

namespace interlacer {
namespace {

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

void MemoryMeter::Reset() {
  if (!device_.is_cpu()) {
    c10::getDeviceAllocator(device_.type())->resetPeakStats(device_.index());
    is_reset_ = true;
    return;
  }
  ReleaseIdleMemory();
  is_reset_ = ResetPeakMemory();
  resident_bytes_ = ReadResidentMemory().value_or(ResidentMemory{}).now_bytes;
  heap_bytes_ = ReadHeapBytes().value_or(0);
}

std::optional<DeviceMemory> MemoryMeter::Read() const {
  if (!is_reset_) return std::nullopt;
  if (device_.is_cpu()) return ReadHost();
  return ReadDevice();
}

std::optional<DeviceMemory> MemoryMeter::ReadHost() const {
  const auto heap_bytes = ReadHeapBytes();
  const auto resident = ReadResidentMemory();
  const auto room = ReadHostRoom();
  if (!heap_bytes || !resident || !room) return std::nullopt;
  const std::int64_t rise_bytes = std::max<std::int64_t>(0, resident->peak_bytes - resident_bytes_);
  // Resident beyond the heap's use is what the heap keeps for later.
  const std::int64_t kept_bytes = std::max<std::int64_t>(
      0, (resident->now_bytes - resident_bytes_) - (*heap_bytes - heap_bytes_));
  return DeviceMemory{*heap_bytes, std::max(*heap_bytes, heap_bytes_ + rise_bytes),
                      room->free_bytes + kept_bytes, room->total_bytes};
}

DeviceMemory MemoryMeter::ReadDevice() const {
  c10::DeviceAllocator* const allocator = c10::getDeviceAllocator(device_.type());
  const auto stats = allocator->getDeviceStats(device_.index());
  const auto [free_bytes, total_bytes] = allocator->getMemoryInfo(device_.index());
  const auto& held = stats.allocated_bytes[kAll];
  const std::int64_t kept_bytes = stats.reserved_bytes[kAll].current - held.current;
  return {held.current, held.peak, static_cast<std::int64_t>(free_bytes) + kept_bytes,
          static_cast<std::int64_t>(total_bytes)};
}

}  // namespace interlacer
