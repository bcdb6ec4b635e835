"""The engine's face: what a shell needs of it, and nothing else. The proxy imports from here only.

Three doors: `inspect_request` before a call, `Stream` (and `watch_whole`) during an answer, `decide` after a failure.
"""

from . import histories, wires
from .after.breaker import Breaker
from .after.budgets import BUDGETS, Account, BudgetOverrides, Budgets, Reserve, Scope
from .after.client import LONG, Client, client
from .after.concurrency import ConcurrencyLimit
from .after.decision.charge import charged
from .after.decision.come_back import as_others, come_back, from_memory, resting, same_again
from .after.decision.decide import decide
from .after.decision.free import STALE
from .after.decision.outcome import Accept, Decision, Heal, Reason, Replay, Resume, Settle, Surrender
from .after.decision.policy import Policy
from .after.follow_ups import FollowUp, FollowUps, follow_up
from .after.health import Health
from .after.identity import BodyDigest, Identity, digest, identify
from .after.repeats import Repeats
from .after.timers import Timeouts, Watchdog, is_slow
from .after.usage import Tokens, tokens, unwritten
from .before.evidence.facts import Facts, facts
from .before.evidence.outline import Outlines
from .before.hygiene import Crop, Imprint, key_of
from .before.ladder import Ladder, Pace
from .before.past import all_texts, with_texts
from .before.prefixes import ArrayPlace, Begun, Continued, PrefixCache
from .before.request import Before, HistoryPolicy, going_on, known_keys, unanswered
from .before.request import in_turns as inspect_request
from .before.review import DEFAULT as DEFAULT_DETECTORS
from .before.review import BoundDetector, DetectorRule, review
from .before.review import bind as bind_detectors
from .before.step_detectors import STEP_DETECTORS
from .before.step_detectors import get as detector_named
from .before.threads import Thread, recall, remember, so_far
from .detect import packs
from .detect.because import because
from .detect.doubt import TextWait
from .detect.monitors import OLD_NAMES as OLD_MONITOR_NAMES
from .detect.monitors import get as monitor_named
from .detect.monitors.base import MonitorScope, StreamMonitor
from .detect.odds import load as odds
from .detect.packs import Pack, PackError, PackProblem, assemble
from .detect.packs import changed as changed_rules
from .detect.packs import parse as parse_pack
from .detect.rule import Armed, Rule
from .detect.ruleset import RuleSet
from .detect.watch import Watch
from .detect.watcher import Watcher
from .during.cut import Cut, Limits
from .during.cut import marker as cut_marker
from .during.event_handler import TRUNCATED
from .during.output import Forward, Halt, Noted, Output
from .during.splice import Splice
from .during.stream import Stream
from .during.whole_body.sse_to_json import MISSHAPEN, Gathering, unwrapped
from .during.whole_body.whole_json import JudgedBody, look_whole, watch_whole, whole_calls
from .errors import classify, likeness, provider_packs
from .errors.error_rules import ErrorRule, ErrorRules
from .errors.provider_packs import packs as provider_pack_names
from .errors.provider_packs import rules_for
from .errors.resets import spent as limits_spent
from .framing.framing import Framing
from .framing.framing import by_first_bytes as framing_of
from .heal.plan import HealPlan, HealResult, HealStyle, Looped, heal_plan, heal_result, learned, useless
from .heal.providers import Takes, takes
from .heal.second_watch import SecondRules, SecondWatch, second_watch
from .values import record
from .values.brief import Brief
from .values.delta import Channel, Fault, Finish, Malformed, Piece, Unknown
from .values.durations import seconds as parse_seconds
from .values.failures import Failure, Kind, Phase
from .values.json import is_json, loads, newest
from .values.signature import digest as signature_digest
from .values.steps import RUN_LIMIT, Step, StepKind, ToolCall, finish_word
from .values.steps import classify as classify_step
from .values.transcript import Shown, Transcript
from .values.verdict import Action, Finding, Hit, Mode, NearMiss
from .wires import error_wire
from .wires import for_path as wire_for_path
from .wires import get as wire_named
from .wires.base import Ask, Ending, Json, Wire
from .wires.server_cuts import ServerCut

