// The packets of the control protocol: a built packet can be parsed, and an impossible one is
// refused with a reason.

#include "src/control/wire.h"

#include <gtest/gtest.h>

#include <string>

#include "src/control/names.h"

namespace beeline::control {
namespace {

template <typename T>
T parse_as(const std::string& text) {
  const auto incoming = parse_request(text);
  EXPECT_TRUE(incoming.has_value()) << incoming.error().text;
  if (!incoming || !incoming->request) {
    ADD_FAILURE() << (incoming ? incoming->request.error().text : incoming.error().text);
    return {};
  }
  return std::get<T>(*incoming->request);
}

std::string garbage_text(std::string_view text, ErrorCode code) {
  const auto incoming = parse_request(text);
  EXPECT_FALSE(incoming.has_value()) << text;
  if (incoming) return "";
  EXPECT_EQ(incoming.error().code, code) << incoming.error().text;
  return incoming.error().text;
}

std::string wrong_text(std::string_view text) {
  const auto incoming = parse_request(text);
  if (!incoming) {
    ADD_FAILURE() << incoming.error().text;
    return "";
  }
  EXPECT_FALSE(incoming->request.has_value()) << text;
  if (incoming->request) return "";
  EXPECT_EQ(incoming->request.error().code, ErrorCode::kInvalid);
  return incoming->request.error().text;
}

TEST(Wire, RequestsComeBackAsTheyWere) {
  AttachRequest attach;
  attach.name = "w\"1\" \xc3\xa4";
  attach.parent = "lead";
  attach.role = Role::kTask;
  attach.temporary = true;
  attach.pidfd = true;
  const auto attach_back = parse_as<AttachRequest>(build(attach, 7));
  EXPECT_EQ(attach_back.layout, "1.2");
  EXPECT_EQ(attach_back.name, attach.name);
  EXPECT_EQ(attach_back.parent, "lead");
  EXPECT_EQ(attach_back.role, Role::kTask);
  EXPECT_TRUE(attach_back.temporary);
  EXPECT_TRUE(attach_back.pidfd);

  OpenRequest open{9, 3, {256, 32, 1ULL << 20}, true};
  const auto open_back = parse_as<OpenRequest>(build(open, 8));
  EXPECT_EQ(open_back.to, 9U);
  EXPECT_EQ(open_back.serial, 3U);
  EXPECT_EQ(open_back.contract, open.contract);
  EXPECT_TRUE(open_back.again);

  ResumeRequest resume{attach, 12, shm::Incarnation(shm::kMaxIncarnation), 2, true};
  const auto resume_back = parse_as<ResumeRequest>(build(resume, 9));
  EXPECT_EQ(resume_back.as.name, attach.name);
  EXPECT_EQ(resume_back.incarnation, shm::Incarnation(shm::kMaxIncarnation));
  EXPECT_TRUE(resume_back.ready);

  EXPECT_EQ(parse_as<DetachRequest>(build(DetachRequest{{1, 5}}, 1)).empty,
            (std::vector<std::uint32_t>{1, 5}));
  const auto links_back = parse_as<LinksRequest>(
      build(LinksRequest{9, shm::Incarnation(shm::kMaxIncarnation), true}, 1));
  EXPECT_EQ(links_back.to, 9U);
  EXPECT_EQ(links_back.from, shm::Incarnation(shm::kMaxIncarnation));
  EXPECT_EQ(parse_request(build(StatusRequest{}, 41))->seq, 41U);
  EXPECT_EQ(parse_as<HistoryRequest>(build(HistoryRequest{2}, 1)).level, 2);
  EXPECT_EQ(parse_as<HistoryRequest>(R"({"op":"history","seq":1})").level, -1);
  const LettersRequest letters{7, std::string(kPurgeLetters), ~0ULL, 3};
  const auto letters_back = parse_as<LettersRequest>(build(letters, 1));
  EXPECT_EQ(letters_back.what, "purge");
  EXPECT_EQ(letters_back.id, ~0ULL);
  EXPECT_EQ(letters_back.of, 3U);
  const LettersDoneRequest done{5, 2, "why"};
  EXPECT_EQ(parse_as<LettersDoneRequest>(build(done, 1)).text, "why");
}

TEST(Wire, AnswersAndAnnouncementsComeBackAsTheyWere) {
  AttachedAnswer attached{5,  shm::Incarnation(1ULL << 50), 3, "w", 2,
                          77, shm::Incarnation(1ULL << 49), 4};
  const auto answer = parse_from_coordinator(build(Answer(attached), 6));
  ASSERT_TRUE(answer.has_value()) << answer.error().text;
  const auto& incoming = std::get<IncomingAnswer>(*answer);
  EXPECT_EQ(incoming.seq, 6U);
  EXPECT_EQ(std::get<AttachedAnswer>(incoming.answer).incarnation, shm::Incarnation(1ULL << 50));

  LinkAnnouncement link{5,    "w", 3,    shm::Incarnation(9), 1, {}, true, true,
                        true, 77,  true, OwnLink{2, {}}};
  const auto announced = parse_from_coordinator(build(AnnouncedValue(link)));
  ASSERT_TRUE(announced.has_value()) << announced.error().text;
  const auto& back = std::get<LinkAnnouncement>(std::get<AnnouncedValue>(*announced));
  EXPECT_TRUE(back.may_send);
  EXPECT_TRUE(back.foreign);
  ASSERT_TRUE(back.mine.has_value());
  EXPECT_EQ(back.mine->serial, 2U);

  link.mine.reset();
  const auto plain = parse_from_coordinator(build(AnnouncedValue(link)));
  EXPECT_FALSE(std::get<LinkAnnouncement>(std::get<AnnouncedValue>(*plain)).mine.has_value());

  const auto error =
      parse_from_coordinator(build(Answer(ErrorAnswer{ErrorCode::kPeerDead, "gone"}), 1));
  EXPECT_EQ(std::get<ErrorAnswer>(std::get<IncomingAnswer>(*error).answer).code,
            ErrorCode::kPeerDead);
}

TEST(Wire, AFullListFitsAPacket) {
  ListAnswer list;
  for (std::size_t i = 0; i < kMaxListedAgents; ++i) {
    list.agents.push_back({4095, shm::kMaxPid, shm::kMaxPid, std::string(kMaxNameBytes, '"'),
                           Role::kArchitect, shm::AgentState::kStarting,
                           shm::Incarnation(shm::kMaxIncarnation), 4194304, ~0U, true,
                           shm::AgentActivity::kSleeping, ~0ULL, ~0ULL});
  }
  const std::string listing = build(Answer(list), ~0ULL);
  EXPECT_LE(listing.size(), kMaxPacketBytes);
  const auto read = parse_from_coordinator(listing);
  ASSERT_TRUE(read.has_value()) << read.error().text;
  const auto& agents = std::get<ListAnswer>(std::get<IncomingAnswer>(*read).answer).agents;
  ASSERT_EQ(agents.size(), kMaxListedAgents);
  EXPECT_EQ(agents.back().activity, shm::AgentActivity::kSleeping);
  EXPECT_EQ(agents.back().attached_ns, ~0ULL);
  EXPECT_EQ(agents.back().restarts, ~0ULL);

  KeptLetter letter{~0ULL,
                    ~0ULL,
                    ~0ULL,
                    shm::kMaxPid,
                    std::string(kMaxNameBytes, '"'),
                    shm::kMaxPid,
                    std::string(kMaxNameBytes, '"'),
                    std::string(31, '\1'),
                    std::string(31, '\1'),
                    INT32_MIN,
                    255,
                    ~0U,
                    ~0U,
                    "receiver_dead",
                    INT64_MAX,
                    std::string(kMaxLetterPreview, '\1'),
                    UINT16_MAX,
                    ~0ULL,
                    std::string(55, 'f')};
  const KeptLettersAnswer letters{std::vector<KeptLetter>(kMaxListedLetters, letter), INT64_MAX};
  EXPECT_LE(build(Answer(letters), ~0ULL).size(), kMaxPacketBytes);

  LinksAnswer links{
      std::vector<shm::LinkKey>(kMaxListedLinks, {shm::Incarnation(shm::kMaxIncarnation), ~0U}),
      static_cast<std::int64_t>(shm::kMaxIncarnation)};
  const std::string text = build(Answer(links), ~0ULL);
  EXPECT_LE(text.size(), kMaxPacketBytes);
  const auto back = parse_from_coordinator(text);
  ASSERT_TRUE(back.has_value()) << back.error().text;
  const auto& answer = std::get<LinksAnswer>(std::get<IncomingAnswer>(*back).answer);
  EXPECT_EQ(answer.links, links.links);
  EXPECT_EQ(answer.next, links.next);
}

TEST(Wire, GarbageIsRefusedWithAReason) {
  for (const char* text : {"", "hello", "\xff\xfe\x01", "[1,2]", "42", "null", "{}x"}) {
    EXPECT_NE(garbage_text(text, ErrorCode::kProtocol).find("not a JSON object"), std::string::npos)
        << text;
  }
  EXPECT_NE(garbage_text("{}", ErrorCode::kProtocol).find("no op"), std::string::npos);
  EXPECT_NE(garbage_text(R"({"op":7,"seq":1})", ErrorCode::kProtocol).find("no op"),
            std::string::npos);
  EXPECT_NE(garbage_text(R"({"op":"list"})", ErrorCode::kProtocol).find("no seq"),
            std::string::npos);
  EXPECT_NE(garbage_text(R"({"op":"list","seq":-1})", ErrorCode::kProtocol).find("not a number"),
            std::string::npos);
}

TEST(Wire, HalfOfAPacketIsRefusedAtEveryLength) {
  const std::string whole = build(OpenRequest{9, 3, {}, false}, 8);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse_request(whole.substr(0, length)).has_value()) << length;
  }
}

