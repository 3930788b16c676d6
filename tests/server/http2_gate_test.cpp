/// What passes the gate between clients and the library, byte by byte, without sockets.

#include "server/transport/http2_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/support/raw_http2.h"

namespace interlacer::testing {
namespace {

constexpr std::int64_t kMaxMessageBytes = 1000;
constexpr std::chrono::seconds kUploadTime(30);
constexpr std::size_t kMaxStreams = 8;
constexpr int kContinuation = 9, kPadded = 8, kHasPriority = 32;

struct SeenFrame {
  int type = 0;
  int flags = 0;
  std::uint32_t stream = 0;
  std::string payload;
};

std::vector<SeenFrame> Frames(std::string bytes) {
  std::vector<SeenFrame> frames;
  const auto number = [&](std::size_t at, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = at; i < at + count; ++i) {
      value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    return value;
  };
  while (bytes.size() >= 9) {
    const std::size_t size = number(0, 3);
    frames.push_back(
        {bytes[3], bytes[4], static_cast<std::uint32_t>(number(5, 4)), bytes.substr(9, size)});
    bytes.erase(0, 9 + size);
  }
  EXPECT_TRUE(bytes.empty()) << "a frame is cut";
  return frames;
}

class Http2GateTest : public ::testing::Test {
 protected:
  Http2GateTest() { EXPECT_TRUE(Send(kHttp2Preface)); }

  bool Send(const std::string& bytes, std::size_t piece_bytes = std::string::npos) {
    for (std::size_t begin = 0; begin < bytes.size(); begin += piece_bytes) {
      const std::string piece = bytes.substr(begin, piece_bytes);
      const bool goes_on = gate_.FromClient(
          {reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()}, now_);
      if (!goes_on) return false;
      if (piece_bytes == std::string::npos) break;
    }
    return true;
  }
  bool Open(std::uint32_t stream, const HeaderList& extra = {}) {
    return Send(
        Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream, HeaderBlock("/a/b", extra)));
  }
  bool Data(std::uint32_t stream, const std::string& bytes, bool is_end = false) {
    return Send(Http2Frame(RawHttp2::kData, is_end ? RawHttp2::kEndStream : 0, stream, bytes));
  }
  void Answer(const std::string& bytes) {
    gate_.FromLibrary({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  /// What the library has got since the last time.
  std::vector<SeenFrame> ToLibrary() {
    std::string bytes = std::exchange(gate_.to_library, {});
    if (bytes.starts_with(kHttp2Preface)) bytes.erase(0, sizeof(kHttp2Preface) - 1);
    return Frames(bytes);
  }
  std::vector<SeenFrame> ToClient() { return Frames(std::exchange(gate_.to_client, {})); }
  /// The status that the client was told; "" for none.
  static std::string StatusIn(const std::vector<SeenFrame>& frames, std::uint32_t stream) {
    std::string status;
    for (const SeenFrame& frame : frames) {
      if (frame.type != RawHttp2::kHeaders || frame.stream != stream) continue;
      HeaderDecoder decoder;
      decoder.Decode(
          {reinterpret_cast<const std::uint8_t*>(frame.payload.data()), frame.payload.size()},
          [&](std::string_view name, std::string_view value) {
            if (name == "grpc-status") status = value;
          });
    }
    return status;
  }

  int refusal_count_ = 0;
  Http2Gate gate_{{kMaxMessageBytes, kUploadTime, kMaxStreams},
                  [this](const Status&) { ++refusal_count_; }};
  Http2Gate::Clock::time_point now_ = Http2Gate::Clock::now();
};

TEST_F(Http2GateTest, AGoodCallPassesInPiecesOfAnySize) {
  const std::string call =
      Http2Frame(RawHttp2::kSettings, 0, 0, "") +
      Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, 1,
                 HeaderBlock("/a/b", {{"x-some-bin", "AAEC"}, {"other-bin", "AAE="}})) +
      Http2Frame(RawHttp2::kData, 0, 1, MessagePrefix(7)) +
      Http2Frame(RawHttp2::kData, RawHttp2::kEndStream, 1, "message");
  for (const std::size_t piece_bytes : {std::size_t{1}, std::size_t{7}, call.size()}) {
    Http2Gate gate({kMaxMessageBytes, kUploadTime, kMaxStreams}, [](const Status&) { FAIL(); });
    std::string bytes = kHttp2Preface + call;
    std::string passed;
    for (std::size_t begin = 0; begin < bytes.size(); begin += piece_bytes) {
      const std::string piece = bytes.substr(begin, piece_bytes);
      ASSERT_TRUE(gate.FromClient(
          {reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()}, now_));
      passed += std::exchange(gate.to_library, {});
    }
    ASSERT_TRUE(passed.starts_with(kHttp2Preface));
    const auto frames = Frames(passed.substr(sizeof(kHttp2Preface) - 1));
    ASSERT_GE(frames.size(), 3u);
    EXPECT_EQ(frames[0].type, RawHttp2::kSettings);
    EXPECT_EQ(frames[1].type, RawHttp2::kHeaders);
    EXPECT_EQ(frames[1].payload,
              HeaderBlock("/a/b", {{"x-some-bin", "AAEC"}, {"other-bin", "AAE="}}));
    std::string data;
    for (std::size_t i = 2; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].type, RawHttp2::kData);
      data += frames[i].payload;
    }
    EXPECT_EQ(data, MessagePrefix(7) + "message");
    EXPECT_EQ(frames.back().flags, RawHttp2::kEndStream);
    EXPECT_EQ(gate.upload_bytes(), 0);
    EXPECT_EQ(gate.to_client, "");
  }
}

TEST_F(Http2GateTest, SmallFramesAreJoined) {
  ASSERT_TRUE(Open(1));
  std::string frames;
  for (const char c : MessagePrefix(900) + std::string(900, 'x')) {
    frames += Http2Frame(RawHttp2::kData, 0, 1, std::string(1, c));
  }
  ASSERT_TRUE(Send(frames));
  const auto seen = ToLibrary();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].payload.size(), 905u);
}

