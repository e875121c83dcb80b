#pragma once
// The same sweep for both neighbours: a process is killed in the middle of a send or a receive;
// then a fresh process sends one more message and receives all.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace beeline::killpoints {

enum class Part : std::uint8_t { kSend, kReceive };

// The messages of one trial. The victim has sent the first three, and is killed while it sends the
// fourth; or it has received the first of four, and is killed while it receives the second. So work
// that a process does only once, also by the dynamic linker, is over by then.
inline constexpr std::uint32_t kSent = 3;
inline constexpr std::uint32_t kReceived = 1;
inline constexpr std::uint32_t kFresh = 4;  // sent by the fresh process, last
inline constexpr std::uint32_t kMessages = 5;

// The record of one kill. It lies in shared memory, because its writers may be killed.
struct Trial {
  std::uint64_t number = 0;
  Part part = Part::kSend;
  std::uint32_t length = 0;  // of each payload
  // ---- By the victim ----
  std::atomic<bool> returned{false};  // its send was accepted, or it has the message
  std::atomic<std::uint64_t> steps{0};
  // ---- By the fresh process ----
  std::array<std::atomic<std::uint32_t>, kMessages> received{};
  std::atomic<std::uint32_t> corrupt{0};  // wrong bytes, or a second delivery without a mark
  std::atomic<bool> complete{false};      // it has come to its end
  char error[160] = {};                   // the reason why it has not, or its present step

  void write(std::span<std::byte> payload, std::uint32_t message) const;
  // `flagged`: the message is marked as a possible redelivery.
  void note_received(std::span<const std::byte> payload, bool flagged);
  void note(const std::string& what);
};

// A queue under test, in one worker process. Each function is called in a process of its own,
// except prepare(), which may make some.
class Queue {
 public:
  virtual ~Queue() = default;
  // Makes everything that exists before the victim starts.
  virtual void prepare(Trial& trial) = 0;
  // The victim: its work before the operation, and the operation. The buffer of the message that it
  // sends is filled before.
  virtual void open(Trial& trial) = 0;
  virtual void operate(Trial& trial) = 0;
  // The fresh process: sends kFresh, receives all, and sets `complete` once kFresh has come.
  virtual void use(Trial& trial) = 0;
};

struct Neighbour {
  const char* name;
  int workers;      // trials at the same time
  int patience_ms;  // a fresh process that has not ended by then hangs
  std::unique_ptr<Queue> (*make)(int worker);
};

extern const Neighbour kBoostQueue;
extern const Neighbour kBeelineAgents;

// A hive of this program's own for kBeelineAgents; its leftovers are removed.
class KillpointsHive {
 public:
  KillpointsHive();
  ~KillpointsHive();
  KillpointsHive(const KillpointsHive&) = delete;
  KillpointsHive& operator=(const KillpointsHive&) = delete;

 private:
  std::string directory_;
};

}  // namespace beeline::killpoints
