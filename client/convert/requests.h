#pragma once

/// Converts plain request structs to wire messages. Frames are packed as `packing` says; matrices
/// and raw images become little-endian blocks. Pure functions, thread-safe.
/// Errors, with the path of the field as the server would name it: INVALID_ARGUMENT
/// IMAGE_DATA_LENGTH (pixels and size disagree), ARGUMENT_INVALID (packing), ACTION_SHAPE;
/// OUT_OF_RANGE ARGUMENT_INVALID (a depth that 16 bits cannot hold in the packing's unit),
/// LIMIT_IMAGE_SIDE (an image too large for a JPEG).

#include "client/image_packing.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"
#include "interlacer/v1/interlacer_service.pb.h"

namespace interlacer {

Status ToProto(const SceneInput& input, const ImagePacking& packing, v1::SceneInput* out);
/// kNone leaves the message without a kind.
Status ToProto(const ActionSequence& actions, v1::ActionSequence* out);
void ToProto(const OutputOptions& options, v1::OutputOptions* out);

Status ColorToProto(const RgbImage& image, const ImagePacking& packing, v1::Image* out);
Status DepthToProto(const DepthImage& image, const ImagePacking& packing, v1::Image* out);

}  // namespace interlacer
