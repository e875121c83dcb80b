#include "tools/shm_dump/explain.h"

#include <iterator>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace beeline::dump {
namespace {

struct Explained {
  std::string_view word;
  std::string_view meaning;
};
struct Chapter {
  std::string_view title;
  std::span<const Explained> words;
};

constexpr Explained kTable[] = {
    {"segment", "kind, agent, life, and of a link its serial and reader; --save names files so"},
    {"owner", "the agent that writes it: its name and pid, which is no process id"},
    {"reader", "of a link: the agent that takes from it; other segments have many readers"},
    {"KiB in use", "memory that it takes, which is less than its size"},
    {"live", "messages: in a link not taken, in a home waiting or in hand"},
    {"dead", "dead letters in a home"},
    {"verdict", "ok, or BROKEN and the first invariant that does not hold; see --verify"},
    {"-", "there is none, or it cannot be told"},
    {"?", "unknown: neither the reader's home nor a receipt says how many were taken"},
    {"owner runs", "in a title: the copy was taken while its owner ran"},
};
constexpr Explained kKinds[] = {
    {"link", "messages of one agent to another, and receipts for messages the other way"},
    {"home", "the inbox of an agent, with its messages"},
    {"status", "the page on which an agent says whether it sleeps"},
    {"directory", "all agents of the hive, written by the coordinator"},
    {"history", "the last rows that an agent has recorded of its messages"},
    {"none", "a kind that this shm-dump does not know"},
};
constexpr Explained kHeader[] = {
    {"header", "the start of every segment"},
    {"magic", "the mark of a segment"},
    {"layout", "version of the structs; shm-dump --layout prints them"},
    {"kind", "link, home, status, directory or history"},
    {"owner pid", "number of the owner"},
    {"reader pid", "number of the reader"},
    {"incarnation", "life of the owner; of a directory the epoch of its creation"},
    {"serial", "number of a link among those of its owner"},
    {"ready", "complete; a successor's home is not while it is being copied"},
    {"size", "the size that it may grow to"},
    {"allocated", "memory that it takes; of a class how many slabs have some"},
    {"sections", "the parts, shown where they do not hold"},
    {"section", "number of the part"},
    {"offset", "where it begins, in bytes"},
    {"count", "how many elements it has"},
    {"stride", "bytes of an element"},
    {"invariant", "the rule that is broken"},
    {"where", "offset of the word that is wrong"},
    {"found", "the value of that word"},
    {"limit", "the limit of that value"},
};
constexpr Explained kMessage[] = {
    {"messages", "of a link: those that were not taken; with --all all that lie in its slots"},
    {"lane", "normal or urgent"},
    {"position", "number of a message in its lane"},
    {"id", "of the message: pid of its sender and a number"},
    {"type", "as it was sent"},
    {"channel", "as it was sent"},
    {"rank", "the lower the earlier; 0 and below is critical"},
    {"bytes", "length of the payload"},
    {"age", "since it was sent"},
    {"ttl", "how long it counts; 0 is for ever"},
    {"reply to", "id of the message that it answers"},
    {"requires ack", "its receiver has to acknowledge it"},
    {"hops", "how often it was passed on"},
    {"slab", "where its payload lies if that is not inline; in a table of slabs their size"},
    {"generation", "of that slab, which is used again and again"},
    {"taken", "of a message: its reader has it; of a lane: the first position that it has not"},
    {"body", "how the payload begins"},
};
constexpr Explained kLink[] = {
    {"contract", "the sizes that both ends agreed on"},
    {"normal slots", "places of the normal lane"},
    {"urgent slots", "places of the urgent lane"},
    {"max payload", "largest payload of a message"},
    {"control", "words of the owner"},
    {"waits for space", "the owner waits for a slot or a slab"},
    {"watching", "life of the reader that the owner rings"},
    {"lanes", "the two queues of a link"},
    {"slots", "places of a lane"},
    {"tail", "the next position; so many messages were sent"},
    {"in lane", "messages, or slabs of them, that were not taken"},
    {"told by", "the segment that says how many were taken: the reader's home or its own link"},
    {"slabs", "where large payloads lie, by size"},
    {"class", "number of the size"},
    {"in inbox", "slabs that the reader's home refers to"},
    {"stamped", "slabs that the reader has finished at least once"},
    {"strings", "types and channels that were used"},
    {"banks", "receipts for messages the other way, one bank for each life of the peer"},
    {"bank", "number of the bank"},
    {"of incarnation", "the life that it is for"},
    {"of serial", "its link"},
    {"normal cursor", "the first position of the normal lane that was not taken"},
    {"urgent cursor", "the first position of the urgent lane that was not taken"},
    {"stamps ready", "the bank has room for stamps"},
    {"stamped slabs", "how many it has"},
};
constexpr Explained kHome[] = {
    {"policy", "how the inbox was set up"},
    {"order", "aged, strict or fifo; as a place: an order to cancel a message that has not come"},
    {"capacity", "most messages"},
    {"critical reserve", "places that are kept for critical ones"},
    {"max attempts", "before a message is a dead letter"},
    {"rank step", "how much earlier a message of the next lower rank counts as sent"},
    {"next arrival", "number of the next message that comes"},
    {"predecessor", "the life from which it was taken over; 0 is none"},
    {"reserved ids", "up to here ids of messages were given out"},
    {"rows allocated", "rows that have memory"},
    {"entries allocated", "entries that have memory"},
    {"counters", "numbers of messages, by their end"},
    {"balance", "drained has to be the sum of the others"},
    {"drained", "taken from links"},
    {"queued", "waiting; as a place: in the order of delivery"},
    {"leased", "handed out and not finished"},
    {"dead letters", "kept, with the reason"},
    {"not committed", "half taken when the agent was killed; with --all listed as not-committed"},
    {"done", "finished"},
    {"purged", "dead letters that were removed"},
    {"became dead", "dead letters that there ever were"},
    {"requeued", "put back"},
    {"rejected", "refused by its agent; a reason of a dead letter"},
    {"expired", "older than its ttl; a reason of a dead letter"},
    {"exhausted", "out of attempts; a reason of a dead letter"},
    {"bad slots", "messages that could not be and were left out"},
    {"late replies", "answers that nobody waited for any more"},
    {"copies dropped", "copies between children for which there was no room"},
    {"rows", "the links that it takes from"},
    {"row", "number of the row"},
    {"from", "sender"},
    {"from pid", "number of the sender"},
    {"inbox", "the messages that wait, in the order of delivery"},
    {"place", "queued, task, awaited, stashed, order or unwanted"},
    {"tasks", "tasks that wait for this agent"},
    {"awaited", "an answer that a request waits for"},
    {"stashed", "an answer that no request waits for"},
    {"unwanted", "a copy that goes at the next look"},
    {"entry", "number of the entry"},
    {"reason", "why it is a dead letter"},
    {"key", "the order sorts by it; the smaller the earlier"},
    {"attempts", "how often it was handed out"},
    {"note", "the marks that follow"},
    {"not-committed", "half taken; its lane holds it, too"},
    {"unasked", "an answer that came late, or to no question"},
    {"was-dead", "a dead letter that was put back"},
    {"copy", "a copy of a message between two children"},
    {"cut", "a copy that is shorter than its original"},
    {"ack", "an acknowledgement"},
    {"control", "an order of the engine"},
    {"urgent-lane", "it came through the urgent lane"},
    {"requires-ack", "it has to be acknowledged"},
    {"receiver_dead", "a reason of a dead letter: its receiver has ended for good"},
    {"revoked", "a reason: the route was forbidden before it was taken"},
    {"loop", "a reason: it was passed on too often"},
    {"unclaimed", "a reason: an answer that nobody waited for"},
    {"cancelled", "a reason: its sender took it back"},
    {"index", "the order of delivery"},
    {"run head", "first place of the sorted part"},
    {"run tail", "place behind the sorted part"},
    {"heap count", "messages in the other part"},
};
constexpr Explained kStatus[] = {
    {"sleep", "awake, asleep (futex) or asleep (eventfd)"},
    {"activity", "idle, running, blocked or sleeping, as its agent has written it"},
    {"critical queued", "critical messages that wait"},
    {"sleeps", "how often it has slept"},
};
constexpr Explained kDirectory[] = {
    {"created epoch", "number of the tree when the directory was made"},
    {"epoch", "number of the tree now"},
    {"history", "how much the agents record: off, headers or previews"},
    {"current buffer", "which of its two copies counts"},
    {"places", "places that were ever used"},
    {"free places", "those of them that nobody has"},
    {"dead agents", "agents that have ended for good; --all lists them"},
    {"created", "when it was made"},
    {"tree", "the agents, children below their parent"},
    {"agents", "the same as a table"},
    {"pid", "number of the agent"},
    {"name", "its name"},
    {"parent pid", "number of its parent"},
    {"role", "kernel is the coordinator; daemon, agent, architect, lead, worker, task"},
    {"state", "one of the words that follow"},
    {"starting", "attached, and its inbox is not ready"},
    {"idle", "has nothing in hand"},
    {"running", "has a message in hand"},
    {"blocked", "waits for an answer or for room"},
    {"sleeping", "has said so"},
    {"zombie", "has no process; its inbox waits for the next attach under its name"},
    {"dead", "has ended for good"},
    {"os pid", "number of its process"},
    {"uid", "its user"},
    {"temporary", "it leaves no inbox behind"},
    {"restarts", "lives before this one"},
    {"packets due", "packets of the coordinator to it"},
    {"packets taken", "those of them that it has taken"},
    {"started", "its first attach"},
};
constexpr Explained kHistory[] = {
    {"of", "the name of the agent"},
    {"about sending", "the ring about the messages that it sent"},
    {"about receiving", "the ring about those that it took, and how they ended"},
    {"rows written", "rows that there ever were"},
    {"rows kept", "those that later ones have not written over; `beeline log` prints them"},
};
constexpr Chapter kChapters[] = {
    {"The table of segments", kTable},
    {"Kinds of segments", kKinds},
    {"Header and check", kHeader},
    {"Messages", kMessage},
    {"A link", kLink},
    {"A home", kHome},
    {"A status page", kStatus},
    {"The directory", kDirectory},
    {"A history", kHistory},
};

}  // namespace

std::string legend_text() {
  std::string text =
      "Sizes are in KiB, ages and other times in seconds (s), points in time in UTC. In JSON the "
      "same\nwords have underscores, and their units: size_bytes, age_ms, started_unix_ms.\n";
  for (const Chapter& chapter : kChapters) {
    fmt::format_to(std::back_inserter(text), "\n{}\n", chapter.title);
    for (const auto& [word, meaning] : chapter.words) {
      fmt::format_to(std::back_inserter(text), "  {:<18}{}\n", word, meaning);
    }
  }
  return text;
}

}  // namespace beeline::dump
