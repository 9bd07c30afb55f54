package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Schedule fires the faults of one run.
type Schedule struct {
	w      world.World
	record func(history.Event) int
	faults []Planned
	mix    *Mix
	cast   Cast
	seed   uint64
	// Began is called after a fault has begun; nil: nobody is. It is set before
	// Start.
	Began func()

	// awaits are the faults' own, in their order.
	awaits []awaitedAt

	mu          sync.Mutex
	occurrences []occurrence
	active      map[int]*activation // by the fault's number
	// settled are the faults that have struck, or of which it is said why they cannot.
	settled map[int]bool
	healed  bool
	// noMore: nothing more begins.
	noMore bool
	errs   []error
	// healing fires when everything heals.
	healing world.Signal
}

// activation is a fault that has begun.
type activation struct {
	fault Planned
	id    int
	undo  func() error
	begun time.Duration
	// isEnding: somebody is about to undo it. ended fires when it is over.
	isEnding bool
	ended    world.Signal
}

// NewSchedule prepares the faults, which are numbered from 1 in their order;
// the kinds of the mix, if there is one, follow.
func NewSchedule(w world.World, record func(history.Event) int, faults []Planned, mix *Mix, cast Cast, seed uint64) *Schedule {
	s := &Schedule{w: w, record: record, faults: faults,
		mix: mix, cast: cast, seed: seed, healing: w.NewSignal(), active: make(map[int]*activation), settled: make(map[int]bool)}
	for i := range faults {
		t := &faults[i].When
		at := awaitedAt{on: none, and: none, unless: none, since: none, until: s.occurrenceOf(t.Until)}
		if on := t.On; on != nil {
			at.on, at.and = s.occurrenceOf(&on.Passing), s.occurrenceOf(on.And)
			at.unless, at.since = s.occurrenceOf(on.Unless), s.occurrenceOf(on.Since)
		}
		s.awaits = append(s.awaits, at)
	}
	return s
}

// awaitedAt are the places in occurrences of what a fault waits for; none: it waits for nothing. before is how often it had
// happened when its count began.
type awaitedAt struct{ on, and, unless, since, until, before int }

const none = -1

// occurrenceOf is where it is counted that p happens; none, where p is nil.
func (s *Schedule) occurrenceOf(p *Passing) int {
	if p == nil {
		return none
	}
	i := slices.IndexFunc(s.occurrences, func(q occurrence) bool { return q.Passing == p.anyTime() })
	if i < 0 {
		i = len(s.occurrences)
		s.occurrences = append(s.occurrences, occurrence{Passing: p.anyTime()})
	}
	return i
}

// occurrence is what a fault waits for, however often, and how often it has happened.
type occurrence struct {
	Passing
	times      int
	happensNow bool
}

// rand is the source of randomness of one part of the schedule.
func (s *Schedule) rand(part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, 0x6e656d65736973+part))
}

// Start brings the faults at time 0 into force and sets the clock for those
// that come by themselves. The clients begin after it.
func (s *Schedule) Start() {
	for i := range s.faults {
		t := &s.faults[i].When
		switch {
		case !t.Every.IsZero():
			s.w.Go(func() { s.repeat(i + 1) })
		case t.At != nil && *t.At == 0:
			s.strike(i+1, s.faults[i], nil)
		case t.At != nil:
			s.w.Go(func() {
				if s.wait(*t.At - s.w.Now()) {
					s.strike(i+1, s.faults[i], nil)
				}
			})
		}
	}
	if s.mix != nil {
		s.w.Go(s.runMix)
	}
}

// wait lets time pass; false: everything heals or the run ends.
func (s *Schedule) wait(d time.Duration) bool {
	return !s.healing.Wait(max(d, 1)) && !s.w.Stopped()
}

// repeat strikes again and again.
func (s *Schedule) repeat(id int) {
	r := s.rand(uint64(id))
	f := s.faults[id-1]
	for s.wait(f.When.Every.Draw(r)) {
		if k := s.strike(id, f, nil); k != nil {
			k.ended.Wait(0)
		}
	}
}

