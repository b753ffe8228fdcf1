#include "fs/fuse/session.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/fuse/background.hpp"
#include "fs/fuse/dead_mount.hpp"
#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/kernel_readahead.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/request_cells.hpp"
#include "fs/fuse/running_options.hpp"
#include "fs/fuse/session_source.hpp"
#include "fs/mount/idle_watch.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/support/file_error.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr unsigned kDefaultThreads = 8;
/// Slots for a SOURCE behind a network. A request that waits for the network uses no processor, but
/// has a slot. This many requests of one user may wait for the network at once. Further requests,
/// such as listings, then wait for a slot.
constexpr unsigned kRemoteSlots = 128;
/// Threads that decode ahead for such a SOURCE.
constexpr unsigned kRemoteWorkers = 16;
/// Threads for requests that need no slot.
constexpr unsigned kQuickThreads = 2;
/// The limit of the kernel's requests in the background: the largest value that it accepts. With a
/// smaller one, a user's requests could wait in the kernel behind other users' requests, which wait
/// for a slot here.
constexpr unsigned kMaxBackground = 65535;

/// Without FUSE_CAP_CACHE_SYMLINKS: the texts of symlinks follow the names that frames are shown
/// by, and nothing reports a change of those to the kernel.
constexpr auto kWantedCapabilities =
    static_cast<unsigned>(FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS |
                          FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_AUTO_INVAL_DATA |
                          FUSE_CAP_SPLICE_WRITE | FUSE_CAP_DONT_MASK | FUSE_CAP_POSIX_ACL);

void op_init(void* state, fuse_conn_info* connection) {
  connection->max_write = kRequestSize;
  connection->max_read = kRequestSize;
  // The kernel uses the smaller of this value and the one that KernelReadahead sets.
  connection->max_readahead = kRequestSize;
  connection->max_background = kMaxBackground;
  connection->want |= connection->capable & kWantedCapabilities;
  // fs/fuse/kernel_channel.cpp accepts FUSE_HANDLE_KILLPRIV_V2 in its place.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_HANDLE_KILLPRIV);
  // The kernel does not wait for asynchronous direct reads, so a user could not interrupt them.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_ASYNC_DIO);
  // Lets every listing return attributes. The listing has judged every file, so its attributes cost
  // less now than by a later lookup.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS_AUTO);
  // Without splice for writes: op_write_buf() takes the bytes from memory.
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ);
  // Asynchronous reads could not be interrupted either. If their reader is killed, their pages stay
  // locked, so that others wait for the reply. The daemon's own readahead still fetches data ahead
  // of a reader.
  if (static_cast<const MountState*>(state)->is_over_network)
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_ASYNC_READ);
  if (static_cast<const MountState*>(state)->writeback)
    connection->want |= connection->capable & static_cast<unsigned>(FUSE_CAP_WRITEBACK_CACHE);
}

/// Prints a message of libfuse. Some versions leave out the end of the line in errors, and the next
/// message would be on the same line.
void print_message(fuse_log_level level, const char* format, std::va_list values) {
  std::vfprintf(stderr, format, values);
  if (level < FUSE_LOG_DEBUG && !std::string_view(format).ends_with('\n')) std::fputc('\n', stderr);
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = op_init;
  add_lookup_operations(ops);
  add_file_operations(ops);
  add_directory_operations(ops);
  add_attribute_operations(ops);
  add_namespace_operations(ops);
  add_control_operations(ops);
  return ops;
}

/// Escapes commas and backslashes, which would end an option's value.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ',' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string mount_option_list(const SessionSettings& settings, const std::string& name) {
  std::string list =
      fmt::format("{},max_read={}", settings.options.read_only ? "ro" : "rw", kRequestSize);
  bool has_name = false;
  bool has_type = false;
  for (const std::string& option : settings.options.passthrough_options) {
    if (option == "ro" || option == "rw") continue;
    has_name |= option.starts_with("fsname=");
    has_type |= option.starts_with("subtype=");
    list += "," + option;
  }
  // Other users get the access that the modes of files allow.
  if (settings.options.allow_other) list += ",default_permissions";
  if (!has_name) list += ",fsname=" + escaped(name);
  if (!has_type) list += ",subtype=bloscfs";
  return list;
}

