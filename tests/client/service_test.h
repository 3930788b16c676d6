#pragma once

/// A service of a test's own on a port of loopback, and a client of it.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "client/interlacer_client.h"

namespace interlacer::testing {

template <typename Service>
class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.SetMaxReceiveMessageSize(64 << 20);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    client_ = *Client::Create({.address = "127.0.0.1:" + std::to_string(port)});
    call_.deadline_s = 10;
  }

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Client> client_;
  CallOptions call_;
};

}  // namespace interlacer::testing
