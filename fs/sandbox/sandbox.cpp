#include "fs/sandbox/sandbox.hpp"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <netdb.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/sandbox/capabilities.hpp"
#include "fs/sandbox/landlock.hpp"
#include "fs/sandbox/private_namespace.hpp"
#include "fs/sandbox/seccomp_filter.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// True in a build with sanitizers, which gets a sandbox only if that is required. At the end,
/// sanitizers look for leaks with system calls that the sandbox forbids.
#ifdef BLOSCFS_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

OtherMounts others_of(const MountOptions& options) {
  return options.cross_mounts ? OtherMounts::enter : OtherMounts::leave_out;
}

/// The files for looking up names, and for certificates.
constexpr const char* kNetworkFiles[] = {"/etc/resolv.conf",
                                         "/etc/hosts",
                                         "/etc/host.conf",
                                         "/etc/nsswitch.conf",
                                         "/etc/gai.conf",
                                         "/etc/services",
                                         "/etc/ssl",
                                         "/etc/pki",
                                         "/etc/ca-certificates",
                                         "/usr/lib/ssl",
                                         "/usr/share/ca-certificates",
                                         "/usr/local/share/ca-certificates",
                                         "/run/systemd/resolve",
                                         "/run/resolvconf"};

/// Looks up a name, so that its libraries are loaded. They cannot be loaded later.
void load_resolver() {
  addrinfo* found = nullptr;
  if (::getaddrinfo("localhost", nullptr, nullptr, &found) == 0) ::freeaddrinfo(found);
}

void set_process(int operation, unsigned long value) {
  if (::prctl(operation, value, 0, 0, 0) != 0) frame::throw_errno("prctl");
}

}  // namespace

/// Applies a layer. Returns false if it is unavailable and not required.
template <typename Work>
bool Sandbox::apply(const char* layer, const Work& work) const {
  try {
    work();
    return true;
  } catch (const std::system_error& error) {
    const std::string missing = fmt::format("no {} ({})", layer, error.code().message());
    if (policy_ == SandboxPolicy::required)
      throw std::runtime_error(
          fmt::format("sandbox=require, but the sandbox cannot be had: {}", missing));
    log::info(fmt::format("sandbox: {}; continuing without it", missing));
    return false;
  }
}

Sandbox::Sandbox(SandboxPolicy policy, const std::string& mountpoint, const std::string& log_file)
    : policy_(policy) {
  if (policy == SandboxPolicy::off) return;
  if (kIsSanitized && policy == SandboxPolicy::automatic) return;
  apply("helper process for unmounting", [&] { janitor_.emplace(mountpoint, log_file); });
}

MountSource Sandbox::open(const std::string& path, const MountOptions& options) {
  MountSource source = open_source(path, options.raw, options.stores);
  if (!janitor_ || ::geteuid() != 0) return source;
  apply("private mount namespace", [&] {
    frame::UniqueFd copy = detached_copy(source.root, others_of(options), !options.read_only);
    outer_root_ = std::exchange(source.root, std::move(copy));
  });
  return source;
}

void Sandbox::enter_namespace(MountSource& source, const MountOptions& options) {
  frame::UniqueFd outer = std::move(outer_root_);
  // In a detached copy, ".." does not lead out of the rescue folder.
  if (source.rescue) {
    frame::UniqueFd& folder = source.rescue->descriptor();
    apply("private mount namespace",
          [&] { folder = detached_copy(folder, OtherMounts::leave_out, !options.read_only); });
  }
  std::vector<std::string> left_out;
  if (others_of(options) == OtherMounts::leave_out) left_out = mount_points_below(source.directory);
  if (!apply("private mount namespace", [&] { enter_private_namespace(source.root, left_out); }))
    source.root = std::move(outer);
}

void Sandbox::close(MountSource& source, const MountOptions& options) {
  if (!janitor_) return;
  ::tzset();  // loads the time zone for the log: its file cannot be opened later
  if (outer_root_) enter_namespace(source, options);
  const bool writes = !options.read_only;
  apply("limit on capabilities", [&] {
    keep_needed_capabilities({writes, options.devices, options.trusted_xattrs});
  });
  const bool has_no_new = apply("no_new_privs flag", [] { set_process(PR_SET_NO_NEW_PRIVS, 1); });
  apply("protection from core dumps", [] { set_process(PR_SET_DUMPABLE, 0); });
  // The kernel refuses Landlock and seccomp without this flag.
  if (!has_no_new) return;
  const int rescue = source.rescue ? source.rescue->descriptor().get() : -1;
  apply("Landlock rules", [&] { restrict_to_source(source.root.get(), writes, rescue); });
  apply("seccomp filter", [&] { allow_needed_calls({false, options.devices, options.set_ids}); });
}

void Sandbox::close_for_network(const std::vector<std::string>& files,
                                const std::vector<std::string>& folders) {
  if (!janitor_) return;
  ::tzset();
  load_resolver();
  std::vector<std::string> read(std::begin(kNetworkFiles), std::end(kNetworkFiles));
  read.insert(read.end(), files.begin(), files.end());
  if (::geteuid() == 0)
    apply("private mount namespace", [&] { enter_private_namespace(read, folders); });
  apply("limit on capabilities", [] { keep_no_capabilities(); });
  const bool has_no_new = apply("no_new_privs flag", [] { set_process(PR_SET_NO_NEW_PRIVS, 1); });
  apply("protection from core dumps", [] { set_process(PR_SET_DUMPABLE, 0); });
  // The kernel refuses Landlock and seccomp without this flag.
  if (!has_no_new) return;
  apply("Landlock rules", [&] { restrict_to_network(read, folders); });
  apply("seccomp filter", [] { allow_needed_calls({true, false, false}); });
}

}  // namespace bloscfs::fs
