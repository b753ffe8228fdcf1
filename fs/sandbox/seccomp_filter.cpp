#include "fs/sandbox/seccomp_filter.hpp"

#ifndef BLOSCFS_SANITIZED

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kSeccomp = "seccomp";

/// System calls that are allowed with any arguments, grouped by task. If a call has different names
/// on two architectures, both are listed.
constexpr int kCalls[] = {
    // requests of the kernel, and replies
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(splice),
    SCMP_SYS(vmsplice), SCMP_SYS(pipe2), SCMP_SYS(poll), SCMP_SYS(ppoll),
    // files: find and close
    SCMP_SYS(close), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
    SCMP_SYS(statx), SCMP_SYS(fstatfs), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(readlinkat), SCMP_SYS(getdents64), SCMP_SYS(lseek), SCMP_SYS(chdir),
    // contents of files
    SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(pwritev), SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate), SCMP_SYS(copy_file_range), SCMP_SYS(sync_file_range), SCMP_SYS(fsync),
    SCMP_SYS(fdatasync), SCMP_SYS(syncfs), SCMP_SYS(flock),
    // names of files
    SCMP_SYS(mkdirat), SCMP_SYS(unlinkat), SCMP_SYS(renameat), SCMP_SYS(renameat2),
    // acting as another user
    SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(setgroups), SCMP_SYS(getgroups),
    SCMP_SYS(capget), SCMP_SYS(capset), SCMP_SYS(umask), SCMP_SYS(geteuid), SCMP_SYS(getegid),
    // memory
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    // threads, signals, time
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(gettid), SCMP_SYS(getpid),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(restart_syscall),
    SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(clock_nanosleep), SCMP_SYS(getrandom),
    // background, log and janitor
    SCMP_SYS(setsid), SCMP_SYS(wait4), SCMP_SYS(recvfrom),
    // exit
    SCMP_SYS(exit), SCMP_SYS(exit_group)};

/// Additional calls for a SOURCE of files: inotify, links and attributes. Attributes are not
/// covered by Landlock, which allows them for all files.
constexpr int kFileCalls[] = {SCMP_SYS(inotify_init1),    SCMP_SYS(inotify_add_watch),
                              SCMP_SYS(inotify_rm_watch), SCMP_SYS(symlinkat),
                              SCMP_SYS(linkat),           SCMP_SYS(fchown),
                              SCMP_SYS(fchownat),         SCMP_SYS(utimensat),
                              SCMP_SYS(getxattr),         SCMP_SYS(fgetxattr),
                              SCMP_SYS(setxattr),         SCMP_SYS(fsetxattr),
                              SCMP_SYS(listxattr),        SCMP_SYS(flistxattr),
                              SCMP_SYS(removexattr),      SCMP_SYS(fremovexattr)};

/// Additional calls for a SOURCE that is a URL: connections and name lookups.
constexpr int kNetworkCalls[] = {SCMP_SYS(connect),     SCMP_SYS(sendto),      SCMP_SYS(bind),
                                 SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt),
                                 SCMP_SYS(sendmsg),     SCMP_SYS(setsockopt),  SCMP_SYS(sendmmsg),
                                 SCMP_SYS(recvmsg),     SCMP_SYS(select),      SCMP_SYS(shutdown),
                                 SCMP_SYS(pselect6),    SCMP_SYS(uname),       SCMP_SYS(eventfd2)};

/// Allowed commands of fcntl(2): none that sends signals to other processes.
constexpr int kFileCommands[] = {F_DUPFD_CLOEXEC, F_GETFD,  F_SETFD,    F_GETFL,     F_GETPIPE_SZ,
                                 F_SETPIPE_SZ,    F_SETSIG, F_SETLEASE, F_OFD_GETLK, F_OFD_SETLK};

