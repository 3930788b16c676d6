#include "server/calls/memory_fit.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "server/calls/device_worker.h"

namespace interlacer {
namespace {

constexpr double kMebibyte = 1 << 20;

std::string Mebibytes(std::int64_t bytes) {
  return std::to_string(static_cast<std::int64_t>(std::ceil(bytes / kMebibyte))) + " MiB";
}

std::int64_t ScenesBytes(const ModelMemory& most, const Limits& limits) {
  // Small enough not to overflow: a count of an int, bytes of one scene.
  const std::int64_t all = limits.max_scene_count * most.scene_bytes;
  return std::min(all, limits.max_scene_bytes);
}

std::int64_t HeldCount(const Limits& limits) {
  return DeviceWorker::MaxHeld(limits.max_queue_length, limits.max_active_calls);
}

std::int64_t NeededBytes(const ModelMemory& most, const Limits& limits) {
  return most.peak_bytes + (HeldCount(limits) - 1) * most.held_bytes + ScenesBytes(most, limits);
}

/// Flags under which it fits: fewer calls if that is enough, then fewer that wait, then fewer
/// scenes.
std::string WhatFits(const ModelMemory& most, Limits limits) {
  const auto fits = [&] { return NeededBytes(most, limits) <= most.free_bytes; };
  while (limits.max_active_calls > 1 && !fits()) --limits.max_active_calls;
  std::string flags = "--max-active-calls=" + std::to_string(limits.max_active_calls);
  if (fits()) return "it would fit with " + flags;
  while (limits.max_queue_length > 1 && !fits()) --limits.max_queue_length;
  flags += " --max-queue=" + std::to_string(limits.max_queue_length);
  if (fits()) return "it would fit with " + flags;
  while (limits.max_scene_count > 0 && !fits()) --limits.max_scene_count;
  flags += " --max-scenes=" + std::to_string(limits.max_scene_count);
  if (fits()) return "it would fit with " + flags;
  return "not even its fewest calls fit; a smaller model, --device=cpu, or more memory would help";
}

}  // namespace

Status CheckMemoryFits(const std::vector<ModelMemory>& models, const Limits& limits) {
  if (models.empty()) return Status::Ok();
  ModelMemory most;
  for (const ModelMemory& model : models) {
    most.held_bytes = std::max(most.held_bytes, model.held_bytes);
    most.peak_bytes = std::max(most.peak_bytes, model.peak_bytes);
    most.scene_bytes = std::max(most.scene_bytes, model.scene_bytes);
    // The first model's; the others are warmed up beside what that one left.
    most.free_bytes = std::max(most.free_bytes, model.free_bytes);
    most.total_bytes = std::max(most.total_bytes, model.total_bytes);
  }
  const std::int64_t needed = NeededBytes(most, limits);
  if (needed <= most.free_bytes) return Status::Ok();
  const std::string message =
      "device memory: " + std::to_string(HeldCount(limits)) +
      " calls that take turns or wait for their readers (--max-active-calls=" +
      std::to_string(limits.max_active_calls) +
      ", --max-queue=" + std::to_string(limits.max_queue_length) + ") of " +
      Mebibytes(most.held_bytes) + ", one of them with " + Mebibytes(most.peak_bytes) +
      " while it runs, and " + std::to_string(limits.max_scene_count) +
      " scenes (--max-scenes) of " + Mebibytes(most.scene_bytes) + ", at most " +
      Mebibytes(limits.max_scene_bytes) + " (--max-scene-bytes), need " + Mebibytes(needed) + "; " +
      Mebibytes(most.free_bytes) + " of " + Mebibytes(most.total_bytes) +
      " are free once the models are loaded; " + WhatFits(most, limits);
  const bool may_pass = needed <= most.total_bytes;
  return (may_pass ? ResourceExhausted(reason::DEVICE_OUT_OF_MEMORY, message)
                   : InvalidArgument(reason::CONFIG_INVALID, message))
      .WithMetadata("expected", std::to_string(needed))
      .WithMetadata("got", std::to_string(most.free_bytes));
}

}  // namespace interlacer
