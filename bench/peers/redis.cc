// Redis: PUBLISH and SUBSCRIBE with hiredis over a Unix socket, without writes to disk. In a stream
// 64 commands go in one write and their answers are read together (pipelining).

#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/redis_context.h"
#include "bench/peers/registry.h"
#include "bench/peers/servers.h"

namespace beeline::bench::peers {
namespace {

constexpr int kPipelined = 64;

class Redis {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<Redis> create(const PeerCase&) { return Redis(); }
};

class Redis::Port : public PortBase {
 public:
  // A subscriber that is 8 MB behind for a minute, or 32 MB once, is dropped by the server.
  static constexpr std::uint64_t kWindow = 4096;

  Port(const Redis&, const PeerCase& what, const Place& place)
      : PortBase(what, place), channel_(name_of(place.out())), own_(what.size) {}

  bool listen() {
    if (!place().receives()) return true;
    if (!open(in_)) return false;
    const std::string name = name_of(place().in());
    Reply reply(static_cast<redisReply*>(::redisCommand(in_.get(), "SUBSCRIBE %s", name.c_str())));
    return reply != nullptr || fail_by_library(in_);
  }

  bool connect() { return !place().sends() || open(out_); }

  bool send(std::uint64_t number, bool more) {
    // The answers to earlier commands have come long ago.
    if (!more && !read_answers()) return false;
    write_payload(own_.data(), number);
    std::array<const char*, 3> words{"PUBLISH", channel_.c_str(), own_.data()};
    const std::array<std::size_t, 3> lengths{7, channel_.size(), own_.size()};
    if (::redisAppendCommandArgv(out_.get(), 3, words.data(), lengths.data()) != REDIS_OK) {
      return fail_by_library(out_);
    }
    ++unanswered_;
    if (!more) return write_out();
    return unanswered_ < kPipelined || (write_out() && read_answers());
  }

  bool receive(std::uint64_t& number) {
    void* raw = nullptr;
    if (::redisGetReply(in_.get(), &raw) != REDIS_OK) return fail_by_library(in_);
    const Reply reply(static_cast<redisReply*>(raw));
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3) {
      return fail("redis sent something else than a message");
    }
    const redisReply& payload = *reply->element[2];
    return read_payload(payload.str, static_cast<std::size_t>(payload.len), number);
  }

  void flush() {
    if (unanswered_ > 0) (void)(write_out() && read_answers());
  }

 private:
  [[nodiscard]] std::string name_of(std::size_t channel) const {
    return fmt::format("{}-{}", what().scope, channel);
  }

  bool open(Context& context) {
    context.reset(::redisConnectUnix(what().server.c_str()));
    return (context != nullptr && context->err == 0) || fail_by_library(context);
  }

  bool write_out() {
    for (int done = 0; done == 0;) {
      if (::redisBufferWrite(out_.get(), &done) != REDIS_OK) return fail_by_library(out_);
    }
    return true;
  }

  bool read_answers() {
    for (; unanswered_ > 0; --unanswered_) {
      void* raw = nullptr;
      if (::redisGetReply(out_.get(), &raw) != REDIS_OK) return fail_by_library(out_);
      const Reply reply(static_cast<redisReply*>(raw));
      if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1) {
        return fail("redis gave a message to nobody");
      }
    }
    return true;
  }

  bool fail_by_library(const Context& context) {
    return fail(fmt::format("redis: {}", context ? context->errstr : "out of memory"));
  }

  Context in_;
  Context out_;
  std::string channel_;
  std::vector<char> own_;
  int unanswered_ = 0;
};

}  // namespace

PeerEntry redis_entry() {
  return {
      "redis",
      "libhiredis-dev redis-server",
      false,
      true,
      measure_peer<Redis>,
      [] { return fmt::format("hiredis {}.{}.{}", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH); },
      [] { return start_redis_server({}); }};
}

}  // namespace beeline::bench::peers
