#pragma once
// Collects the names on an index page.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/remote/url.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// True if `name` may name an entry: not empty, neither "." nor "..", no '/', no NUL.
bool is_entry_name(std::string_view name);

/// Collects entries one level below a page. Names may come in any order, and repeatedly.
class IndexNames {
 public:
  /// `page`: the URL of the page with the links. `charge`: the entries' memory is taken from it.
  /// `charge` must outlive this object.
  IndexNames(const Url& page, MemoryCharge& charge);

  /// Adds a name. Ignores names that no entry may have, and names of more than 1,024 bytes. Throws
  /// RemoteError(EFBIG) for too many names. Passes on errors of the charge.
  void add(std::string name, bool is_directory);
  /// Adds the target of a link, as the page has it. Ignores targets that are not direct children of
  /// the page, and targets with a query or a fragment.
  void add_link(std::string_view target);

  /// Returns the entries, sorted by name and without duplicates. A name that was added as a
  /// directory at least once is a directory.
  std::vector<ObjectEntry> take();

 private:
  std::optional<std::string> below_page(std::string_view target) const;

  const Url page_;
  MemoryCharge& charge_;
  const std::string directory_;  ///< of the page: decoded, ends in '/'
  std::vector<ObjectEntry> entries_;
};

}  // namespace bloscfs::frame::inline remote
