package sentinel

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Rules are what a trace is held against.
type Rules struct {
	Settings
	Sentinels []string
	// Primary is the one at the beginning.
	Primary string
	// Slack is how late the time of an event may be, by which those of several sentinels are compared.
	Slack time.Duration
	// Clocks: those of sentinels were moved, and so the length of nothing is known.
	Clocks bool
}

// Explains says why Sentinel's rules do not allow what the sentinels told; nil: they do. The events of each
// sentinel are in their order. A process that was started anew told +monitor.
func Explains(r Rules, events []Event) error {
	x := &explainer{Rules: r, each: make(map[string]*explained)}
	for _, name := range r.Sentinels {
		x.each[name] = &explained{x: x, name: name, primary: r.Primary,
			announced: []fact{{what: r.Primary, at: -1 << 62}}, sdown: make(map[string]bool),
			voted: make(map[uint64]string), sdownAt: make(map[string]time.Duration), reconf: make(map[string]Word)}
	}
	for _, e := range events {
		s := x.each[e.Sentinel]
		if s == nil {
			return fmt.Errorf("%s is no sentinel", e.Sentinel)
		}
		if why := s.take(e); why != "" {
			return fmt.Errorf("at %v %s told %s %s %d: %s", e.At, e.Sentinel, e.Word, e.Target, e.Epoch, why)
		}
	}
	var err error
	for _, owed := range x.owed {
		err = cmp.Or(err, owed())
	}
	return err
}

// explainer has what all sentinels told, and what is to be looked at when all is known.
type explainer struct {
	Rules
	each    map[string]*explained
	configs []fact
	owed    []func() error
}

// fact is something that was so from a time on.
type fact struct {
	what  string
	epoch uint64
	at    time.Duration
}

// explained is what is known of one sentinel.
type explained struct {
	x       *explainer
	name    string
	primary string
	tilt    bool
	odown   bool
	sdown   map[string]bool
	sdownAt map[string]time.Duration
	// downs are the primaries that it took for down, votes whom it voted for, tries its failovers, epochs
	// the epochs that it learnt of, announced whom it told others to be the primary.
	downs, votes, tries, epochs, announced []fact
	voted                                  map[uint64]string
	epoch, lastVote                        uint64
	// configEpoch is the least that its configuration's epoch can be.
	configEpoch uint64
	// last is the event before, state that of its failover, with its epoch and the promoted server.
	last     Event
	state    failoverState
	failover uint64
	promoted string
	reconf   map[string]Word
	timedOut bool
	// started is when it began its last failover, or voted for another; switched when it switched last.
	started, switched       time.Duration
	hasStarted, hasSwitched bool
}

// expectLater puts off a question till all events are known.
func (s *explained) expectLater(e Event, answer func() string) {
	s.x.owed = append(s.x.owed, func() error {
		if why := answer(); why != "" {
			return fmt.Errorf("at %v %s told %s %s %d: %s", e.At, e.Sentinel, e.Word, e.Target, e.Epoch, why)
		}
		return nil
	})
}

// by reports whether something was so at a time.
func (x *explainer) by(facts []fact, at time.Duration, is func(fact) bool) bool {
	return slices.ContainsFunc(facts, func(f fact) bool { return f.at <= at+x.Slack && is(f) })
}

// take takes an event in, and says why it cannot be.
func (s *explained) take(e Event) (why string) {
	if s.tilt && slices.Contains(acting, e.Word) {
		return "it acts in TILT"
	}
	if s.last.Word == ConfigUpdateFrom && e.Word != SwitchMaster {
		return "a new configuration is a switch"
	}
	switch e.Word {
	case SDown, SDownOff, ODown, ODownOff, TiltOn, TiltOff, Monitor:
		why = s.takeState(e)
	case NewEpoch, TryFailover, VoteForLeader, ElectedLeader, AbortNotElected:
		why = s.takeElection(e)
	case StateSelectSlave, SelectedSlave, StateSendSlaveofNoone, StateWaitPromotion, AbortNoGoodSlave, AbortSlaveTimeout:
		why = s.takePromotion(e)
	case PromotedSlave, StateReconfSlaves, SlaveReconfSent,
		SlaveReconfSentBE, SlaveReconfInprog, SlaveReconfDone, FailoverEnd, FailoverEndForTimeout:
		why = s.takeReconf(e)
	case ConfigUpdateFrom, SwitchMaster, ConvertToSlave, FixSlaveConfig:
		why = s.takeConfig(e)
	case Reboot, RoleChange, RoleChangeOff:
	default: // somebody else's word
		return ""
	}
	s.last = e
	return why
}

// acting are the words of what a sentinel does not do in TILT.
var acting = []Word{SDown, SDownOff, ODown, ODownOff, TryFailover, ElectedLeader, SelectedSlave, StateWaitPromotion, PromotedSlave,
	SlaveReconfSent, SlaveReconfInprog, SlaveReconfDone,
	FailoverEnd, ConvertToSlave, FixSlaveConfig, AbortNotElected, AbortNoGoodSlave, AbortSlaveTimeout}

