package explore

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
)

// target is something that a search must find: a mistake of a lock, or what a
// kind of fault does to a lock that has no defence against it.
type target struct {
	name     string
	text     string // of the scenario
	kinds    []string
	property checker.Property
	// mistake is what the scenario switches on; zero: none.
	mistake lock.Mistakes
}

// lateToken is a lock on one node whose token comes in a second step, which may take as long as it wants.
const lateToken = "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 500ms, node_timeout: 0s, " +
	"retry: {attempts: 200, delay: 5ms, jitter: 10ms}, switches: {token_in_time: false}}\n" +
	"fencing: {tokens: single-counter}\nworkload: {clients: 3, sections: 3, start: together, think: 200ms}\n"

// endless is a lock whose renewals leave the key without an end, in sections that outlast one.
const endless = "nodes: {count: 1}\nlock: {algorithm: set-ifeq, ttl: 500ms, switches: {renewal_ends: false}}\n" +
	"workload: {clients: 2, sections: 1, think: 300ms}\n"

const slowSections = "workload: {clients: 3, sections: 2, start: together, think: 100ms}\n"

const clientsOfTargets = "workload: {clients: 3, sections: 2, start: together}\n"

// switchTargets has one of each mistake.
var switchTargets = []target{
	{"reachable quorum", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n", []string{"cut", "kill", "pause"},
		checker.ExclusiveLease, lock.Mistakes{ReachableQuorum: true}},
	{"trusted elapsed time", "lock: {algorithm: redlock, ttl: 500ms, switches: {recheck_elapsed: false}}\n",
		[]string{"pause", "hold", "latency"},
		checker.ExclusiveLease, lock.Mistakes{TrustElapsed: true}},
	{"plain delete", "lock: {algorithm: redlock, ttl: 500ms, switches: {release: delete}}\n", []string{"pause", "hold", "latency"},
		checker.ExclusiveLease, lock.Mistakes{PlainDelete: true}},
	{"renewal sets absent keys", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {extend: set-if-absent}}\n" +
		"workload: {clients: 2, sections: 1, think: 250ms, check_before_write: true}\n",
		[]string{"pause"}, checker.LinearizableResource, lock.Mistakes{ExtendAbsent: true}},
	{"renewal without an end", endless, []string{"cut", "reset", "hold"},
		checker.NoOrphanLock, lock.Mistakes{RenewalForever: true}},
	{"first release frees", "nodes: {count: 1}\nlock: {algorithm: reentrant, ttl: 500ms, switches: {entries: first-frees}}\n" +
		"workload: {clients: 2, sections: 2, start: together, think: 100ms, nested: true}\n", []string{"pause", "cut"},
		checker.ExclusiveLease, lock.Mistakes{FirstFrees: true}},
	{"readers wait for each other", "nodes: {count: 1}\nlock: {algorithm: read-write, ttl: 500ms, retry: {attempts: 100}, " +
		"switches: {upgrade: waits}}\nheal_after: 500ms\ngrant_within: 1s\n" +
		"workload: {clients: 2, readers: 2, upgrade: true, sections: 2, start: together, think: 100ms}\n", []string{"pause", "cut"},
		checker.DeadlockFree, lock.Mistakes{UpgradeWaits: true}},
	{"the process holds", "nodes: {count: 1}\nlock: {algorithm: reentrant, ttl: 500ms, switches: {holder: process}}\n" +
		"workload: {clients: 2, per_process: 2, sections: 1, start: together, think: 100ms}\n", []string{"pause", "cut"},
		checker.ExclusiveLease, lock.Mistakes{ProcessHolds: true}},
	{"renewal goes on", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {stop_renewal: false}}\n",
		[]string{"pause", "hold", "cut"},
		checker.NoOrphanLock, lock.Mistakes{KeepRenewing: true}},
	{"no renewal", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {renewal: false}}\n" +
		"workload: {clients: 2, sections: 1, think: 700ms}\n", []string{"pause", "cut"},
		checker.StaysHeld, lock.Mistakes{NeverRenew: true}},
	{"a renewal that frees", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {renewal_keeps: false}}\n" +
		"workload: {clients: 2, sections: 1, think: 700ms}\n", []string{"pause", "cut"},
		checker.StaysHeld, lock.Mistakes{RenewalFrees: true}},
	{"a renewal that shortens", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {renewal_ttl: thousandth}}\n" +
		"workload: {clients: 2, sections: 1, think: 700ms}\n", []string{"pause", "cut"},
		checker.StaysHeld, lock.Mistakes{RenewalShort: true}},
	{"a renewal that takes", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {renewal_compares: false}}\n" +
		"workload: {clients: 2, sections: 1, think: 700ms}\n", []string{"pause", "cut"},
		checker.OwnerRelease, lock.Mistakes{RenewalTakes: true}},
	{"a renewal that is the last", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, node_timeout: 100ms, " +
		"switches: {renewal_retries: false}}\n" +
		"workload: {clients: 2, sections: 1, think: 1200ms}\n", []string{"cut", "hold", "latency"},
		checker.LinearizableResource, lock.Mistakes{RenewalGivesUp: true}},
	{"a starved renewal", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {own_thread: false}}\n" +
		"workload: {clients: 2, sections: 1, think: 700ms, busy: 600ms}\n", []string{"pause", "cut"},
		checker.StaysHeld, lock.Mistakes{RenewsAfterWork: true}},
	{"errors raised", "grant_within: 400ms\nlock: {algorithm: redlock, ttl: 500ms, switches: {node_error: raises}}\n",
		[]string{"pause", "cut", "kill"},
		checker.MinorityTolerant, lock.Mistakes{RaiseOnError: true}},
	{"clients say when a permit ends", "nodes: {count: 1}\nlock: {algorithm: semaphore, permits: 2, ttl: 500ms, retry: {attempts: 200}, " +
		"switches: {permit_ends: client-clock}}\nworkload: {clients: 4, sections: 3, start: together, think: 200ms}\n",
		[]string{"clock"}, checker.WithinPermits, lock.Mistakes{ClientEnds: true}},
	{"a place in the line that is not renewed", "nodes: {count: 1}\nlock: {algorithm: fair-queue, fair: true, ttl: 500ms, " +
		"retry: {attempts: 200}, switches: {place_renewed: false}}\n" +
		"workload: {clients: 4, sections: 1, start: together, apart: 80ms, think: 300ms}\n",
		[]string{"pause"}, checker.Fairness, lock.Mistakes{PlaceOnce: true}},
	{"a place in the line that never ends", "nodes: {count: 1}\ngrant_within: 1s\nlock: {algorithm: fair-queue, fair: true, ttl: 500ms, " +
		"retry: {attempts: 100}, switches: {place_ends: false}}\n" +
		"workload: {clients: 3, sections: 2, start: together, think: 200ms}\n",
		[]string{"kill"}, checker.DeadlockFree, lock.Mistakes{PlaceForever: true}},
	{"a client that asks no more", asksNoMore, []string{"kill"}, checker.DeadlockFree, lock.Mistakes{AskedOnce: true}},
	{"readers that pass a writer", "nodes: {count: 1}\nmost_overtakes: 3\nlock: {algorithm: read-write, ttl: 500ms, retry: {attempts: 200}, " +
		"switches: {writer_waits: false}}\n" +
		"workload: {clients: 4, readers: 3, sections: 5, start: together, apart: 60ms, think: 150ms, rest: 50ms}\n",
		[]string{"pause"}, checker.Fairness, lock.Mistakes{ReadersPass: true}},
	{"a message that is taken back", takenBack, []string{"pause"}, checker.DeadlockFree, lock.Mistakes{SignalTaken: true}},
	{"a reader and a writer that wait for each other", "nodes: {count: 1}\ngrant_within: 1s\n" +
		"lock: {algorithm: read-write, ttl: 500ms, retry: {attempts: 200, delay: 10ms}, switches: {reader_yields: false}}\n" +
		"workload: {clients: 3, readers: 1, sections: 2, start: together, think: 200ms}\n",
		[]string{"pause"}, checker.DeadlockFree, lock.Mistakes{BothWait: true}},
	{"a reader with a short lease", "nodes: {count: 1}\n" +
		"lock: {algorithm: read-write, ttl: 1s, retry: {attempts: 200, delay: 10ms}, clients: {c3: {ttl: 200ms}}, " +
		"switches: {key_ends: last-come}}\n" +
		"workload: {clients: 3, readers: 2, sections: 2, start: together, think: 400ms}\n",
		[]string{"kill"}, checker.WithinPermits, lock.Mistakes{LastComeEnds: true}},
	{"the time of day as the value", timedValue, []string{"pause"}, checker.OwnerRelease, lock.Mistakes{TimedValue: true}},
	{"one value per client", "nodes: {count: 1}\n" +
		"lock: {algorithm: redlock, ttl: 1s, retry: {delay: 2ms, jitter: 20ms}, switches: {value: per-client}}\n" +
		"workload: {clients: 2, sections: 6, think: 60ms, start: together}\n",
		[]string{"stall"}, checker.ExclusiveLease, lock.Mistakes{SameValue: true}},
	{"one value per client, five nodes", "lock: {algorithm: redlock, ttl: 500ms, switches: {value: per-client}}\n" + slowSections,
		[]string{"stall", "latency"},
		checker.ExclusiveLease, lock.Mistakes{SameValue: true}},
	{"an extension that counts anyhow", "nodes: {count: 3}\n" +
		"lock: {algorithm: redlock-extend, ttl: 500ms, switches: {extend_needs_quorum: false}}\n" +
		"workload: {clients: 3, sections: 2, start: together, think: 1s}\n",
		[]string{"cut", "reset", "hold"}, checker.ExclusiveLease, lock.Mistakes{ExtendAnyhow: true}},
	{"a token before the lock", "lock: {algorithm: redlock, ttl: 500ms, switches: {token_after_grant: false}}\n" +
		"fencing: {tokens: consensus}\n", []string{"pause", "hold", "latency"},
		checker.OrderedTokens, lock.Mistakes{TokenFirst: true}},
	{"a token that comes too late", lateToken, []string{"pause", "hold", "latency"},
		checker.HolderServed, lock.Mistakes{LateToken: true}},
	{"replicas not counted", "nodes: {count: 2, topology: replicated}\n" +
		"lock: {algorithm: set-nx-wait, ttl: 500ms, switches: {check_wait: false}}\n" + slowSections, []string{"promote", "hold", "cut", "kill"},
		checker.ExclusiveLease, lock.Mistakes{IgnoreWait: true}},
	{"no clean-up", "grant_within: 400ms\nlock: {algorithm: redlock, ttl: 500ms, switches: {clean_up: false}}\n",
		[]string{"pause", "cut", "hold"},
		checker.DeadlockFree, lock.Mistakes{NoCleanup: true}},
	{"a release that always says yes", "nodes: {count: 1}\n" +
		"lock: {algorithm: set-nx-px, ttl: 500ms, switches: {release_answer: always-yes}}\n" + slowSections,
		[]string{"pause", "hold"},
		checker.ToldAtRelease, lock.Mistakes{AlwaysReleased: true}},
	{"an extension that needs all nodes", "nodes: {count: 3}\n" +
		"lock: {algorithm: redlock-extend, ttl: 500ms, switches: {extend_enough: all}}\n" +
		"workload: {clients: 2, sections: 1, think: 1s}\n",
		[]string{"cut", "reset", "kill"}, checker.NoFalseAlarm, lock.Mistakes{ExtendNeedsAll: true}},
	{"a release at the granting nodes",
		"lock: {algorithm: redlock, ttl: 500ms, fan_out: first-majority, switches: {release_at: granting-nodes}}\n",
		[]string{"pause", "hold"}, checker.NothingStays, lock.Mistakes{ReleasesGranted: true}},
	{"a cancelled attempt that leaves its key", "nodes: {count: 1}\n" +
		"lock: {algorithm: set-nx-px, ttl: 500ms, switches: {cancel: leaves}}\nworkload: {clients: 2, sections: 2, start: together}\n",
		[]string{"cancel"}, checker.NothingStays, lock.Mistakes{CancelLeaves: true}},
	{"a wait that ends and enters", "nodes: {count: 1}\n" +
		"lock: {algorithm: set-nx-px, ttl: 500ms, retry: {attempts: 3}, switches: {give_up: enters}}\n" +
		"workload: {clients: 2, sections: 2, start: together, think: 200ms}\n", []string{"pause", "cut"},
		checker.ExclusiveLease, lock.Mistakes{EnterUnheld: true}},
	{"a wait without a bound", "nodes: {count: 1}\ngrant_within: 100ms\n" +
		"lock: {algorithm: set-nx-px, ttl: 40ms, node_timeout: 20ms, switches: {bounded_wait: false}}\n" +
		"workload: {clients: 2, sections: 4, start: together}\n", []string{"stall"},
		checker.ComesBack, lock.Mistakes{WaitForEver: true}},
}

