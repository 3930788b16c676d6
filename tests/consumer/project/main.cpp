#include <iostream>

#include "client/interlacer_client.h"
#include "common/version.h"

/// Asks a port that nobody listens on: the installed library must link, run and answer with its own
/// error.
int main() {
  auto client = interlacer::Client::Create({.address = "127.0.0.1:1", .retry = false});
  if (!client.ok()) return 1;
  const auto info = (*client)->GetServerInfo({.deadline_s = 5});
  std::cout << "client " << interlacer::kVersion << ": " << info.status().ToString() << '\n';
  return info.status().code() == interlacer::StatusCode::kUnavailable ? 0 : 2;
}
