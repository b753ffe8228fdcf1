#pragma once
// Whether a mount is to have a sandbox (fs/sandbox/sandbox.hpp).

namespace bloscfs::fs {

enum class SandboxPolicy {
  automatic,  ///< as much as the kernel has
  off,
  required,  ///< all of it, or no mount
};

}  // namespace bloscfs::fs