// faultTargets has one of each kind of fault.
var faultTargets = []target{
	{"pause", "lock: {algorithm: redlock, ttl: 500ms}\n", []string{"pause"}, checker.NoLateEffect, lock.Mistakes{}},
	{"hold", "lock: {algorithm: redlock, ttl: 500ms}\n", []string{"hold"}, checker.NoLateEffect, lock.Mistakes{}},
	{"stall", "lock: {algorithm: redlock, ttl: 500ms}\n", []string{"stall"}, checker.NoLateEffect, lock.Mistakes{}},
	{"latency", "lock: {algorithm: redlock, ttl: 500ms}\n", []string{"latency"}, checker.NoLateEffect, lock.Mistakes{}},
	{"bandwidth", "lock: {algorithm: redlock, ttl: 500ms}\n", []string{"bandwidth"}, checker.NoLateEffect, lock.Mistakes{}},
	{"clock", "nodes: {count: 3}\nlock: {algorithm: redlock, ttl: 500ms}\n" + slowSections,
		[]string{"clock"}, checker.ExclusiveLease, lock.Mistakes{}},
	{"kill", "nodes: {count: 3}\nlock: {algorithm: redlock, ttl: 500ms}\n" + slowSections,
		[]string{"kill"}, checker.ExclusiveLease, lock.Mistakes{}},
	{"promote", "nodes: {count: 3, topology: replicated}\nlock: {algorithm: set-nx-px, ttl: 500ms}\n" + slowSections,
		[]string{"promote", "latency"}, checker.ExclusiveLease, lock.Mistakes{}},
	{"cut", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n",
		[]string{"cut"}, checker.ExclusiveLease, lock.Mistakes{ReachableQuorum: true}},
	{"reset", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n",
		[]string{"reset"}, checker.ExclusiveLease, lock.Mistakes{ReachableQuorum: true}},
	{"clocks of clients", "nodes: {count: 1}\nlock: {algorithm: redlock, ttl: 500ms, clock: wall}\n" + slowSections,
		[]string{"clock"}, checker.ExclusiveLease, lock.Mistakes{}},
	{"killed clients", "nodes: {count: 1}\nlock: {algorithm: setnx-del}\n" + slowSections,
		[]string{"kill"}, checker.DeadlockFree, lock.Mistakes{}},
	{"refusals", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n",
		[]string{"refuse"}, checker.ExclusiveLease, lock.Mistakes{ReachableQuorum: true}},
	{"evictions", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 500ms}\n" + slowSections,
		[]string{"evict"}, checker.ExclusiveLease, lock.Mistakes{}},
	{"flushed nodes", "nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 500ms}\n" + slowSections,
		[]string{"flush"}, checker.ExclusiveLease, lock.Mistakes{}},
	{"full nodes", "nodes: {count: 1}\n" +
		"lock: {algorithm: set-nx-px, ttl: 500ms, retry: {attempts: 20, delay: 20ms}, switches: {give_up: enters}}\n" + slowSections,
		[]string{"fill"}, checker.ExclusiveLease, lock.Mistakes{EnterUnheld: true}},
	{"cancels", "nodes: {count: 1}\nlock: {algorithm: redlock, ttl: 500ms, switches: {cancel: leaves}}\n",
		[]string{"cancel"}, checker.NothingStays, lock.Mistakes{CancelLeaves: true}},
	{"limit-data", "lock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n",
		[]string{"limit-data"}, checker.ExclusiveLease, lock.Mistakes{ReachableQuorum: true}},
}

