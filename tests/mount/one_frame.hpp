#pragma once
// A mount of one frame. Another program changes the frame while written data waits for its commit.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {

inline constexpr std::size_t kOldLength = 200000;
inline constexpr std::size_t kAt = 70000;  ///< offset of the write

inline ByteVector old_state() { return make_contents("text", 1, kOldLength, 1); }
inline ByteVector new_state() { return make_contents("noise", 2, kOldLength + 70000, 1); }
inline ByteVector written() { return make_contents("noise", 4, 5000, 1); }
inline ByteVector old_and_written() { return patched(old_state(), kAt, written()); }
inline ByteVector zeros_and_written() { return patched(ByteVector(kOldLength), kAt, written()); }

/// Asks the daemon, not the kernel's attribute cache. Returns an errno or 0.
inline int look_at(const fs_std::path& path) {
  struct statx st {};
  return errno_of(statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st));
}
inline int sync_error(const Fd& file) { return errno_of(fsync(file.get())); }
inline int write_error_of(const Fd& file, off_t offset, const ByteVector& bytes) {
  return errno_of(static_cast<int>(pwrite(file.get(), bytes.data(), bytes.size(), offset)));
}
/// Returns the result of close(). Closes a copy, since the destructor of the original ignores
/// errors.
inline int close_error(const Fd& file) { return errno_of(close(dup(file.get()))); }

/// A mount of a frame `a`, for which nothing waits to be committed yet.
struct OneFrame {
  explicit OneFrame(const std::vector<std::string>& options = {})
      : OneFrame(settings_of(options)) {}
  OneFrame(const std::vector<std::string>& options, const DaemonTime& time)
      : OneFrame(time.of(settings_of(options))) {}
  explicit OneFrame(const MountSettings& settings) {
    write_file(stored(), flat_frame(old_state()));
    mount.emplace(source.path(), settings);
    shown = *mount / "a";
  }
  static MountSettings settings_of(const std::vector<std::string>& options) {
    MountSettings settings;
    settings.options = options;
    return settings;
  }
  fs_std::path stored() const { return source / "a.b2frame"; }
  const Fd& open() { return files.emplace_back(open_rw(shown)); }
  const Fd& open_with_pending() {
    write_at(open(), kAt, written());
    return files.back();
  }
  /// Checks that the log has one line only, which names the conflict file.
  void check_log() const {
    const std::string log = mount->complaints();
    BOOST_TEST(occurrences(log, "\n") == 1, log);
    BOOST_TEST(occurrences(log, "is kept as a.conflict-") == 1, log);
  }
  void end() {
    files.clear();
    const auto result = mount->unmount();
    BOOST_TEST(result.ok(), result.description());
    check_log();
    BOOST_TEST(conflicts_of(source.path(), "a").size() == 1u);
    BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) ==
               (fs_std::exists(stored()) ? 2 : 1));
  }

  SourceDir source;
  std::optional<Mount> mount;
  fs_std::path shown;
  std::deque<Fd> files;  ///< closed before the unmount
};

}  // namespace bloscfs::test
