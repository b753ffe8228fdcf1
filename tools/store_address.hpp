#pragma once
// STORE:/a/b: the command line's name for a leaf or a group of a store of python-blosc2.

#include <memory>
#include <optional>
#include <string>

#include "frame/pystore/python_store.hpp"

namespace bloscfs::tools {

struct StoreAddress {
  std::string store;  ///< path or URL
  std::string key;    ///< "/" or "/a/b"
};

/// Parses an address. Returns nullopt for a URL, and if a file has the whole text as its name. The
/// part before the first ":/" must exist, or end in .b2z, .b2d, .b2e, .b2frame or .cframe;
/// otherwise returns nullopt.
std::optional<StoreAddress> parse_store_address(const std::string& text);

/// Parses a URL with a key: https://host/run.b2z:/a/b. The URL before the ":/" must end in .b2z,
/// .b2d, .b2e, .b2frame or .cframe; otherwise returns nullopt.
std::optional<StoreAddress> parse_remote_address(const std::string& url);

/// Calls parse_remote_address() for a URL, parse_store_address() for other texts.
std::optional<StoreAddress> parse_any_address(const std::string& text);

/// Opens a store. Waits for mounts of it that have ended. Throws Error(malformed) if `path` is not
/// a store, and std::system_error.
std::unique_ptr<frame::PythonStore> open_store(const std::string& path);

/// Opens a store that is a directory or a ZIP file; returns null for everything else.
std::unique_ptr<frame::PythonStore> find_store(const std::string& path);

/// Opens a store of any kind; returns null for everything else.
std::unique_ptr<frame::PythonStore> find_any_store(const std::string& path);

/// Returns the entry for an address in its store, which is open. Throws std::runtime_error if the
/// store has no such key.
frame::StoreEntry find_entry(const frame::PythonStore& store, const StoreAddress& address);

/// Opens the frame of a leaf. Throws Error, std::system_error, and std::runtime_error if the store
/// has no such key or the key is that of a group.
std::shared_ptr<const frame::Snapshot> open_leaf(const frame::PythonStore& store,
                                                 const StoreAddress& address);

/// Returns the file of the frame that `name` stands for: for STORE:/KEY in a directory, the file of
/// the leaf; for other names, `name`. Throws std::runtime_error for a whole store, and for a leaf
/// without a file of its own. The message says how to get one.
std::string file_of_frame(const std::string& name);

/// True for a name of a .b2z store or of something in it.
bool is_in_zip_store(const std::string& name);

/// Throws std::runtime_error: the store has no such key. `hint` follows the key in the message.
[[noreturn]] void refuse_key(const StoreAddress& address, const std::string& hint = "");

/// Throws std::runtime_error: the command needs one leaf, but got `what`, such as "a store" or "a
/// group of a store".
[[noreturn]] void refuse_whole(const char* what);

/// Checks a path that holds no frame. Throws if it is a store, if it is a damaged store (with the
/// error of opening it), or if its name promises a frame or a store.
void require_plain(const std::string& path);

/// Throws an error for a path that holds no frame. The error says whether it is a store, a damaged
/// file, a directory or something else.
[[noreturn]] void refuse_no_frame(const std::string& path);

}  // namespace bloscfs::tools
