#include "tests/remote/nginx.hpp"

#include <fstream>

#include <fmt/core.h>
#include <unistd.h>

#include "tests/remote/scripted_server.hpp"
#include "tests/support/comes_true.hpp"

namespace bloscfs::test {
namespace {

void must_run(const Arguments& arguments) {
  const ProcessResult result = run(arguments);
  if (!result.ok()) throw std::runtime_error(arguments.front() + ": " + result.description());
}

}  // namespace

Precondition needs_nginx(boost::unit_test::test_unit_id) {
  for (const char* name : {"nginx", "openssl"})
    if (!have_program(name)) return skip(std::string(name) + " is not installed");
  return true;
}

Nginx::Nginx() {
  fs_std::create_directory(www());
  fs_std::create_directory(root_ / "run");
  fs_std::permissions(root_.path(), fs_std::perms(0755));
  fs_std::permissions(root_ / "run", fs_std::perms(0777));
  make_certificates();
  ProcessSettings settings;
  if (geteuid() == 0) settings.uid = nobody();
  const std::string root = root_.path().string();
  // Another program may take a port after free_port() has found it.
  for (int tries = 0; tries < 5; tries++) {
    port_ = free_port();
    secure_port_ = free_port();
    write_settings();
    server_ = Child({"nginx", "-p", root, "-e", "run/error.log", "-c", root + "/nginx.conf"},
                    root + "/run/output", settings);
    if (comes_true([&] { return answers() || !server_.running(); }) && server_.running()) return;
  }
  throw std::runtime_error("nginx does not start");
}

void Nginx::make_certificates() const {
  const std::string root = root_.path().string();
  const auto key = [&](const char* name) { return root + "/" + name; };
  write_file(root_ / "names", std::string_view("subjectAltName=IP:127.0.0.1\n"));
  must_run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=test authority", "-keyout", key("ca.key"), "-out",
            key("ca.pem")});
  must_run({"openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", "/CN=127.0.0.1", "-keyout", key("server.key"), "-out", key("server.csr")});
  must_run({"openssl", "x509", "-req", "-in", key("server.csr"), "-CA", key("ca.pem"), "-CAkey",
            key("ca.key"), "-CAcreateserial", "-days", "2", "-extfile", key("names"), "-out",
            key("server.pem")});
  fs_std::permissions(root_ / "server.key", fs_std::perms(0644));
}

void Nginx::write_settings() const {
  std::string temporaries;
  for (const char* what : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    temporaries += fmt::format("  {}_temp_path run/{};\n", what, what);
  const std::string locations = fmt::format(
      "    root www;\n    autoindex on;\n"
      "    location /json/ {{ alias www/; autoindex on; autoindex_format json; }}\n"
      "    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}\n"
      "    location = /loop {{ return 302 /loop; }}\n"
      "    location = /down {{ return 302 http://127.0.0.1:{}/small.b2frame; }}\n"
      "    location = /closed {{ return 403; }}\n"
      "    location = /login {{ return 401; }}\n"
      "    location /private/ {{ alias www/; auth_basic private; auth_basic_user_file users; }}\n"
      "    location /busy/ {{ alias www/; limit_req zone=busy burst=4 nodelay; }}\n"
      "    location /bare/ {{ alias www/; etag off; add_header Last-Modified ''; }}\n",
      port_);
  const std::string text = fmt::format(
      "daemon off;\nmaster_process off;\npid run/pid;\nerror_log run/error.log;\n"
      "events {{ worker_connections 128; }}\nhttp {{\n{0}"
      "  log_format short '$status $request_method $uri $http_range $server_protocol "
      "$body_bytes_sent';\n"
      "  access_log run/access.log short;\n"
      "  limit_req_zone $server_port zone=busy:1m rate=10r/s;\n"
      "  server {{\n    listen 127.0.0.1:{1};\n{3}  }}\n"
      "  server {{\n    listen 127.0.0.1:{2} ssl http2;\n"
      "    ssl_certificate server.pem;\n    ssl_certificate_key server.key;\n{3}  }}\n}}\n",
      temporaries, port_, secure_port_, locations);
  write_file(root_ / "nginx.conf", std::string_view(text));
  write_file(root_ / "users", std::string_view("me:{PLAIN}secret\n"));
}

bool Nginx::answers() const {
  const std::string probe = fmt::format("exec 3<>/dev/tcp/127.0.0.1/{}", secure_port_);
  return fs_std::exists(root_ / "run/pid") && run({"bash", "-c", probe}).ok();
}

std::string Nginx::url(const std::string& name) const {
  return fmt::format("http://127.0.0.1:{}/{}", port_, name);
}

std::string Nginx::secure_url(const std::string& name) const {
  return fmt::format("https://127.0.0.1:{}/{}", secure_port_, name);
}

std::vector<Nginx::Logged> Nginx::log_lines() const {
  std::ifstream file(root_ / "run/access.log");
  std::vector<Logged> lines;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.rfind(' ');
    // nginx may not have written all of the last line yet.
    if (space == std::string::npos || file.eof()) break;
    lines.push_back({line.substr(0, space), std::stoull(line.substr(space))});
  }
  return lines;
}

std::vector<std::string> Nginx::wait_for_requests(std::size_t count) {
  // nginx writes a line after it has sent the answer, so lines may still be missing.
  comes_true([&] { return log_lines().size() >= forgotten_ + count; });
  usleep(50000);
  std::vector<std::string> lines;
  for (Logged& logged : log_lines()) lines.push_back(std::move(logged.line));
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(forgotten_));
  return lines;
}

std::uint64_t Nginx::body_bytes_sent() const {
  const std::vector<Logged> lines = log_lines();
  std::uint64_t sum = 0;
  for (std::size_t i = forgotten_; i < lines.size(); i++) sum += lines[i].bytes;
  return sum;
}

void Nginx::forget_requests() {
  usleep(50000);
  forgotten_ = log_lines().size();
}

}  // namespace bloscfs::test
