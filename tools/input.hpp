#pragma once
// Opens the input of a subcommand, and reports errors about it.

#include <functional>
#include <memory>
#include <string>

#include "frame/container/snapshot.hpp"
#include "fs/support/file_error.hpp"
#include "fs/view/frame_reader.hpp"
#include "tools/run_limits.hpp"

namespace bloscfs::tools {

class RemoteFiles;

/// Opens a container, or a bare chunk as a container. `path` may be a URL, or the address of a leaf
/// in a store (tools/store_address.hpp). Throws Error, std::system_error or frame::UrlError if
/// there is no sound container (or chunk).
std::shared_ptr<const frame::Snapshot> open_input(const std::string& path, bool bare_chunk,
                                                  RemoteFiles& remote);

/// Whether each chunk that is opened must match its checksum, if one is recorded. To compare it,
/// all stored bytes of the chunk are read. Commands that open chunks only for their headers ignore
/// it.
enum class Checksums { check, ignore };

/// A container, or a bare chunk shown as one, that is ready to be read.
class Input {
 public:
  /// Calls open_input().
  Input(const std::string& path, bool bare_chunk, RemoteFiles& remote, RunLimits& limits,
        Checksums checksums = Checksums::check);
  /// `limits` must outlive the object.
  Input(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits,
        Checksums checksums = Checksums::check);

  const frame::Snapshot& snapshot() const { return reader_.snapshot(); }
  const frame::FrameInfo& info() const { return snapshot().info(); }
  const fs::FrameReader& reader() const { return reader_; }
  RunLimits& limits() const { return limits_; }

 private:
  RunLimits& limits_;
  fs::FrameReader reader_;
};

using fs::FileError;

/// Returns the text of an error: the object, the reason, and the remedy if one is known. Leaves out
/// the object if it is `file`, because the caller's message begins with that name. Example:
/// "x.b2nd: No space left on device; free space, or choose another place".
std::string reason(const std::exception& error, const std::string& file = {});

/// Like reason(), for a file that is written: a missing directory can be made.
std::string output_reason(const std::exception& error, const std::string& file);

/// Throws FileError with the reason of an errno value. `file` is an output.
[[noreturn]] void throw_file_error(const std::string& file, int error);

/// Returns "b2frame: FILE: what is wrong".
std::string complaint(const std::string& file, const std::string& what);

/// Prints complaint() to stderr.
void complain(const std::string& file, const std::string& what);

/// Runs `work` and returns its exit status. On an error, complains about `file` and returns
/// kExitBadData. Passes on Interrupted and UsageError.
int guarded(const std::string& file, const std::function<int()>& work);

/// Calls `visit` for the pages of the index in order, until it returns false.
void for_each_page(const fs::FrameReader& reader,
                   const std::function<bool(const frame::IndexPage&)>& visit);

}  // namespace bloscfs::tools
