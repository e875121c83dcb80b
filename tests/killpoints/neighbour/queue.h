#pragma once
// What both neighbours are to do in the same sweep: somebody is killed in the middle of a send or a
// receive, then a fresh process sends one message more and receives all that is there.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace beeline::killpoints {

enum class Part : std::uint8_t { kSend, kReceive };

// The messages of one trial. The victim has sent the first three itself, and is killed while it
// sends the fourth; or it has received the first of four, and is killed while it receives the
// second. So what is done once in a process, by the dynamic linker too, is behind it.
inline constexpr std::uint32_t kSent = 3;
inline constexpr std::uint32_t kReceived = 1;
inline constexpr std::uint32_t kFresh = 4;  // sent by the fresh process, the last of all
inline constexpr std::uint32_t kMessages = 5;

// What is known of one kill. In shared memory: its writers may be killed.
struct Trial {
  std::uint64_t number = 0;
  Part part = Part::kSend;
  std::uint32_t length = 0;  // of each payload
  // ---- By the victim ----
  std::atomic<bool> returned{false};  // its send was accepted, or it has the message
  std::atomic<std::uint64_t> steps{0};
  // ---- By the fresh process ----
  std::array<std::atomic<std::uint32_t>, kMessages> received{};
  std::atomic<std::uint32_t> corrupt{0};  // not what was sent, or twice without saying so
  std::atomic<bool> complete{false};      // it has come to its end
  char error[160] = {};                   // why it has not, or what it was at

  void write(std::span<std::byte> payload, std::uint32_t message) const;
  // `flagged`: it says itself that it may have come before.
  void note_received(std::span<const std::byte> payload, bool flagged);
  void note(const std::string& what);
};

// A queue under test, in one worker process. Each function is called in a process of its own, but
// for prepare(), which may make some.
class Queue {
 public:
  virtual ~Queue() = default;
  // Everything that is there before the victim starts.
  virtual void prepare(Trial& trial) = 0;
  // The victim: what it does before the operation, and the operation. The buffer of the message
  // that it sends is filled before.
  virtual void open(Trial& trial) = 0;
  virtual void operate(Trial& trial) = 0;
  // The fresh process: sends kFresh, receives all, and says `complete` when kFresh has come.
  virtual void use(Trial& trial) = 0;
};

struct Neighbour {
  const char* name;
  int workers;      // trials at the same time
  int patience_ms;  // a fresh process that has not come to its end by then hangs
  std::unique_ptr<Queue> (*make)(int worker);
};

extern const Neighbour kBoostQueue;
extern const Neighbour kBeelineAgents;

// A hive of this program's own for kBeelineAgents; what is left of it is removed.
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
