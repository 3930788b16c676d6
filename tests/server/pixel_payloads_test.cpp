/// Requests parsed around their pixels, whatever the pieces in which they arrive.

#include "server/convert/pixel_payloads.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "tests/support/wire_bytes.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

v1::SceneInput* SceneOf(v1::PredictRolloutRequest* request) {
  return request->mutable_source()->mutable_scene_input();
}

/// Parses around the pixels and puts them back; empty when the parser refuses the bytes.
std::string ParsedAndRestored(const grpc::ByteBuffer& bytes) {
  v1::PredictRolloutRequest request;
  PixelPayloads payloads;
  if (!ParseWithoutPixels(bytes, &request, &payloads).ok()) return "";
  if (request.source().has_scene_input()) RestorePixels(payloads, SceneOf(&request));
  return request.SerializeAsString();
}

TEST(PixelPayloadsTest, PiecesOfAnySizeGiveTheSameRequest) {
  const std::string bytes = MakeRolloutRequest(2).SerializeAsString();
  for (const std::size_t piece : {1, 2, 3, 7, 64, 1000, 1 << 20}) {
    EXPECT_EQ(ParsedAndRestored(InPieces(bytes, piece)), bytes) << piece;
  }
}

TEST(PixelPayloadsTest, ThePixelsStayOutOfTheMessage) {
  const v1::PredictRolloutRequest sent = MakeRolloutRequest(2);
  v1::PredictRolloutRequest request;
  PixelPayloads payloads;
  ASSERT_TRUE(
      ParseWithoutPixels(InPieces(sent.SerializeAsString(), 100), &request, &payloads).ok());
  const v1::Image& color = request.source().scene_input().observations(1).views(0).color();
  EXPECT_LT(color.data().size(), 8u);
  EXPECT_EQ(payloads.Of(color).size_bytes(),
            sent.source().scene_input().observations(1).views(0).color().data().size());
  EXPECT_EQ(payloads.Of(v1::Image()).size_bytes(), 0u);
}

/// Of a message in pieces with its scene at `scene_of`.
template <typename Request, typename SceneOfRequest>
void ExpectPixelsOutside(const Request& sent, const SceneOfRequest& scene_of) {
  Request request;
  PixelPayloads payloads;
  ASSERT_TRUE(ParseWithoutPixels(InPieces(sent.SerializeAsString(), 50), &request, &payloads).ok());
  EXPECT_EQ(payloads.count(), 8u);
  EXPECT_LT(request.ByteSizeLong(), sent.ByteSizeLong() / 2);
  RestorePixels(payloads, scene_of(&request));
  EXPECT_EQ(request.SerializeAsString(), sent.SerializeAsString());
}

TEST(PixelPayloadsTest, OfEveryMethodWithASceneToo) {
  const auto scene_of = [](auto* r) { return r->mutable_scene_input(); };
  ExpectPixelsOutside(MakeSceneRequest<v1::ValidateSceneRequest>(), scene_of);
  ExpectPixelsOutside(MakeSceneRequest<v1::CreateSceneRequest>(), scene_of);
  v1::PredictCandidatesRequest candidates;
  *candidates.mutable_source()->mutable_scene_input() = MakeSceneInput();
  ExpectPixelsOutside(candidates,
                      [](auto* r) { return r->mutable_source()->mutable_scene_input(); });
}

TEST(PixelPayloadsTest, OfAnUpdateToo) {
  v1::UpdateSceneRequest sent;
  sent.set_scene_id("id");
  *sent.mutable_observation() = MakeSceneInput().observations(0);
  v1::UpdateSceneRequest request;
  PixelPayloads payloads;
  ASSERT_TRUE(ParseWithoutPixels(InPieces(sent.SerializeAsString(), 50), &request, &payloads).ok());
  EXPECT_EQ(payloads.count(), 4u);
  v1::SceneInput scene;
  *scene.add_observations() = request.observation();
  RestorePixels(payloads, &scene);
  EXPECT_EQ(scene.observations(0).SerializeAsString(), sent.observation().SerializeAsString());
}