__all__ = [
    # What flows between the rooms
    "Action",
    "Brief",
    "Channel",
    "Failure",
    "Fault",
    "Finding",
    "Finish",
    "Hit",
    "Kind",
    "Malformed",
    "Mode",
    "NearMiss",
    "Phase",
    "Piece",
    "RUN_LIMIT",
    "Shown",
    "Step",
    "StepKind",
    "ToolCall",
    "Transcript",
    "Unknown",
    "classify_step",
    "finish_word",
    "is_json",
    "loads",
    "newest",
    "parse_seconds",
    "record",
    "signature_digest",
    # From bytes to events
    "Framing",
    "framing_of",
    # Protocols
    "Ask",
    "Ending",
    "Json",
    "ServerCut",
    "Wire",
    "error_wire",
    "wire_for_path",
    "wire_named",
    # What a failure means
    "ErrorRule",
    "ErrorRules",
    "provider_pack_names",
    "rules_for",
    # Rules and packs
    "Armed",
    "OLD_MONITOR_NAMES",
    "MonitorScope",
    "Pack",
    "PackError",
    "PackProblem",
    "Rule",
    "RuleSet",
    "StreamMonitor",
    "TextWait",
    "Watch",
    "Watcher",
    "assemble",
    "because",
    "changed_rules",
    "monitor_named",
    "odds",
    "parse_pack",
    # Door 1, before a call: does this request's history already loop?
    "Before",
    "Begun",
    "BoundDetector",
    "Continued",
    "Crop",
    "DEFAULT_DETECTORS",
    "DetectorRule",
    "Facts",
    "STEP_DETECTORS",
    "HistoryPolicy",
    "Imprint",
    "Ladder",
    "Outlines",
    "Pace",
    "ArrayPlace",
    "PrefixCache",
    "Thread",
    "all_texts",
    "bind_detectors",
    "detector_named",
    "facts",
    "going_on",
    "inspect_request",
    "key_of",
    "known_keys",
    "unanswered",
    "recall",
    "remember",
    "so_far",
    "review",
    "with_texts",
    # Door 2, during an answer: what may the client be shown?
    "Cut",
    "Forward",
    "Gathering",
    "Halt",
    "JudgedBody",
    "Limits",
    "MISSHAPEN",
    "Noted",
    "Output",
    "Splice",
    "Stream",
    "TRUNCATED",
    "cut_marker",
    "look_whole",
    "unwrapped",
    "watch_whole",
    "whole_calls",
    # Door 3, after a failure or a loop: may we ask again?
    "Accept",
    "Account",
    "BUDGETS",
    "BodyDigest",
    "BudgetOverrides",
    "Budgets",
    "Client",
    "Decision",
    "FollowUp",
    "FollowUps",
    "Heal",
    "Tokens",
    "tokens",
    "unwritten",
    "Breaker",
    "ConcurrencyLimit",
    "Health",
    "Identity",
    "LONG",
    "Policy",
    "Reason",
    "Replay",
    "Reserve",
    "Resume",
    "Repeats",
    "STALE",
    "Scope",
    "Settle",
    "Surrender",
    "Timeouts",
    "Watchdog",
    "is_slow",
    "as_others",
    "charged",
    "come_back",
    "client",
    "decide",
    "digest",
    "follow_up",
    "from_memory",
    "identify",
    "limits_spent",
    "resting",
    "same_again",
    # After a loop: one more call
    "HealPlan",
    "HealResult",
    "HealStyle",
    "Looped",
    "SecondRules",
    "SecondWatch",
    "Takes",
    "heal_plan",
    "heal_result",
    "learned",
    "second_watch",
    "takes",
    "useless",
    # Tables and whole rooms
    "classify",
    "histories",
    "likeness",
    "packs",
    "provider_packs",
    "wires",
]
