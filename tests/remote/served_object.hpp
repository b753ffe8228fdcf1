#pragma once
// Serves an object from a scripted server, and reads it.

#include <functional>
#include <memory>
#include <string>

#include "frame/remote/remote_error.hpp"
#include "frame/remote/remote_object.hpp"
#include "fs/view/frame_reader.hpp"
#include "tests/remote/scripted_server.hpp"

namespace bloscfs::test {

inline constexpr std::size_t kKiB = 1 << 10, kMiB = 1 << 20;

inline std::string pattern(std::size_t size) {
  std::string text(size, 0);
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

inline std::shared_ptr<frame::HttpClient> quick_client() {
  frame::HttpSettings settings;
  settings.retry_time = std::chrono::milliseconds(0);
  return std::make_shared<frame::HttpClient>(settings);
}

inline std::string read(const frame::RemoteObject& object, std::uint64_t offset, std::size_t size) {
  std::string out(size, 0);
  out.resize(object.read_at(offset, {reinterpret_cast<std::uint8_t*>(out.data()), size}));
  return out;
}

inline int error_of_read(const frame::RemoteObject& object, std::uint64_t offset,
                         std::size_t size) {
  try {
    read(object, offset, size);
  } catch (const frame::RemoteError& error) {
    return error.code().value();
  }
  return 0;
}

/// Reads bytes through a FrameReader.
inline ByteVector bytes_read(fs::FrameReader& reader, fs::PagePool& pages, std::size_t offset,
                             std::size_t size) {
  fs::Request request;
  fs::ReplyData reply(pages);
  reader.read(request, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(size), reply);
  ByteVector out(reply.size());
  reply.copy_to(out);
  return out;
}

/// An object and its server. `respond`, if set, makes the answers in place of range_of().
struct Served {
  explicit Served(std::size_t size) : object(pattern(size)) {}

  HttpReply answer(const HttpRequest& request) {
    return {respond ? respond(request) : range_of(object, request, headers), {}, false};
  }
  std::shared_ptr<const frame::RemoteObject> open(
      const std::shared_ptr<const frame::RemoteObject>& known = nullptr,
      const std::shared_ptr<frame::Traffic>& traffic = nullptr) {
    return frame::RemoteObject::open(quick_client(), {server.url()}, known, traffic);
  }

  std::string object;
  std::string headers = "ETag: \"1\"\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
  std::function<std::string(const HttpRequest&)> respond;
  ScriptedServer server{[this](const HttpRequest& request) { return answer(request); }};
};

}  // namespace bloscfs::test
