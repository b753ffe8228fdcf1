// b2frame advise on a file of arbitrary bytes. Whatever its frame claims, sampling it and encoding
// the samples must end soon, and take little memory (run.sh has the limits).

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/open_regular.hpp"
#include "tools/advice.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloscfs;
  using std::chrono::milliseconds;
  const frame::UniqueFd file(::memfd_create("advised", MFD_CLOEXEC));
  if (::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  tools::RunLimits limits;
  // With these times, it reads one piece, and measures each setting with one piece.
  constexpr tools::AdviceTimes kShortTimes{milliseconds{1}, milliseconds{2}, milliseconds{3}};
  try {
    tools::advise(frame::descriptor_path(file.get()), {}, limits, kShortTimes);
  } catch (const std::runtime_error&) {
    // Refused. All exceptions are derived from std::runtime_error, also codec::Error and
    // std::system_error.
  }
  return 0;
}
