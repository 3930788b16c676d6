#pragma once

/// Servers that only echo, to measure the cost of transport: gRPC's callback API over raw bytes,
/// and a bare socket. Each listens on a free loopback port and stops with its object. Threads:
/// their own.

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "interlacer/v1/interlacer_service.grpc.pb.h"

namespace interlacer::bench {

/// GetModelMetadata returns the bytes of its request, ValidateScene about as many bytes as `reply`
/// has, and PredictRollout streams `reply` as its only message, together with the status.
class EchoServer {
 public:
  explicit EchoServer(const ::interlacer::v1::PredictRolloutResponse& reply = {});
  ~EchoServer();
  int port() const { return port_; }

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

/// One connection that repeatedly reads `request_bytes` and writes `reply_bytes`. Exchange throws
/// PeerError when a socket fails.
class TcpPingPong {
 public:
  TcpPingPong(std::size_t request_bytes, std::size_t reply_bytes);
  ~TcpPingPong();
  void Exchange();

 private:
  std::string request_, reply_;
  int client_ = -1;
  std::jthread server_;
};

}  // namespace interlacer::bench
