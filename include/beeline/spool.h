#pragma once

// A task folder: tasks as files, handed from producers to workers by renames.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include <beeline/types.h>

namespace beeline::spool {

/// Most bytes of an id: the longest file name that is made of it must fit into a folder.
inline constexpr std::size_t kMostIdBytes = 200;
/// Most bytes of a file that is read or written. A larger one in the inbox is an invalid task.
inline constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;
/// Deepest nesting of the JSON in a file.
inline constexpr std::size_t kMostDepth = 64;

/// The five kinds of failure. Programs branch on this; people read `Failure::text`.
enum class Code : std::uint8_t {
  kMailboxDir,    ///< the folder does not exist, is no folder, takes no files, or its disk is full
  kTaskExists,    ///< a task of this id waits or is being worked on
  kNoTasks,       ///< no task waits, or none came in the time given
  kTaskNotFound,  ///< no task of this id, or another worker has it
  kInvalidTask,   ///< the JSON, a value in it, or the id cannot be used
};
/// The document's name of a code, for example "ErrNoTasks". Static.
[[nodiscard]] std::string_view name_of(Code code);
/// The document's text of a code, for example "no tasks available". Static.
[[nodiscard]] std::string_view text_of(Code code);

/// A failure with its context. `text` begins with text_of(code).
struct Failure {
  Code code = Code::kMailboxDir;
  int sys_errno = 0;  ///< the errno behind it, 0 if no system call failed
  std::string text{};
};

/// A value or the reason why there is none.
template <typename T>
using Outcome = tl::expected<T, Failure>;

/// A key that the format does not know, with its value as JSON text. Both are kept.
using Extra = std::pair<std::string, std::string>;

struct Metadata {
  std::string worktree{};
  std::vector<std::string> dependencies{};
  std::vector<Extra> extra{};
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

/// A task as its file has it. Texts are UTF-8. Times are seconds since 1970. Words that the format
/// lists are given here; other words are kept as they are.
struct Task {
  std::string id{};  ///< 1 to kMostIdBytes bytes: UTF-8 without '/' and control characters, does
                     ///< not begin with '.'. Spool::put() makes one if it is empty
  std::string title{};
  std::string description{};
  std::string epic_id{};
  std::string parent_id{};
  std::int64_t sequence_number = 0;
  std::string type = "other";     ///< feature bug refactor test docs research fix other
  std::int64_t priority = 1;      ///< higher first
  std::string status = "ready";   ///< ready claimed in_progress paused blocked completed failed
                                  ///< cancelled
  std::int64_t attempts = 0;      ///< how often it was claimed
  std::int64_t max_attempts = 3;  ///< 3: it is run three times at most
  std::string last_error{};
  std::string claimed_by{};
  std::int64_t claimed_at = 0;
  std::string operator_name{};      ///< key "operator"
  std::string verdict = "unknown";  ///< pass fail blocked unknown
  std::string verdict_reason{};
  std::string test_mode = "strict";
  std::string test_scope = "diff";
  std::string test_command{};
  std::int64_t created_at = 0;  ///< Spool::put() writes the time if it is 0
  std::int64_t updated_at = 0;  ///< likewise
  Metadata metadata{};
  std::vector<Extra> extra{};
  friend bool operator==(const Task&, const Task&) = default;
};

/// A result, as its file in outbox/ has it.
struct Completion {
  std::string task_id{};  ///< Claim::complete() writes it
  std::string status = "completed";
  std::string verdict = "unknown";
  std::string verdict_reason{};
  std::string output{};
  std::int64_t duration_ms = -1;  ///< negative: Claim::complete() writes the time since the claim
  std::int64_t completed_at = 0;  ///< Claim::complete() writes it
  std::vector<Extra> extra{};
  friend bool operator==(const Completion&, const Completion&) = default;
};

/// The end of a task that failed, as its file in failed/ has it.
struct TaskError {
  std::string task_id{};
  std::string status = "failed";
  std::string error{};
  std::int64_t attempts = 0;
  std::int64_t last_attempt_at = 0;
  std::int64_t failed_at = 0;
  std::vector<Extra> extra{};
  friend bool operator==(const TaskError&, const TaskError&) = default;
};

/// These read and write the JSON of the three files: known keys in the document's order, then the
/// others, indented by two spaces, one line end after the last brace. A key that is missing or null
/// has its default. Errors of the readers: kInvalidTask (no JSON object, a wrong type, too deep,
/// too large); the text says where. Texts that are no UTF-8 are written with U+FFFD in place of the
/// bad bytes.
[[nodiscard]] Outcome<Task> read_task(std::string_view json);
[[nodiscard]] Outcome<Completion> read_completion(std::string_view json);
[[nodiscard]] Outcome<TaskError> read_error(std::string_view json);
[[nodiscard]] std::string to_json(const Task& task);
[[nodiscard]] std::string to_json(const Completion& completion);
[[nodiscard]] std::string to_json(const TaskError& error);

/// The folder's environment variables. A number that cannot be read is the default; of one with
/// other characters behind it, the number counts.
struct Environment {
  std::string dir = "/tmp/drover/mailbox";  ///< $DROVER_MAILBOX_DIR
  bool enabled = false;                     ///< $DROVER_MAILBOX_ENABLED: "true" or "1". For
                                            ///< programs that have another queue, too; nothing here
                                            ///< looks at it
  std::chrono::days outbox_retention{7};    ///< $DROVER_MAILBOX_OUTBOX_RETENTION, days
  std::chrono::days failed_retention{30};   ///< $DROVER_MAILBOX_FAILED_RETENTION, days
  [[nodiscard]] static Environment read();
};

/// The writes that a call waits for. All three survive the `kill -9` of any process.
enum class Sync : std::uint8_t {
  kNone,  ///< none. After a power loss the last seconds may be missing or files may be empty
  kData,  ///< the file's content, before it gets its name. After a power loss every file is whole;
          ///< a move of the last seconds may be missing
  kFull,  ///< the names too. A call that returned survives a power loss
};

/// The order in which tasks are claimed.
enum class ClaimOrder : std::uint8_t {
  kPriority,  ///< priority, higher first, then created_at, then sequence_number, then the id
  kFifo,      ///< created_at, then sequence_number, then the id
};

struct Options {
  std::string dir{};     ///< empty: Environment::dir
  std::string worker{};  ///< name in claimed_by; empty: "HOST:PID"
  Sync sync = Sync::kNone;
  ClaimOrder order = ClaimOrder::kPriority;
  /// For list() and find() without the right to write. Opening makes no folder then: one that is
  /// not there is kMailboxDir.
  bool read_only = false;
  /// True if processes of other hosts use the folder. Then a wait looks once in `poll_every`,
  /// because inotify does not see the changes of other hosts.
  bool shared = false;
  std::chrono::milliseconds poll_every{1000};
  /// The process that the claims belong to, as a pid. When it has ended, any process that uses the
  /// folder may take the claims back. 0: this process. -1: none; only `heartbeat_patience` counts.
  std::int32_t process = 0;
  /// A claim whose process cannot be looked at from here, because it is on another host or in
  /// another container, is taken back after so long without a heartbeat. The same holds
  /// for a file that another program moved to processing/.
  std::chrono::seconds heartbeat_patience{15 * 60};
  std::optional<std::chrono::seconds> outbox_retention{};  ///< empty: Environment's
  std::optional<std::chrono::seconds> failed_retention{};  ///< empty: Environment's
  std::chrono::seconds temp_retention{60 * 60};
};

enum class Folder : std::uint8_t { kInbox, kProcessing, kOutbox, kFailed };
/// The name of a folder, for example "inbox". Static.
[[nodiscard]] std::string_view to_string(Folder folder);

/// A file of the folder. One of the three is set, unless there is a problem.
struct Listed {
  std::string id{};
  Folder folder = Folder::kInbox;
  std::int64_t changed_at = 0;  ///< seconds since 1970
  std::optional<Task> task{};   ///< in inbox and processing
  std::optional<Completion> completion{};
  std::optional<TaskError> error{};
  std::string problem{};  ///< why the file cannot be read
};

/// The result of Spool::sweep().
struct Swept {
  std::vector<std::string> recovered{};  ///< ids: their workers had ended, they wait again
  std::vector<std::string> exhausted{};  ///< ids: likewise, but no attempt was left; now in failed/
  std::vector<std::string> finished{};   ///< ids: the result was written, and the claim is gone now
  std::size_t results = 0;               ///< old files removed from outbox/
  std::size_t errors = 0;                ///< old files removed from failed/
  std::size_t temps = 0;                 ///< old files removed from .tmp/
};

class SpoolCore;
class WatchCore;

/// A claimed task. End it with complete(), fail() or retry(). One that is destroyed without any of
/// them, and without keep(), is put back as retry() does. Must not outlive its Spool.
class Claim {
 public:
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) noexcept;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim();

