#pragma once

/// Pairs depth images with colour images by the names of their files.
///
/// Names are compared in natural order (2 before 10). Of the runs of digits in the names the one
/// that tells the frames of each folder apart and is shared by most of them is the frame's number;
/// images of equal numbers are a pair; images without a partner are listed, never paired with a
/// neighbour. Names without a common number (time stamps of two cameras) are paired in order, which
/// needs equal counts.
/// Errors: FILE_NOT_FOUND; INVALID_ARGUMENT NO_DEPTH (no image in a folder), SCHEMA_INVALID.
/// Thread-safe.

#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct FramePair {
  std::string color;
  std::string depth;
  /// From the names; the position where the pairs are by order.
  long number = 0;
  /// Among all numbers of both folders, from 0.
  int position = 0;
};

struct FramePairs {
  std::vector<FramePair> pairs;       ///< by number
  std::vector<std::string> unpaired;  ///< files without a partner
  bool is_by_order = false;
  long smallest_number = 0;  ///< of both folders
};

StatusOr<FramePairs> PairImages(const std::string& color_folder, const std::string& depth_folder);

/// PNG and JPEG files of a folder but for hidden ones (data/system_files.h) and empty ones, in
/// natural order of their names.
StatusOr<std::vector<std::string>> ListImages(const std::string& folder);

/// Runs of digits compare as numbers, the rest as text.
bool NaturalLess(const std::string& a, const std::string& b);

}  // namespace interlacer