class Filter {
 public:
  Filter() : context_(::seccomp_init(SCMP_ACT_ERRNO(ENOSYS)), ::seccomp_release) {
    if (!context_) frame::throw_errno(ENOMEM, kSeccomp);
    // Makes the filter a binary tree, so that no call takes many comparisons.
    check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
    check(::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  }

  void allow(int call, const std::vector<scmp_arg_cmp>& when = {}) {
    add(SCMP_ACT_ALLOW, call, when);
  }
  void refuse(int call, const std::vector<scmp_arg_cmp>& when) {
    add(SCMP_ACT_ERRNO(EPERM), call, when);
  }

  void load() { check(::seccomp_load(context_.get())); }

 private:
  void add(std::uint32_t action, int call, const std::vector<scmp_arg_cmp>& when) {
    check(::seccomp_rule_add_array(context_.get(), action, call, static_cast<unsigned>(when.size()),
                                   when.data()));
  }
  static void check(int result) {
    if (result < 0) frame::throw_errno(-result, kSeccomp);
  }

  const std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, void (*)(scmp_filter_ctx)> context_;
};

scmp_arg_cmp equals(unsigned argument, std::uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

/// Holds if the bits in `mask` of the argument are those of `value`.
scmp_arg_cmp has_bits(unsigned argument, std::uint64_t mask, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

constexpr mode_t kSetIds = S_ISUID | S_ISGID;

/// Allows `call` if the bits in `mask` of its mode are those of `value`. Refuses set-user-ID and
/// set-group-ID bits (EPERM), unless they are needed. A call with its mode behind a pointer, such
/// as openat2(2), must not be allowed at all: the filter cannot see that mode.
void allow_mode(Filter& filter, const NeededCalls& needed, int call, unsigned argument,
                mode_t mask = 0, mode_t value = 0, std::initializer_list<scmp_arg_cmp> when = {}) {
  for (const mode_t bits : {mode_t{0}, mode_t{S_ISUID}, mode_t{S_ISGID}, kSetIds}) {
    std::vector<scmp_arg_cmp> conditions = when;
    conditions.push_back(has_bits(argument, mask | kSetIds, value | bits));
    if (bits == 0 || needed.set_ids)
      filter.allow(call, conditions);
    else
      filter.refuse(call, conditions);
  }
}

/// Checks the mode only if openat(2) may make a file.
void allow_opening(Filter& filter, const NeededCalls& needed) {
  constexpr std::uint64_t kTemporary = O_TMPFILE & ~O_DIRECTORY;
  constexpr std::uint64_t kMaking = O_CREAT | kTemporary;
  filter.allow(SCMP_SYS(openat), {has_bits(2, kMaking, 0)});
  for (const std::uint64_t how : {std::uint64_t{O_CREAT}, kTemporary, kMaking})
    allow_mode(filter, needed, SCMP_SYS(openat), 3, 0, 0, {has_bits(2, kMaking, how)});
}

void allow_special_files(Filter& filter, const NeededCalls& needed) {
  for (const mode_t type : {mode_t{0}, mode_t{S_IFREG}, mode_t{S_IFIFO}, mode_t{S_IFSOCK}})
    allow_mode(filter, needed, SCMP_SYS(mknodat), 2, S_IFMT, type);
  for (const mode_t type : {mode_t{S_IFCHR}, mode_t{S_IFBLK}}) {
    if (needed.devices)
      allow_mode(filter, needed, SCMP_SYS(mknodat), 2, S_IFMT, type);
    else
      filter.refuse(SCMP_SYS(mknodat), {has_bits(2, S_IFMT, type)});
  }
}

void allow_files(Filter& filter, const NeededCalls& needed) {
  for (const int call : kFileCalls) filter.allow(call);
  allow_mode(filter, needed, SCMP_SYS(chmod), 1);
  allow_mode(filter, needed, SCMP_SYS(fchmod), 1);
  allow_mode(filter, needed, SCMP_SYS(fchmodat), 2);
  allow_special_files(filter, needed);
  // sendto(2) without an address, so only over connected sockets: to the log, the janitor, the
  // service manager.
  filter.allow(SCMP_SYS(sendto), {equals(4, 0)});
}

void allow_network(Filter& filter) {
  // curl wakes its threads by a stream socket pair. A datagram socket could be connected to another
  // process.
  filter.allow(SCMP_SYS(socketpair), {equals(0, AF_UNIX), has_bits(1, 0xf, SOCK_STREAM)});
  for (const int call : kNetworkCalls) filter.allow(call);
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK})
    filter.allow(SCMP_SYS(socket), {equals(0, static_cast<std::uint64_t>(family))});
  filter.allow(SCMP_SYS(ioctl), {equals(1, FIONREAD)});
  filter.allow(SCMP_SYS(fcntl), {equals(1, F_SETFL)});
}

}  // namespace

void allow_needed_calls(const NeededCalls& needed) {
  Filter filter;
  for (const int call : kCalls) filter.allow(call);
  for (const int command : kFileCommands)
    filter.allow(SCMP_SYS(fcntl), {equals(1, static_cast<std::uint64_t>(command))});
  for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
    filter.allow(call, {has_bits(2, PROT_EXEC, 0)});
  constexpr std::uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                        CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  filter.allow(SCMP_SYS(clone), {has_bits(0, CLONE_THREAD | kNamespaces, CLONE_THREAD)});
  filter.allow(SCMP_SYS(unshare), {equals(0, CLONE_FS)});
  const auto self = static_cast<std::uint64_t>(::getpid());
  for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill)}) filter.allow(call, {equals(0, self)});
  for (const int call : {SCMP_SYS(sched_getattr), SCMP_SYS(sched_setattr)})
    filter.allow(call, {equals(0, 0)});                             // of the calling thread
  filter.allow(SCMP_SYS(prlimit64), {equals(0, 0), equals(2, 0)});  // limits can be read, not set
  filter.allow(SCMP_SYS(ioctl), {equals(1, FS_IOC_GETFLAGS)});
  filter.allow(SCMP_SYS(prctl), {equals(0, PR_SET_NAME)});
  filter.allow(SCMP_SYS(prctl), {equals(0, PR_SET_PDEATHSIG), equals(1, 0)});
  allow_opening(filter, needed);
  if (needed.network)
    allow_network(filter);
  else
    allow_files(filter, needed);
  filter.load();
}

}  // namespace bloscfs::fs

#else

namespace bloscfs::fs {

void allow_needed_calls(const NeededCalls&) {}

}  // namespace bloscfs::fs

#endif