TEST(Wire, DeepNestingIsRefusedBeforeItIsParsed) {
  const std::string deep =
      R"({"op":"list","seq":1,"x":)" + std::string(30'000, '[') + std::string(30'000, ']') + "}";
  EXPECT_NE(garbage_text(deep, ErrorCode::kProtocol).find("nests deeper than 8"),
            std::string::npos);
  const std::string in_text = R"({"op":"list","seq":1,"x":")" + std::string(100, '[') + "\"}";
  EXPECT_TRUE(parse_request(in_text).has_value());
}

TEST(Wire, TooLongIsRefusedWithTheLimitAndTheLength) {
  const std::string text = garbage_text(std::string(kMaxPacketBytes + 1, ' '), ErrorCode::kTooBig);
  EXPECT_NE(text.find("65537"), std::string::npos) << text;
  EXPECT_NE(text.find("65536"), std::string::npos) << text;
}

TEST(Wire, AWrongFieldIsNamedWithItsValue) {
  EXPECT_EQ(wrong_text(R"({"op":"open","seq":1,"serial":1})"), "open: field \"to\" is missing");
  EXPECT_EQ(wrong_text(R"({"op":"fade","seq":1,"incarnation":1,"serial":-3})"),
            "fade: field \"serial\" must be a whole number from 0 to 4294967295, found -3");
  EXPECT_EQ(wrong_text(R"({"op":"fade","seq":1,"incarnation":1,"serial":4294967296})"),
            "fade: field \"serial\" must be a whole number from 0 to 4294967295, found 4294967296");
  EXPECT_NE(wrong_text(R"({"op":"attach","seq":1,"layout":"1.2","name":"x","role":"boss"})")
                .find("must be one of kernel, daemon"),
            std::string::npos);
  EXPECT_NE(
      wrong_text(R"({"op":"open","seq":1,"to":2,"serial":1,"contract":{}})").find("normal_slots"),
      std::string::npos);
  EXPECT_EQ(wrong_text(R"({"op":"dance","seq":1})"), "unknown op \"dance\"");
}