// asksNoMore waits until it is woken.
const asksNoMore = "nodes: {count: 1}\ngrant_within: 700ms\n" +
	"lock: {algorithm: woken, ttl: 500ms, node_timeout: 100ms, retry: {attempts: 150}, switches: {asks_again: false}}\n" +
	"workload: {clients: 2, sections: 1, start: together, think: 200ms}\n"

// takenBack takes back what wakes a client when it has released.
const takenBack = "nodes: {count: 1}\ngrant_within: 700ms\n" +
	"lock: {algorithm: woken, ttl: 2s, node_timeout: 500ms, retry: {attempts: 150}, switches: {signal_stays: false}}\n" +
	"workload: {clients: 2, sections: 2, start: together, think: 100ms}\n"

// timedValue writes a value that is the same for whoever asks in the same second.
const timedValue = "nodes: {count: 1}\n" +
	"lock: {algorithm: set-nx-px, ttl: 200ms, node_timeout: 100ms, retry: {attempts: 150}, switches: {value_from: time}}\n" +
	"workload: {clients: 2, sections: 3, start: together, think: 100ms}\n"

// byMessages are the kinds that strike one message.
var byMessages = nemesis.MessageKinds()

// messageTargets has one of each mistake that one or two messages that come late, or not at
// all, can bring about.
var messageTargets = []target{
	{"reachable quorum", "nodes: {count: 3}\nlock: {algorithm: redlock, ttl: 500ms, switches: {quorum: reachable}}\n", byMessages,
		checker.ExclusiveLease, lock.Mistakes{ReachableQuorum: true}},
	{"trusted elapsed time", "nodes: {count: 3}\n" +
		"lock: {algorithm: redlock, ttl: 300ms, node_timeout: 250ms, switches: {recheck_elapsed: false}}\n", byMessages,
		checker.ExclusiveLease, lock.Mistakes{TrustElapsed: true}},
	{"plain delete", "lock: {algorithm: redlock, ttl: 500ms, switches: {release: delete}}\n", byMessages,
		checker.ExclusiveLease, lock.Mistakes{PlainDelete: true}},
	{"the time of day as the value", timedValue, byMessages, checker.OwnerRelease, lock.Mistakes{TimedValue: true}},
	{"a client that asks no more", asksNoMore, byMessages, checker.DeadlockFree, lock.Mistakes{AskedOnce: true}},
	{"a message that is taken back", takenBack, byMessages, checker.DeadlockFree, lock.Mistakes{SignalTaken: true}},
	{"renewal without an end", endless, byMessages, checker.NoOrphanLock, lock.Mistakes{RenewalForever: true}},
	{"renewal goes on", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, switches: {stop_renewal: false}}\n", byMessages,
		checker.NoOrphanLock, lock.Mistakes{KeepRenewing: true}},
	{"a renewal that is the last", "nodes: {count: 1}\nlock: {algorithm: watchdog, ttl: 500ms, node_timeout: 100ms, " +
		"switches: {renewal_retries: false}}\n" +
		"workload: {clients: 2, sections: 1, think: 1200ms}\n", byMessages,
		checker.LinearizableResource, lock.Mistakes{RenewalGivesUp: true}},
	{"errors raised", "nodes: {count: 3}\ngrant_within: 200ms\n" +
		"lock: {algorithm: redlock, ttl: 1s, node_timeout: 100ms, switches: {node_error: raises}}\n", byMessages,
		checker.MinorityTolerant, lock.Mistakes{RaiseOnError: true}},
	{"one value per client", "nodes: {count: 1}\n" +
		"lock: {algorithm: redlock, ttl: 1s, retry: {delay: 2ms, jitter: 20ms}, switches: {value: per-client}}\n" +
		"workload: {clients: 2, sections: 6, think: 60ms, start: together}\n",
		byMessages, checker.ExclusiveLease, lock.Mistakes{SameValue: true}},
	{"an extension that counts anyhow", "nodes: {count: 3}\n" +
		"lock: {algorithm: redlock-extend, ttl: 500ms, switches: {extend_needs_quorum: false}}\n" +
		"workload: {clients: 3, sections: 2, start: together, think: 1s}\n",
		byMessages, checker.ExclusiveLease, lock.Mistakes{ExtendAnyhow: true}},
	{"a token before the lock", "lock: {algorithm: redlock, ttl: 500ms, switches: {token_after_grant: false}}\n" +
		"fencing: {tokens: consensus}\n", byMessages,
		checker.OrderedTokens, lock.Mistakes{TokenFirst: true}},
	{"a token that comes too late", lateToken, byMessages,
		checker.HolderServed, lock.Mistakes{LateToken: true}},
	{"no clean-up", "grant_within: 400ms\nlock: {algorithm: redlock, ttl: 500ms, switches: {clean_up: false}}\n", byMessages,
		checker.DeadlockFree, lock.Mistakes{NoCleanup: true}},
	{"an extension that needs all nodes", "nodes: {count: 3}\n" +
		"lock: {algorithm: redlock-extend, ttl: 500ms, switches: {extend_enough: all}}\n" +
		"workload: {clients: 2, sections: 1, think: 1s}\n",
		byMessages, checker.NoFalseAlarm, lock.Mistakes{ExtendNeedsAll: true}},
}