// Point takes note that client is at point, and fires and ends what waits for
// that. The client stands there until Point returns.
func (s *Schedule) Point(client, point string) {
	due, done := s.countOccurrence(func(p *Passing) bool { return p.Point == point && (p.Client == "" || p.Client == client) })
	s.record(history.Event{Process: client, Type: history.Info, F: history.Point, Value: history.Value{Extra: &history.Extra{Point: point}}})
	s.fire(due, done, nil)
}

// Message takes note that a message is on its way, and fires and ends what waits for
// that. The message stands until Message returns.
func (s *Schedule) Message(m world.Message) {
	due, done := s.countOccurrence(func(p *Passing) bool {
		pattern := p.Pattern()
		return p.IsMessage() && pattern.Fits(m.Link, m.Kind, m.Words, m.Can)
	})
	s.fire(due, done, &m)
}

// Sentinel takes note of what a sentinel tells, and fires and ends what waits for that.
func (s *Schedule) Sentinel(e history.Event) {
	due, done := s.countOccurrence(func(p *Passing) bool {
		return p.Tells == e.Value.Detail() && (p.Sentinel == "" || p.Sentinel == e.Process) && (p.About == "" || p.About == e.Value.Target())
	})
	s.fire(due, done, nil)
}

// Unread takes note that the messages of a connection cannot be read any more, or the
// answers alone. Each fault that waits for one there, and has not struck, is told once.
func (s *Schedule) Unread(l world.Link, answers bool, why string) {
	for i := range s.faults {
		f := &s.faults[i]
		if !f.When.On.IsMessage() {
			continue
		}
		if pattern := f.When.On.Pattern(); !pattern.On(l) || answers && !pattern.Kind.FromNode() || !s.settle(i+1) {
			continue
		}
		s.record(history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultFailed,
			Value: history.Value{Rare: &history.Rare{Fault: f.Kind, ID: i + 1, Target: f.Fault.Target(), Detail: f.When.String()}},
			Error: history.SomeText(fmt.Sprintf("on a connection from %s to %s no message can be read: %s", l.From, l.To, why))})
	}
}

// settle reports that a fault has not struck, and that nobody has said why; now somebody does.
func (s *Schedule) settle(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled[id] {
		return false
	}
	s.settled[id] = true
	return true
}

// countOccurrence counts what happens now, and returns the numbers of the faults that it fires
// and ends.
func (s *Schedule) countOccurrence(is func(*Passing) bool) (due, done []int) {
	if len(s.occurrences) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	some := false
	for i := range s.occurrences {
		p := &s.occurrences[i]
		if p.happensNow = is(&p.Passing); p.happensNow {
			p.times++
			some = true
		}
	}
	if !some {
		return nil, nil
	}
	for i := range s.awaits {
		f, at := &s.faults[i], &s.awaits[i]
		if s.isDue(f, at) {
			due = append(due, i+1)
		}
		if s.isNthNow(at.until, f.When.Until, 0) {
			done = append(done, i+1)
		}
	}
	return due, done
}

// isNthNow reports that something happens now for the time that is asked for, not counting how often it had happened before.
func (s *Schedule) isNthNow(at int, p *Passing, before int) bool {
	return at != none && s.occurrences[at].happensNow && s.occurrences[at].times-before == max(p.Nth, 1)
}

// hasHappened reports that something has happened as often as is asked for.
func (s *Schedule) hasHappened(at int, p *Passing) bool {
	return at != none && s.occurrences[at].times >= max(p.Nth, 1)
}

// isDue reports that what fires a fault happens now. The count of what it waits for begins behind Since.
func (s *Schedule) isDue(f *Planned, at *awaitedAt) bool {
	if at.on == none {
		return false
	}
	on := f.When.On
	if s.isNthNow(at.since, on.Since, 0) {
		at.before = s.occurrences[at.on].times
		return false
	}
	return (at.since == none || s.hasHappened(at.since, on.Since)) && s.isNthNow(at.on, &on.Passing, at.before) &&
		(at.and == none || s.hasHappened(at.and, on.And))
}

// isLate reports that what a fault was to come before has happened.
func (s *Schedule) isLate(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	unless := s.awaits[id-1].unless
	return unless != none && s.hasHappened(unless, s.faults[id-1].When.On.Unless)
}

// isPast reports that what ends a fault has happened; the caller holds mu.
func (s *Schedule) isPast(id int) bool {
	if id > len(s.awaits) { // a fault of the mix
		return false
	}
	at := s.awaits[id-1].until
	return at != none && s.occurrences[at].times >= max(s.faults[id-1].When.Until.Nth, 1)
}