TEST(Wire, AFieldOfAnotherTypeIsNamedAndShownUpToFortyBytes) {
  EXPECT_EQ(wrong_text(R"({"op":"provide","seq":1,"ready":1})"),
            "provide: field \"ready\" must be true or false, found 1");
  EXPECT_NE(wrong_text(R"({"op":"attach","seq":1,"layout":"1.2","name":"x","role":7})")
                .find("must be one of kernel, daemon"),
            std::string::npos);
  const std::string shown = "[\"" + std::string(38, 'x');
  EXPECT_EQ(wrong_text(R"({"op":"escalate","seq":1,"text":[")" + std::string(60, 'x') + "\"]}"),
            "escalate: field \"text\" must be a string, found " + shown + "...");
}

// An answer to an agent from a peer that is no coordinator.
TEST(Wire, AWrongFieldOfAnAnswerIsNamed) {
  const auto wrong = [](const std::string& text) {
    const auto parsed = parse_from_coordinator(text);
    if (parsed) return std::string("it was taken");
    EXPECT_EQ(parsed.error().code, ErrorCode::kProtocol);
    return parsed.error().text;
  };
  ListAnswer list;
  list.agents.resize(1);
  const std::string sound = build(Answer(list), 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << sound;
    return wrong(text.replace(at, from.size(), to));
  };
  ASSERT_TRUE(parse_from_coordinator(sound));
  EXPECT_NE(with(R"("state":"vacant")", R"("state":"asleep")").find("must be a state of an agent"),
            std::string::npos);
  EXPECT_NE(with(R"("state":"vacant")", R"("state":3)").find("must be a state of an agent"),
            std::string::npos);
  EXPECT_NE(
      with(R"("activity":"idle")", R"("activity":"busy")").find("must be an activity of an agent"),
      std::string::npos);
  EXPECT_NE(with(R"("activity":"idle")", R"("activity":[])").find("must be an activity"),
            std::string::npos);
  EXPECT_NE(with(R"("os_pid":0)", R"("os_pid":-2147483649)").find("-2147483648 to 2147483647"),
            std::string::npos);
  EXPECT_NE(with(R"("os_pid":0)", R"("os_pid":0.5)").find("must be a whole number"),
            std::string::npos);
  EXPECT_EQ(wrong(R"({"op":"list","seq":1,"agents":{},"next":-1})"),
            "list: field \"agents\" must be an array, found {}");
  EXPECT_NE(wrong(R"({"op":"list","seq":1,"agents":[7],"next":-1})").find("must be an object"),
            std::string::npos);
  EXPECT_EQ(wrong(R"({"op":"error","seq":1,"code":5,"text":""})"),
            "error: field \"code\" must be an error code, found 5");
}

