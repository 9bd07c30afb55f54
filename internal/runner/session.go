package runner

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// session is one client in the workload's hands. It records every operation:
// the invocation before the request leaves, the completion after the answer
// came.
type session struct {
	r      *run
	name   string
	client world.Client
	// granted fires at the client's first grant, or at its end.
	granted world.Signal
	gone    bool
	// begun, passedOn (granted has fired) and done are guarded by run.mu; only the
	// session's own activity sets them.
	begun, passedOn, done bool
	// reads: the client is a reader.
	reads bool
	// requestUnderWay: a request is with the client. section is that of the latest request.
	requestUnderWay atomic.Bool
	releases        atomic.Bool // it is a release
	section         atomic.Int64
	err             error
}

var _ workload.Session = (*session)(nil)

func (s *session) Do(q client.Request) client.Answer {
	s.section.Store(int64(q.Section))
	asked := s.Now()
	asks := history.Value{Section: q.Section, Key: q.Cell, Number: q.Number}
	if q.Inner {
		asks.OwnExtra().Inner = true
	}
	if q.F == history.Acquire && s.reads && !q.Upgrade {
		asks.OwnExtra().Shared = true
	}
	s.record(history.Invoke, q.F, asks, "")
	s.releases.Store(q.F == history.Release)
	s.requestUnderWay.Store(true)
	a := s.client.Do(q)
	s.requestUnderWay.Store(false)
	v := a.Value
	v.Section = q.Section
	s.record(a.Type, q.F, v, a.Error)
	if q.F == history.Extend && a.Type == history.Fail { // it was told, at some time between the two, that it has the lock no more
		now := s.Now()
		s.record(history.Info, history.Lost, history.Value{Owner: v.Owner,
			Outcome: &history.Outcome{At: history.Some(int64(now)), AtError: int64(now - asked)}}, a.Error)
	}
	if q.F == history.Acquire && a.Type == history.OK {
		s.r.mu.Lock()
		s.r.lastGrant = s.r.w.Now()
		s.r.mu.Unlock()
	}
	s.gone = a.Gone && !s.r.schedule.AwaitReturn(s.name)
	return a
}

// probe tries for the lock and gives it back. Where the answer is unknown, it tries again until some time.
func (s *session) probe(section int, until time.Duration) {
	for {
		switch s.Do(client.Request{F: history.Acquire, Section: section}).Type {
		case history.OK:
			s.Do(client.Request{F: history.Release, Section: section})
			return
		case history.Info:
		case history.Invoke, history.Fail:
			return
		}
		if s.Now() >= until || s.Over() || !s.Sleep(probeAgain) {
			return
		}
	}
}

// probeAgain is how long a client waits before it tries again.
const probeAgain = 100 * time.Millisecond

func (s *session) record(t history.Type, f history.F, v history.Value, err string) {
	s.r.record(history.Event{Process: s.name, Type: t, F: f, Value: v, Error: history.SomeText(err)})
}

func (s *session) Now() time.Duration         { return s.r.w.Now() }
func (s *session) Sleep(d time.Duration) bool { return s.r.w.Sleep(d) }

func (s *session) Point(name string) {
	if slices.Contains(s.r.points, name) {
		s.r.schedule.Point(s.name, name)
	}
	if name == workload.Acquired {
		s.passOn()
	}
}

// passOn gives the next client its turn.
func (s *session) passOn() {
	s.r.mu.Lock()
	s.passedOn = true
	s.r.mu.Unlock()
	s.granted.Fire()
}

func (s *session) Over() bool { return s.gone || s.r.w.Stopped() }
