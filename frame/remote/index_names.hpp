#pragma once
// What an index page names, as it is collected.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame/remote/url.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline remote {

/// True for what may be the name of an entry: not empty, neither "." nor "..", no '/', no NUL.
bool is_entry_name(std::string_view name);

/// Entries one level below a page, in any order and number of times.
class IndexNames {
 public:
  /// `page`: where the page is that links stand in. `charge`, of which entries are taken, outlives
  /// this object.
  IndexNames(const Url& page, MemoryCharge& charge);

  /// Other names than those of entries, and those of more than 1,024 bytes, are left out. Throws
  /// RemoteError, EFBIG, for too many, and what the charge throws.
  void add(std::string name, bool is_directory);
  /// A link's target as it is written. One that leads elsewhere than one level below the page, or
  /// has a query or a fragment, is left out.
  void add_link(std::string_view target);

  /// In the order of names, each once: as a directory where it was one at least once.
  std::vector<ObjectEntry> take();

 private:
  std::optional<std::string> below_page(std::string_view target) const;

  const Url page_;
  MemoryCharge& charge_;
  const std::string directory_;  ///< of the page: decoded, with the '/' at its end
  std::vector<ObjectEntry> entries_;
};

}  // namespace bloscfs::frame::inline remote
