#pragma once
// The files of a store: members of a ZIP file, files of a directory, or objects.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "frame/container/open_settings.hpp"
#include "frame/pystore/zip_directory.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline pystore {

/// Thread-safe. Errors are std::system_error, Error.
class StoreFiles {
 public:
  enum class Type { file, directory, other };
  struct Item {
    std::string name;
    Type type = Type::file;
  };
  virtual ~StoreFiles() = default;
  /// Visits the entries of a directory of the store: "" or "a/b". Visits nothing if it does not
  /// exist.
  using Visit = std::function<void(Item item)>;
  virtual void for_each(const std::string& directory, const Visit& visit) const = 0;
  /// True if the directory exists.
  virtual bool has_directory(const std::string& directory) const = 0;
  /// Returns the path of the leaf whose path without a suffix is `stem` ("a/b/x"); nullopt if there
  /// is none.
  virtual std::optional<std::string> find(const std::string& stem) const = 0;
  /// Opens a file. Throws ENOENT if it does not exist, Error(unsupported) for a deflated member.
  virtual std::shared_ptr<const ByteSource> open(const std::string& path) const = 0;
  /// Returns the bytes of memory that this object holds.
  virtual std::size_t memory() const { return 0; }
  /// False if there may be files that were not found.
  virtual bool is_complete() const { return true; }
  /// Returns the files that are not shown, for the log; null if that is not known.
  virtual const LeftOut* left_out() const { return nullptr; }
  /// Reads all members of a ZIP file, and returns a message for each that does not match its CRC-32
  /// or size. Returns nothing for other stores.
  virtual std::vector<std::string> wrong_members() const { return {}; }
  /// Returns `settings` for opening a frame at `path`, with the place of its sidecar.
  virtual OpenSettings settings(const std::string& /*path*/, const OpenSettings& settings) const {
    return settings;
  }
};

/// Uses the members of `zip`; open() reads from it.
std::unique_ptr<const StoreFiles> make_zip_files(std::shared_ptr<const ZipDirectory> zip);

/// Does not follow symlinks. `directory` is open for reading.
std::unique_ptr<const StoreFiles> make_directory_files(UniqueFd directory,
                                                       SourceCounters* counters);

/// Uses a directory of objects. Lists each directory only once, so that the result is one state of
/// the store. Charges the listings to `charge`.
std::unique_ptr<const StoreFiles> make_object_files(std::shared_ptr<ObjectTree> tree,
                                                    const std::string& path, ChargePointer charge);

}  // namespace bloscfs::frame::inline pystore
