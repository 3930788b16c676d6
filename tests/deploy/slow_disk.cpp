/// To be preloaded: the first file whose name ends as INTERLACER_SLOW_FILE says takes ten minutes
/// to open, as on a network disk that is gone.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

constexpr unsigned kOpeningS = 600;

void WaitFor(const char* path) {
  const char* slow = std::getenv("INTERLACER_SLOW_FILE");
  if (slow != nullptr && std::string_view(path).ends_with(slow)) sleep(kOpeningS);
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  using Open = int (*)(const char*, int, ...);
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "open"));
  WaitFor(path);
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return next(path, flags, mode);
}
