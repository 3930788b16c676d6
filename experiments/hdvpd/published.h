#pragma once

/// The published numbers that the HD-VPD comparison is compared with. Values.
/// Source: grf-masking, Fig. 5 (read from the vector figure, N = 32768, 100k steps, four of five
/// seeds) and App. C.3 (training steps per second, batch 16).

#include <array>
#include <optional>
#include <string_view>

namespace interlacer {

inline constexpr std::string_view kGrfVariant = "grf_exact";
inline constexpr std::string_view kMessageVariant = "message_passing";
inline constexpr std::string_view kUnmaskedVariant = "unmasked";
/// No local layer. The published "unmasked" is this one, by its step times: without local layers a
/// step is 1.5 times as fast. `unmasked` keeps a second global layer in their place.
inline constexpr std::string_view kNoLocalVariant = "none";

inline constexpr int kPublishedSteps = 8;
inline constexpr int kPublishedParticles = 32768;

struct PublishedVariant {
  std::string_view variant;
  std::array<double, kPublishedSteps> ssim;
  double training_steps_per_s;
};

inline constexpr std::array<PublishedVariant, 3> kPublished{{
    {kGrfVariant, {.815, .800, .790, .782, .776, .772, .768, .765}, .982},
    {kMessageVariant, {.805, .791, .782, .776, .771, .767, .764, .761}, .925},
    {kUnmaskedVariant, {.803, .788, .778, .771, .765, .760, .756, .751}, 1.49},
}};

inline constexpr const PublishedVariant* FindPublished(std::string_view variant) {
  if (variant == kNoLocalVariant) variant = kUnmaskedVariant;
  for (const PublishedVariant& published : kPublished) {
    if (published.variant == variant) return &published;
  }
  return nullptr;
}

/// SSIM of `a` - SSIM of `b` at a step of the figure; nothing beyond it, for other variants, or for
/// two that one published curve stands for.
inline constexpr std::optional<double> PublishedGap(std::string_view a, std::string_view b,
                                                    int figure_step) {
  const PublishedVariant* const first = FindPublished(a);
  const PublishedVariant* const second = FindPublished(b);
  const bool is_known = first != nullptr && second != nullptr && first != second &&
                        figure_step >= 0 && figure_step < kPublishedSteps;
  if (!is_known) return std::nullopt;
  const auto step = static_cast<std::size_t>(figure_step);
  return first->ssim[step] - second->ssim[step];
}

}  // namespace interlacer
