// NATS JetStream as a store: one publication a message, and the next one after its acknowledgement.

#include <nats/nats.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bench/peers/servers.h"
#include "bench/peers/stores.h"

namespace beeline::bench::peers {
namespace {

constexpr int kTries = 40;  // to add the stream
constexpr std::chrono::milliseconds kPause(50);

constexpr const char* kSubject = "messages.bench";

class NatsSender final : public StoreSender {
 public:
  ~NatsSender() override {
    ::jsCtx_Destroy(stream_);
    ::natsConnection_Destroy(connection_);
    ::natsOptions_Destroy(options_);
  }

  Result<void> connect(const std::string& address) {
    auto done = checked(::natsOptions_Create(&options_));
    if (done) done = checked(::natsOptions_SetURL(options_, address.c_str()));
    if (done) done = checked(::natsOptions_SetSendAsap(options_, true));
    if (done) done = checked(::natsConnection_Connect(&connection_, options_));
    if (done) done = checked(::natsConnection_JetStream(&stream_, connection_, nullptr));
    return done ? add_stream() : done;
  }

  Result<void> put(const std::string& payload) override {
    jsErrCode reason{};
    return checked(::js_Publish(nullptr, stream_, kSubject, payload.data(),
                                static_cast<int>(payload.size()), nullptr, &reason),
                   reason);
  }

 private:
  // Each sender may add it; the first one makes it.
  Result<void> add_stream() {
    const char* subjects[] = {"messages.*"};
    jsStreamConfig config;
    auto done = checked(::jsStreamConfig_Init(&config));
    if (!done) return done;
    config.Name = "messages";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    // Senders that add it at the same time may meet an error without a reason.
    for (int tries = 1;; ++tries) {
      jsErrCode reason{};
      done = checked(::js_AddStream(nullptr, stream_, &config, nullptr, &reason), reason);
      if (done || tries == kTries) return done;
      std::this_thread::sleep_for(kPause);
    }
  }

  static Result<void> checked(natsStatus status, jsErrCode reason = {}) {
    if (status == NATS_OK) return {};
    return fail(ErrorCode::kSystem,
                fmt::format("nats: {} (JetStream {})", ::natsStatus_GetText(status),
                            static_cast<int>(reason)));
  }

  natsOptions* options_ = nullptr;
  natsConnection* connection_ = nullptr;
  jsCtx* stream_ = nullptr;
};

class NatsStore final : public Store {
 public:
  NatsStore(Server server, const char* promise)
      : Store({"nats jetstream", promise, server.version, ""}), server_(std::move(server)) {}

  Result<std::unique_ptr<StoreSender>> connect(std::size_t /*number*/) const override {
    auto sender = std::make_unique<NatsSender>();
    if (auto done = sender->connect(server_.address); !done) return tl::unexpected(done.error());
    return sender;
  }

 private:
  Server server_;
};

Result<Server> start_with(const std::string& folder, const char* sync) {
  const std::string config = folder + "/nats.conf";
  std::ofstream(config) << fmt::format("jetstream {{ store_dir: \"{}/jetstream\"{} }}\n", folder,
                                       sync);
  return start_nats_server({"--config", config});
}

}  // namespace

Result<std::unique_ptr<Store>> start_nats_store(const std::string& folder) {
  if (auto server = start_with(folder, ", sync_interval: always")) {
    return std::make_unique<NatsStore>(std::move(*server), kSyncedBefore);
  }
  // An older server does not know the word. It syncs from time to time.
  auto server = start_with(folder, "");
  if (!server) return tl::unexpected(server.error());
  return std::make_unique<NatsStore>(std::move(*server), kSyncedLater);
}

}  // namespace beeline::bench::peers