/// The rule of the encoding: of a field given twice the last counts, and messages merge.
TEST(PixelPayloadsTest, FieldsGivenTwice) {
  v1::PredictRolloutRequest first = MakeRolloutRequest(1), second = MakeRolloutRequest(1);
  SceneOf(&second)->mutable_observations(0)->mutable_views(0)->mutable_color()->set_data("other");
  const std::string bytes = first.SerializeAsString() + second.SerializeAsString();
  v1::PredictRolloutRequest whole;
  ASSERT_TRUE(whole.ParseFromString(bytes));
  EXPECT_EQ(ParsedAndRestored(InPieces(bytes, 33)), whole.SerializeAsString());
}

/// Groups are no part of the protocol, but a parser must skip them.
TEST(PixelPayloadsTest, UnknownGroupsGoThroughTheGeneratedParser) {
  const std::string group = "\xab\x06\x08\x01\xac\x06";  // field 101: start, field 1 = 1, end
  const std::string bytes = MakeRolloutRequest(1).SerializeAsString() + group;
  v1::PredictRolloutRequest whole;
  ASSERT_TRUE(whole.ParseFromString(bytes));
  EXPECT_EQ(ParsedAndRestored(InPieces(bytes, 40)), whole.SerializeAsString());
}

std::string Field(const std::string& tag, const std::string& content) {
  std::string bytes = tag;
  for (std::size_t size = content.size();; size >>= 7) {
    bytes.push_back(static_cast<char>(size < 0x80 ? size : size | 0x80));
    if (size < 0x80) return bytes + content;
  }
}

/// Parsers cut tags down to 32 bits or refuse them; the client's bytes must never pass for a token.
TEST(PixelPayloadsTest, OverlongTagsMeanWhatTheGeneratedParserSays) {
  const int path[] = {v1::PredictRolloutRequest::kSourceFieldNumber,
                      v1::PredictionSource::kSceneInputFieldNumber,
                      v1::SceneInput::kObservationsFieldNumber,
                      v1::Observation::kViewsFieldNumber,
                      v1::RgbdView::kColorFieldNumber,
                      v1::Image::kDataFieldNumber};
  constexpr int kLevels = static_cast<int>(std::size(path));
  const std::string high_bits = "\x80\x80\x80\x10", zeros("\x80\x80\x80\x00", 4);
  for (const std::string& tail : {high_bits, zeros}) {
    for (const std::string content : {"abc", "\xff\xff\xff\xff", "pixels"}) {
      for (int odd = 0; odd < kLevels; ++odd) {
        std::string bytes = content;
        for (int level = kLevels - 1; level >= 0; --level) {
          const char tag = static_cast<char>(path[level] << 3 | 2);
          bytes = Field(level == odd ? std::string(1, static_cast<char>(tag | 0x80)) + tail
                                     : std::string(1, tag),
                        bytes);
        }
        v1::PredictRolloutRequest whole;
        const bool is_message = whole.ParseFromString(bytes);
        EXPECT_EQ(ParsedAndRestored(InPieces(bytes, 5)),
                  is_message ? whole.SerializeAsString() : "")
            << "level " << odd;
      }
    }
  }
}

TEST(PixelPayloadsTest, RepeatedPayloadsAreNotKept) {
  constexpr std::size_t kRepeated = 100000, kKept = 1024;
  std::string image;
  for (std::size_t i = 0; i < kRepeated; ++i) image += "\x3a\x01x";
  const int tags[] = {v1::PredictRolloutRequest::kSourceFieldNumber,
                      v1::PredictionSource::kSceneInputFieldNumber,
                      v1::SceneInput::kObservationsFieldNumber, v1::Observation::kViewsFieldNumber,
                      v1::RgbdView::kColorFieldNumber};
  std::string bytes = image;
  for (int level = static_cast<int>(std::size(tags)) - 1; level >= 0; --level) {
    bytes = Field(std::string(1, static_cast<char>(tags[level] << 3 | 2)), bytes);
  }
  v1::PredictRolloutRequest request, whole;
  PixelPayloads payloads;
  ASSERT_TRUE(whole.ParseFromString(bytes));
  ASSERT_TRUE(ParseWithoutPixels(InPieces(bytes, 1000), &request, &payloads).ok());
  EXPECT_LE(payloads.count(), kKept);
  RestorePixels(payloads, SceneOf(&request));
  EXPECT_EQ(request.SerializeAsString(), whole.SerializeAsString());
}

