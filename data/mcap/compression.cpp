#include "data/mcap/compression.h"

#include <libdeflate.h>
#include <lz4frame.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/check.h"

namespace interlacer {
namespace {

/// Room for output that doubles when it is full.
class GrowingOutput {
 public:
  GrowingOutput(std::uint64_t input_size, std::uint64_t most) : most_(most) {
    data_.resize(std::min<std::uint64_t>(most, 4 * input_size + (1 << 16)));
  }
  std::span<std::uint8_t> Room() {
    if (used_ == data_.size()) data_.resize(std::min<std::uint64_t>(most_, 2 * data_.size()));
    return std::span(data_).subspan(used_);
  }
  void Use(std::size_t size) { used_ += size; }
  bool is_full() const { return used_ == most_; }
  Decompressed Finish(bool has_ended) {
    data_.resize(used_);
    return {std::move(data_), has_ended && is_full()};
  }

 private:
  std::uint64_t most_;
  std::size_t used_ = 0;
  std::vector<std::uint8_t> data_;
};

Decompressed DecompressZstd(std::span<const std::uint8_t> data, std::uint64_t size) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  GrowingOutput output(data.size(), size);
  ZSTD_inBuffer input{data.data(), data.size(), 0};
  while (true) {
    const auto room = output.Room();
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    const std::size_t consumed = input.pos;
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &input);
    output.Use(out.pos);
    if (ZSTD_isError(left)) return output.Finish(false);
    if (left == 0) return output.Finish(true);
    if (out.pos == 0 && (input.pos == consumed || input.pos == input.size || output.is_full())) {
      return output.Finish(false);
    }
  }
}

Decompressed DecompressLz4(std::span<const std::uint8_t> data, std::uint64_t size) {
  LZ4F_dctx* made = nullptr;
  INTERLACER_CHECK(!LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)),
                   "no memory for an LZ4 context");
  const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> context(
      made, &LZ4F_freeDecompressionContext);
  GrowingOutput output(data.size(), size);
  while (true) {
    const auto room = output.Room();
    std::size_t written = room.size(), read = data.size();
    const std::size_t left =
        LZ4F_decompress(context.get(), room.data(), &written, data.data(), &read, nullptr);
    output.Use(written);
    data = data.subspan(read);
    if (LZ4F_isError(left)) return output.Finish(false);
    if (left == 0) return output.Finish(true);
    if (written == 0 && (read == 0 || data.empty())) return output.Finish(false);
  }
}

}  // namespace

StatusOr<Decompressed> Decompress(std::string_view compression, std::vector<std::uint8_t> data,
                                  std::uint64_t size) {
  if (compression.empty()) {
    const bool is_whole = size == data.size();
    data.resize(std::min<std::uint64_t>(size, data.size()));
    return Decompressed{std::move(data), is_whole};
  }
  if (compression == "zstd") return DecompressZstd(data, size);
  if (compression == "lz4") return DecompressLz4(data, size);
  return Mismatch(reason::COMPRESSION_UNSUPPORTED, "compression", "none, lz4 or zstd",
                  std::string(compression.substr(0, 32)));
}

std::optional<std::uint64_t> ZstdSize(std::span<const std::uint8_t> data) {
  const unsigned long long size = ZSTD_getFrameContentSize(data.data(), data.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return std::nullopt;
  return size;
}

std::vector<std::uint8_t> CompressZstd(std::span<const std::uint8_t> data, int level) {
  std::vector<std::uint8_t> out(ZSTD_compressBound(data.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), level);
  INTERLACER_CHECK(!ZSTD_isError(size), ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

std::uint32_t Crc32(std::uint32_t crc, std::span<const std::uint8_t> data) {
  return libdeflate_crc32(crc, data.data(), data.size());
}

}  // namespace interlacer
