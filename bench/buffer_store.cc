#include "bench/buffer_store.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <utility>

#include <beeline/agent.h>
#include <beeline/buffer.h>
#include <fmt/format.h>

#include "bench/child_program.h"
#include "bench/sqlite_store.h"
#include "src/os/process.h"
#include "tools/beeline/scratch_hive.h"

// This follows beeline/result.h, because its enumerator kVersion would shadow the constant.
#include <beeline/version.h>

namespace beeline::bench {
namespace {

constexpr std::chrono::seconds kReadyPatience(30);

Result<Agent> attach_sender() {
  AttachOptions options;
  options.start_coordinator = false;
  options.use_ticket = false;
  return Agent::attach(options);
}

class BufferSender final : public StoreSender {
 public:
  BufferSender(Agent agent, std::size_t number) : agent_(std::move(agent)), buffer_(agent_) {
    entry_.channel = "bench";
    entry_.sender = fmt::format("sender-{}", number);
    entry_.conversation = fmt::format("conversation-{}", number);
  }

  Result<void> put(const std::string& payload) override {
    entry_.payload = payload;
    const auto receipt = buffer_.put(entry_);
    if (!receipt) return tl::unexpected(receipt.error());
    return {};
  }

 private:
  Agent agent_;
  Buffer buffer_;
  BufferEntry entry_{};
};

class BufferStore final : public Store {
 public:
  BufferStore(cli::ScratchHive hive, ChildProgram program, const std::string& database)
      : Store({"beeline", kSyncedBefore, fmt::format("beeline {}", kVersion), database}),
        hive_(std::move(hive)),
        program_(std::move(program)) {}

  Result<std::unique_ptr<StoreSender>> connect(std::size_t number) const override {
    auto agent = attach_sender();
    if (!agent) return tl::unexpected(agent.error());
    return std::make_unique<BufferSender>(std::move(*agent), number);
  }

 private:
  cli::ScratchHive hive_;
  ChildProgram program_;  // ends before the hive
};

// Waits until the buffer answers.
Result<void> await_buffer(const ChildProgram& program) {
  auto agent = attach_sender();
  if (!agent) return tl::unexpected(agent.error());
  WaitOptions options;
  options.process = program.pid();
  if (auto peer = agent->wait_for("buffer", after(kReadyPatience), options); !peer) {
    return fail(peer.error().code, fmt::format("beeline buffer run: {}; its output: {}",
                                               peer.error().text, program.last_words()));
  }
  const auto status = Buffer(*agent).status();
  return status ? Result<void>() : tl::unexpected(status.error());
}

}  // namespace

Result<std::unique_ptr<Store>> start_buffer_store(const std::string& folder) {
  const std::string beeline = os::executable_directory() + "/beeline";
  if (::access(beeline.c_str(), X_OK) != 0) {
    return fail(ErrorCode::kInvalid, beeline + " is not there: build or install it");
  }
  auto hive = cli::ScratchHive::start("bench");
  if (!hive) return tl::unexpected(hive.error());
  const std::string database = folder + "/buffer.db";
  if (auto made = make_seasoned_database(database); !made) return tl::unexpected(made.error());
  // A file of the same name in the directory of the caller must not change what is measured.
  const std::string config = folder + "/koshi.yaml";
  if (!std::ofstream(config).flush()) return fail(ErrorCode::kSystem, "cannot write " + config);
  auto program = ChildProgram::start(
      {beeline, "buffer", "run", "--db", database, "--config", config}, folder + "/output");
  if (!program) return tl::unexpected(program.error());
  if (auto ready = await_buffer(*program); !ready) return tl::unexpected(ready.error());
  return std::make_unique<BufferStore>(std::move(*hive), std::move(*program), database);
}

}  // namespace beeline::bench
