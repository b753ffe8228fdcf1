#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline container {

const char* FrameInfo::kind_name() const {
  switch (kind) {
    case ContainerKind::cframe:
      return "cframe";
    case ContainerKind::sframe:
      return "sframe";
    case ContainerKind::bloscpack:
      return "bloscpack";
  }
  return "unknown";
}

}  // namespace bloscfs::frame::inline container