TEST_F(Http2GateTest, AMessageAboveTheLimitIsRefusedAtItsPrefixAndTheRestDropped) {
  ASSERT_TRUE(Open(1));
  ASSERT_TRUE(Data(1, MessagePrefix(kMaxMessageBytes + 1) + "first"));
  const auto library = ToLibrary();
  ASSERT_EQ(library.size(), 2u);
  EXPECT_EQ(library[1].type, RawHttp2::kReset);
  auto client = ToClient();
  EXPECT_EQ(StatusIn(client, 1), "8");
  EXPECT_EQ(refusal_count_, 1);
  // The client learns that it may send as much again as it has sent for nothing.
  ASSERT_TRUE(Data(1, std::string(500, 'x')));
  EXPECT_TRUE(ToLibrary().empty());
  client = ToClient();
  ASSERT_EQ(client.size(), 1u);
  EXPECT_EQ(client[0].type, RawHttp2::kWindowUpdate);
  EXPECT_EQ(client[0].payload, BigEndian(500, 4));
  EXPECT_EQ(gate_.upload_bytes(), 0);
  // Another call of the connection goes on.
  ASSERT_TRUE(Open(3));
  ASSERT_TRUE(Data(3, MessagePrefix(kMaxMessageBytes) + std::string(kMaxMessageBytes, 'x'), true));
  EXPECT_EQ(ToLibrary().back().flags, RawHttp2::kEndStream);
}