// fire ends and strikes faults; m is the message that did it, or nil.
func (s *Schedule) fire(due, done []int, m *world.Message) {
	for _, id := range done {
		s.end(id)
	}
	for _, id := range due {
		f := s.faults[id-1]
		if !s.isLate(id) {
			s.strike(id, f, m)
		} else if s.settle(id) {
			s.record(history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultFailed,
				Value: history.Value{Rare: &history.Rare{Fault: f.Kind, ID: id, Target: f.Fault.Target(), Detail: f.When.String()}},
				Error: history.SomeText(history.TooLate + f.When.On.Unless.String())})
		}
	}
}

// slowFault is one whose effects others can see before Begin returns. If its target can be frozen first, its begin is
// recorded then, so that no effect precedes it in the history.
type slowFault interface {
	freezeTarget(w world.World) bool
}

// instant is a fault that is over as soon as it has begun, and may strike again.
type instant interface{ IsOver() }

func isInstant(f Fault) bool {
	_, is := f.(instant)
	return is
}

// strike lets a fault begin, and end after its length. It returns nil where the
// fault did not take effect. m is the message that fired it, or nil.
func (s *Schedule) strike(id int, f Planned, m *world.Message) *activation {
	if !s.reserve(id) {
		return nil
	}
	if on, ok := f.Fault.(MessageFault); ok && m != nil {
		f.Fault = on.On(*m)
	}
	told := &history.Rare{Fault: f.Kind, ID: id, Target: f.Fault.Target(), Detail: f.When.String()}
	if f.Fault.Length() > 0 {
		told.Planned = history.Some(int64(f.Fault.Length()))
	}
	tell := func() {
		impact := f.Fault.Impact(s.w)
		begin := *told
		begin.Impact = &impact
		s.record(history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultBegin, Value: history.Value{Rare: &begin}})
	}
	slow, early := f.Fault.(slowFault)
	early = early && slow.freezeTarget(s.w)
	if early {
		tell()
	}
	undo, err := f.Fault.Begin(s.w)
	if err != nil {
		s.mu.Lock()
		delete(s.active, id)
		s.mu.Unlock()
		s.record(history.Event{Process: history.NemesisProcess,
			Type: history.Info, F: history.FaultFailed, Value: history.Value{Rare: told}, Error: history.SomeText(err.Error())})
		return nil
	}
	if !early {
		tell()
	}
	k := &activation{fault: f, id: id, undo: undo, begun: s.w.Now(), ended: s.w.NewSignal()}
	s.mu.Lock()
	s.active[id], s.settled[id] = k, true
	healed := s.healed
	past := s.isPast(id)
	s.mu.Unlock()
	if s.Began != nil {
		s.Began()
	}
	s.startDependents(id, false)
	switch length := f.Fault.Length(); {
	case past, isInstant(f.Fault): // past: what was to end it happened while it began
		s.end(id)
	case healed && !f.When.Stays: // it began while everything else was being lifted
		s.end(id)
	case length > 0:
		s.w.Go(func() {
			if !s.awaitLength(k, length) {
				s.end(id)
			}
		})
	}
	return k
}

// NoMore lets nothing more begin. What has begun goes on as it was to.
func (s *Schedule) NoMore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noMore = true
}

// reserve makes sure that a fault is active once at a time; false: it is already,
// everything has healed, or nothing more is to begin.
func (s *Schedule) reserve(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.healed || s.noMore || s.active[id] != nil {
		return false
	}
	s.active[id] = beginning
	return true
}

// beginning stands for a fault that is about to begin.
var beginning = &activation{}

// awaitLength lets the length of a fault pass; true: it has ended meanwhile.
func (s *Schedule) awaitLength(k *activation, length time.Duration) bool {
	measured, ok := k.fault.Fault.(interface{ MeasuredBy() string })
	if !ok || measured.MeasuredBy() == "" {
		return k.ended.Wait(length)
	}
	begun, err := s.w.NodeTime(measured.MeasuredBy())
	for now := begun; err == nil && now-begun < length && !s.w.Stopped(); {
		if k.ended.Wait(min(clockLook, length-(now-begun))) {
			return true
		}
		now, err = s.w.NodeTime(measured.MeasuredBy())
	}
	return false
}

