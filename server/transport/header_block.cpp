#include "server/transport/header_block.h"

#include <nghttp2/nghttp2.h>

#include <cstddef>

#include "common/check.h"

namespace interlacer {
namespace {

std::string_view ViewOf(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// A string without Huffman codes: its length in seven bits, or more bytes when they do not hold
/// it.
void AppendText(std::string_view text, std::string* block) {
  constexpr std::size_t kPrefixLimit = 127;
  std::size_t size = text.size();
  if (size < kPrefixLimit) {
    block->push_back(static_cast<char>(size));
  } else {
    block->push_back(static_cast<char>(kPrefixLimit));
    for (size -= kPrefixLimit; size >= 128; size >>= 7) {
      block->push_back(static_cast<char>((size & 127) | 128));
    }
    block->push_back(static_cast<char>(size));
  }
  block->append(text);
}

}  // namespace

void HeaderDecoder::Delete::operator()(nghttp2_hd_inflater* inflater) const {
  nghttp2_hd_inflate_del(inflater);
}

HeaderDecoder::HeaderDecoder() {
  nghttp2_hd_inflater* inflater = nullptr;
  INTERLACER_CHECK(nghttp2_hd_inflate_new(&inflater) == 0, "no memory for a header decoder");
  inflater_.reset(inflater);
}

bool HeaderDecoder::Decode(std::span<const std::uint8_t> block, const Visit& visit) {
  while (true) {
    nghttp2_nv field{};
    int flags = 0;
    const auto count = nghttp2_hd_inflate_hd2(inflater_.get(), &field, &flags, block.data(),
                                              block.size(), /*in_final=*/1);
    if (count < 0) return false;
    block = block.subspan(static_cast<std::size_t>(count));
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      visit(ViewOf(field.name, field.namelen), ViewOf(field.value, field.valuelen));
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if (block.empty() && (flags & NGHTTP2_HD_INFLATE_EMIT) == 0) break;
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  return true;
}

void AppendHeaderField(std::string_view name, std::string_view value, std::string* block) {
  block->push_back('\0');
  AppendText(name, block);
  AppendText(value, block);
}

}  // namespace interlacer
