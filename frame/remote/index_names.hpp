#pragma once
// Collects the names on an index page.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/remote/url.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// True if `name` may name an entry: not empty, neither "." nor "..", no '/', no NUL.
bool is_entry_name(std::string_view name);

/// Collects entries one level below a page. Names may come in any order, and repeatedly. Keeps only
/// the bytes of the names, since the page takes memory at the same time.
class IndexNames {
 public:
  /// `page`: the URL of the page with the links. `charge`: memory is taken from it. It must
  /// outlive this object.
  IndexNames(const Url& page, MemoryCharge& charge);

  /// Adds a name. Ignores names that no entry may have, and names of more than 1,024 bytes. Throws
  /// RemoteError(EFBIG) for too many names. Passes on errors of the charge.
  void add(std::string_view name, bool is_directory);
  /// Adds the target of a link, as the page has it. Ignores targets that are not direct children of
  /// the page, and targets with a query or a fragment.
  void add_link(std::string_view target);

  /// Returns the entries, sorted by name and without duplicates. A name that was added as a
  /// directory at least once is a directory. Takes the memory() of the entries from the charge.
  std::vector<ObjectEntry> entries() const;

 private:
  std::optional<std::string> below_page(std::string_view target) const;
  void make_room(std::size_t bytes);

  const Url page_;
  MemoryCharge& charge_;
  const std::string directory_;  ///< of the page: decoded, ends in '/'
  /// The names, each with '/' behind it if it is a directory's, and a NUL.
  std::string text_;
  std::unique_ptr<MemoryCharge::Part> of_text_;
  std::size_t count_ = 0;
};

}  // namespace bloscfs::frame::inline remote
