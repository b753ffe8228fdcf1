#pragma once
// The files of a store: members of a ZIP file, or what is in a directory.

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
  /// Visits what is in a directory of the store: "" or "a/b". Nothing if there is none.
  using Visit = std::function<void(Item item)>;
  virtual void for_each(const std::string& directory, const Visit& visit) const = 0;
  /// Whether there is a directory of that name.
  virtual bool has_directory(const std::string& directory) const = 0;
  /// The file of a key's stem "a/b/x" that is its leaf; nothing if there is none.
  virtual std::optional<std::string> find(const std::string& stem) const = 0;
  /// Throws ENOENT where there is none, Error(unsupported) for a deflated member.
  virtual std::shared_ptr<const ByteSource> open(const std::string& path) const = 0;
  /// Bytes that it keeps.
  virtual std::size_t memory() const { return 0; }
  /// False where files may be there that were not found.
  virtual bool is_complete() const { return true; }
  /// What is there, and is not shown; null if nothing is known.
  virtual const LeftOut* left_out() const { return nullptr; }
  /// What a frame at `path` is opened with: `settings`, and where its sidecar is looked for.
  virtual OpenSettings settings(const std::string& /*path*/, const OpenSettings& settings) const {
    return settings;
  }
};

/// `zip` is what open() reads from.
std::unique_ptr<const StoreFiles> make_zip_files(std::shared_ptr<const ZipDirectory> zip);

/// Symlinks are not followed. `directory` is open for reading.
std::unique_ptr<const StoreFiles> make_directory_files(UniqueFd directory,
                                                       SourceCounters* counters);

/// A directory of objects. Listings are made once: this is one state of the store. They
/// are taken of `charge`.
std::unique_ptr<const StoreFiles> make_object_files(std::shared_ptr<ObjectTree> tree,
                                                    const std::string& path, ChargePointer charge);

}  // namespace bloscfs::frame::inline pystore
