#include "data/importers/video.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/image_codec.h"
#include "common/json.h"
#include "common/number_text.h"
#include "data/importers/child_output.h"
#include "data/importers/frame_spool.h"

namespace interlacer {
namespace {

constexpr std::size_t kMostProbeBytes = std::size_t{1} << 16;
/// Decoders pad rows and columns to multiples of at most these, and count what they pad.
constexpr std::int64_t kRowStepPx = 128, kColumnStepPx = 64;

/// Options of an input: what it is, that it opens nothing else, and its largest picture.
std::vector<std::string> InputOptions(const std::string& format, std::int64_t most_pixels) {
  return {"-max_pixels", std::to_string(most_pixels), "-protocol_whitelist", "file", "-f", format};
}

/// Of ffprobe, which decodes a little of what it describes.
std::int64_t MostProbePixels() {
  const std::int64_t most = ImageLimits{}.max_side_px;
  return most * most;
}

std::int64_t PaddedPixels(const VideoFacts& facts) {
  const auto padded = [](std::int64_t size, std::int64_t step) {
    return (size + step - 1) / step * step;
  };
  return padded(facts.width_px, kRowStepPx) * padded(facts.height_px, kColumnStepPx);
}

void Append(std::vector<std::string>* all, const std::vector<std::string>& more) {
  all->insert(all->end(), more.begin(), more.end());
}

StatusOr<VideoFacts> Probe(const std::vector<std::string>& input, int input_fd,
                           std::stop_token stop) {
  std::vector<std::string> arguments = {"ffprobe",
                                        "-v",
                                        "error",
                                        "-select_streams",
                                        "v:0",
                                        "-of",
                                        "json",
                                        "-show_entries",
                                        "stream=codec_name,pix_fmt,width,height,avg_frame_rate"};
  Append(&arguments, input);
  std::string text;
  INTERLACER_RETURN_IF_ERROR(
      RunProgram(arguments, input_fd, std::move(stop), [&](std::span<const std::uint8_t> bytes) {
        if (text.size() + bytes.size() > kMostProbeBytes) {
          return InvalidArgument(reason::FILE_UNREADABLE, "ffprobe says too much");
        }
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Status::Ok();
      }));
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text, "ffprobe"));
  const nlohmann::json::json_pointer place("/streams/0");
  if (!document.is_object() || !document.contains(place)) {
    return InvalidArgument(reason::FILE_UNREADABLE, "no video stream in it");
  }
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject stream, JsonObject::Make(document[place]));
  VideoFacts facts;
  INTERLACER_ASSIGN_OR_RETURN(facts.codec, stream.Get<std::string>("codec_name"));
  INTERLACER_ASSIGN_OR_RETURN(facts.pixel_format, stream.Get<std::string>("pix_fmt"));
  INTERLACER_ASSIGN_OR_RETURN(facts.width_px, stream.Get<int>("width"));
  INTERLACER_ASSIGN_OR_RETURN(facts.height_px, stream.Get<int>("height"));
  INTERLACER_ASSIGN_OR_RETURN(const auto rate, stream.GetOr<std::string>("avg_frame_rate", ""));
  double count = 0, seconds = 0;
  if (std::sscanf(rate.c_str(), "%lf/%lf", &count, &seconds) == 2 && count > 0 && seconds > 0) {
    facts.rate_hz = count / seconds;
  }
  const int most = ImageLimits{}.max_side_px;
  if (facts.width_px >= 1 && facts.width_px <= most && facts.height_px >= 1 &&
      facts.height_px <= most) {
    return facts;
  }
  return OutOfRange(reason::LIMIT_IMAGE_SIDE, "expected sides of 1 to " + std::to_string(most) +
                                                  " pixels, got " +
                                                  SizeText(facts.width_px, facts.height_px));
}

Status At(Status status, const std::string& path) {
  if (status.ok() || status.code() == StatusCode::kCancelled || !status.field().empty()) {
    return status;
  }
  return Status(status.code(), status.reason(), path + ": " + status.message()).WithField(path);
}

/// Cuts a stream of bytes into frames.
class Frames {
 public:
  Frames(std::size_t frame_bytes, std::int64_t most,
         const std::function<Status(std::span<const std::uint8_t>)>& take)
      : most_(most), take_(take), frame_(frame_bytes) {}

  Status Add(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      if (count_ == most_) {
        return InvalidArgument(reason::FILE_UNREADABLE, "the decoder writes more than was asked");
      }
      const std::size_t part = std::min(bytes.size(), frame_.size() - filled_);
      std::memcpy(frame_.data() + filled_, bytes.data(), part);
      bytes = bytes.subspan(part);
      filled_ += part;
      if (filled_ < frame_.size()) break;
      INTERLACER_RETURN_IF_ERROR(take_(frame_));
      filled_ = 0;
      ++count_;
    }
    return Status::Ok();
  }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t most_, count_ = 0;
  const std::function<Status(std::span<const std::uint8_t>)>& take_;
  std::vector<std::uint8_t> frame_;
  std::size_t filled_ = 0;
};

