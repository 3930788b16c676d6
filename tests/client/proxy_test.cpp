#include "client/proxy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "client/interlacer_client.h"

namespace interlacer {
namespace {

TEST(ProxyTest, AddressesOfThisMachineAreKnown) {
  for (const char* address :
       {"localhost:50051", "127.0.0.1:1", "127.1.2.3:1", "[::1]:50051", "dns:localhost:1",
        "dns:///127.0.0.1:1", "ipv4:127.0.0.1:1", "ipv6:[::1]:1", "ipv6:[::ffff:127.0.0.1]:1",
        "0.0.0.0:50051", "[::]:50051", "unix:/tmp/a.sock", "unix-abstract:a", "localhost", "::1"}) {
    EXPECT_TRUE(IsLocalAddress(address)) << address;
  }
  for (const char* address : {"10.0.0.5:50051", "127.example.com:1", "localhost.example:1",
                              "[2001:db8::1]:1", "dns:///robot:50051", "robot", "", "dns://"}) {
    EXPECT_FALSE(IsLocalAddress(address)) << address;
  }
}

/// Sets a variable for one test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~ScopedVariable() { unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
};

TEST(ProxyTest, HostsThatNoProxyNamesGoWithoutOne) {
  const ScopedVariable proxy("https_proxy", "http://127.0.0.1:9");
  EXPECT_EQ(ProxyFor("robot.lab:50051"), "https_proxy");
  EXPECT_EQ(ProxyFor("localhost:50051"), "");
  {
    const ScopedVariable none("no_proxy", "example.com, .LAB");
    EXPECT_EQ(ProxyFor("robot.lab:50051"), "");
    EXPECT_EQ(ProxyFor("dns:///robot.lab:50051"), "");
    EXPECT_EQ(ProxyFor("robot.org:50051"), "https_proxy");
    const ScopedVariable first("no_grpc_proxy", "robot.org");
    EXPECT_EQ(ProxyFor("robot.org:50051"), "");
    EXPECT_EQ(ProxyFor("robot.lab:50051"), "https_proxy");
  }
  EXPECT_EQ(ProxyFor("robot.lab:50051"), "https_proxy");
}

std::string MessageOfUnreachable(const std::string& address) {
  const auto client = Client::Create({.address = address, .retry = false});
  CallOptions options;
  options.deadline_s = 5;
  const auto info = (*client)->GetServerInfo(options);
  return info.status().ToString();
}

TEST(ProxyTest, AProxyInTheWayIsNamedAndItsValueIsNot) {
  const ScopedVariable proxy("http_proxy", "http://user:secret@127.0.0.1:9");
  const std::string far = MessageOfUnreachable("192.0.2.1:50051");  // an address of no one
  EXPECT_NE(far.find("http_proxy"), std::string::npos) << far;
  EXPECT_NE(far.find("no_proxy"), std::string::npos) << far;
  EXPECT_EQ(far.find("secret"), std::string::npos) << far;
  const std::string local = MessageOfUnreachable("127.0.0.1:9");  // refused without the proxy
  EXPECT_EQ(local.find("http_proxy"), std::string::npos) << local;
}

}  // namespace
}  // namespace interlacer