class Arguments {
 public:
  Arguments(const SessionSettings& settings, const std::string& name) {
    for (const std::string& word :
         {std::string("bloscfs"), std::string("-o"), mount_option_list(settings, name)})
      fuse_opt_add_arg(&arguments_, word.c_str());
    if (settings.debug) fuse_opt_add_arg(&arguments_, "-d");
  }
  ~Arguments() { fuse_opt_free_args(&arguments_); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  fuse_args* get() { return &arguments_; }

 private:
  fuse_args arguments_ = FUSE_ARGS_INIT(0, nullptr);
};

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Makes the allocator return freed memory to the system at once, so that the process stays near
/// its cache_size. Freed pieces of the usual block size are kept, because each small commit needs
/// them again.
void bound_allocator() {
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 48 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 4 << 20);
}

struct ThreadCounts {
  unsigned slots;  ///< for one user's requests that take long
  WorkerCounts workers;
};

ThreadCounts far_thread_counts(const MountOptions& options) {
  if (options.threads != 0) return {options.threads, {options.threads, 1}};
  return {kRemoteSlots, {kRemoteWorkers, 1}};
}

ThreadCounts thread_counts(const SessionSettings& settings) {
  const MountOptions& options = settings.options;
  if (settings.objects) return far_thread_counts(options);
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const unsigned all =
      options.threads != 0 ? options.threads : std::min(kDefaultThreads, 2 * processors + 2);
  const unsigned workers = std::max(1u, std::min(processors, all / 2));
  // Leaves half of the processors to programs that use the mount during commits. With two programs
  // that copied files through the mount, a second committing thread made them a tenth slower.
  const unsigned committing = std::max(1u, std::min(workers, processors / 2));
  return {std::max(1u, all - workers), {workers, committing}};
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  if (!resolved && errno == ENOENT)
    throw FileError(path, "no such directory; make it first, with mkdir");
  if (!resolved) throw FileError(path, errno);
  return resolved.get();
}

/// Returns the signals that end a mount. Leaves out ignored signals, such as SIGHUP under nohup: a
/// thread that waits for a signal would receive it even though it is ignored.
sigset_t ending_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction present {};
    ::sigaction(number, nullptr, &present);
    if (present.sa_handler != SIG_IGN) ::sigaddset(&signals, number);
  }
  return signals;
}

