#include "fs/sandbox/capabilities.hpp"

#include <memory>
#include <type_traits>
#include <vector>

#include <sys/capability.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kCapabilities = "giving up capabilities";

struct FreeCapabilities {
  void operator()(cap_t capabilities) const { ::cap_free(capabilities); }
};
using Capabilities = std::unique_ptr<std::remove_pointer_t<cap_t>, FreeCapabilities>;

std::vector<cap_value_t> values_of(const NeededCapabilities& needed) {
  std::vector<cap_value_t> capabilities = {CAP_DAC_READ_SEARCH, CAP_FOWNER};
  if (needed.trusted_xattrs) capabilities.push_back(CAP_SYS_ADMIN);
  if (needed.writes)
    capabilities.insert(capabilities.end(), {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FSETID, CAP_LEASE,
                                             CAP_SETGID, CAP_SETUID});
  if (needed.writes && needed.devices) capabilities.push_back(CAP_MKNOD);
  return capabilities;
}

bool includes(const Capabilities& all, cap_flag_t set, cap_value_t one) {
  cap_flag_value_t value = CAP_CLEAR;
  return ::cap_get_flag(all.get(), one, set, &value) == 0 && value == CAP_SET;
}

void keep(const std::vector<cap_value_t>& wanted) {
  const Capabilities before(::cap_get_proc());
  const Capabilities after(::cap_init());
  if (!before || !after) frame::throw_errno(kCapabilities);
  for (const cap_value_t one : wanted)
    for (const cap_flag_t set : {CAP_EFFECTIVE, CAP_PERMITTED})
      if (includes(before, set, one)) ::cap_set_flag(after.get(), set, 1, &one, CAP_SET);
  // The bounding set limits programs that the process executes. Only CAP_SETPCAP can reduce it.
  if (includes(before, CAP_EFFECTIVE, CAP_SETPCAP))
    for (cap_value_t one = 0; one < ::cap_max_bits(); one++)
      if (!includes(after, CAP_PERMITTED, one) && ::cap_drop_bound(one) != 0)
        frame::throw_errno(kCapabilities);
  if (::cap_set_proc(after.get()) != 0) frame::throw_errno(kCapabilities);
}

}  // namespace

void keep_needed_capabilities(const NeededCapabilities& needed) { keep(values_of(needed)); }

void keep_no_capabilities() { keep({}); }

}  // namespace bloscfs::fs