// clockLook is how often a clock that may be moved is looked at.
const clockLook = 5 * time.Millisecond

// startDependents starts the faults that come after the begin or the end of another.
func (s *Schedule) startDependents(id int, ended bool) {
	for i := range s.faults {
		after := s.faults[i].When.After
		if after == nil || after.Fault != id || (after.Event == "end") != ended {
			continue
		}
		if after.Delay == 0 {
			s.strike(i+1, s.faults[i], nil)
			continue
		}
		s.w.Go(func() {
			if s.wait(after.Delay) {
				s.strike(i+1, s.faults[i], nil)
			}
		})
	}
}

// end undoes a fault, if it is active. Until that is done it stays active: a server
// that is being started again must not be killed again meanwhile.
func (s *Schedule) end(id int) {
	s.mu.Lock()
	k := s.active[id]
	if k == nil || k.undo == nil { // still beginning: whoever begins it ends it, too
		s.mu.Unlock()
		return
	}
	if k.isEnding {
		s.mu.Unlock()
		k.ended.Wait(0)
		return
	}
	k.isEnding = true
	healed := s.healed
	s.mu.Unlock()
	took := s.w.Now() - k.begun
	err := k.undo()
	s.mu.Lock()
	delete(s.active, id)
	if err != nil && !s.w.Stopped() {
		s.errs = append(s.errs, fmt.Errorf("failed to end fault %d (%s of %s): %w", id, k.fault.Kind, k.fault.Fault.Target(), err))
	}
	s.mu.Unlock()
	s.record(history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultEnd, Value: history.Value{
		Rare: &history.Rare{Fault: k.fault.Kind, ID: id, Target: k.fault.Fault.Target(), Took: history.Some(int64(took))},
	}})
	k.ended.Fire()
	if !healed {
		s.startDependents(id, true)
	}
}

// Heal undoes what is still active, the latest first, and lets nothing more
// begin. What stays, stays until the world is closed.
func (s *Schedule) Heal() {
	s.mu.Lock()
	s.healed = true
	left := make([]*activation, 0, len(s.active))
	for _, k := range s.active {
		if k.undo != nil && !k.fault.When.Stays {
			left = append(left, k)
		}
	}
	s.mu.Unlock()
	s.healing.Fire()
	slices.SortFunc(left, func(a, b *activation) int { return cmp.Or(cmp.Compare(b.begun, a.begun), cmp.Compare(b.id, a.id)) })
	for _, k := range left {
		s.end(k.id)
	}
}

// Endless reports that target stands under a fault that only healing ends: it has no
// length, and what would end it has not happened and can happen no more, for that
// client has ended.
func (s *Schedule) Endless(target string, ended func(client string) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.active {
		if k.undo == nil || k.isEnding || !s.strikes(k, target) || k.fault.Fault.Length() > 0 {
			continue
		}
		if killed, ok := k.fault.Fault.(interface{ Returns() bool }); ok && !killed.Returns() {
			continue // it does not stand: it has ended, or is about to
		}
		until := k.fault.When.Until
		if until == nil || until.clientOf() != "" && ended(until.clientOf()) && !s.isPast(k.id) {
			return true
		}
	}
	return false
}

// strikes reports that a fault is one of the target, or of the process that a client shares.
func (s *Schedule) strikes(k *activation, target string) bool {
	of := k.fault.Fault.Target()
	return of == target || s.w.IsClient(of) && slices.Contains(s.w.Process(of), target)
}

// AwaitReturn waits until a killed client has been started again; false: it
// will not be.
func (s *Schedule) AwaitReturn(client string) bool {
	s.mu.Lock()
	var back world.Signal
	first := 0
	for id, k := range s.active {
		if k.undo == nil || back != nil && id > first {
			continue
		}
		killed, ok := k.fault.Fault.(interface{ Returns() bool })
		if ok && s.strikes(k, client) && killed.Returns() {
			back, first = k.ended, id // of several the first in the list, whatever the map's order
		}
	}
	s.mu.Unlock()
	return back != nil && back.Wait(0) && s.w.Alive(client)
}

// Err is what went wrong in lifting faults.
func (s *Schedule) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}
