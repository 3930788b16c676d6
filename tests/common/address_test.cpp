#include "common/address.h"

#include <gtest/gtest.h>

#include <string>

namespace interlacer {
namespace {

TEST(Address, ClientsConnectToHostsAndPaths) {
  for (const char* address :
       {"localhost:50051", "127.0.0.1:1", "robot-1.lab:65535", "my_host:1", "[::1]:58321",
        "[fe80::1%eth0]:1", "dns:robot:1", "dns:///robot:1", "dns://8.8.8.8/robot:1",
        "ipv4:10.0.0.1:1", "ipv4:10.0.0.1:1,10.0.0.2:1", "ipv6:[::1]:1", "unix:/run/a.sock",
        "unix:///run/a.sock", "unix:a b.sock", "unix-abstract:name"}) {
    EXPECT_TRUE(CheckServerAddress(address).ok()) << CheckServerAddress(address).ToString();
  }
}

TEST(Address, WhatALibraryWouldReadInItsOwnWayIsRefused) {
  for (const char* address : {"",
                              "localhost",
                              "localhost:",
                              ":50051",
                              "localhost:99999",
                              "localhost:0",
                              "localhost:00",
                              "localhost:grpc",
                              "localhost:-1",
                              "localhost:1 ",
                              " localhost:1",
                              "my host:1",
                              "[::1]",
                              "[::1]:",
                              "::1:58321",
                              "[localhost]:1",
                              "[]:1",
                              "http://127.0.0.1:1",
                              "https://a:1",
                              "grpc://a:1",
                              "dns:///robot",
                              "dns://robot:1",
                              "ipv4:10.0.0.1:1,10.0.0.2",
                              "a:1,b:1",
                              "user@host:1",
                              "unix:",
                              "unix-abstract:"}) {
    const Status status = CheckServerAddress(address);
    EXPECT_EQ(status.reason(), reason::ARGUMENT_INVALID) << address;
    EXPECT_EQ(status.field(), "address") << address;
  }
  EXPECT_FALSE(CheckServerAddress("unix:/" + std::string(107, 'x')).ok());
  EXPECT_NE(CheckServerAddress("http://a:1").message().find("no http://"), std::string::npos);
}

TEST(Address, ServersListenOnAnyPortButNotBehindSchemes) {
  EXPECT_TRUE(CheckListenAddress("127.0.0.1:0").ok());
  for (const char* address : {"dns:robot:1", "ipv4:10.0.0.1:1", "::1:1", "http://127.0.0.1:1"}) {
    EXPECT_EQ(CheckListenAddress(address).reason(), reason::CONFIG_INVALID) << address;
  }
}

}  // namespace
}  // namespace interlacer