// unless says why, where something is not so.
func unless(is bool, why string) string {
	if is {
		return ""
	}
	return why
}

func (s *explained) takeState(e Event) string {
	down := s.sdown[e.Target]
	switch e.Word {
	case SDown:
		s.sdown[e.Target], s.sdownAt[e.Target] = true, e.At
		if e.Target == s.primary {
			s.downs = append(s.downs, fact{what: e.Target, at: e.At})
		}
		return unless(!down && e.Target != s.name, "it was down already")
	case SDownOff:
		s.sdown[e.Target] = false
		return unless(down, "it was not down")
	case ODown:
		s.expectLater(e, func() string { return unless(s.x.sawDown(e) >= s.x.Quorum, "too few sentinels saw it down") })
		had := s.odown
		s.odown = true
		return unless(e.Target == s.primary && down && !had, "it is no primary that was down")
	case ODownOff:
		had := s.odown
		s.odown = false
		return unless(e.Target == s.primary && had, "it was not down for a quorum")
	case TiltOff:
		had := s.tilt
		s.tilt = false
		return unless(had, "there was no TILT")
	case TiltOn:
		s.tilt = true
	case Monitor:
		if s.state >= stateReconfSlaves {
			s.primary = s.promoted
		}
		s.reset()
		clear(s.sdown)
		s.tilt, s.hasStarted = false, false
	}
	return ""
}

// reset forgets what is known of servers.
func (s *explained) reset() {
	for name := range s.sdown {
		if s.x.each[name] == nil {
			delete(s.sdown, name)
		}
	}
	clear(s.sdownAt)
	clear(s.reconf)
	s.odown, s.state, s.promoted, s.timedOut = false, stateNone, "", false
}

// sawDown is how many sentinels saw a primary down. It may have been an earlier one: a switch leaves what
// the others said of that (SRI_MASTER_DOWN), for up to five seconds.
func (x *explainer) sawDown(e Event) (n int) {
	for _, s := range x.each {
		if x.by(s.downs, e.At, func(fact) bool { return true }) {
			n++
		}
	}
	return n
}

func (s *explained) takeElection(e Event) string {
	switch e.Word {
	case NewEpoch:
		was := s.epoch
		s.epoch = e.Epoch
		s.epochs = append(s.epochs, fact{epoch: e.Epoch, at: e.At})
		return unless(e.Epoch > was, "the epoch does not grow")
	case TryFailover:
		return s.try(e)
	case VoteForLeader:
		return s.vote(e)
	case ElectedLeader:
		was := s.state
		s.state = stateSelectSlave
		current, failover := s.epoch, s.failover
		s.expectLater(e, func() string { return s.x.elected(e, current, failover) })
		return unless(was == stateWaitStart, "it stood for no election")
	case AbortNotElected:
		return s.abort(stateWaitStart)
	}
	return ""
}

func (s *explained) abort(states ...failoverState) string {
	was := s.state
	s.state = stateNone
	return unless(slices.Contains(states, was), "there is no such failover")
}

// start notes when the sentinel may next begin a failover.
func (s *explained) start(at time.Duration) { s.started, s.hasStarted = at, true }

func (s *explained) try(e Event) string {
	was, waited := s.state, !s.hasStarted || s.x.Clocks || e.At-s.started >= 2*s.x.FailoverTimeout-s.x.Slack
	s.state, s.failover, s.promoted = stateWaitStart, s.epoch, ""
	s.tries = append(s.tries, fact{at: e.At})
	s.start(e.At)
	return cmp.Or(unless(s.odown && e.Target == s.primary, "the primary is not down for a quorum"),
		unless(was == stateNone, "a failover is in progress"),
		unless(s.last.Word == NewEpoch, "it has no new epoch"), unless(waited, "it must wait longer"))
}

func (s *explained) vote(e Event) string {
	x, was := s.x, s.lastVote
	s.lastVote, s.voted[e.Epoch] = e.Epoch, e.Target
	s.votes = append(s.votes, fact{what: e.Target, epoch: e.Epoch, at: e.At})
	candidate := x.each[e.Target]
	why := cmp.Or(unless(e.Epoch > was, "it has voted in that epoch"),
		unless(e.Epoch == s.epoch, "it is of another epoch"), unless(candidate != nil, "that is no sentinel"))
	if why != "" {
		return why
	}
	if candidate == s {
		return unless(s.state == stateWaitStart && s.failover == e.Epoch, "it does not stand in that epoch")
	}
	s.start(e.At)
	s.expectLater(e, func() string {
		return unless(x.by(candidate.tries, e.At, func(fact) bool { return true }) &&
			x.by(candidate.epochs, e.At, func(f fact) bool { return f.epoch >= e.Epoch }), "the candidate did not stand")
	})
	return ""
}

// elected says why a sentinel is not elected: of others the votes in its current epoch count, its own
// in that of the failover (sentinelGetLeader).
func (x *explainer) elected(e Event, current, failover uint64) string {
	votes := 0
	for name, s := range x.each {
		epoch := current
		if name == e.Sentinel {
			epoch = failover
		}
		if x.by(s.votes, e.At, func(f fact) bool { return f.what == e.Sentinel && f.epoch == epoch }) {
			votes++
		}
	}
	return unless(votes >= max(len(x.Sentinels)/2+1, x.Quorum), fmt.Sprintf("%d votes are too few", votes))
}

