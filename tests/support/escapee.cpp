// Preloaded into a daemon. At SIGUSR1 it tries all the ways below to get out of the daemon's
// sandbox, and appends a line "WAY ok" or "WAY ERRNO" for each to the report. None of the ways does
// harm if it succeeds. Environment variables:
// - BLOSCFS_ESCAPES: the report, an existing file, which is opened at the start
// - BLOSCFS_OUTSIDE: a directory outside of SOURCE, with a file "secret" and a directory "point"
// - BLOSCFS_VICTIM: number of another process of the same user
// - BLOSCFS_READ_ONLY: set if the daemon must not change SOURCE
// - BLOSCFS_FOLDER: a directory that the daemon may write into

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace {

int report = -1;

std::string outside(const char* name) { return std::string(std::getenv("BLOSCFS_OUTSIDE")) + name; }

pid_t victim() { return std::atoi(std::getenv("BLOSCFS_VICTIM")); }

bool can_read(int fd) {
  char byte = 0;
  const bool can = fd >= 0 && read(fd, &byte, 1) == 1;
  if (fd >= 0) close(fd);
  return can;
}

bool can_open(int fd) {
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/// Tries to reach "secret" through many levels of "..", from every directory that the daemon has
/// open.
bool climbs_out() {
  const std::string path = "../../../../../../../../../../../../../.." + outside("/secret");
  for (int fd = 3; fd < 64; fd++)
    if (can_read(openat(fd, path.c_str(), O_RDONLY | O_CLOEXEC))) return true;
  return false;
}

/// Finds a descriptor of the daemon that is open on SOURCE, the directory with "way_out".
int source_directory() {
  struct stat st {};
  for (int fd = 3; fd < 64; fd++)
    if (faccessat(fd, "way_out", F_OK, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &st) == 0 &&
        S_ISDIR(st.st_mode))
      return fd;
  return -1;
}

bool is_read_only() { return std::getenv("BLOSCFS_READ_ONLY") != nullptr; }

bool uses_device() {
  const int source = source_directory();
  mknodat(source, "disk", S_IFBLK | 0600, makedev(7, 0));
  mknodat(source, "null", S_IFCHR | 0666, makedev(1, 3));
  const bool can = can_open(openat(source, "null", O_RDWR | O_CLOEXEC));
  const int error = errno;
  unlinkat(source, "disk", 0);
  unlinkat(source, "null", 0);
  errno = error;
  return can;
}

bool executes(const char* program) {
  const pid_t child = fork();
  char* const arguments[] = {const_cast<char*>(program), nullptr};
  if (child <= 0) {
    execve(program, arguments, nullptr);
    if (child == 0) _exit(1);
    return false;
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool traces(pid_t process) {
  if (ptrace(PTRACE_SEIZE, process, nullptr, nullptr) != 0) return false;
  ptrace(PTRACE_DETACH, process, nullptr, nullptr);
  return true;
}

bool is_done(long result) { return result >= 0; }

/// True unless the sandbox refuses the call with ENOSYS or EPERM. The call has invalid arguments,
/// so without the sandbox the kernel reports another errno.
bool is_permitted(long result) { return result >= 0 || (errno != ENOSYS && errno != EPERM); }

bool makes_user_namespace() {
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (child == 0) _exit(0);
  return child > 0 && waitpid(static_cast<pid_t>(child), nullptr, 0) == child;
}

bool names_host() {
  char name[65] = "";
  return gethostname(name, sizeof name) == 0 && sethostname(name, std::strlen(name)) == 0;
}

bool opens_handle() {
  struct {
    file_handle head;
    std::array<unsigned char, MAX_HANDLE_SZ> bytes;
  } handle{};
  handle.head.handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  if (name_to_handle_at(AT_FDCWD, "/", &handle.head, &mount, 0) != 0) return false;
  const int root = open("/", O_RDONLY | O_CLOEXEC);
  return can_open(open_by_handle_at(root, &handle.head, O_RDONLY | O_CLOEXEC));
}

/// Makes a device node. The daemon's mount options nosuid and nodev make the node harmless only in
/// SOURCE, not through another mount of the filesystem below.
bool makes_device() {
  const bool can = mknodat(source_directory(), "disk", S_IFBLK | 0600, makedev(7, 0)) == 0;
  const int error = errno;
  unlinkat(source_directory(), "disk", 0);
  errno = error;
  return can;
}

/// Reads the environment of the victim, another process of the daemon's user.
bool reads_environment() {
  return can_read(open(("/proc/" + std::to_string(victim()) + "/environ").c_str(), O_RDONLY));
}

/// True if the file of the descriptor is set-user-ID or set-group-ID. Closes the descriptor and
/// removes the file "privileged".
bool is_privileged(int fd) {
  struct stat st {};
  const bool is = fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  unlinkat(source_directory(), "privileged", 0);
  errno = error;
  return is;
}

int make_plain() {
  return openat(source_directory(), "privileged", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

int open_privileged() { return openat(source_directory(), "privileged", O_RDONLY | O_CLOEXEC); }

/// Returns the path of a file outside of SOURCE that belongs to the daemon's user.
std::string secret() { return outside("/secret"); }

bool listens() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool can =
      bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd, 1) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  errno = error;
  return can;
}

struct Way {
  const char* name;
  bool (*leads_out)();
};

constexpr Way kWays[] = {
    {"change_when_read_only",
     [] { return is_read_only() && is_done(fchmodat(source_directory(), ".", 0755, 0)); }},
    {"read_absolute", [] { return can_read(open(outside("/secret").c_str(), O_RDONLY)); }},
    {"read_passwd", [] { return can_read(open("/etc/passwd", O_RDONLY)); }},
    {"climb", climbs_out},
    {"symlink",
     [] { return can_read(openat(source_directory(), "way_out", O_RDONLY | O_CLOEXEC)); }},
    {"write",
     [] { return can_open(open(outside("/new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)); }},
    {"link",
     [] {
       return is_done(linkat(AT_FDCWD, outside("/secret").c_str(), source_directory(), "mine", 0));
     }},
    {"root_of_other",
     [] {
       return can_open(open(("/proc/" + std::to_string(victim()) + "/root").c_str(), O_RDONLY));
     }},
    {"memory_of_other",
     [] { return can_open(open(("/proc/" + std::to_string(victim()) + "/mem").c_str(), O_RDWR)); }},
    {"kernel_setting",
     [] { return can_open(open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC)); }},
    {"execute", [] { return executes("/bin/true"); }},
    {"execute_self", [] { return executes("/proc/self/exe"); }},
    {"fork",
     [] {
       const pid_t child = fork();
       if (child == 0) _exit(0);
       return child > 0 && waitpid(child, nullptr, 0) == child;
     }},
    {"trace", [] { return traces(victim()); }},
    {"kill", [] { return is_done(kill(victim(), 0)); }},
    {"kill_parent", [] { return is_done(kill(getppid(), 0)); }},
    {"read_memory",
     [] {
       char byte = 0;
       const iovec own{&byte, 1};
       return is_done(process_vm_readv(victim(), &own, 1, &own, 1, 0));
     }},
    {"mount",
     [] { return is_done(mount("none", outside("/point").c_str(), "tmpfs", 0, nullptr)); }},
    {"open_tree", [] { return can_open(open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE)); }},
    {"unmount", [] { return is_done(umount2(outside("/point").c_str(), MNT_DETACH)); }},
    {"unshare", [] { return is_done(unshare(CLONE_NEWNET)); }},
    {"user_namespace", makes_user_namespace},
    {"enter_namespace",
     [] { return is_done(setns(open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC), CLONE_NEWNET)); }},
    {"change_root", [] { return is_done(chroot("/")); }},
    {"open_handle", opens_handle},
    {"device", uses_device},
    {"make_device", makes_device},
    {"set_ids_by_openat",
     [] {
       return is_privileged(
           openat(source_directory(), "privileged", O_WRONLY | O_CREAT | O_CLOEXEC, 04755));
     }},
    {"set_ids_by_temporary",
     [] {
       return is_privileged(
           openat(source_directory(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 04755));
     }},
    {"set_ids_by_openat2",
     [] {
       open_how how{};
       how.flags = O_WRONLY | O_CREAT | O_CLOEXEC;
       how.mode = 04755;
       return is_privileged(static_cast<int>(
           syscall(SYS_openat2, source_directory(), "privileged", &how, sizeof how)));
     }},
    {"set_ids_by_mknodat",
     [] {
       mknodat(source_directory(), "privileged", S_IFREG | 04755, 0);
       return is_privileged(open_privileged());
     }},
    {"set_ids_by_fchmod",
     [] {
       const int fd = make_plain();
       fchmod(fd, 02755);
       return is_privileged(fd);
     }},
    {"set_ids_by_fchmodat",
     [] {
       close(make_plain());
       fchmodat(source_directory(), "privileged", 06755, 0);
       return is_privileged(open_privileged());
     }},
    {"set_ids_by_fchmodat2",
     [] {
       constexpr long kFchmodat2 = 452;
       close(make_plain());
       syscall(kFchmodat2, source_directory(), "privileged", 04755, 0);
       return is_privileged(open_privileged());
     }},
    {"file_capabilities",
     [] {
       const int fd = make_plain();
       constexpr std::array<std::uint32_t, 5> kAll{0x02000001, 0xffffffff, 0, 0xff, 0};
       const bool can = is_done(fsetxattr(fd, "security.capability", kAll.data(), sizeof kAll, 0));
       is_privileged(fd);
       return can;
     }},
    {"mode_outside", [] { return is_done(chmod(secret().c_str(), 0644)); }},
    {"mode_outside_by_fchmodat",
     [] { return is_done(fchmodat(AT_FDCWD, secret().c_str(), 0644, 0)); }},
    {"owner_outside",
     [] {
       return is_done(
           fchownat(AT_FDCWD, secret().c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(-1), 0));
     }},
    {"times_outside", [] { return is_done(utimensat(AT_FDCWD, secret().c_str(), nullptr, 0)); }},
    {"attribute_outside",
     [] { return is_done(setxattr(secret().c_str(), "user.escaped", "x", 1, 0)); }},
    {"attributes_read_outside", [] { return is_done(listxattr(secret().c_str(), nullptr, 0)); }},
    {"look_outside",
     [] {
       struct stat st {};
       return is_done(stat(secret().c_str(), &st));
     }},
    {"watch_outside",
     [] { return is_done(inotify_add_watch(inotify_init1(IN_CLOEXEC), "/etc", IN_ACCESS)); }},
    {"environment_of_other", reads_environment},
    {"local_socket", [] { return can_open(socket(AF_UNIX, SOCK_STREAM, 0)); }},
    {"local_datagrams",
     [] {
       int pair[2];
       return is_done(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
     }},
    {"bpf",
     [] {
       bpf_attr attributes{};
       attributes.map_type = BPF_MAP_TYPE_ARRAY;
       attributes.key_size = attributes.value_size = 4;
       attributes.max_entries = 1;
       return can_open(
           static_cast<int>(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes)));
     }},
    {"io_uring",
     [] {
       io_uring_params parameters{};
       return can_open(static_cast<int>(syscall(SYS_io_uring_setup, 1, &parameters)));
     }},
    {"internet", [] { return can_open(socket(AF_INET, SOCK_STREAM, 0)); }},
    {"listen", listens},
    {"write_folder",
     [] {
       const char* const folder = std::getenv("BLOSCFS_FOLDER");
       const std::string path = std::string(folder != nullptr ? folder : "/nowhere") + "/kept";
       return can_open(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
     }},
    {"netlink", [] { return can_open(socket(AF_NETLINK, SOCK_RAW, 0)); }},
    {"packets", [] { return can_open(socket(AF_PACKET, SOCK_RAW, 0)); }},
    {"map_executable",
     [] {
       return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
              MAP_FAILED;
     }},
    {"make_executable",
     [] {
       void* const page =
           mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return is_done(mprotect(page, 4096, PROT_READ | PROT_EXEC));
     }},
    {"memory_file", [] { return can_open(memfd_create("code", 0)); }},
    {"terminal_input",
     [] {
       char byte = 'x';
       return is_permitted(ioctl(report, TIOCSTI, &byte));
     }},
    {"load_module", [] { return is_permitted(syscall(SYS_init_module, nullptr, 0, "")); }},
    {"keys",
     [] { return is_done(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1)); }},
    {"performance_events",
     [] {
       perf_event_attr attributes{};
       attributes.size = sizeof attributes;
       attributes.type = PERF_TYPE_SOFTWARE;
       attributes.config = PERF_COUNT_SW_CPU_CLOCK;
       return can_open(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0)));
     }},
    {"user_faults", [] { return can_open(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))); }},
    {"reboot", [] { return is_permitted(reboot(0)); }},
    {"swap", [] { return is_permitted(swapon(outside("/secret").c_str(), 0)); }},
    {"dumpable", [] { return is_done(prctl(PR_SET_DUMPABLE, 1)); }},
    {"truncate",
     [] {
       const int fd = open(outside("/secret").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
       return can_open(fd) || is_done(truncate(outside("/secret").c_str(), 0));
     }},
    {"remove", [] { return is_done(unlinkat(AT_FDCWD, outside("/secret").c_str(), 0)); }},
    {"host_name", names_host},
};

void try_all(int) {
  for (const Way& way : kWays) {
    errno = 0;
    const bool leads_out = way.leads_out();
    const int error = errno;
    dprintf(report, "%s %s\n", way.name, leads_out ? "ok" : std::to_string(error).c_str());
  }
  dprintf(report, "end 0\n");
}

__attribute__((constructor)) void prepare() {
  const char* const path = std::getenv("BLOSCFS_ESCAPES");
  if (path == nullptr) return;
  report = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  signal(SIGUSR1, try_all);
}

}  // namespace