  /// False after it was moved from, ended or kept.
  [[nodiscard]] bool valid() const { return core_ != nullptr; }
  /// As its file in processing/ has it.
  [[nodiscard]] const Task& task() const { return task_; }

  // Errors of the calls below: kTaskNotFound (it is not this worker's any more: its heartbeat was
  // missing, or somebody moved the file; nothing was written, or the text says so), kMailboxDir
  // (nothing was lost, and the claim is as before: try again).

  /// Writes the result to outbox/ and ends the claim. An older result of the same id is replaced.
  Outcome<void> complete(Completion completion = {});
  /// Writes the error to failed/ and ends the task for good, whatever attempts are left.
  Outcome<void> fail(std::string_view error);
  /// Puts the task back into inbox/ with this error in last_error, or fails it if its attempts are
  /// used up. True: it waits again.
  Outcome<bool> retry(std::string_view error);
  /// Says that the worker lives, in a folder that other hosts share. Call it a few times in
  /// Options::heartbeat_patience.
  Outcome<void> heartbeat();
  /// Keeps a text with the claim, in its file, for the process that takes the claim over.
  Outcome<void> write_note(std::string_view note);
  [[nodiscard]] const std::string& note() const { return note_; }
  /// Lets go of this object. The claim stays: Spool::held() finds it again.
  void keep();

