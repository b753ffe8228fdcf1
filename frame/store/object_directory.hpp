#pragma once
// A directory of objects as one of files, for what is made of several: a sparse frame.

#include <memory>
#include <string>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame {

/// For reading: changes throw EROFS. `index` is the object of that name, which keeps its state
/// here; it may be null.
std::shared_ptr<StoreDirectory> make_object_directory(std::shared_ptr<ObjectTree> tree,
                                                      const std::string& path,
                                                      const std::string& index_name,
                                                      std::shared_ptr<const ObjectSource> index);

}  // namespace bloscfs::frame
