package lock

import "reflect"

// Mistakes are ways to get a lock wrong that real libraries shipped. The zero value makes
// none of them. Scenarios name the rules: a file has the default where the mistake is not made,
// and what the tag says of the mistake where it is.
type Mistakes struct {
	ReachableQuorum bool `json:"reachable_quorum,omitempty" yaml:"quorum" doc:"a majority of the nodes configured, or only of those reachable (redlock-py, pull request 6)" default:"configured" values:"configured,reachable" mistake:"reachable"`
	TrustElapsed    bool `json:"trust_elapsed,omitempty" yaml:"recheck_elapsed" doc:"after the last answer, subtract the time that acquiring took (redsync 72, node-redlock 296)" default:"true" mistake:"false"`
	// ExtendAbsent brings an ended lease back to life.
	ExtendAbsent bool `json:"extend_absent,omitempty" yaml:"extend" doc:"a renewal prolongs the client's own key only, or sets the key where it has expired (redlock-rb 36)" default:"only-if-mine" values:"only-if-mine,set-if-absent" mistake:"set-if-absent"`
	PlainDelete  bool `json:"plain_delete,omitempty" yaml:"release" doc:"compare the value before deleting, or delete whatever is there (redisson 542)" default:"compare" values:"compare,delete" mistake:"delete"`
	ExtendAnyhow bool `json:"extend_anyhow,omitempty" yaml:"extend_needs_quorum" doc:"a renewal counts only with a majority in time (redsync 72)" default:"true" mistake:"false"`
	RaiseOnError bool `json:"raise_on_error,omitempty" yaml:"node_error" doc:"a node that cannot be asked counts as a no, or makes acquire fail (redlock-rb 60)" default:"counts-as-no" values:"counts-as-no,raises" mistake:"raises"`
	// SameValue lets a late clean-up of a failed attempt delete the keys of the next.
	SameValue bool `json:"same_value,omitempty" yaml:"value" doc:"each attempt writes a value of its own, or all attempts of a client the same" default:"per-attempt" values:"per-attempt,per-client" mistake:"per-client"`
	// TimedValue lets a client delete the key of another that asked at the same time.
	TimedValue   bool `json:"timed_value,omitempty" yaml:"value_from" doc:"the value of an attempt is drawn, or it is the time of day, here in seconds (node-redis-warlock 3, in ms)" default:"random" values:"random,time" mistake:"time"`
	KeepRenewing bool `json:"keep_renewing,omitempty" yaml:"stop_renewal" doc:"the watchdog stops when the lock is released, or forgotten (redisson 7272, python-redis-lock 33)" default:"true" mistake:"false"`
	// NeverRenew is a watchdog that nobody starts.
	NeverRenew   bool `json:"never_renew,omitempty" yaml:"renewal" doc:"the watchdog renews the lease for as long as it is held, or never" default:"true" mistake:"false"`
	RenewalFrees bool `json:"renewal_frees,omitempty" yaml:"renewal_keeps" doc:"a renewal lengthens the lease, or runs the script that releases (sherlock 66)" default:"true" mistake:"false"`
	// RenewalShort takes milliseconds for seconds.
	RenewalShort bool `json:"renewal_short,omitempty" yaml:"renewal_ttl" doc:"a renewal asks for the whole ttl, or for a thousandth of it (redisson 3.25.0, whose multi-lock passed seconds on as milliseconds)" default:"whole" values:"whole,thousandth" mistake:"thousandth"`
	RenewalTakes bool `json:"renewal_takes,omitempty" yaml:"renewal_compares" doc:"a renewal looks whether the key is still its own, or sets it to its own value, whoever has it (python-redis-lock 2.3.0)" default:"true" mistake:"false"`
	// RenewalForever is for renewals that set the key: SET takes the end of a key away, unless it names one, and HSET that of a field.
	RenewalForever bool `json:"renewal_forever,omitempty" yaml:"renewal_ends" doc:"a renewal that writes the key says anew when it ends, or leaves that out, so that it stays for ever (SET key value IFEQ value, without PX; HSET of a field)" default:"true" mistake:"false"`
	// RenewsAfterWork starves the watchdog while the client is busy.
	RenewsAfterWork bool `json:"renews_after_work,omitempty" yaml:"own_thread" doc:"the watchdog has a thread of its own, or waits until the work that its client is busy with is done (bull 308)" default:"true" mistake:"false"`
	// RenewalGivesUp: one answer that is an error costs the lock, and nobody is told.
	RenewalGivesUp bool `json:"renewal_gives_up,omitempty" yaml:"renewal_retries" doc:"a renewal that is answered with an error, or not at all, is tried again when the next is due, or it is the last (redisson 2515)" default:"true" mistake:"false"`
	IgnoreWait     bool `json:"ignore_wait,omitempty" yaml:"check_wait" doc:"look at what WAIT or WAITAOF answers: how many replicas have the key, or whether the disk has it (redisson 3994)" default:"true" mistake:"false"`
	// TokenFirst: a later holder may have an older token.
	TokenFirst bool `json:"token_first,omitempty" yaml:"token_after_grant" doc:"a token that is drawn beside the lock is drawn once the lock is granted, not before" default:"true" mistake:"false"`
	// LateToken: a holder whose lease has ended has a newer token than the next one.
	LateToken bool `json:"late_token,omitempty" yaml:"token_in_time" doc:"a lease that had ended when the token came is no grant, where the token is drawn after the grant" default:"true" mistake:"false"`
	// EnterUnheld: who gives up enters.
	EnterUnheld bool `json:"enter_unheld,omitempty" yaml:"give_up" doc:"a client whose wait is over is told that it has not got the lock, or goes on as if it had it (redis-py 621)" default:"refused" values:"refused,enters" mistake:"enters"`
	// WaitForEver: a connection that goes silent keeps the client waiting.
	WaitForEver bool `json:"wait_for_ever,omitempty" yaml:"bounded_wait" doc:"a command waits for its answer for node_timeout at most, or for ever (redis-py, whose socket_timeout is None by default)" default:"true" mistake:"false"`
	NoCleanup   bool `json:"no_cleanup,omitempty" yaml:"clean_up" doc:"an attempt that failed, or was never answered, takes its keys away again" default:"true" mistake:"false"`
	// CancelLeaves: the user is told that it was cancelled, and what it had set stays, as does its place in a line.
	CancelLeaves bool `json:"cancel_leaves,omitempty" yaml:"cancel" doc:"an attempt that is cancelled while it is under way takes back what it has set, and its place in a line, or it leaves them (curator 462)" default:"cleans-up" values:"cleans-up,leaves" mistake:"leaves"`
	// AlwaysReleased: a client that has lost its lock never learns it, nor that it could not give it back.
	AlwaysReleased bool `json:"always_released,omitempty" yaml:"release_answer" doc:"a release says no if the lock was not its client's own any more, or if it could not give it back, or always yes (node-redlock 11)" default:"as-answered" values:"as-answered,always-yes" mistake:"always-yes"`
	// StaysAtNode: in a cluster, a client without a client for clusters.
	StaysAtNode bool `json:"stays_at_node,omitempty" yaml:"redirections" doc:"in a Redis Cluster a client goes where MOVED and ASK say, or takes them for a no, as one does whose library knows no clusters" default:"followed" values:"followed,taken-for-no" mistake:"taken-for-no"`
	// FirstFrees: who has entered twice is alone until the first release.
	FirstFrees bool `json:"first_frees,omitempty" yaml:"entries" doc:"a re-entrant lock is free after as many releases as there were entries, or after the first (go-zero 1338)" default:"counted" values:"counted,first-frees" mistake:"first-frees"`
	// ProcessHolds: a second thread of the holder's process enters as if it were the holder.
	ProcessHolds bool `json:"process_holds,omitempty" yaml:"holder" doc:"the holder of a re-entrant lock is a thread, or the whole process, all of whose threads then enter (redis-lock for Ruby, issue 20)" default:"thread" values:"thread,process" mistake:"process"`
	// ExtendNeedsAll gives up a lock that a majority of the nodes keeps.
	ExtendNeedsAll bool `json:"extend_needs_all,omitempty" yaml:"extend_enough" doc:"an extension fails if a majority of the nodes did not take it, or if any node did not" default:"majority" values:"majority,all" mistake:"all"`
	// ClientEnds lets a client whose clock is ahead remove permits of holders that live.
	ClientEnds bool `json:"client_ends,omitempty" yaml:"permit_ends" doc:"a permit, or the lock of a reader, ends by the node's clock (TIME), or by that of the client that took it, and whoever asks next removes by its own clock what has ended (redis-semaphore)" default:"node-clock" values:"node-clock,client-clock" mistake:"client-clock"`
	// PlaceOnce: who waits for longer than a place in the line lasts is overtaken.
	PlaceOnce bool `json:"place_once,omitempty" yaml:"place_renewed" doc:"a place in the line lasts for the ttl from when its waiter asked last, or from when it came" default:"true" mistake:"false"`
	// PlaceForever: who dies in the line keeps all others out.
	PlaceForever bool `json:"place_forever,omitempty" yaml:"place_ends" doc:"a place in the line ends if its waiter asks no more, or it stays until the waiter takes it away" default:"true" mistake:"false"`
	// AskedOnce: a message that is lost, or is never sent, leaves a client waiting for a free lock.
	AskedOnce bool `json:"asked_once,omitempty" yaml:"asks_again" doc:"a client that waits to be woken asks again after the ttl at the latest, or only when all its time to wait is over (rueidis 602, spring-integration 3716)" default:"true" mistake:"false"`
	// SignalTaken: who asks before a release and begins to wait after it is not woken.
	SignalTaken bool `json:"signal_taken,omitempty" yaml:"signal_stays" doc:"what wakes those who wait stays until one of them takes it, or for a ttl, or the release takes it back at its end (python-redis-lock 71)" default:"true" mistake:"false"`
	// ReadersPass: a writer waits for as long as readers come.
	ReadersPass bool `json:"readers_pass,omitempty" yaml:"writer_waits" doc:"of a lock with readers: a writer that waits keeps new readers out, or readers come in for as long as others read" default:"true" mistake:"false"`
	// UpgradeWaits: two readers that both ask to write wait for one another.
	UpgradeWaits bool `json:"upgrade_waits,omitempty" yaml:"upgrade" doc:"a reader that asks to write is refused at once while others read, or it waits until they have gone" default:"refused" values:"refused,waits" mistake:"waits"`
	// BothWait: a reader and a writer that wait keep each other out of a free lock.
	BothWait bool `json:"both_wait,omitempty" yaml:"reader_yields" doc:"of a lock with readers: a reader that waits lets writers go that wait, or keeps them out as they keep it out (kazoo 649)" default:"true" mistake:"false"`
	// LastComeEnds: a reader with a short lease ends that of the others.
	LastComeEnds bool `json:"last_come_ends,omitempty" yaml:"key_ends" doc:"of a lock with readers: the key of all readers ends with the one that is to end last, or with the one that came last (redisson 2144)" default:"last-to-end" values:"last-to-end,last-come" mistake:"last-come"`
	// ReleasesGranted leaves the keys on nodes whose answer came when the lock was already granted.
	ReleasesGranted bool `json:"releases_granted,omitempty" yaml:"release_at" doc:"a release asks all nodes, or those alone whose yes was counted when the lock was granted" default:"all-nodes" values:"all-nodes,granting-nodes" mistake:"granting-nodes"`
}

