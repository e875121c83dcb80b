#pragma once

// The word that names each packet: its `op`. Only wire.cc includes this file.

#include <string_view>

#include "src/control/wire.h"

namespace beeline::control {

template <typename T>
inline constexpr std::string_view kOp = "";
template <>
inline constexpr std::string_view kOp<AttachRequest> = "attach";
template <>
inline constexpr std::string_view kOp<ProvideRequest> = "provide";
template <>
inline constexpr std::string_view kOp<ReadyRequest> = "ready";
template <>
inline constexpr std::string_view kOp<OpenRequest> = "open";
template <>
inline constexpr std::string_view kOp<FadeRequest> = "fade";
template <>
inline constexpr std::string_view kOp<TellRequest> = "tell";
template <>
inline constexpr std::string_view kOp<DetachRequest> = "detach";
template <>
inline constexpr std::string_view kOp<ResumeRequest> = "resume";
template <>
inline constexpr std::string_view kOp<ReportRequest> = "report";
template <>
inline constexpr std::string_view kOp<EscalateRequest> = "escalate";
template <>
inline constexpr std::string_view kOp<ListRequest> = "list";
template <>
inline constexpr std::string_view kOp<LinksRequest> = "links";
template <>
inline constexpr std::string_view kOp<StatusRequest> = "status";
template <>
inline constexpr std::string_view kOp<RouteRequest> = "route";
template <>
inline constexpr std::string_view kOp<DownRequest> = "down";
template <>
inline constexpr std::string_view kOp<OkAnswer> = "ok";
template <>
inline constexpr std::string_view kOp<ErrorAnswer> = "error";
template <>
inline constexpr std::string_view kOp<AttachedAnswer> = "attached";
template <>
inline constexpr std::string_view kOp<OpenedAnswer> = "opened";
template <>
inline constexpr std::string_view kOp<ResumedAnswer> = "resumed";
template <>
inline constexpr std::string_view kOp<ListAnswer> = "list";
template <>
inline constexpr std::string_view kOp<LinksAnswer> = "links";
template <>
inline constexpr std::string_view kOp<StatusAnswer> = "status";
template <>
inline constexpr std::string_view kOp<RouteAnswer> = "route";
template <>
inline constexpr std::string_view kOp<LinkAnnouncement> = "link";
template <>
inline constexpr std::string_view kOp<DiedAnnouncement> = "died";
template <>
inline constexpr std::string_view kOp<FadedAnnouncement> = "faded";
template <>
inline constexpr std::string_view kOp<EndedAnnouncement> = "ended";
template <>
inline constexpr std::string_view kOp<ShutdownAnnouncement> = "shutdown";
template <>
inline constexpr std::string_view kOp<DroppedAnnouncement> = "error";
template <>
inline constexpr std::string_view kOp<LettersRequest> = "letters";
template <>
inline constexpr std::string_view kOp<LettersDoneRequest> = "letters_done";
template <>
inline constexpr std::string_view kOp<KeptLettersRequest> = "kept_letters";
template <>
inline constexpr std::string_view kOp<KeptLetterRequest> = "kept_letter";
template <>
inline constexpr std::string_view kOp<ForgetRequest> = "forget";
template <>
inline constexpr std::string_view kOp<AwaitRequest> = "await";
template <>
inline constexpr std::string_view kOp<HistoryRequest> = "history";
template <>
inline constexpr std::string_view kOp<RecordRequest> = "record";
template <>
inline constexpr std::string_view kOp<ReserveRequest> = "reserve";
template <>
inline constexpr std::string_view kOp<WatchRequest> = "watch";
template <>
inline constexpr std::string_view kOp<ReservedAnswer> = "reserved";
template <>
inline constexpr std::string_view kOp<LifeAnnouncement> = "life";
template <>
inline constexpr std::string_view kOp<HistoryAnswer> = "history";
template <>
inline constexpr std::string_view kOp<LettersAnswer> = "letters";
template <>
inline constexpr std::string_view kOp<KeptLettersAnswer> = "kept_letters";
template <>
inline constexpr std::string_view kOp<KeptLetterAnswer> = "kept_letter";
template <>
inline constexpr std::string_view kOp<LettersAnnouncement> = "letters";
template <>
inline constexpr std::string_view kOp<CameAnnouncement> = "came";

}  // namespace beeline::control
