#pragma once
// One attempt to get a request answered by a server.

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "frame/remote/connections.hpp"
#include "frame/remote/http_request.hpp"

namespace bloscfs::frame::inline remote {

/// How an attempt ended. After a `passing` failure a retry may help, after a `final` one it does
/// not.
struct Verdict {
  enum class Kind { good, redirect, passing, final } kind = Kind::final;
  int error = 0;          ///< if passing or final
  std::string text;       ///< if passing or final: what was wrong, without the URL
  bool answered = false;  ///< the server sent a status
  bool not_done = false;  ///< if passing: the server says that it did not carry out the request
  std::chrono::seconds retry_after{0};  ///< as the server asked
  HttpPlace next;                       ///< if a redirect
  bool refuses_credentials = false;     ///< other credentials may help
};

struct FreeEasy {
  void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};

/// An attempt to get an answer from one place. Does not follow redirects. For one thread. Limits
/// what the server may send.
class Transfer {
 public:
  /// All reference arguments must outlive the transfer. Throws std::bad_alloc.
  Transfer(const WebRequest& request, HttpPlace place, const HttpSettings& settings,
           Connections& connections);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  CURL* handle() const { return easy_.get(); }
  /// Returns the bytes received so far.
  std::size_t body_bytes() const { return body_bytes_; }
  /// To be called once curl has ended the transfer with `code`.
  Verdict judge(CURLcode code);
  /// Returns the answer of a transfer whose verdict is good.
  HttpAnswer take();

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t on_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_connected(void* self, char* address, char* own_address, int port, int own_port);

  void set_options();
  void set_security();
  void set_callbacks();
  void set_method();
  void set_headers();
  std::vector<HttpHeader> headers_to_send() const;
  std::string origin() const { return is_signed() ? settings_.signer->origin() : std::string(); }
  bool is_signed() const { return settings_.signer && !place_.left_host; }
  bool refuse(std::string why);
  std::size_t body_limit() const;
  bool keeps_body() const;
  bool make_room(std::size_t count);
  Verdict judge_attempt(CURLcode code);
  Verdict judge_status();
  bool is_answer(int status) const;
  Verdict judge_redirect();
  Verdict judge_bytes() const;
  Verdict judge_whole() const;
  Verdict judge_range() const;
  Verdict judge_failure(CURLcode code) const;

  const WebRequest& request_;
  const HttpSettings& settings_;
  Connections& connections_;
  HttpPlace place_;
  curl_socket_t socket_ = CURL_SOCKET_BAD;  ///< the one that the connection uses
  std::unique_ptr<CURL, FreeEasy> easy_;
  std::unique_ptr<curl_slist, FreeList> header_list_;
  AnswerHeaders headers_;
  std::vector<std::uint8_t> body_;
  std::size_t body_memory_ = 0;  ///< taken from request_.memory
  std::size_t header_bytes_ = 0, body_bytes_ = 0;
  bool head_is_whole_ = false;          ///< the empty line after all headers has come
  std::optional<std::string> refused_;  ///< why this class ended the transfer
  int refusal_ = EIO;                   ///< errno for `refused_`
  char error_[CURL_ERROR_SIZE] = {};
};

}  // namespace bloscfs::frame::inline remote