// answerRelease is what a release says, by what came of it.
func (m *Mistakes) answerRelease(r Result) Result {
	if m.AlwaysReleased {
		return Result{Outcome: OK}
	}
	return r
}

// renewalMistakes are those that a renewal can make, whether the lock or its user asks for it.
var renewalMistakes = Mistakes{ExtendAbsent: true, RenewalFrees: true, RenewalShort: true, RenewalTakes: true}

// and are the mistakes of both.
func (m Mistakes) and(more Mistakes) Mistakes {
	for _, rule := range more.Rules() {
		m.SwitchOff(rule)
	}
	return m
}

// Switch is a safety rule that can be switched off.
type Switch struct {
	Name, Title string
	// On and Off are what a scenario writes for it: the rule, and the mistake.
	On, Off string
}

// Switches lists the safety rules.
func Switches() (list []Switch) {
	for f := range reflect.TypeFor[Mistakes]().Fields() {
		list = append(list, Switch{f.Tag.Get("yaml"), f.Tag.Get("doc"), f.Tag.Get("default"), f.Tag.Get("mistake")})
	}
	return list
}

// Rules are the safety rules that the mistakes break, by their names in scenarios.
func (m Mistakes) Rules() (list []string) {
	for i, v := range reflect.ValueOf(m).Fields() {
		if v.Bool() {
			list = append(list, i.Tag.Get("yaml"))
		}
	}
	return list
}

// SwitchOff breaks a safety rule.
func (m *Mistakes) SwitchOff(rule string) {
	for i, v := range reflect.ValueOf(m).Elem().Fields() {
		if i.Tag.Get("yaml") == rule {
			v.SetBool(true)
		}
	}
}
