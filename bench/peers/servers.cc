#include "bench/peers/servers.h"

namespace beeline::bench::peers {

Result<Server> start_redis_server(const std::vector<std::string>& words) {
  std::string address;
  auto server = Server::start(
      "redis-server",
      [&](const std::string& place) {
        address = place + "/redis.sock";
        std::vector<std::string> command{
            "--port", "0",   "--unixsocket", address, "--save",       "",  "--appendonly", "no",
            "--dir",  place, "--daemonize",  "no",    "--supervised", "no"};
        command.insert(command.end(), words.begin(), words.end());
        return command;
      },
      "ready to accept connections at");
  if (!server) return server;
  server->address = address;
  server->version = "redis-server " + server->word_behind("Redis version=");
  return server;
}

Result<Server> start_nats_server(const std::vector<std::string>& words) {
  // Any free port; the output names it.
  auto server = Server::start(
      "nats-server",
      [&](const std::string&) {
        std::vector<std::string> command{"--addr", "127.0.0.1", "--port", "-1"};
        command.insert(command.end(), words.begin(), words.end());
        return command;
      },
      "Server is ready");
  if (!server) return server;
  const std::string place = server->word_behind("client connections on");
  if (place.empty()) return fail(ErrorCode::kSystem, "nats-server named no port");
  server->address = "nats://" + place;
  server->version = "nats-server " + server->word_behind("Version:");
  return server;
}

}  // namespace beeline::bench::peers
