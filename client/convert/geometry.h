#pragma once

/// Converts geometry, cameras and times to wire messages and back. Pure functions, thread-safe;
/// values that are sent are copied unchecked, because the server validates them.

#include <cstdint>
#include <optional>

#include "common/camera.h"
#include "common/geometry.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "interlacer/v1/types.pb.h"

namespace interlacer {

void ToProto(const Box& box, v1::Box* out);
void ToProto(const Transform& transform, v1::Transform* out);
void ToProto(const Camera& camera, v1::CameraCalibration* out);
Box FromProto(const v1::Box& box);

void TimeToProto(std::int64_t time_ns, google::protobuf::Timestamp* out);
/// Nanoseconds; nothing where 64 bits do not hold them, or of a message that is no time.
std::optional<std::int64_t> TimeFromProto(const google::protobuf::Timestamp& time);
/// At least 0.
void SecondsToProto(double seconds, google::protobuf::Duration* out);
double SecondsFromProto(const google::protobuf::Duration& duration);

}  // namespace interlacer