 private:
  friend class SpoolCore;
  Claim(SpoolCore* core, Task task, std::string note, std::uint64_t inode, std::int64_t written_ns,
        std::int64_t made_ns)
      : core_(core),
        task_(std::move(task)),
        note_(std::move(note)),
        inode_(inode),
        written_ns_(written_ns),
        made_ns_(made_ns) {}
  SpoolCore* core_;
  Task task_;
  std::string note_;
  // The file in processing/ as this worker wrote it: another one there is another worker's claim.
  std::uint64_t inode_;
  std::int64_t written_ns_;
  std::int64_t made_ns_;  // when the task was claimed
};

/// A task folder. One thread uses a Spool; open one for each thread. Nothing throws. After a fork
/// the child opens its own.
class Spool {
 public:
  /// Opens a folder and makes it, with its five sub-folders, if it is not there. Errors:
  /// kMailboxDir.
  [[nodiscard]] static Outcome<Spool> open(const Options& options = {});
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) noexcept;
  ~Spool();

  /// The options with all defaults filled in; `dir` is absolute.
  [[nodiscard]] const Options& options() const;

  /// Writes a task to inbox/ and returns its id. Never overwrites one. Errors: kTaskExists (in
  /// inbox or processing; the one there stays as it is), kInvalidTask, kMailboxDir (nothing was
  /// written).
  [[nodiscard]] Outcome<std::string> put(Task task);

  /// Claims the next task in the order of Options. Its attempts are one more. A file that is no
  /// task is moved to failed/ with the reason, and the claim goes on to the next one; see
  /// take_remarks(). Takes back claims of ended processes before it says that there are none.
  /// Errors: kNoTasks, kMailboxDir.
  [[nodiscard]] Outcome<Claim> try_claim();
  /// Waits for a task until the deadline. Wakes up for a new task and for the end of a process that
  /// has claims.
  [[nodiscard]] Outcome<Claim> claim(Deadline deadline);
  /// The claim of this worker (Options::worker) on a task, whatever process made it. Errors:
  /// kTaskNotFound.
  [[nodiscard]] Outcome<Claim> held(std::string_view id);
  /// Makes all claims of this worker the claims of Options::process, and returns them. For a worker
  /// that was restarted under its name, while no other process uses that name.
  [[nodiscard]] Outcome<std::vector<Claim>> take_over();

  /// All files of a folder that have the form of its names: tasks in the order of their claims, the
  /// others by the time of their last change.
  [[nodiscard]] Outcome<std::vector<Listed>> list(Folder folder);
  /// The task of an id where it is now: processing/, inbox/, or the newer of outbox/ and failed/.
  /// Errors: kTaskNotFound.
  [[nodiscard]] Outcome<Listed> find(std::string_view id);

  /// Takes back claims whose processes have ended, ends half-finished ones, and removes files that
  /// are older than their retention. Call it now and then; an hour is usual.
  [[nodiscard]] Outcome<Swept> sweep();

  /// Readable when a task may have come, or a process with a claim has ended. For a loop of your
  /// own: call try_claim() until it says kNoTasks, then wait. Call it once in Options::poll_every,
  /// too: the kernel tells nothing of other hosts and of heartbeats that are missing. -1: the
  /// kernel has no inotify for us now. Owned by the Spool.
  [[nodiscard]] int fd();
  /// Remarks about files that were left alone or moved to failed/: files that are no tasks, links,
  /// devices, odd names. Each is said once. At most 100 wait; a last one says how many more.
  [[nodiscard]] std::vector<std::string> take_remarks();

 private:
  explicit Spool(std::unique_ptr<SpoolCore> core);
  std::unique_ptr<SpoolCore> core_;
};

/// A change in a folder.
struct Change {
  std::string id{};
  Folder folder = Folder::kInbox;
  bool came = true;  ///< false: it left this folder
};

/// Tells of files that come and go. It belongs to one thread.
class Watch {
 public:
  /// Errors: kMailboxDir (no such folder; the kernel has no inotify for us now).
  [[nodiscard]] static Outcome<Watch> open(const Options& options = {});
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();
  /// Readable when next() has something.
  [[nodiscard]] int fd() const;
  /// The next change, in order; does not wait. After an overflow of the kernel's queue `id` is
  /// empty once: changes were lost.
  [[nodiscard]] std::optional<Change> next();

 private:
  explicit Watch(std::unique_ptr<WatchCore> core);
  std::unique_ptr<WatchCore> core_;
};

}  // namespace beeline::spool
