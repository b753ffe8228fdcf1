#include "frame/open/open_writer.hpp"

#include "frame/cframe/cframe_writer.hpp"
#include "frame/sframe/sframe_writer.hpp"

namespace bloscfs::frame::inline open {

std::unique_ptr<FrameWriter> open_writer(const std::shared_ptr<StoreDirectory>& directory,
                                         const std::string& name, bool is_directory,
                                         const WriterSettings& settings,
                                         const std::shared_ptr<const Snapshot>& known) {
  return is_directory ? open_sframe_writer(directory, name, settings, known)
                      : open_cframe_writer(directory, name, settings, known);
}

}  // namespace bloscfs::frame::inline open