/// Blocks the ending signals in this thread and all threads that it starts from now on, so that the
/// thread that waits for the end receives them.
void keep_ending_signals() {
  // Restores the default: a shell starts background commands with SIGINT ignored.
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

/// Opens SOURCE, which may wait for a server or read much. A signal that ends a mount interrupts
/// that.
std::unique_ptr<Mount> show_source(SessionSource& source, const SessionSettings& settings,
                                   const WorkerCounts& workers, PagePool& pages) {
  const frame::Interruption interruption([] {
    const sigset_t signals = ending_signals();
    const timespec at_once{};
    if (::sigtimedwait(&signals, nullptr, &at_once) > 0)
      throw std::runtime_error("interrupted before it was mounted");
  });
  return source.show(settings.options, workers, pages, *settings.clock);
}

/// If another mount prevents one on this mountpoint, returns what that is and what to do, for the
/// end of a message. Otherwise returns "".
std::string mounted_there(const std::string& mountpoint) {
  const auto mount = mount_at(mountpoint);
  if (!mount) return {};
  // fusermount3 runs as root, and only the user of a FUSE mount may enter it.
  if (mount->type == kMountType && mount->user == ::geteuid())
    return fmt::format("; {} is mounted there; to end that mount, run: bloscfs --unmount {}",
                       mount->source, mountpoint);
  if (::access(mountpoint.c_str(), W_OK) == 0) return {};
  return fmt::format("; {} ({}) is mounted there: unmount it, or choose another directory",
                     mount->source, mount->type);
}

/// Returns a notice if the mountpoint is the SOURCE of another mount, which goes on; otherwise "".
std::string covered_source(const std::string& mountpoint) {
  for (const MountEntry& entry : mount_table())
    if (entry.type == kMountType && entry.source == mountpoint && entry.point != mountpoint)
      return fmt::format(
          "{0} is the source of the mount at {1}, which goes on; programs that open {0} now see "
          "this mount; if you did not mean that, unmount it",
          mountpoint, entry.point);
  return {};
}

/// Throws if SOURCE is mounted on the very mountpoint. A writable mount there would not end while
/// this one waits for it, and a read-only one would be covered without notice.
void refuse_second_mount(const std::string& source, const std::string& mountpoint) {
  const auto mount = mount_at(mountpoint);
  if (!mount || mount->type != kMountType) return;
  std::error_code error;
  if (mount->source == source || std::filesystem::equivalent(mount->source, source, error))
    throw std::runtime_error(
        fmt::format("already mounted at {0}; to change options, run: bloscfs -o remount,OPTIONS "
                    "{0}; to end the mount, run: bloscfs --unmount {0}",
                    mountpoint));
}

class Session {
 public:
  /// `janitor` may be null.
  Session(const SessionSettings& settings, const std::string& name, MountState& state,
          Janitor* janitor, PagePool& pages)
      : arguments_(settings, name), operations_(operations()), janitor_(janitor) {
    session_ = fuse_session_new(arguments_.get(), &operations_, sizeof operations_, &state);
    if (session_ == nullptr) throw std::runtime_error("libfuse refused the mount options");
    state.session = session_;
    keep_ending_signals();
    if (fuse_session_mount(session_, settings.mountpoint.c_str()) != 0) {
      fuse_session_destroy(session_);
      throw std::runtime_error(fmt::format("could not mount on {}{}", settings.mountpoint,
                                           mounted_there(settings.mountpoint)));
    }
    if (janitor_ != nullptr) janitor_->take_charge();
    // A lookup that waits for the network must not block the directory for others.
    const auto requests =
        settings.objects ? DirectoryRequests::at_once : DirectoryRequests::one_by_one;
    if (!settings.options.libfuse_io) state.channel = &channel_.emplace(session_, pages, requests);
  }
  ~Session() {
    if (janitor_ != nullptr) end_connection();
    fuse_session_unmount(session_);
    fuse_session_destroy(session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Serves until the unmount. Returns 0, or the errno of the error that ended the session before.
  int serve(unsigned threads) {
    const int error =
        channel_ ? channel_->serve(threads, ending_signals(),
                                   [&] { return !janitor_ || janitor_->unmount_if_unused(); })
                 : serve_by_libfuse(threads);
    // Unmounts before the last commits. Another filesystem that is mounted there during these
    // commits must not be taken for this one.
    if (janitor_ != nullptr && has_ended()) janitor_->unmount();
    return error;
  }

  /// `unmount_begun`: as in MountState.
  std::string end_reason(std::chrono::steady_clock::time_point unmount_begun) const {
    // A command that is killed before its unmount does not withdraw the announcement.
    constexpr std::chrono::seconds kLongestUnmount{10};
    if (!channel_) return "unmounted, or a signal";
    const bool by_command = unmount_begun != std::chrono::steady_clock::time_point{} &&
                            std::chrono::steady_clock::now() - unmount_begun < kLongestUnmount;
    return channel_->end_reason() +
           (channel_->was_unmounted() && by_command ? " by bloscfs --unmount" : "");
  }

 private:
  int serve_by_libfuse(unsigned threads) {
    if (fuse_set_signal_handlers(session_) != 0)
      throw std::runtime_error("signal handlers could not be set");
    const sigset_t signals = ending_signals();
    ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    const std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> config(
        fuse_loop_cfg_create(), fuse_loop_cfg_destroy);
    fuse_loop_cfg_set_max_threads(config.get(), threads);
    fuse_loop_cfg_set_idle_threads(config.get(), threads);
    const int error = std::max(-fuse_session_loop_mt(session_, config.get()), 0);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    fuse_remove_signal_handlers(session_);
    return error;
  }

  /// True if the kernel has ended the connection, for example because of an unmount.
  bool has_ended() const {
    pollfd channel{fuse_session_fd(session_), 0, 0};
    return ::poll(&channel, 1, 0) == 1 && (channel.revents & POLLERR) != 0;
  }

  /// Unmounts through the janitor, since the daemon cannot unmount in the sandbox, and libfuse must
  /// not try. For that, replaces the channel by a pipe without a reader. libfuse finds an error on
  /// it, and takes the mount to be unmounted already.
  void end_connection() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      ::close(ends[0]);
      ::dup3(ends[1], fuse_session_fd(session_), O_CLOEXEC);
      ::close(ends[1]);
    }
    if (!janitor_->unmount()) log::error("could not be unmounted");
  }

  Arguments arguments_;
  fuse_lowlevel_ops operations_;
  Janitor* const janitor_;
  fuse_session* session_ = nullptr;
  std::optional<KernelChannel> channel_;
};

}  // namespace

std::string require_mountpoint(const std::string& path) {
  std::string mountpoint = real_path(path);
  struct stat st {};
  if (::stat(mountpoint.c_str(), &st) != 0) {
    const int error = errno;
    throw FileError(mountpoint, frame::errno_code(error).message() + mounted_there(mountpoint));
  }
  if (!S_ISDIR(st.st_mode))
    throw FileError(mountpoint, "not a directory; a mountpoint is an existing directory");
  return mountpoint;
}

