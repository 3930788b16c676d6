#include "data/bags/ros_messages.h"

#include <bit>
#include <cstring>

#include "data/bags/cdr_writer.h"

namespace interlacer {
namespace {

// Numbers in pictures and points are written as they lie in memory, and said to be little-endian.
static_assert(std::endian::native == std::endian::little);

struct Definition {
  std::string_view type;  ///< without "msg/", as definitions name each other
  std::string_view fields;
  std::vector<std::string_view> uses;
};

const std::vector<Definition>& Definitions() {
  static const std::vector<Definition> kDefinitions = {
      {"builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n", {}},
      {"std_msgs/Header",
       "builtin_interfaces/Time stamp\nstring frame_id\n",
       {"builtin_interfaces/Time"}},
      {"sensor_msgs/Image",
       "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n"
       "uint8 is_bigendian\nuint32 step\nuint8[] data\n",
       {"std_msgs/Header"}},
      {"sensor_msgs/RegionOfInterest",
       "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify\n",
       {}},
      {"sensor_msgs/CameraInfo",
       "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\n"
       "float64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\nuint32 binning_x\n"
       "uint32 binning_y\nsensor_msgs/RegionOfInterest roi\n",
       {"std_msgs/Header", "sensor_msgs/RegionOfInterest"}},
      {"geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n", {}},
      {"geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n", {}},
      {"geometry_msgs/Transform",
       "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n",
       {"geometry_msgs/Vector3", "geometry_msgs/Quaternion"}},
      {"geometry_msgs/TransformStamped",
       "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n",
       {"std_msgs/Header", "geometry_msgs/Transform"}},
      {"tf2_msgs/TFMessage",
       "geometry_msgs/TransformStamped[] transforms\n",
       {"geometry_msgs/TransformStamped"}},
      {"sensor_msgs/JointState",
       "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
       "float64[] effort\n",
       {"std_msgs/Header"}},
      {"sensor_msgs/PointField", "string name\nuint32 offset\nuint8 datatype\nuint32 count\n", {}},
      {"sensor_msgs/PointCloud2",
       "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\n"
       "bool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n",
       {"std_msgs/Header", "sensor_msgs/PointField"}},
  };
  return kDefinitions;
}

void AddUsed(std::string_view type, std::vector<const Definition*>* found) {
  for (const Definition* known : *found) {
    if (known->type == type) return;
  }
  for (const Definition& definition : Definitions()) {
    if (definition.type != type) continue;
    found->push_back(&definition);
    for (const std::string_view used : definition.uses) AddUsed(used, found);
  }
}

}  // namespace

std::vector<std::uint8_t> EncodeRosImage(std::int64_t stamp_ns, const std::string& frame,
                                         int width_px, int height_px, const std::string& encoding,
                                         std::span<const std::uint8_t> data) {
  return CdrWriter()
      .Header(stamp_ns, frame)
      .Number(static_cast<std::uint32_t>(height_px))
      .Number(static_cast<std::uint32_t>(width_px))
      .Text(encoding)
      .Number<std::uint8_t>(0)
      .Number(static_cast<std::uint32_t>(data.size() / static_cast<std::size_t>(height_px)))
      .Bytes(data)
      .Take();
}

std::vector<std::uint8_t> EncodeRosCameraInfo(const CameraInfoMessage& info) {
  CdrWriter out;
  out.Header(info.stamp_ns, info.frame_id)
      .Number(static_cast<std::uint32_t>(info.height_px))
      .Number(static_cast<std::uint32_t>(info.width_px))
      .Text(info.distortion_model)
      .Doubles(info.distortion_coefficients);
  for (const double value : info.k) out.Number(value);
  out.Doubles({1, 0, 0, 0, 1, 0, 0, 0, 1}, false);
  for (const double value : info.p) out.Number(value);
  // Binning and region of interest: none.
  for (int i = 0; i < 6; ++i) out.Number<std::uint32_t>(0);
  return out.Number<std::uint8_t>(0).Take();
}

std::vector<std::uint8_t> EncodeRosTransforms(const std::vector<TransformMessage>& transforms) {
  CdrWriter out;
  out.Number(static_cast<std::uint32_t>(transforms.size()));
  for (const TransformMessage& transform : transforms) {
    out.Header(transform.stamp_ns, transform.parent_frame).Text(transform.child_frame);
    for (const double value : transform.parent_from_child.translation_m) out.Number(value);
    for (const double value : transform.parent_from_child.rotation_xyzw) out.Number(value);
  }
  return out.Take();
}

std::vector<std::uint8_t> EncodeRosJoints(const JointsMessage& joints) {
  CdrWriter out;
  out.Header(joints.stamp_ns, "").Number(static_cast<std::uint32_t>(joints.names.size()));
  for (const std::string& name : joints.names) out.Text(name);
  return out.Doubles(joints.positions).Doubles({}).Doubles({}).Take();
}

std::vector<std::uint8_t> EncodeRosPoints(std::int64_t stamp_ns, const std::string& frame,
                                          std::span<const float> positions_m,
                                          std::span<const std::uint8_t> colors_rgb8) {
  constexpr std::uint8_t kFloat32 = 7;
  const bool has_colors = !colors_rgb8.empty();
  const std::size_t count = positions_m.size() / 3, size = (has_colors ? 4 : 3) * sizeof(float);
  CdrWriter out;
  out.Header(stamp_ns, frame)
      .Number<std::uint32_t>(1)
      .Number(static_cast<std::uint32_t>(count))
      .Number<std::uint32_t>(has_colors ? 4 : 3);
  std::uint32_t offset = 0;
  for (const char* name : {"x", "y", "z", "rgb"}) {
    if (offset >= size) break;
    out.Text(name).Number(offset).Number(kFloat32).Number<std::uint32_t>(1);
    offset += sizeof(float);
  }
  // "rgb": the bytes of 0x00RRGGBB in the place of a float.
  std::vector<std::uint8_t> data(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint8_t* const point = data.data() + i * size;
    std::memcpy(point, &positions_m[3 * i], 3 * sizeof(float));
    for (std::size_t c = 0; has_colors && c < 3; ++c) {
      point[3 * sizeof(float) + c] = colors_rgb8[3 * i + 2 - c];
    }
  }
  return out.Number<std::uint8_t>(0)
      .Number(static_cast<std::uint32_t>(size))
      .Number(static_cast<std::uint32_t>(data.size()))
      .Bytes(data)
      .Number<std::uint8_t>(1)
      .Take();
}

std::string RosDefinition(std::string_view type) {
  std::string name(type);
  if (const std::size_t at = name.find("/msg/"); at != std::string::npos) name.erase(at, 4);
  std::vector<const Definition*> found;
  AddUsed(name, &found);
  std::string text;
  for (const Definition* definition : found) {
    if (!text.empty()) {
      text += std::string(80, '=') + "\nMSG: " + std::string(definition->type) + "\n";
    }
    text += definition->fields;
  }
  return text;
}

}  // namespace interlacer