func (s *explained) takePromotion(e Event) string {
	step := func(from, to failoverState, target string) string {
		was := s.state
		s.state = to
		return cmp.Or(unless(was == from, "the failover is not so far"), unless(e.Target == target, "that is not who was selected"))
	}
	switch e.Word {
	case StateSelectSlave:
		return unless(s.last.Word == ElectedLeader, "it was not elected")
	case SelectedSlave:
		s.promoted = e.Target
		return cmp.Or(step(stateSelectSlave, stateSendSlaveofNoone, e.Target),
			unless(e.Target != s.primary && !s.sdown[e.Target], "that server is down, or the primary"))
	case StateSendSlaveofNoone:
		return unless(s.last.Word == SelectedSlave && e.Target == s.promoted, "none was selected")
	case StateWaitPromotion:
		return step(stateSendSlaveofNoone, stateWaitPromotion, s.promoted)
	case AbortNoGoodSlave:
		return s.abort(stateSelectSlave)
	case AbortSlaveTimeout:
		return s.abort(stateSendSlaveofNoone, stateWaitPromotion)
	}
	return ""
}

func (s *explained) takeReconf(e Event) string {
	switch e.Word {
	case PromotedSlave:
		was := s.state
		s.state = stateReconfSlaves
		made := fact{what: e.Target, epoch: s.failover, at: e.At}
		s.x.configs, s.announced = append(s.x.configs, made), append(s.announced, made)
		s.expectLater(e, func() string {
			s.configEpoch = made.epoch
			return ""
		})
		return unless(was == stateWaitPromotion && e.Target == s.promoted, "it was not to be promoted")
	case StateReconfSlaves:
		return unless(s.last.Word == PromotedSlave, "none was promoted")
	case FailoverEndForTimeout:
		s.timedOut = true
		return unless(s.state == stateReconfSlaves, "none was promoted")
	case FailoverEnd:
		was := s.state
		s.state = stateUpdateConfig
		return unless(was == stateReconfSlaves, "none was promoted")
	}
	return s.reconfigure(e)
}

// reconfigure takes in how far the replicas are.
func (s *explained) reconfigure(e Event) string {
	was := s.reconf[e.Target]
	s.reconf[e.Target] = e.Word
	of := s.state == stateReconfSlaves && e.Target != s.promoted
	switch e.Word {
	case SlaveReconfSent:
		return unless(of && was == "", "it is no replica to be told of the new primary")
	case SlaveReconfSentBE:
		return unless(s.state == stateUpdateConfig && s.timedOut && e.Target != s.promoted, "the failover has not timed out")
	case SlaveReconfInprog:
		return unless(of && was == SlaveReconfSent, "it was told nothing")
	case SlaveReconfDone:
		return unless(of && was == SlaveReconfInprog, "it was told nothing")
	}
	return ""
}

func (s *explained) takeConfig(e Event) string {
	wait := PublishPeriod * 4 * time.Millisecond
	switch e.Word {
	case FixSlaveConfig:
		wait = s.x.FailoverTimeout
	case ConfigUpdateFrom:
		return unless(s.x.each[e.Target] != nil && e.Target != s.name, "that is no other sentinel")
	case SwitchMaster:
		return s.switchTo(e)
	}
	since, was := s.sdownAt[e.Target]
	long := s.x.Clocks || (!was || e.At-since > wait-s.x.Slack) && (!s.hasSwitched || e.At-s.switched > wait-s.x.Slack)
	return cmp.Or(unless(e.Target != s.primary && !s.sdown[s.primary] && !s.odown, "the primary does not look sane"),
		unless(long, "it must wait longer"))
}

// switchTo is a switch to the promoted server, or to what another sentinel told of.
func (s *explained) switchTo(e Event) (why string) {
	if from := s.last; from.Word == ConfigUpdateFrom {
		s.expectLater(e, func() string { return s.adopt(e, from.Target) })
		s.announced = append(s.announced, fact{what: e.Target, at: e.At})
	} else {
		why = unless(s.state == stateUpdateConfig && e.Target == s.promoted, "it has promoted no server, and heard of none")
	}
	s.primary = e.Target
	s.reset()
	s.switched, s.hasSwitched, s.hasStarted = e.At, true, false
	return why
}

// adopt takes over a configuration that another sentinel told of, with the least epoch that it can have.
func (s *explained) adopt(e Event, from string) string {
	x := s.x
	least := uint64(0)
	for _, c := range x.configs {
		if c.what == e.Target && c.epoch > s.configEpoch && c.at <= e.At+x.Slack && (least == 0 || c.epoch < least) {
			least = c.epoch
		}
	}
	s.configEpoch = max(s.configEpoch, least)
	return cmp.Or(unless(least > 0, "nobody has made such a configuration since"),
		unless(x.by(x.each[from].announced, e.At, func(f fact) bool { return f.what == e.Target }), "the other sentinel knew another primary"))
}
