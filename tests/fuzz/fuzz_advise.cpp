// b2frame advise of a file of arbitrary bytes: whatever its frame claims, taking samples of it, and
// encoding them as it says, ends soon and in little memory (run.sh has the limits).

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
  // One piece is read, and settings are measured with one.
  constexpr tools::AdviceTimes kShortTimes{milliseconds{1}, milliseconds{2}, milliseconds{3}};
  try {
    tools::advise(frame::descriptor_path(file.get()), {}, limits, kShortTimes);
  } catch (const std::runtime_error&) {
    // Refused, as are all of codec::Error and std::system_error.
  }
  return 0;
}