Status Parse(const std::string& bytes) {
  v1::ValidateSceneRequest request;
  PixelPayloads payloads;
  return ParseWithoutPixels(InPieces(bytes, 1 << 16), &request, &payloads);
}

std::string SceneOfObservations(const std::string& observations) {
  return Field({static_cast<char>(v1::ValidateSceneRequest::kSceneInputFieldNumber << 3 | 2)},
               observations);
}

/// Only pixels may be many: of small messages each takes many times its bytes.
TEST(PixelPayloadsTest, MuchBesideThePixelsIsRefusedUnparsed) {
  auto pixels = MakeSceneRequest<v1::ValidateSceneRequest>();
  v1::RgbdView* view = pixels.mutable_scene_input()->mutable_observations(0)->mutable_views(0);
  view->mutable_color()->set_data(std::string(4 * kMaxParsedBytes, 'x'));
  EXPECT_TRUE(Parse(pixels.SerializeAsString()).ok());

  std::string observations;
  while (observations.size() <= kMaxParsedBytes) observations += std::string("\x0a\x00", 2);
  EXPECT_EQ(Parse(SceneOfObservations(observations)).reason(), reason::HOST_MEMORY);
  view->set_camera_name(std::string(2 * kMaxParsedBytes, 'x'));
  EXPECT_EQ(Parse(pixels.SerializeAsString()).reason(), reason::HOST_MEMORY);
}

TEST(PixelPayloadsTest, LargeRequestsMustBeInTheShortestEncoding) {
  const std::string group = "\xab\x06\xac\x06";
  std::string observations;
  while (observations.size() <= kMaxParsedBytes) observations += std::string("\x0a\x00", 2);
  const Status status = Parse(group + SceneOfObservations(observations));
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("shortest encoding"), std::string::npos) << status.message();
}

TEST(PixelPayloadsTest, CutRequestsAreRefused) {
  const std::string bytes = MakeRolloutRequest(1).SerializeAsString();
  for (const std::size_t size : {bytes.size() - 1, bytes.size() / 2, std::size_t{5}}) {
    v1::PredictRolloutRequest request;
    PixelPayloads payloads;
    const bool is_message = v1::PredictRolloutRequest().ParseFromString(bytes.substr(0, size));
    EXPECT_EQ(ParseWithoutPixels(InPieces(bytes.substr(0, size), 64), &request, &payloads).ok(),
              is_message);
    EXPECT_FALSE(is_message);
  }
}

TEST(PixelPayloadTest, RunsOfElementsAcrossPieces) {
  std::vector<std::uint8_t> bytes(41);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  for (const std::size_t piece : {1, 2, 3, 5, 41}) {
    PixelPayload payload;
    for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
      payload.Add(PixelPayload::Piece(bytes).subspan(begin, std::min(piece, 41 - begin)));
    }
    std::vector<std::uint8_t> seen;
    payload.ForRuns<4>(1, 9, [&](const std::uint8_t* run, std::size_t count) {
      seen.insert(seen.end(), run, run + 4 * count);
    });
    EXPECT_EQ(seen, std::vector<std::uint8_t>(bytes.begin() + 1, bytes.begin() + 37)) << piece;
    std::vector<std::uint8_t> copy;
    const PixelPayload::Piece joined = payload.Joined(&copy);
    EXPECT_TRUE(std::equal(joined.begin(), joined.end(), bytes.begin(), bytes.end())) << piece;
  }
}

}  // namespace
}  // namespace interlacer::testing
