#pragma once
#include "frame/store/wait_context.hpp"  // IWYU pragma: export
