#include "fs/support/request_user.hpp"

namespace bloscfs::fs {
namespace {

thread_local std::optional<uid_t> current_user;

}  // namespace

RequestUser::RequestUser(uid_t user) : before_(current_user) { current_user = user; }

RequestUser::~RequestUser() { current_user = before_; }

std::optional<uid_t> RequestUser::current() { return current_user; }

}  // namespace bloscfs::fs