void run_session(SessionSettings settings) {
  const frame::WaitClock wait_clock(*settings.clock);
  settings.foreground |= settings.debug;
  // At the end, libfuse's threads that wait for requests are cancelled, even while they print an
  // error. A cancelled thread that held the lock of stderr would block the mount before its last
  // commits.
  ::__fsetlocking(stderr, FSETLOCKING_BYCALLER);
  fuse_set_log_func(print_message);
  log::use_plain("bloscfs");
  if (::access("/proc/self/fd", X_OK) != 0)
    throw std::runtime_error(
        "/proc: not mounted here; bloscfs opens files by their descriptors there");
  remove_dead_mount(settings.mountpoint);
  settings.mountpoint = require_mountpoint(settings.mountpoint);
  frame::UniqueFd log_file;
  if (!settings.options.log_file.empty()) log_file = log::open_file(settings.options.log_file);
  bound_allocator();
  raise_descriptor_limit();
  std::optional<Background> background;
  if (!settings.foreground) background.emplace();
  Sandbox sandbox(
      settings.options.sandbox, settings.mountpoint,
      log_file ? std::filesystem::absolute(settings.options.log_file).string() : std::string());
  const auto source = settings.objects ? make_object_source(settings.objects) : make_file_source();
  const std::string name = source->name(settings);
  refuse_second_mount(name, settings.mountpoint);
  const std::string covered = covered_source(settings.mountpoint);
  source->open(sandbox, settings);

  const std::string shown = fmt::format("{} on {}", name, settings.mountpoint);
  MountState state;
  state.is_over_network = settings.objects != nullptr;
  state.writeback = settings.options.write.writeback && !settings.options.read_only;
  PagePool pages(std::min(PagePool::kMostKept, settings.options.cache_size / 16));
  Session session(settings, name, state, sandbox.janitor(), pages);
  const std::optional<MountEntry> entry = mount_at(settings.mountpoint);
  KernelReadahead kernel_readahead(entry);
  state.kernel_readahead = &kernel_readahead;
  source->on_mounted(entry, settings);
  if (background && !log_file) log::connect_system_log();
  source->close(sandbox, settings.options);
  const ThreadCounts threads = thread_counts(settings);
  const auto mount = show_source(*source, settings, threads.workers, pages);
  state.mount = mount.get();
  RequestSlots slots(threads.slots);
  state.slots = &slots;
  // The IdleWatch outlives the threads that may still serve requests at the end.
  IdleWatch idle_watch(*mount, std::chrono::seconds(settings.options.idle_timeout),
                       *settings.clock);
  state.idle_watch = &idle_watch;
  KernelFlush kernel_flush(state.session);
  state.kernel_flush = &kernel_flush;
  mount->kernel_cache() = {[&kernel_flush](NodeId node, std::function<void()> done) {
                             kernel_flush.before(node, std::move(done));
                           },
                           [&kernel_flush](NodeId node) { kernel_flush.forget_attributes(node); }};
  mount->stats().version = settings.version;
  RunningOptions running_options(settings.options, [&](const MountOptions& options) {
    mount->change_options(options);
    log::info(
        fmt::format("remounted {}; options: {}", settings.mountpoint, shown_options(options)));
    idle_watch.set_limit(std::chrono::seconds(options.idle_timeout));
  });
  state.running_options = &running_options;
  // Leaves the command's current directory, so that its filesystem can be unmounted.
  if (::chdir("/") != 0) frame::throw_errno("chdir");
  std::vector<std::string> notices = source->notices();
  if (!covered.empty()) notices.push_back(covered);
  const bool logs_to_terminal = !background && !log_file;
  // The terminal of the command gets the notices, too.
  if (!logs_to_terminal)
    for (const std::string& notice : notices) log::warn(notice);
  if (log_file)
    log::use(std::move(log_file));
  else
    log::use(background ? log::Target::system_log : log::Target::terminal);
  log::info(fmt::format("bloscfs {}: mounted {}; options: {}", settings.version, shown,
                        shown_options(settings.options)));
  for (const std::string& notice : notices) log::warn(notice);
  if (background) background->detach_from_caller();
  if (settings.tell) settings.tell(MountPhase::works);
  try {
    const int error = session.serve(slots.most() + kQuickThreads);
    log::info(fmt::format("ended {}: {}", shown, session.end_reason(state.unmount_begun)));
    mount->dirty_budget().release_all();
    if (settings.tell) settings.tell(MountPhase::ends);
    mount->commit_all();
    if (error != 0) frame::throw_errno(error, "session");
  } catch (const std::exception& failure) {
    // The caller prints the exception on the terminal, if there is one.
    if (!logs_to_terminal) log::error(failure.what());
    source->leave_unfinished();
    throw;
  }
}

}  // namespace bloscfs::fs