// noMessage has the mistakes that no message between a client and a node brings about.
var noMessage = map[string]string{
	"CancelLeaves":    "it needs a client that is cancelled",
	"AlwaysReleased":  "whoever is kept from an answer need not know",
	"FirstFrees":      "it needs no fault at all",
	"ProcessHolds":    "it needs no fault at all",
	"ClientEnds":      "it needs a clock of a client that is ahead",
	"ExtendAbsent":    "a renewal that comes late sets a key whose end its client has waited for; the client must sleep, too",
	"EnterUnheld":     "it needs no fault at all",
	"IgnoreWait":      "it needs a failover",
	"NeverRenew":      "it needs no fault at all",
	"ReleasesGranted": "it needs no fault at all",
	"RenewalFrees":    "it needs no fault at all",
	"RenewalShort":    "it needs no fault at all",
	"WaitForEver":     "it needs a connection that is silent, where new ones work",
	"RenewalTakes":    "a renewal that comes late finds the key of another client; its client must sleep, too",
	"RenewsAfterWork": "it needs no fault at all",
	"PlaceOnce":       "it needs no fault at all",
	"PlaceForever":    "it needs a client that dies in the line",
	"ReadersPass":     "it needs no fault at all",
	"BothWait":        "it needs no fault at all",
	"UpgradeWaits":    "it needs no fault at all",
	"LastComeEnds":    "it needs no fault at all",
}

// scenario is the target's, with clients that contend.
func (t *target) scenario() string {
	text := "name: target\n" + t.text
	if !strings.Contains(text, "workload:") {
		text += clientsOfTargets
	}
	return text
}
