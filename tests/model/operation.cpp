#include "tests/model/operation.hpp"

#include <cstring>
#include <iomanip>
#include <sstream>
#include <type_traits>

#include <sys/stat.h>

namespace bloscfs::test {

std::string describe(const Operation& operation) {
  std::ostringstream text;
  text << operation.kind->name;
  const auto add = [&text](const char* name, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) text << " " << name << "=" << value;
  };
  add("path", operation.path);
  add("other", operation.other);
  if (operation.path.empty()) text << " slot=" << operation.slot;
  if (operation.other_slot != kNoSlot) text << " other_slot=" << operation.other_slot;
  text << std::oct << std::showbase;
  add("flags", operation.flags);
  add("mode", operation.mode);
  text << std::dec;
  add("offset", operation.offset);
  add("other_offset", operation.other_offset);
  add("size", operation.size);
  add("bytes", operation.bytes.size());
  add("text", operation.text);
  if (operation.kind->touches == Touches::times)
    for (const auto& time : operation.times) {
      if (time.tv_nsec == UTIME_OMIT)
        text << " omitted";
      else
        text << " " << time.tv_sec << "." << std::setw(9) << std::setfill('0') << time.tv_nsec;
    }
  return text.str();
}

std::string describe(const Outcome& outcome) {
  std::ostringstream text;
  text << "returned " << outcome.value;
  if (outcome.error != 0) text << ", " << std::strerror(outcome.error);
  if (!outcome.bytes.empty()) text << ", " << outcome.bytes.size() << " bytes";
  for (const auto& name : outcome.names) text << " '" << name << "'";
  return text.str();
}

}  // namespace bloscfs::test
