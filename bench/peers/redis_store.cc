// Redis as a store: one command a message, and the next one after its answer.

#include <utility>

#include <fmt/format.h>

#include "bench/peers/redis_context.h"
#include "bench/peers/servers.h"
#include "bench/peers/stores.h"

namespace beeline::bench::peers {
namespace {

tl::unexpected<Error> redis_failure(const char* words) {
  return fail(ErrorCode::kSystem, fmt::format("redis: {}", words));
}

class RedisSender final : public StoreSender {
 public:
  RedisSender(Context context, std::size_t number)
      : context_(std::move(context)),
        name_(fmt::format("sender-{}", number)),
        conversation_(fmt::format("conversation-{}", number)) {}

  Result<void> put(const std::string& payload) override {
    const Reply reply(static_cast<redisReply*>(::redisCommand(
        context_.get(), "XADD messages * channel bench sender %s conversation %s payload %b",
        name_.c_str(), conversation_.c_str(), payload.data(), payload.size())));
    if (!reply) return redis_failure(context_->errstr);
    if (reply->type == REDIS_REPLY_ERROR) return redis_failure(reply->str);
    return {};
  }

 private:
  Context context_;
  std::string name_;
  std::string conversation_;
};

class RedisStore final : public Store {
 public:
  explicit RedisStore(Server server)
      : Store({"redis streams", kSyncedBefore, server.version, ""}), server_(std::move(server)) {}

  Result<std::unique_ptr<StoreSender>> connect(std::size_t number) const override {
    Context context(::redisConnectUnix(server_.address.c_str()));
    if (!context) return redis_failure("out of memory");
    if (context->err != 0) return redis_failure(context->errstr);
    return std::make_unique<RedisSender>(std::move(context), number);
  }

 private:
  Server server_;
};

}  // namespace

Result<std::unique_ptr<Store>> start_redis_store(const std::string& folder) {
  auto server =
      start_redis_server({"--dir", folder, "--appendonly", "yes", "--appendfsync", "always"});
  if (!server) return tl::unexpected(server.error());
  return std::make_unique<RedisStore>(std::move(*server));
}

}  // namespace beeline::bench::peers
