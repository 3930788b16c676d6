/// Header blocks against the examples of RFC 7541, and blocks that break its rules.

#include "server/transport/header_block.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace interlacer::testing {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;
using BlockBytes = std::vector<std::uint8_t>;

std::optional<Fields> DecodeBlock(HeaderDecoder* decoder, const BlockBytes& block) {
  Fields fields;
  const bool is_decoded = decoder->Decode(
      block,
      [&](std::string_view name, std::string_view value) { fields.emplace_back(name, value); });
  return is_decoded ? std::optional(fields) : std::nullopt;
}

BlockBytes ToBlock(const std::string& text) { return {text.begin(), text.end()}; }

/// Appendix C.4: three requests of one connection with Huffman codes and references.
TEST(HeaderBlockTest, ReadsTheRequestsOfTheStandard) {
  HeaderDecoder decoder;
  EXPECT_EQ(DecodeBlock(&decoder, {0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a,
                                   0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff}),
            (Fields{{":method", "GET"},
                    {":scheme", "http"},
                    {":path", "/"},
                    {":authority", "www.example.com"}}));
  EXPECT_EQ(DecodeBlock(&decoder,
                        {0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf}),
            (Fields{{":method", "GET"},
                    {":scheme", "http"},
                    {":path", "/"},
                    {":authority", "www.example.com"},
                    {"cache-control", "no-cache"}}));
  EXPECT_EQ(DecodeBlock(&decoder,
                        {0x82, 0x87, 0x85, 0xbf, 0x40, 0x88, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9,
                         0x7d, 0x7f, 0x89, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf}),
            (Fields{{":method", "GET"},
                    {":scheme", "https"},
                    {":path", "/index.html"},
                    {":authority", "www.example.com"},
                    {"custom-key", "custom-value"}}));
}

TEST(HeaderBlockTest, ReadsWhatItsWriterWrites) {
  HeaderDecoder decoder;
  for (const std::size_t size : {0, 1, 126, 127, 128, 300, 20'000}) {
    std::string block;
    AppendHeaderField("name", std::string(size, 'v'), &block);
    EXPECT_EQ(DecodeBlock(&decoder, ToBlock(block)), (Fields{{"name", std::string(size, 'v')}}))
        << size;
  }
}

TEST(HeaderBlockTest, MalformedBlocksAreNotDecoded) {
  for (const BlockBytes& block : {
           BlockBytes{0x80},                                            // index 0
           BlockBytes{0xbe},                                            // beyond both tables
           BlockBytes{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},  // a number without end
           BlockBytes{0x00, 0x05, 'a'},                                 // a cut name
           BlockBytes{0x00, 0x01, 'a'},                                 // no value
           BlockBytes{0x00, 0x01, 'a', 0x84, 0xff, 0xff, 0xff, 0xff},   // the code of the end
           BlockBytes{0x00, 0x01, 'a', 0x81, 0x00},                     // padded by zeros
           BlockBytes{0x82, 0x20},                                      // a size after a field
           BlockBytes{0x3f, 0xe2, 0x1f},                                // a table above 4096
       }) {
    HeaderDecoder decoder;
    EXPECT_FALSE(DecodeBlock(&decoder, block)) << ::testing::PrintToString(block);
  }
}

}  // namespace
}  // namespace interlacer::testing
