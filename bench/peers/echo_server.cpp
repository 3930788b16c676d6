#include "bench/peers/echo_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/child_peer.h"

namespace interlacer::bench {
namespace {

namespace wire = ::interlacer::v1;

grpc::ByteBuffer Serialized(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

/// A response of about `bytes` bytes: one finding with a long message.
grpc::ByteBuffer ReplyOfSize(std::size_t bytes) {
  wire::ValidateSceneResponse response;
  response.mutable_report()->add_findings()->set_message(std::string(bytes, 'x'));
  return Serialized(response);
}

bool ReadAll(int socket, std::string* into) {
  for (std::size_t done = 0; done < into->size();) {
    const ssize_t got = read(socket, into->data() + done, into->size() - done);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

bool WriteAll(int socket, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t sent = send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

void SendAtOnce(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/// Sends one message together with the status, the least work of a server stream.
class OneMessage final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit OneMessage(grpc::ByteBuffer message) : message_(std::move(message)) {
    StartWriteAndFinish(&message_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

}  // namespace

class EchoServer::Service final
    : public wire::InterlacerService::WithRawCallbackMethod_GetModelMetadata<
          wire::InterlacerService::WithRawCallbackMethod_ValidateScene<
              wire::InterlacerService::WithRawCallbackMethod_PredictRollout<
                  wire::InterlacerService::Service>>> {
 public:
  explicit Service(const wire::PredictRolloutResponse& reply)
      : unary_reply_(ReplyOfSize(reply.ByteSizeLong())), stream_reply_(Serialized(reply)) {}

  grpc::ServerUnaryReactor* GetModelMetadata(grpc::CallbackServerContext* context,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override {
    *response = *request;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* ValidateScene(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer*,
                                          grpc::ByteBuffer* response) override {
    *response = unary_reply_;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* PredictRollout(grpc::CallbackServerContext*,
                                                             const grpc::ByteBuffer*) override {
    return new OneMessage(stream_reply_);
  }

 private:
  const grpc::ByteBuffer unary_reply_;
  const grpc::ByteBuffer stream_reply_;
};

EchoServer::EchoServer(const wire::PredictRolloutResponse& reply)
    : service_(std::make_unique<Service>(reply)) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (!server_) throw PeerError("the echo server cannot listen");
}

EchoServer::~EchoServer() { server_->Shutdown(); }

TcpPingPong::TcpPingPong(std::size_t request_bytes, std::size_t reply_bytes)
    : request_(request_bytes, 'q'), reply_(reply_bytes, 'r') {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  client_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected =
      bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      listen(listener, 1) == 0 &&
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
      connect(client_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  const int accepted = connected ? accept(listener, nullptr, nullptr) : -1;
  close(listener);
  if (accepted < 0) {
    close(client_);
    throw PeerError("no loopback socket");
  }
  SendAtOnce(client_);
  SendAtOnce(accepted);
  server_ = std::jthread([accepted, request_bytes, reply = reply_] {
    std::string request(request_bytes, 0);
    while (ReadAll(accepted, &request) && WriteAll(accepted, reply)) {
    }
    close(accepted);
  });
}

TcpPingPong::~TcpPingPong() { close(client_); }

void TcpPingPong::Exchange() {
  if (!WriteAll(client_, request_) || !ReadAll(client_, &reply_)) {
    throw PeerError("the raw socket failed");
  }
}

}  // namespace interlacer::bench
