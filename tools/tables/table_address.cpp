#include "tools/tables/table_address.hpp"

#include <system_error>
#include <utility>

#include "frame/remote/open_remote.hpp"
#include "tools/remote_files.hpp"
#include "tools/store_address.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {
namespace {

/// Returns null also if the file cannot be read. The later attempt to open it as a frame reports
/// the reason.
std::unique_ptr<frame::PythonStore> find_plain_store(const std::string& file) {
  try {
    return find_any_store(file);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

std::optional<TableAddress> table_at(std::unique_ptr<frame::PythonStore> store,
                                     const StoreAddress& address) {
  if (find_entry(*store, address).leaf) return std::nullopt;
  if (!is_table(*store, address.key)) refuse_whole("a group of a store");
  return TableAddress{std::move(store), address.key};
}

std::optional<TableAddress> find_remote_table(const std::string& url, const RemoteFiles& remote) {
  const auto address = parse_remote_address(url);
  if (!address && !url.ends_with(".b2z")) return std::nullopt;
  if (!address) {
    auto store = remote.find_store(url);
    return store && is_table(*store, "/") ? std::optional(TableAddress{std::move(store), "/"})
                                          : std::nullopt;
  }
  return table_at(remote.open_store(address->store), *address);
}

}  // namespace

std::optional<TableAddress> find_table(const std::string& file, const RemoteFiles& remote) {
  if (frame::is_remote(file)) return find_remote_table(file, remote);
  if (const auto address = parse_store_address(file)) {
    return table_at(open_store(address->store), *address);
  }
  auto store = find_plain_store(file);
  if (!store || !is_table(*store, "/")) return std::nullopt;
  return TableAddress{std::move(store), "/"};
}

}  // namespace bloscfs::tools
