/// Paths of unix sockets at which something stands already.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "server/transport/listening_sockets.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

/// A socket of a kind, bound to a path.
UniqueFd Bound(int type, const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, type, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

// fm-28
TEST(SocketPath, OfAnotherKindOfSocketIsRefusedAndStays) {
  const TempFolder folder;
  const std::string path = folder.File("socket");
  for (const int type : {SOCK_DGRAM, SOCK_SEQPACKET}) {
    const UniqueFd other = Bound(type, path);
    const Status status = ListeningSockets::Open("unix:" + path).status();
    EXPECT_EQ(status.reason(), reason::CONFIG_INVALID);
    EXPECT_EQ(status.field(), "address");
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
    EXPECT_EQ(access(path.c_str(), F_OK), 0) << "it is in use";
    unlink(path.c_str());
  }
}

// fm-28
TEST(SocketPath, OfASocketThatHasNoListenerAnyMoreIsTakenOver) {
  const TempFolder folder;
  const std::string path = folder.File("socket");
  Bound(SOCK_STREAM, path);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  EXPECT_TRUE(ListeningSockets::Open("unix:" + path).ok());
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "its destructor removes what it made";
}

}  // namespace
}  // namespace interlacer::testing
