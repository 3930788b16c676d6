#pragma once

/// The colours that things in a simulated scene take.
///
/// Two sets that share no colour: scenes of the splits train and val draw from the first, scenes of
/// the split test from the second, so that a model never saw the colour of a test object.
/// Channels 0...1. Thread-safety: constants and pure functions.

#include <array>
#include <span>

#include "common/random.h"

namespace interlacer::sim {

using Rgb = std::array<double, 3>;  ///< 0...1 per channel

struct NamedColor {
  const char* name;
  Rgb color;
};

enum class ColorSet { kTraining, kHeldOut };

std::span<const NamedColor> BlockColors(ColorSet set);   ///< mostly green
std::span<const NamedColor> ObjectColors(ColorSet set);  ///< cans, litter and tools
std::span<const NamedColor> DistractorColors(ColorSet set);

const NamedColor& DrawColor(RandomSequence& random, std::span<const NamedColor> colors);

}  // namespace interlacer::sim
