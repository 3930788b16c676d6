#include "data/sim/palette.h"

namespace interlacer::sim {
namespace {

// Three of four are green.
constexpr NamedColor kTrainingBlocks[] = {
    {"green", {0.12, 0.62, 0.18}}, {"green", {0.20, 0.70, 0.25}}, {"green", {0.10, 0.52, 0.22}},
    {"red", {0.78, 0.14, 0.12}},   {"blue", {0.12, 0.28, 0.76}},  {"green", {0.16, 0.66, 0.14}},
    {"green", {0.26, 0.60, 0.12}}, {"green", {0.08, 0.58, 0.30}},
};
constexpr NamedColor kTrainingObjects[] = {
    {"red", {0.78, 0.14, 0.12}},    {"blue", {0.12, 0.28, 0.76}},   {"green", {0.12, 0.62, 0.18}},
    {"yellow", {0.92, 0.75, 0.15}}, {"purple", {0.55, 0.25, 0.60}}, {"white", {0.90, 0.90, 0.88}},
};
constexpr NamedColor kTrainingDistractors[] = {
    {"red", {0.80, 0.16, 0.12}},    {"blue", {0.14, 0.30, 0.75}},  {"yellow", {0.92, 0.75, 0.15}},
    {"purple", {0.55, 0.25, 0.60}}, {"white", {0.90, 0.90, 0.88}}, {"black", {0.15, 0.15, 0.17}},
};

constexpr NamedColor kHeldOutBlocks[] = {
    {"olive", {0.42, 0.50, 0.10}}, {"lime", {0.58, 0.80, 0.20}},   {"teal", {0.06, 0.50, 0.48}},
    {"mint", {0.45, 0.80, 0.55}},  {"orange", {0.90, 0.45, 0.10}}, {"sky", {0.35, 0.62, 0.88}},
};
constexpr NamedColor kHeldOutObjects[] = {
    {"orange", {0.90, 0.45, 0.10}}, {"teal", {0.06, 0.50, 0.48}},  {"pink", {0.90, 0.48, 0.62}},
    {"sky", {0.35, 0.62, 0.88}},    {"brown", {0.42, 0.26, 0.14}}, {"lime", {0.58, 0.80, 0.20}},
};

}  // namespace

std::span<const NamedColor> BlockColors(ColorSet set) {
  if (set == ColorSet::kHeldOut) return kHeldOutBlocks;
  return kTrainingBlocks;
}

std::span<const NamedColor> ObjectColors(ColorSet set) {
  if (set == ColorSet::kHeldOut) return kHeldOutObjects;
  return kTrainingObjects;
}

std::span<const NamedColor> DistractorColors(ColorSet set) {
  if (set == ColorSet::kHeldOut) return kHeldOutObjects;
  return kTrainingDistractors;
}

const NamedColor& DrawColor(RandomSequence& random, std::span<const NamedColor> colors) {
  return colors[random.Below(colors.size())];
}

}  // namespace interlacer::sim
