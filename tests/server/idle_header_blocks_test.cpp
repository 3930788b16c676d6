/// Header blocks that begin no call: what each may cost, and how many a client may send.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "server/transport/http2_gate.h"
#include "server/transport/request_headers.h"
#include "tests/support/raw_http2.h"

namespace interlacer::testing {
namespace {

constexpr std::size_t kStreams = 16;
constexpr int kMaxResets = 50, kMaxIdleBlocks = 1000, kIdleBlocksPerTick = 100;

std::string Headers(std::uint32_t stream, const HeaderList& extra = {}) {
  return Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, stream,
                    HeaderBlock("/a/b", extra));
}

class IdleHeaderBlocksTest : public ::testing::Test {
 protected:
  IdleHeaderBlocksTest() { EXPECT_TRUE(Send(kHttp2Preface)); }

  bool Send(const std::string& bytes) {
    const bool goes_on =
        gate_.FromClient({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, now_);
    gate_.to_library.clear();
    return goes_on;
  }
  std::string Told() { return std::exchange(gate_.to_client, {}); }
  /// How many of `count` blocks of `next` are taken before the connection ends.
  int Taken(int count, const std::function<std::string()>& next) {
    for (int i = 0; i < count; ++i) {
      if (!Send(next())) return i;
    }
    return count;
  }

  int refusal_count_ = 0;
  const Http2Gate::Clock::time_point now_ = Http2Gate::Clock::now();
  Http2Gate gate_{{1000, std::chrono::seconds(30), kStreams},
                  [this](const Status&) { ++refusal_count_; }};
  std::uint32_t stream_ = 1;
  /// A call whose headers are no good.
  const std::function<std::string()> bad_ = [this] {
    return Headers(std::exchange(stream_, stream_ + 2), {{"te", "x"}});
  };
};

bool EndsInCalmDown(const std::string& told) {
  const std::string code = BigEndian(http2::kEnhanceYourCalm, 4);
  return told.find(code + "too many headers of calls that do not begin") != std::string::npos;
}

// fm-20
TEST_F(IdleHeaderBlocksTest, CallsWithBadHeadersAreFewAndMostAreRefusedUnread) {
  EXPECT_EQ(Taken(5000, bad_), kMaxIdleBlocks);
  EXPECT_TRUE(EndsInCalmDown(Told()));
  EXPECT_EQ(refusal_count_, kMaxResets + 1) << "with a status each, and the end of the connection";
}

// fm-20
TEST_F(IdleHeaderBlocksTest, CallsBeyondThoseAtOnceAreFew) {
  const auto good = [this] { return Headers(std::exchange(stream_, stream_ + 2)); };
  EXPECT_EQ(Taken(5000, good), static_cast<int>(kStreams) + kMaxIdleBlocks);
  EXPECT_TRUE(EndsInCalmDown(Told()));
}

// fm-20
TEST_F(IdleHeaderBlocksTest, OfCallsThatHaveEndedAreFew) {
  ASSERT_TRUE(Send(Headers(1)));
  const std::string end =
      Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, 1, "");
  gate_.FromLibrary({reinterpret_cast<const std::uint8_t*>(end.data()), end.size()});
  EXPECT_EQ(Taken(5000, [] { return Headers(1); }), kMaxIdleBlocks);
  EXPECT_TRUE(EndsInCalmDown(Told()));
}

TEST_F(IdleHeaderBlocksTest, AtThePaceThatIsLetAClientStays) {
  ASSERT_EQ(Taken(kMaxIdleBlocks, bad_), kMaxIdleBlocks);
  for (int tick = 0; tick < 100; ++tick) {
    ASSERT_TRUE(gate_.Tick(now_));
    ASSERT_EQ(Taken(kIdleBlocksPerTick, bad_), kIdleBlocksPerTick) << tick;
  }
  for (int tick = 0; tick < 10; ++tick) ASSERT_TRUE(gate_.Tick(now_));
  Told();
  EXPECT_TRUE(Send(Headers(stream_)));
  EXPECT_EQ(Told(), "") << "a good call passes";
}

/// The decoder needs every block, also of calls that are refused.
TEST_F(IdleHeaderBlocksTest, FieldsOfARefusedCallMayStandForThoseOfALaterOne) {
  for (std::size_t i = 0; i < kStreams; ++i, stream_ += 2) ASSERT_TRUE(Send(Headers(stream_)));
  const auto indexed = [](const std::string& name, const std::string& value) {
    return '\x40' + std::string(1, static_cast<char>(name.size())) + name +
           std::string(1, static_cast<char>(value.size())) + value;
  };
  // Literal with indexing: from then on one byte stands for it.
  ASSERT_TRUE(
      Send(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, stream_,
                      HeaderBlock("/a/b") + indexed("x-note", "from a call that was refused"))));
  stream_ += 2;
  const std::string end =
      Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, 1, "");
  gate_.FromLibrary({reinterpret_cast<const std::uint8_t*>(end.data()), end.size()});
  const std::string call =
      Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, stream_,
                 HeaderBlock("/a/b") + '\xbe');  // the newest entry of the table
  ASSERT_TRUE(
      gate_.FromClient({reinterpret_cast<const std::uint8_t*>(call.data()), call.size()}, now_));
  EXPECT_NE(gate_.to_library.find("from a call that was refused"), std::string::npos);
}

TEST(RequestHeaders, DigitsOfBase64AreThese) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    RequestHeaders headers;
    headers.Add("x-bin", std::string("AA") + c + "A");
    EXPECT_EQ(headers.status().ok(), kDigits.find(c) != std::string_view::npos) << byte;
  }
  // Of the last digit of two bytes four bits belong to none, of that of three bytes two.
  for (const char c : kDigits) {
    RequestHeaders two, three;
    two.Add("x-bin", std::string("A") + c);
    three.Add("x-bin", std::string("AA") + c);
    EXPECT_EQ(two.status().ok(), kDigits.find(c) % 16 == 0) << c;
    EXPECT_EQ(three.status().ok(), kDigits.find(c) % 4 == 0) << c;
  }
}

}  // namespace
}  // namespace interlacer::testing