TEST(Wire, TextThatIsNotUtf8DoesNotStopTheBuilder) {
  const std::string text = build(Answer(ErrorAnswer{ErrorCode::kInvalid, "\xff"}), 1);
  EXPECT_TRUE(parse_from_coordinator(text).has_value());
}

TEST(Wire, EveryErrorCodeHasItsWord) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kClosed); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(error_code_from(to_string(code)), code);
  }
  EXPECT_EQ(error_code_from("nonsense"), ErrorCode::kProtocol);
}

TEST(Names, NamesOfAgentsArePrintableUtf8WithoutSlash) {
  for (const char* good :
       {"a", "worker 1", "queue", "my queue:q", "J\xc3\xb6rg", "\xf0\x9f\x90\x9d"}) {
    EXPECT_TRUE(check_agent_name(good).has_value()) << good;
  }
  EXPECT_TRUE(check_agent_name(std::string(64, 'x')).has_value());
  for (const char* bad : {"", "a/b", "a\n", "\x7f", "\xff", "\xc3", "\xc0\xaf", "\xc2\x85",
                          "\xed\xa0\x80", "\xf4\x90\x80\x80", "queue:", "queue:q"}) {
    EXPECT_FALSE(check_agent_name(bad).has_value()) << bad;
  }
  for (const char* bad :
       {"1",        "007",      "+1",       "-1",         " a",         "a ",        "a\u00a0b",
        "a\u00adb", "a\u200bb", "a\u202eb", "a\u2066b",   "a\u3000b",   "a\u3164",   "a\ufe0f",
        "\ufeffa",  "\uffff",   "\ue000",   "\U000e0041", "\U000f0000", "\U0010fffe"}) {
    EXPECT_FALSE(check_agent_name(bad).has_value()) << bad;
  }
  for (const char* good : {"1a", "a1", "+", "-x", "v1.2", "\u00e9", "\u4e2d", "\U0001f41d"}) {
    EXPECT_TRUE(check_agent_name(good).has_value()) << good;
  }
  const auto unseen = check_agent_name("que\u200ben");
  ASSERT_FALSE(unseen);
  EXPECT_NE(unseen.error().text.find("U+200B at byte 3"), std::string::npos) << unseen.error().text;
  EXPECT_FALSE(check_agent_name(std::string(65, 'x')).has_value());
}

TEST(Names, NamesOfQueuesAreNoTargets_HK037_HK040) {
  for (const char* good : {"", "0", "7", "queue", "queen@vps1"}) {
    EXPECT_TRUE(check_target(good).has_value()) << good;
  }
  for (const char* bad : {"queue:", "queue:q"}) {
    const auto refused = check_target(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kNoRoute);
  }
}

TEST(Names, NamesOfHivesNameADirectory) {
  EXPECT_TRUE(check_hive_name("My.hive_1-2").has_value());
  for (const char* bad : {"", ".", "..", ".x", "a/b", "a b", "\xc3\xb6"}) {
    EXPECT_FALSE(check_hive_name(bad).has_value()) << bad;
  }
  EXPECT_FALSE(check_hive_name(std::string(49, 'x')).has_value());
}

TEST(Wire, TheEndOfALinkNamesReaderLinkAndReason) {
  EndedAnnouncement ended;
  ended.pid = 9;
  ended.incarnation = shm::Incarnation(1000);
  ended.serial = 3;
  ended.what = "unknown flag";
  const auto parsed = parse_from_coordinator(build(AnnouncedValue(ended)));
  ASSERT_TRUE(parsed) << parsed.error().text;
  const auto& back = std::get<EndedAnnouncement>(std::get<AnnouncedValue>(*parsed));
  EXPECT_EQ(back.pid, ended.pid);
  EXPECT_EQ(back.incarnation, ended.incarnation);
  EXPECT_EQ(back.serial, ended.serial);
  EXPECT_EQ(back.what, ended.what);
}

}  // namespace
}  // namespace beeline::control