/// Decodes `count` frames of the input.
Status Decode(const std::vector<std::string>& input, int input_fd, const VideoFacts& facts,
              const std::string& filter, const std::string& format, std::size_t pixel_bytes,
              std::int64_t count, std::stop_token stop,
              const std::function<Status(std::span<const std::uint8_t>)>& take) {
  const auto pixels =
      static_cast<std::size_t>(facts.width_px) * static_cast<std::size_t>(facts.height_px);
  std::vector<std::string> arguments = {"ffmpeg", "-hide_banner", "-nostdin",     "-loglevel",
                                        "error",  "-xerror",      "-noautorotate"};
  Append(&arguments, input);
  Append(&arguments,
         {"-map", "0:v:0", "-fps_mode", "passthrough", "-frames:v", std::to_string(count), "-vf",
          filter, "-pix_fmt", format, "-f", "rawvideo", "pipe:1"});
  Frames frames(pixels * pixel_bytes, count, take);
  INTERLACER_RETURN_IF_ERROR(
      RunProgram(arguments, input_fd, std::move(stop),
                 [&](std::span<const std::uint8_t> bytes) { return frames.Add(bytes); }));
  if (frames.count() == count) return Status::Ok();
  return InvalidArgument(reason::FILE_UNREADABLE,
                         "expected " + std::to_string(count) + " frames, got " +
                             std::to_string(frames.count()) +
                             ": missing, or more than half a frame away from their times");
}

std::vector<std::string> FileInput(const std::string& path, double first_s,
                                   std::int64_t most_pixels) {
  std::vector<std::string> input = InputOptions("mp4", most_pixels);
  if (first_s > 0) Append(&input, {"-ss", std::to_string(first_s)});
  Append(&input, {"-i", "file:" + path});
  return input;
}

/// A filter that passes `count` frames but for those that are half a frame or more off their times.
std::string OnTime(double first_s, double frame_s, std::int64_t count) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "trim=end_frame=%lld,select='lt(abs(t-%.9f-n*%.17g),%.9f)',",
                static_cast<long long>(count), first_s, frame_s, frame_s / 2);
  return text.data();
}

}  // namespace

StatusOr<VideoFacts> ProbeVideo(const std::string& path, std::stop_token stop) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return NotFound(reason::FILE_NOT_FOUND, path + ": no such file").WithField(path);
  }
  auto facts = Probe(FileInput(path, 0, MostProbePixels()), -1, std::move(stop));
  if (!facts.ok()) return At(facts.status(), path);
  return facts;
}

Status DecodeVideo(const std::string& path, const VideoFacts& facts, VideoPixels pixels,
                   double first_s, double frame_s, std::int64_t count, std::stop_token stop,
                   const std::function<Status(std::span<const std::uint8_t>)>& take) {
  // Seeking drops what lies before: half a frame earlier, so that rounding drops no frame.
  const double seek_s = std::max(0.0, first_s - frame_s / 2);
  const std::vector<std::string> input = FileInput(path, seek_s, PaddedPixels(facts));
  const bool is_color = pixels == VideoPixels::kRgb24;
  if (!is_color && facts.pixel_format != "gray12le" && facts.pixel_format != "yuv420p12le") {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, path,
                    "12-bit depth codes: gray12le or yuv420p12le",
                    facts.codec + " " + facts.pixel_format);
  }
  // Taking the plane keeps the codes; a conversion of formats would stretch their range.
  const std::string filter =
      OnTime(first_s - seek_s, frame_s, count) +
      (is_color ? "scale=flags=accurate_rnd+full_chroma_int+bitexact" : "extractplanes=y");
  return At(Decode(input, -1, facts, filter, is_color ? "rgb24" : "gray12le", is_color ? 3 : 2,
                   count, std::move(stop), take),
            path);
}

StatusOr<DepthImage16> DecodeTiffDepth(std::span<const std::uint8_t> data, double unit_m,
                                       int width_px, int height_px, const std::string& folder,
                                       std::stop_token stop) {
  INTERLACER_ASSIGN_OR_RETURN(const auto file, FrameSpool::Create(folder));
  INTERLACER_RETURN_IF_ERROR(file->Append(data));
  const auto input = [](std::int64_t most_pixels) {
    std::vector<std::string> options = InputOptions("tiff_pipe", most_pixels);
    // As a file: of a pipe only its beginning would be probed.
    Append(&options, {"-i", "file:/dev/stdin"});
    return options;
  };
  INTERLACER_ASSIGN_OR_RETURN(const VideoFacts facts,
                              Probe(input(MostProbePixels()), file->descriptor(), stop));
  if (facts.pixel_format != "gray16le" && facts.pixel_format != "gray16be") {
    return Mismatch(reason::PIXEL_ENCODING_UNSUPPORTED, "TIFF", "one 16-bit integer a pixel",
                    facts.pixel_format);
  }
  if (facts.width_px != width_px || facts.height_px != height_px) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "TIFF", SizeText(width_px, height_px),
                    SizeText(facts.width_px, facts.height_px));
  }
  DepthImage16 image{width_px, height_px, unit_m, {}};
  INTERLACER_RETURN_IF_ERROR(Decode(input(PaddedPixels(facts)), file->descriptor(), facts, "null",
                                    "gray16le", 2, 1, std::move(stop),
                                    [&](std::span<const std::uint8_t> bytes) {
                                      image.pixels.resize(bytes.size() / 2);
                                      std::memcpy(image.pixels.data(), bytes.data(), bytes.size());
                                      return Status::Ok();
                                    }));
  return image;
}

}  // namespace interlacer
