#include "fs/support/request_user.hpp"

namespace bloscfs::fs {
namespace {

thread_local std::optional<uid_t> user_of_thread;

}  // namespace

RequestUser::RequestUser(uid_t user) : before_(user_of_thread) { user_of_thread = user; }

RequestUser::~RequestUser() { user_of_thread = before_; }

std::optional<uid_t> RequestUser::current() { return user_of_thread; }

}  // namespace bloscfs::fs