TEST_F(Http2GateTest, WhatNobodyReadsIsLittle) {
  Http2Gate gate({1 << 20, kUploadTime, kMaxStreams}, [](const Status&) {});
  const auto send = [&](const std::string& bytes) {
    EXPECT_TRUE(
        gate.FromClient({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, now_));
    gate.to_library.clear();
    return Frames(std::exchange(gate.to_client, {}));
  };
  const auto data = [&](std::uint32_t stream, const std::string& bytes) {
    return send(Http2Frame(RawHttp2::kData, 0, stream, bytes));
  };
  send(kHttp2Preface);
  std::uint32_t stream = 1;
  for (const char* path : {"/grpc.health.v1.Health/Watch",
                           "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                           "/interlacer.v1.InterlacerService/PredictRollout"}) {
    const std::string open =
        Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream, HeaderBlock(path));
    send(open);
    ASSERT_TRUE(data(stream, MessagePrefix(2) + "xx").empty());
    const std::string later = MessagePrefix(1000) + std::string(1000, 'x');
    std::vector<SeenFrame> told;
    int count = 0;
    for (; told.empty() && count < 1000; ++count) told = data(stream, later);
    EXPECT_EQ(count, 66) << path;  // 64 KiB
    EXPECT_FALSE(told.empty()) << path;
    stream += 2;
  }
  send(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream,
                  HeaderBlock("/grpc.health.v1.Health/Watch")));
  EXPECT_EQ(StatusIn(data(stream, MessagePrefix(65'537)), stream), "8") << "a name that long";
  stream += 2;
  send(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream,
                  HeaderBlock("/interlacer.v1.InterlacerService/PredictRollout")));
  EXPECT_TRUE(data(stream, MessagePrefix(65'537)).empty());
}

TEST_F(Http2GateTest, CompressedMessagesAreRefused) {
  ASSERT_TRUE(Open(1));
  ASSERT_TRUE(Data(1, std::string("\1\0\0\0\1x", 6)));
  EXPECT_EQ(StatusIn(ToClient(), 1), "12");
}

TEST_F(Http2GateTest, UploadsEndAfterTheirTime) {
  ASSERT_TRUE(Open(1));  // not one byte of its message
  now_ += std::chrono::seconds(10);
  ASSERT_TRUE(Open(3));
  ASSERT_TRUE(Data(3, MessagePrefix(100) + "half"));
  ASSERT_TRUE(Open(5));
  ASSERT_TRUE(Data(5, MessagePrefix(4) + "full"));
  EXPECT_EQ(gate_.upload_bytes(), 9);
  gate_.Tick(now_ + std::chrono::seconds(15));
  EXPECT_TRUE(ToClient().empty());
  gate_.Tick(now_ + std::chrono::seconds(20));
  auto client = ToClient();
  EXPECT_EQ(StatusIn(client, 1), "4");
  EXPECT_EQ(StatusIn(client, 3), "");
  gate_.Tick(now_ + std::chrono::seconds(30));
  EXPECT_EQ(StatusIn(ToClient(), 3), "4");
  EXPECT_EQ(gate_.upload_bytes(), 0);
  // The message of the last one is whole, so that the library has the call.
  gate_.Tick(now_ + std::chrono::hours(1));
  EXPECT_TRUE(ToClient().empty());
  EXPECT_EQ(refusal_count_, 2);
}

TEST_F(Http2GateTest, ABadHeaderRefusesItsCallOnly) {
  std::uint32_t stream = 1;
  for (const auto& [name, value] : HeaderList{{"x-bad-bin", "!!!"},
                                              {"x-bad-bin", "a"},
                                              {"x-bad-bin", "===="},
                                              {"x-bad", "\x7f"},
                                              {"x-bad", "two\r\nlines"},
                                              {"Upper", "case"},
                                              {"", "no name"},
                                              {"te", "x"},
                                              {":scheme", "x"},
                                              {"x-bad-bin", "QR"},  // four bits of no byte
                                              {"x-bad-bin", "AAAA,!"},
                                              {":status", "200"},
                                              {"x-large", std::string(8'000, 'a')}}) {
    ASSERT_TRUE(Open(stream, {{name, value}})) << name << ": " << value;
    const auto client = ToClient();
    EXPECT_NE(StatusIn(client, stream), "") << name << ": " << value;
    EXPECT_TRUE(ToLibrary().empty());
    stream += 2;
  }
  ASSERT_TRUE(Open(stream));
  EXPECT_EQ(ToLibrary().size(), 1u);
}

/// What clients, proxies and tracers in use send.
TEST_F(Http2GateTest, HeadersOfRealClientsPass) {
  const std::string raw("\0\xff,\0x", 5);
  ASSERT_TRUE(Open(1, {{"user-agent", "grpc-c++/1.51.1 grpc-c/29.0.0 (linux; chttp2)"},
                       {"grpc-accept-encoding", "identity, deflate, gzip"},
                       {"accept-encoding", "identity"},
                       {"grpc-timeout", "1S"},
                       {"grpc-trace-bin", "AAAQIA=="},
                       {"empty-bin", ""},
                       {"raw-bin", raw},
                       {"several-bin", "AAE=, AAEC,AA"},
                       {"grpclb_client_stats", "x"},
                       {"x-note", "a\tb \xc3\xa9"}}));
  const auto frames = ToLibrary();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].payload,
            HeaderBlock("/a/b", {{"user-agent", "grpc-c++/1.51.1 grpc-c/29.0.0 (linux; chttp2)"},
                                 {"grpc-accept-encoding", "identity, deflate, gzip"},
                                 {"accept-encoding", "identity"},
                                 {"grpc-timeout", "1S"},
                                 {"grpc-trace-bin", "AAAQIA=="},
                                 {"empty-bin", ""},
                                 {"raw-bin", raw},
                                 {"several-bin", "AAE="},
                                 {"several-bin", "AAEC"},
                                 {"several-bin", "AA"},
                                 {"x-note", "a\tb \xc3\xa9"}}));
}

TEST_F(Http2GateTest, ABlockMayRefuseToEndWithItsFirstFrameAndHavePaddingThere) {
  const std::string block = HeaderBlock("/a/b");
  const std::string priority(5, '\0');
  ASSERT_TRUE(Send(Http2Frame(RawHttp2::kHeaders, kPadded | kHasPriority, 1,
                              "\3" + priority + block.substr(0, 20) + std::string(3, '\0')) +
                   Http2Frame(kContinuation, 0, 1, block.substr(20, 10)) +
                   Http2Frame(kContinuation, RawHttp2::kEndHeaders, 1, block.substr(30))));
  const auto frames = ToLibrary();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].payload, block);
}

TEST_F(Http2GateTest, CallsBeyondTheLimitMayBeRepeated) {
  std::uint32_t stream = 1;
  for (std::size_t i = 0; i < kMaxStreams; ++i, stream += 2) ASSERT_TRUE(Open(stream));
  ToLibrary();
  ASSERT_TRUE(Open(stream));
  EXPECT_TRUE(ToLibrary().empty());
  const auto client = ToClient();
  ASSERT_EQ(client.size(), 1u);
  EXPECT_EQ(client[0].type, RawHttp2::kReset);
  EXPECT_EQ(client[0].payload, BigEndian(7, 4)) << "refused before any of it was done";
  Answer(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, 1, ""));
  ASSERT_TRUE(Open(stream + 2));
  EXPECT_EQ(ToLibrary().size(), 1u);
}

TEST_F(Http2GateTest, OwnFramesWaitForTheEndOfAHeaderBlockOfTheLibrary) {
  Answer(Http2Frame(RawHttp2::kHeaders, 0, 1, "\x88"));
  ASSERT_TRUE(Open(1, {{"te", "x"}}));
  EXPECT_EQ(ToClient().size(), 1u);
  Answer(Http2Frame(kContinuation, RawHttp2::kEndHeaders, 1, ""));
  const auto client = ToClient();
  ASSERT_EQ(client.size(), 3u);
  EXPECT_EQ(client[0].type, kContinuation);
}

TEST_F(Http2GateTest, AClientIsAskedToLeaveOnceAndAfterTheSettings) {
  gate_.AskToLeave();
  EXPECT_TRUE(ToClient().empty());
  Answer(Http2Frame(RawHttp2::kSettings, 0, 0, ""));
  gate_.AskToLeave();
  const auto client = ToClient();
  ASSERT_EQ(client.size(), 2u);
  EXPECT_EQ(client[0].type, RawHttp2::kSettings);
  EXPECT_EQ(client[1].type, RawHttp2::kGoAway);
  EXPECT_EQ(client[1].payload.substr(0, 8), BigEndian(0x7fffffff, 4) + BigEndian(0, 4));
  ASSERT_TRUE(Open(1));
  EXPECT_EQ(ToLibrary().size(), 1u) << "it may stay";
}

TEST_F(Http2GateTest, AnAnswerThatHasBegunIsReset) {
  ASSERT_TRUE(Open(1));
  ASSERT_TRUE(Data(1, MessagePrefix(10) + "half"));
  Answer(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, 1, "\x88"));
  ToClient();
  gate_.RefuseOldestUpload();
  const auto client = ToClient();
  ASSERT_EQ(client.size(), 1u);
  EXPECT_EQ(client[0].type, RawHttp2::kReset);
}

// fm-20
TEST_F(Http2GateTest, ABlockOfManyFramesIsBounded) {
  ASSERT_TRUE(Send(Http2Frame(RawHttp2::kHeaders, 0, 1, HeaderBlock("/a/b"))));
  bool goes_on = true;
  int count = 0;
  for (; goes_on && count < 100; ++count) {
    goes_on = Send(Http2Frame(kContinuation, 0, 1, std::string(10'000, 'a')));
  }
  EXPECT_FALSE(goes_on);
  EXPECT_LE(count, 7);
  EXPECT_EQ(ToClient().back().type, RawHttp2::kGoAway);
  EXPECT_TRUE(ToLibrary().empty());
}

TEST_F(Http2GateTest, EmptyFramesOfABlockAreBounded) {
  ASSERT_TRUE(Send(Http2Frame(RawHttp2::kHeaders, 0, 1, HeaderBlock("/a/b"))));
  bool goes_on = true;
  for (int count = 0; goes_on && count < 1000; ++count) {
    goes_on = Send(Http2Frame(kContinuation, 0, 1, ""));
  }
  EXPECT_FALSE(goes_on);
  EXPECT_EQ(ToClient().back().type, RawHttp2::kGoAway);
  EXPECT_TRUE(ToLibrary().empty());
}

TEST_F(Http2GateTest, ABlockThatDoesNotEndEndsTheConnectionAfterTheTimeOfUploads) {
  ASSERT_TRUE(Open(1));
  ASSERT_TRUE(Data(1, MessagePrefix(0)));
  ASSERT_TRUE(Send(Http2Frame(RawHttp2::kHeaders, 0, 3, HeaderBlock("/a/b"))));
  now_ += std::chrono::seconds(20);
  ASSERT_TRUE(Send(Http2Frame(kContinuation, 0, 3, "")));
  EXPECT_TRUE(gate_.Tick(now_ + std::chrono::seconds(9)));
  EXPECT_TRUE(ToClient().empty());
  EXPECT_FALSE(gate_.Tick(now_ + std::chrono::seconds(10)));
  EXPECT_EQ(ToClient().back().type, RawHttp2::kGoAway);
}

TEST_F(Http2GateTest, WorkIsACallOfTheDeviceWhoseRequestIsWhole) {
  const auto open = [&](std::uint32_t stream, const std::string& path) {
    return Send(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream, HeaderBlock(path)));
  };
  ASSERT_TRUE(open(1, "/grpc.health.v1.Health/Watch"));
  ASSERT_TRUE(Data(1, MessagePrefix(0), true));
  ASSERT_TRUE(open(3, std::string(kServicePath) + "GetServerInfo"));
  ASSERT_TRUE(Data(3, MessagePrefix(0), true));
  ASSERT_TRUE(open(5, std::string(kServicePath) + "PredictRollout"));
  ASSERT_TRUE(Data(5, MessagePrefix(4) + "hal"));
  EXPECT_FALSE(gate_.has_work());
  ASSERT_TRUE(Data(5, "f", true));
  EXPECT_TRUE(gate_.has_work());
  Answer(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders | RawHttp2::kEndStream, 5, ""));
  EXPECT_FALSE(gate_.has_work());
}

TEST_F(Http2GateTest, PingsAndSettingsThatNoAnswerCallsForAreFew) {
  for (const int type : {RawHttp2::kPing, RawHttp2::kSettings}) {
    Http2Gate gate({kMaxMessageBytes, kUploadTime, kMaxStreams}, [](const Status&) {});
    const auto send = [&](const std::string& bytes) {
      return gate.FromClient({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()},
                             now_);
    };
    const std::string echo = Http2Frame(type, 0, 0, type == RawHttp2::kPing ? "12345678" : "");
    ASSERT_TRUE(send(kHttp2Preface));
    for (int i = 0; i < 300; ++i) {  // as a client does that measures while it reads
      ASSERT_TRUE(send(echo));
      if (i % 50 != 0) continue;
      const std::string part = Http2Frame(RawHttp2::kData, 0, 1, "x");
      gate.FromLibrary({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
    }
    for (int i = 0; i < 600; ++i) {  // for a minute
      ASSERT_TRUE(gate.Tick(now_));
      ASSERT_TRUE(send(echo));
    }
    int count = 0;
    while (count < 1000 && send(echo)) ++count;
    EXPECT_LE(count, 100);
    EXPECT_EQ(Frames(gate.to_client).back().type, RawHttp2::kGoAway);
  }
}

// fm-20
TEST_F(Http2GateTest, CallsThatAreResetBeforeAnAnswerAreFew) {
  const std::string reset = BigEndian(http2::kCancel, 4);
  std::uint32_t stream = 1;
  /// How many of `count` calls reach the library.
  const auto open = [&](int count, const std::function<void()>& end) {
    int passed = 0;
    for (int i = 0; i < count; ++i, stream += 2) {
      EXPECT_TRUE(Open(stream));
      const auto frames = ToLibrary();
      passed += std::any_of(frames.begin(), frames.end(), [](const SeenFrame& frame) {
        return frame.type == RawHttp2::kHeaders;
      });
      end();
      ToLibrary();
    }
    return passed;
  };
  const auto by_client = [&] { Send(Http2Frame(RawHttp2::kReset, 0, stream, reset)); };
  const auto by_library = [&] { Answer(Http2Frame(RawHttp2::kReset, 0, stream, reset)); };
  const auto by_gate = [&] { Data(stream, "\1" + BigEndian(1, 4) + "x"); };
  const auto answered = [&] {
    Answer(Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream, ""));
    by_client();
  };
  EXPECT_EQ(open(200, answered), 200);
  EXPECT_EQ(open(20, by_client), 20);
  EXPECT_EQ(open(20, by_library), 20);
  EXPECT_EQ(open(1000, by_gate), 10);
  // What is refused may be repeated, and the connection goes on.
  const auto told = ToClient();
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [&](const SeenFrame& frame) {
    return frame.type == RawHttp2::kReset && frame.stream == stream - 2 &&
           frame.payload == BigEndian(http2::kRefusedStream, 4);
  }));
  ASSERT_TRUE(gate_.Tick(now_));
  EXPECT_EQ(open(100, by_client), 5);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(gate_.Tick(now_));
  EXPECT_EQ(open(1000, by_client), 50);
}

TEST_F(Http2GateTest, BrokenProtocolEndsTheConnection) {
  const std::string block = HeaderBlock("/a/b");
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"),
        kHttp2Preface + Http2Frame(RawHttp2::kData, 0, 0, "x"),
        kHttp2Preface + Http2Frame(RawHttp2::kHeaders, 4, 2, block),
        kHttp2Preface + Http2Frame(RawHttp2::kHeaders, 4, 1, "\x80"),
        kHttp2Preface + Http2Frame(RawHttp2::kHeaders, 0, 1, block) +
            Http2Frame(RawHttp2::kPing, 0, 0, "12345678"),
        kHttp2Preface + Http2Frame(9, 4, 1, block), kHttp2Preface + Http2Frame(5, 4, 1, block),
        kHttp2Preface + Http2Frame(RawHttp2::kHeaders, 4 | 8, 1, "\x7f"),
        kHttp2Preface + Http2Frame(RawHttp2::kPing, 0, 0, std::string(20'000, 'x'))}) {
    Http2Gate gate({kMaxMessageBytes, kUploadTime, kMaxStreams}, [](const Status&) {});
    EXPECT_FALSE(
        gate.FromClient({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, now_))
        << ::testing::PrintToString(bytes);
  }
}

TEST_F(Http2GateTest, PaddingIsTakenOffAndItsWindowGivenBack) {
  ASSERT_TRUE(Open(1));
  ASSERT_TRUE(Send(Http2Frame(RawHttp2::kData, kPadded | RawHttp2::kEndStream, 1,
                              "\3" + MessagePrefix(4) + "data" + std::string(3, '\0')),
                   /*piece_bytes=*/2));
  std::string data;
  for (const SeenFrame& frame : ToLibrary()) {
    if (frame.type == RawHttp2::kData) data += frame.payload;
  }
  EXPECT_EQ(data, MessagePrefix(4) + "data");
  int connection_bytes = 0, stream_bytes = 0;
  for (const SeenFrame& frame : ToClient()) {
    ASSERT_EQ(frame.type, RawHttp2::kWindowUpdate);
    (frame.stream == 0 ? connection_bytes : stream_bytes) += frame.payload[3];
  }
  EXPECT_EQ(connection_bytes, 4);
  EXPECT_EQ(stream_bytes, 4);
}

TEST_F(Http2GateTest, OwnFramesWaitForTheEndOfAFrameOfTheLibrary) {
  const std::string answer = Http2Frame(RawHttp2::kPing, 1, 0, "12345678");
  Answer(answer.substr(0, 12));
  ASSERT_TRUE(Open(1, {{"te", "x"}}));
  EXPECT_EQ(gate_.to_client.size(), 12u);
  Answer(answer.substr(12));
  const auto client = ToClient();
  ASSERT_EQ(client.size(), 3u);
  EXPECT_EQ(client[0].type, RawHttp2::kPing);
  EXPECT_EQ(client[1].type, RawHttp2::kHeaders);
}

TEST_F(Http2GateTest, ACallEndsWithItsAnswerOrItsReset) {
  ASSERT_TRUE(Open(1));
  ASSERT_TRUE(Open(3));
  EXPECT_TRUE(gate_.oldest_upload());
  Answer(Http2Frame(RawHttp2::kHeaders, 4 | RawHttp2::kEndStream, 1, ""));
  ASSERT_TRUE(Send(Http2Frame(RawHttp2::kReset, 0, 3, BigEndian(8, 4))));
  EXPECT_FALSE(gate_.oldest_upload());
  EXPECT_EQ(ToLibrary().back().type, RawHttp2::kReset);
  EXPECT_EQ(gate_.upload_bytes(), 0);
}

/// Whatever comes, the gate neither fails nor passes frames that are cut.
// fm-20
TEST_F(Http2GateTest, DamagedConnectionsAreRefusedOrPassWholeFrames) {
  std::string good = Http2Frame(RawHttp2::kSettings, 0, 0, "");
  for (std::uint32_t stream = 1; stream < 12; stream += 2) {
    good += Http2Frame(RawHttp2::kHeaders, RawHttp2::kEndHeaders, stream, HeaderBlock("/a/b"));
    good += Http2Frame(RawHttp2::kData, RawHttp2::kEndStream, stream,
                       MessagePrefix(20) + std::string(20, 'x'));
  }
  std::mt19937 random(36);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 20);
          break;
        default:
          bytes.insert(at, bytes.substr(at, random() % 20));
      }
    }
    Http2Gate gate({kMaxMessageBytes, kUploadTime, kMaxStreams}, [](const Status&) {});
    bytes = kHttp2Preface + bytes;
    gate.FromClient({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, now_);
    for (const SeenFrame& frame : Frames(gate.to_library.substr(sizeof(kHttp2Preface) - 1))) {
      ASSERT_LE(frame.payload.size(), 16384u);
    }
    Frames(gate.to_client);
    ASSERT_GE(gate.upload_bytes(), 0);
    while (gate.oldest_upload()) gate.RefuseOldestUpload();
    ASSERT_EQ(gate.upload_bytes(), 0);
  }
}

}  // namespace
}  // namespace interlacer::testing
