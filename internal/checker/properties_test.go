package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// cases of each property: the history, the verdict and a part of the reason.
var propertyCases = []struct {
	name     string
	property Property
	write    func(s *script)
	verdict  Verdict
	why      string
}{
	{"one client alone", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.release(2, 3, "c1")
	}, Unknown, "never contended"},
	{"handed over, to who had not asked before", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.release(2, 3, "c1")
		s.acquire(4, 5, "c2", 900, -1)
		s.release(6, 7, "c2")
	}, Unknown, "never contended: 2 grants"},
	{"touching at one stamp", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(5, "c1", history.Invoke, history.Release, history.Value{})
		s.granted(5, "c2", 900, -1)
		s.add(6, "c1", history.OK, history.Release, history.Value{})
		s.release(7, 8, "c2")
	}, Holds, "1 contended"},
	{"grant answered before release asked", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 4, "c2", -1, -1)
		s.release(5, 6, "c1")
		s.release(7, 8, "c2")
	}, Violated, "2 holders at once for 1 ms"},
	{"never released", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 4, "c2", -1, -1)
	}, Violated, "2 holders"},
	{"killed, then handed over", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(1, "c2", history.Invoke, history.Acquire, history.Value{})
		s.fault(2, true, 1, "kill", "c1")
		s.granted(1004, "c2", 1900, -1)
		s.release(1005, 1006, "c2")
	}, Holds, "1 contended"},
	{"asked for, and killed before another had it", ExclusiveBelief, func(s *script) {
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(1, "c1", history.Invoke, history.Acquire, history.Value{})
		s.fault(2, true, 1, "kill", "c2")
		s.granted(4, "c1", 900, -1)
		s.release(8, 9, "c1")
	}, Unknown, "never contended"},
	{"failed release ends belief", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(1, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(2, "c1", history.Invoke, history.Release, history.Value{})
		s.add(3, "c1", history.Fail, history.Release, history.Value{})
		s.granted(5, "c2", -1, -1)
		s.release(6, 7, "c2")
	}, Holds, "1 contended"},
	{"re-entered", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 3, "c1", -1, -1)
		s.release(4, 5, "c1")
		s.acquire(6, 7, "c2", -1, -1)
		s.release(8, 9, "c2")
		s.release(10, 11, "c1")
	}, Violated, "2 holders at once for 1 ms"},
	{"asked anew without a release", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(2, "c1", history.Invoke, history.Acquire, history.Value{})
		s.acquire(3, 4, "c2", 900, -1)
		s.release(5, 6, "c2")
		s.add(7, "c1", history.OK, history.Acquire, history.Value{Owner: "another"})
		s.release(8, 9, "c1")
	}, Holds, "contended"},
	{"unknown acquire is no belief", ExclusiveBelief, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(1, "c1", history.Info, history.Acquire, history.Value{})
		s.acquire(2, 3, "c2", -1, -1)
		s.release(4, 5, "c2")
	}, Unknown, "never contended"},
	{"two locks", ExclusiveBelief, func(s *script) {
		for i, lock := range []string{"x", "y"} {
			c := []string{"c1", "c2"}[i]
			s.add(int64(2*i), c, history.Invoke, history.Acquire, history.Value{Extra: &history.Extra{Lock: lock}})
			s.add(int64(2*i)+1, c, history.OK, history.Acquire, history.Value{Extra: &history.Extra{Lock: lock}})
		}
	}, Unknown, "never contended"},

	{"both inside the promise", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.acquire(100, 101, "c2", 1000, -1)
		s.release(1200, 1201, "c1")
		s.release(1202, 1203, "c2")
	}, Violated, "2 holders at once for 799 ms"},
	{"renewed in time", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(500, "c1", history.Invoke, history.Extend, history.Value{})
		s.add(501, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(1500)}})
		s.acquire(1000, 1001, "c2", 1900, -1)
		s.release(1300, 1301, "c1")
		s.release(1302, 1303, "c2")
	}, Violated, "2 holders at once for 299 ms"},
	{"renewed at the very end", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(500, "c1", history.Invoke, history.Extend, history.Value{})
		s.add(900, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(1500)}})
		s.acquire(901, 902, "c2", 1900, -1)
		s.release(1300, 1301, "c1")
		s.release(1302, 1303, "c2")
	}, Violated, "2 holders at once for 398 ms"},
	{"renewed too late", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(500, "c1", history.Invoke, history.Extend, history.Value{})
		s.add(600, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(1001, "c2", 1200, -1)
		s.release(1100, 1101, "c2")
		s.add(1200, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(1500)}})
		s.release(1300, 1301, "c1")
	}, Holds, "no two promises overlapped"},
	{"promise over before it was given", ExclusiveLease, func(s *script) {
		s.acquire(0, 1000, "c1", 900, -1)
		s.acquire(1001, 1002, "c2", 1900, -1)
		s.refused(1010, 1020, "c3")
		s.release(1100, 1101, "c2")
		s.release(1300, 1301, "c1")
	}, Holds, "no two promises overlapped"},

	{"inside the validity", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.write(100, "c1", 1, 1, history.OK, -1)
	}, Holds, "1 write, inside its own validity"},
	{"at the very end of the validity", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.write(100, "c1", 1, 1, history.OK, -1)
	}, Holds, "1 write"},
	{"no promise", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.write(100000, "c1", 1, 1, history.OK, -1)
	}, Unknown, "nothing was written under a promise that ends"},
	{"within the clock's error", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.write(100, "c1", 1, 1, history.OK, -1)
		told := s.h.Events[3].Value.OwnOutcome()
		told.At, told.AtError = ns(101), 2e6
	}, Holds, "1 write"},
	{"renewed", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 99, -1)
		s.add(50, "c1", history.Invoke, history.Extend, history.Value{})
		s.add(51, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(150)}})
		s.write(100, "c1", 1, 1, history.OK, -1)
	}, Holds, "1 write"},
	{"delayed on the way", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(100, "c1", history.Invoke, history.Write, history.Value{Section: 1, Number: history.Some(1)})
		s.add(200, "c1", history.Info, history.Write, history.Value{Section: 1})
		s.release(201, 202, "c1")
		s.acquire(1000, 1001, "c1", 1900, -1)
		s.add(1100, history.ResourceProcess, history.Info, history.Effect, history.Value{Section: 1, Client: "c1",
			Outcome: &history.Outcome{Op: history.Write, At: ns(1100), Accepted: history.SomeBool(true)}, Number: history.Some(1)})
	}, Violated, "a write of c1 took effect 200 ms after its validity had ended"},
	{"a read is no effect", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 90, -1)
		s.add(1100, history.ResourceProcess, history.Info, history.Effect, history.Value{Section: 1, Client: "c1",
			Outcome: &history.Outcome{Op: history.Read, At: ns(1100), Accepted: history.SomeBool(true)}})
	}, Unknown, "nothing was written"},
	{"the resource told nothing", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(100, "c1", history.Invoke, history.Write, history.Value{Section: 1})
		s.add(101, "c1", history.OK, history.Write, history.Value{Section: 1})
	}, Unknown, "the resource reported no effect of 1 answered write"},

	{"one after the other", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.add(1, "c2", history.Invoke, history.Acquire, history.Value{})
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.granted(3, "c2", -1, -1)
		s.read(4, "c2", 1, 1)
		s.write(6, "c2", 1, 2, history.OK, -1)
	}, Holds, "2 sections of 2 clients"},
	{"one client", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.OK, -1)
	}, Unknown, "never contended"},
	{"the other client gave up", LinearizableResource, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.read(2, "c1", 1, 0)
		s.refused(3, 40, "c2")
		s.write(50, "c1", 1, 1, history.OK, -1)
	}, Unknown, "never contended"},
	{"the other client was refused by the fence", LinearizableResource, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.read(2, "c1", 1, 0)
		s.read(4, "c2", 1, 0)
		s.write(6, "c2", 1, 1, history.OK, 2)
		s.write(8, "c1", 1, 1, history.Fail, 1)
	}, Holds, "write with token 1 refused after token 2"},
	{"a job that the other client rightly left out", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "jobs"
		s.acquire(0, 1, "c1", 900, -1)
		s.refused(3, 4, "c2")
		s.write(5, "c1", 1, 1, history.OK, -1)
	}, Holds, "1 section of 1 client, explained by one order"},
	{"lost update", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.read(1, "c2", 1, 0)
		s.write(3, "c1", 1, 1, history.OK, -1)
		s.write(6, "c2", 1, 1, history.OK, -1)
	}, Violated, "c1 and c2 both read 0; one update lost"},
	{"unknown write explains", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.Info, -1)
		s.read(4, "c2", 1, 1)
		s.write(6, "c2", 1, 2, history.OK, -1)
		s.read(8, "c3", 1, 2)
		s.write(10, "c3", 1, 3, history.OK, -1)
	}, Holds, "2 sections"},
	{"unknown write left out", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.Info, -1)
		s.read(4, "c2", 1, 0)
		s.write(6, "c2", 1, 1, history.OK, -1)
		s.read(8, "c3", 1, 1)
		s.write(10, "c3", 1, 2, history.OK, -1)
	}, Holds, "2 sections"},
	{"read out of thin air", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.read(4, "c2", 1, 7)
		s.write(6, "c2", 1, 8, history.OK, -1)
	}, Violated, "c2 read 7, which nobody had written"},
	{"stale final read", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.read(4, "c2", 0, 0)
	}, Violated, "c1 read 0 and c2 read 0"},
	{"one after the other, without having met", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.acquire(3, 4, "c2", -1, -1)
		s.read(4, "c2", 1, 1)
		s.write(6, "c2", 1, 2, history.OK, -1)
	}, Unknown, "no client completed a section that met one of another client"},
	{"who waited, and entered the lock twice, met who had it", LinearizableResource, func(s *script) {
		s.acquire(0, 1, "c2", -1, -1)
		s.add(2, "c1", history.Invoke, history.Acquire, history.Value{})
		s.read(3, "c2", 1, 0)
		s.write(5, "c2", 1, 1, history.OK, -1)
		s.release(7, 8, "c2")
		s.granted(9, "c1", -1, -1)
		s.acquire(10, 11, "c1", -1, -1)
		s.read(12, "c1", 1, 1)
		s.write(14, "c1", 1, 2, history.OK, -1)
	}, Holds, "2 sections of 2 clients"},
	{"write that is no increment", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.add(1, "c2", history.Invoke, history.Acquire, history.Value{})
		s.write(2, "c1", 1, 5, history.OK, -1)
		s.granted(3, "c2", -1, -1)
		s.read(4, "c2", 1, 5)
		s.write(6, "c2", 1, 7, history.OK, -1)
	}, Holds, "2 sections"},
	{"an aborted section did nothing", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.add(1, "c2", history.Invoke, history.Acquire, history.Value{})
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.granted(3, "c2", -1, -1)
		s.read(4, "c3", 1, 0)
		s.read(6, "c2", 1, 1)
		s.write(8, "c2", 1, 2, history.OK, -1)
	}, Holds, "2 sections"},

	{"a job that ran twice", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "jobs"
		s.write(0, "c1", 1, 7, history.OK, -1)
		s.write(2, "c2", 1, 8, history.OK, -1)
		s.write(4, "c2", 2, 7, history.OK, -1)
	}, Violated, "the job of tick 7 ran twice, by c1 and by c2"},
	{"jobs", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "jobs"
		s.write(0, "c1", 1, 7, history.OK, -1)
		s.write(2, "c2", 1, 8, history.OK, -1)
	}, Holds, "2 sections of 2 clients"},
	{"stock oversold", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(3)
		s.read(0, "c1", 1, 3)
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.read(4, "c2", 1, 1)
		s.write(6, "c2", 1, -1, history.OK, -1)
	}, Violated, "c2 sold more than there was: -1 left"},
	{"stock sold twice", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(3)
		s.read(0, "c1", 1, 3)
		s.read(1, "c2", 1, 3)
		s.write(2, "c1", 1, 1, history.OK, -1)
		s.write(6, "c2", 1, 2, history.OK, -1)
	}, Violated, "c1 and c2 both sold the same unit: both found 3 left"},
	{"append", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.readList(0, "c1", 1, nil)
		s.add(1, "c2", history.Invoke, history.Acquire, history.Value{})
		s.write(2, "c1", 1, 10, history.OK, -1)
		s.granted(3, "c2", -1, -1)
		s.readList(4, "c2", 1, []int64{10})
		s.write(6, "c2", 1, 20, history.OK, -1)
		s.readList(8, "c3", 0, []int64{10, 20})
	}, Holds, "2 sections of 2 clients"},
	{"an element lost", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.readList(0, "c1", 1, nil)
		s.readList(1, "c2", 1, nil)
		s.write(2, "c1", 1, 10, history.OK, -1)
		s.write(6, "c2", 1, 20, history.OK, -1)
		s.readList(8, "c3", 0, []int64{20})
	}, Violated, "1 of 2 acknowledged elements (50 %) missing at the end"},
	{"no model", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "chess"
		s.write(0, "c1", 1, 7, history.OK, -1)
	}, Unknown, "there is no model for the workload \"chess\""},

	{"no tokens", OrderedTokens, func(s *script) { s.acquire(0, 1, "c1", 900, -1) }, Unknown, "no grant carried a token"},
	{"equal tokens", OrderedTokens, func(s *script) {
		s.acquire(0, 1, "c1", 900, 5)
		s.release(2, 3, "c1")
		s.acquire(4, 5, "c2", 900, 5)
	}, Violated, "token 5 of c1 was followed by token 5 of c2"},
	{"overlapping acquires may go either way", OrderedTokens, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.acquire(1, 2, "c2", 900, 5)
		s.granted(3, "c1", 900, 4)
		s.acquire(4, 5, "c3", 900, 6)
	}, Holds, "1 later grant"},
	{"answered at the stamp at which the other was asked for", OrderedTokens, func(s *script) {
		s.acquire(0, 2, "c1", 900, 5)
		s.acquire(2, 3, "c2", 900, 4)
		s.acquire(4, 5, "c3", 900, 6)
	}, Holds, "1 later grant"},
	{"lower after a gap", OrderedTokens, func(s *script) {
		s.acquire(0, 1, "c1", 900, 9)
		s.acquire(2, 3, "c2", 900, 10)
		s.acquire(4, 5, "c3", 900, 7)
	}, Violated, "token 10 of c2 was followed by token 7 of c3"},

	{"deletes another's key", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "o1", 1000)
		s.key(1000, history.KeyExpired, "A", "", "o1", -1)
		s.key(1001, history.KeySet, "A", "c2", "o2", 1000)
		s.key(1500, history.KeyDeleted, "A", "c1", "o2", -1)
	}, Violated, "c1 deleted the key of c2 on node A"},
	{"renews another's key", OwnerRelease, func(s *script) {
		s.acquire(0, 1, "c2", 900, -1)
		s.key(1500, history.KeyExtended, "A", "c1", "c2-owner", 1000)
	}, Violated, "c1 renewed the key of c2 on node A"},
	{"alone, deletes its own", OwnerRelease, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.key(1, history.KeyDeleted, "A", "c1", "c1-owner", -1)
		s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
	}, Unknown, "after another client had asked for the lock"},
	{"deletes its own", OwnerRelease, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.key(0, history.KeySet, "A", "c1", "same", 1000)
		s.key(1, history.KeyDeleted, "A", "c1", "same", -1)
		s.key(2, history.KeySet, "A", "c2", "same", 1000)
		s.key(3, history.KeyDeleted, "A", "c2", "same", -1)
	}, Holds, "2 key changes by release or renewal"},
	{"an owner value used by all tells nothing", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "same", 1000)
		s.key(1, history.KeySet, "B", "c2", "same", 1000)
		s.key(2, history.KeyDeleted, "C", "c2", "same", -1)
	}, Unknown, "no node reported"},

	{"something unknown was done to a key", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "o1", 1000)
		s.key(1, history.KeyDeleted, "A", "c1", "o1", -1)
		s.key(2, history.KeySet, "A", "c1", "o2", 1000)
		s.unclear(3, "A", "c2", "SETBIT")
		s.key(4, history.KeyDeleted, "A", "c2", "", -1)
	}, Unknown, "what SETBIT left in the key on node A at 0.003 s"},
	{"something unknown was done afterwards", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "o1", 1000)
		s.key(1, history.KeyDeleted, "A", "c2", "o1", -1)
		s.unclear(3, "A", "c2", "SETBIT")
	}, Violated, "c2 deleted the key of c1 on node A"},
	{"nothing told but something unknown", NoOrphanLock, func(s *script) { s.unclear(3, "A", "c2", "JSON.SET") }, Unknown, "JSON.SET"},
	{"what is unknown may have ended a key", NoOrphanLock, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 5000)
		s.acquire(0, 1, "c1", 900, -1)
		s.release(10, 11, "c1")
		s.unclear(20, "A", "c2", "RENAMENX")
	}, Unknown, "RENAMENX"},
	{"an orphan before the unknown", NoOrphanLock, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 5000)
		s.acquire(0, 1, "c1", 900, -1)
		s.release(10, 11, "c1")
		s.unclear(3000, "A", "c2", "RENAMENX")
	}, Violated, "the key of c1 on node A was still there"},
	{"a key of another name unknown", NoOrphanLock, func(s *script) {
		s.h.Header.LockKey = "lock"
		s.acquire(0, 1, "c1", 900, -1)
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.release(10, 11, "c1")
		s.key(12, history.KeyDeleted, "A", "c1", "c1-owner", -1)
		s.add(13, "A", history.Info, history.KeyUnclear, history.Value{Key: "other", Rare: &history.Rare{Detail: "SETBIT"}})
		s.phase(5000, history.PhaseHealing)
	}, Holds, "none left"},
	{"tokens in order, keys unknown", OrderedTokens, func(s *script) {
		s.acquire(0, 1, "c1", 900, 5)
		s.unclear(2, "A", "c2", "SETBIT")
		s.acquire(3, 4, "c2", 900, 6)
	}, Holds, "1 later grant"},
	{"tokens out of order, keys unknown", OrderedTokens, func(s *script) {
		s.acquire(0, 1, "c1", 900, 5)
		s.unclear(2, "A", "c2", "SETBIT")
		s.acquire(3, 4, "c2", 900, 4)
	}, Violated, "token 5 of c1 was followed by token 4 of c2"},
	{"the order of keys rests on what is unknown", OrderedTokens, func(s *script) {
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.unclear(0, "A", "c3", "SETBIT")
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 100)
		s.acquire(0, 1, "c1", 100, 5)
		s.release(2, 3, "c1")
		s.key(200, history.KeySet, "A", "c2", "c2-owner", 100)
		s.granted(201, "c2", 300, 4)
	}, Unknown, "SETBIT"},
	{"the order of keys is known", OrderedTokens, func(s *script) {
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 100)
		s.acquire(0, 1, "c1", 100, 5)
		s.release(2, 3, "c1")
		s.key(200, history.KeySet, "A", "c2", "c2-owner", 100)
		s.granted(201, "c2", 300, 4)
		s.unclear(202, "A", "c3", "SETBIT")
	}, Violated, "token 5 of c1 was followed by token 4 of c2"},
	{"what is unknown of keys is no matter", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.unclear(2, "A", "c3", "SETBIT")
		s.release(3, 4, "c1")
		s.acquire(5, 6, "c2", 900, -1)
		s.refused(7, 8, "c3")
	}, Holds, ""},

	{"no healing", DeadlockFree, func(s *script) { s.acquire(0, 1, "c1", 900, -1) }, Unknown, "no healing phase"},
	{"had soon", DeadlockFree, func(s *script) {
		s.phase(0, history.PhaseHealing)
		s.acquire(0, 10, "c1", 900, -1)
	}, Holds, "got the lock within 10 ms"},
	{"kept asking in vain", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.fault(2, true, 1, "kill", "c1")
		s.phase(10, history.PhaseHealing)
		for ms := int64(20); ms < 7000; ms += 500 {
			s.add(ms, "c2", history.Invoke, history.Acquire, history.Value{})
			s.add(ms+100, "c2", history.Fail, history.Acquire, history.Value{})
		}
	}, Violated, "c2 asked for a free lock for 6.60 s after healing and did not get it"},
	{"one attempt hangs", DeadlockFree, func(s *script) {
		s.phase(10, history.PhaseHealing)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.phase(9000, history.PhaseDone)
	}, Violated, "c2 asked for a free lock for 8.98 s after healing and did not get it"},
	{"gave up early", DeadlockFree, func(s *script) {
		s.phase(10, history.PhaseHealing)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(100, "c2", history.Fail, history.Acquire, history.Value{})
		s.phase(9000, history.PhaseDone)
	}, Unknown, "no client asked for long enough"},
	{"a living client has it", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.release(4000, 4001, "c1")
		s.granted(4010, "c2", 10000, -1)
	}, Holds, "got the lock within 9 ms"},
	{"a living client keeps it", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.release(9000, 9001, "c1")
		s.granted(9010, "c2", 10000, -1)
	}, Violated, "c2 asked for the lock, which somebody kept, for 8.99 s after healing and did not get it"},

	{"granted with two of five down", MinorityTolerant, func(s *script) {
		s.fault(1, true, 1, "stop", "A")
		s.fault(2, true, 2, "stop", "B")
		s.acquire(10, 30, "c1", 900, -1)
		s.fault(40, false, 1, "stop", "A")
		s.fault(41, false, 2, "stop", "B")
	}, Holds, "1 grant with a minority struck, the slowest after 20 ms"},
	{"not granted with one down", MinorityTolerant, func(s *script) {
		s.fault(1, true, 1, "stop", "A")
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(6000, "c1", history.Fail, history.Acquire, history.Value{})
		s.fault(7000, false, 1, "stop", "A")
	}, Violated, "c1 asked for a free lock for 5.99 s with a minority of the nodes struck and did not get it"},
	{"a majority down", MinorityTolerant, func(s *script) {
		for i, n := range []string{"A", "B", "C"} {
			s.fault(1, true, i+1, "stop", n)
		}
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(6000, "c1", history.Fail, history.Acquire, history.Value{})
	}, Unknown, "no client asked for long enough"},
	{"a paused client excuses", MinorityTolerant, func(s *script) {
		s.fault(1, true, 1, "stop", "A")
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		s.fault(11, true, 2, "pause", "c1")
		s.add(6000, "c1", history.Fail, history.Acquire, history.Value{})
	}, Unknown, "no client asked for long enough"},

	{"left by a dead owner without a TTL", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", -1)
		s.fault(2, true, 1, "kill", "c1")
	}, Violated, "has no TTL and stayed after its owner no longer wanted it"},
	{"left with a TTL", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.fault(2, true, 1, "kill", "c1")
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key no longer wanted"},
	{"left with a TTL that ends in the same millisecond", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(1, "A", history.Info, history.KeySet,
			history.Value{Key: "lock", Owner: "c1-owner", Client: "c1", Grant: &history.Grant{TTL: ns(0)}})
		s.fault(2, true, 1, "kill", "c1")
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key no longer wanted"},
	{"deleted by its owner", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", -1)
		s.granted(2, "c1", -1, -1)
		s.add(3, "c1", history.Invoke, history.Release, history.Value{})
		s.key(4, history.KeyDeleted, "A", "c1", "c1-owner", -1)
		s.add(5, "c1", history.OK, history.Release, history.Value{})
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key no longer wanted"},
	{"deleted by its owner, and the run ends in the instant in which a TTL has passed", NoOrphanLock, func(s *script) {
		s.acquire(0, 2, "c1", -1, -1)
		s.key(2, history.KeySet, "A", "c1", "c1-owner", -1)
		s.release(3, 4, "c1")
		s.key(4, history.KeyDeleted, "A", "c1", "c1-owner", -1)
		s.phase(1003, history.PhaseHealing)
	}, Unknown, "no key was watched for longer"},
	{"never deleted, without a TTL, and the run ends in that instant", NoOrphanLock, func(s *script) {
		s.acquire(0, 2, "c1", -1, -1)
		s.key(2, history.KeySet, "A", "c1", "c1-owner", -1)
		s.release(3, 4, "c1")
		s.phase(1003, history.PhaseHealing)
	}, Unknown, "no key was watched for longer"},
	{"never deleted, without a TTL, and the run goes on", NoOrphanLock, func(s *script) {
		s.acquire(0, 2, "c1", -1, -1)
		s.key(2, history.KeySet, "A", "c1", "c1-owner", -1)
		s.release(3, 4, "c1")
		s.phase(1004, history.PhaseHealing)
	}, Violated, "has no TTL and stayed"},
	{"the node went down before a TTL had passed", NoOrphanLock, func(s *script) {
		s.acquire(0, 2, "c1", -1, -1)
		s.key(2, history.KeySet, "A", "c1", "c1-owner", -1)
		s.release(3, 4, "c1")
		s.add(500, "A", history.Info, history.NodeDown, history.Value{})
		s.phase(5000, history.PhaseHealing)
	}, Unknown, "no key was watched for longer"},
	{"deleted by another, without a TTL, of a dead owner", NoOrphanLock, func(s *script) {
		s.acquire(0, 2, "c1", -1, -1)
		s.key(2, history.KeySet, "A", "c1", "c1-owner", -1)
		s.fault(3, true, 1, "kill", "c1")
		s.key(4, history.KeyDeleted, "A", "c2", "c1-owner", -1)
	}, Holds, "1 key"},
	{"renewed after the release", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.release(3, 4, "c1")
		s.key(900, history.KeyExtended, "A", "c1", "c1-owner", 1000)
		s.phase(5000, history.PhaseHealing)
	}, Violated, "was still there 1.90 s after its owner no longer wanted it"},
	{"still wanted", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", -1)
		s.granted(2, "c1", -1, -1)
		s.phase(5000, history.PhaseHealing)
	}, Unknown, "every owner still wanted its keys"},
	{"both cells", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
		s.cell(2, "c1", 1, "b", 1, history.OK)
		s.cell(4, "c2", 1, "a", 2, history.Fail)
	}, Holds, "1 section, done as a whole or not at all"},
	{"one cell, then refused", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
		s.cell(2, "c1", 1, "b", 1, history.Fail)
	}, Violated, "section 1 of c1 changed cell a and not cell b"},
	{"one cell, then dead", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
		s.fault(2, true, 1, "kill", "c1")
	}, Violated, "section 1 of c1 changed cell a and not cell b"},
	{"one cell, then no answer", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
		s.cell(2, "c1", 1, "b", 1, history.Info)
	}, Unknown, "nobody knows what became of 1 section"},
	{"nothing that belongs together", Atomic, func(s *script) {
		s.write(0, "c1", 1, 1, history.OK, -1)
	}, Unknown, "nothing that belongs together"},
	{"in both lists or in none", Atomic, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairAppend(5, "c2", 2, history.Fail)
		s.pairAppend(10, "c2", 3, history.Info)
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Holds, "3 appends, each in both lists or in none"},
	{"in one list", Atomic, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.Info)
		s.pairLook(20, "c1", 0, nil, []int64{1})
	}, Violated, "1 is in list b and not in list a"},
	{"failed, and there", Atomic, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.Fail)
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Violated, "1 is in both lists though its transaction failed"},
	{"nobody read", Atomic, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
	}, Unknown, "nobody read the lists at the end"},
	{"seen half done", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairLook(5, "c2", 1, []int64{1}, nil)
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Violated, "c2 saw 1 in one list and not in the other"},
	{"half done for ever is a matter of atomicity", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.add(0, "c1", history.Invoke, history.Transact, history.Value{Section: 1, Number: history.Some(1)})
		s.add(1, "c3", history.Invoke, history.Transact, history.Value{Section: 1, Number: history.Some(2)})
		s.pairLook(5, "c2", 1, []int64{1}, nil)
		s.add(8, "c1", history.Info, history.Transact, history.Value{Section: 1, Number: history.Some(1)})
		s.add(9, "c3", history.OK, history.Transact, history.Value{Section: 1, Number: history.Some(2)})
		s.pairLook(20, "c1", 0, []int64{1, 2}, []int64{2})
	}, Holds, "1 read during an append of another client, none saw only half of it"},
	{"seen half done, and seen whole later", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.Info)
		s.pairLook(5, "c2", 1, []int64{1}, nil)
		s.pairLook(7, "c2", 2, []int64{1}, []int64{1})
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Violated, "c2 saw 1 in one list and not in the other"},
	{"seen half done, and lost later", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		v := history.Value{Section: 1, Number: history.Some(1)}
		s.add(0, "c1", history.Invoke, history.Transact, v)
		s.pairLook(1, "c2", 1, []int64{1}, nil)
		s.add(2, "c1", history.OK, history.Transact, v)
		s.pairLook(20, "c1", 0, nil, nil)
	}, Violated, "c2 saw 1 in one list and not in the other"},
	{"nobody looked meanwhile", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Unknown, "nobody read the lists while another client appended"},
	{"a number twice in a list", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairLook(20, "c1", 0, []int64{1, 1, 2}, []int64{1})
	}, Unknown, "nobody read"},
	{"another order", Isolated, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairAppend(2, "c2", 2, history.OK)
		s.pairLook(20, "c1", 0, []int64{1, 2}, []int64{2, 1})
	}, Violated, "list a has 1 where list b has 2"},
	{"acknowledged and gone", Durable, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairAppend(5, "c1", 2, history.OK)
		s.pairAppend(10, "c1", 3, history.Info)
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Violated, "1 of 2 acknowledged appends lost"},
	{"acknowledged and there", Durable, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.add(5, history.ResourceProcess, history.Info, history.NodeDown, history.Value{})
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Holds, "1 acknowledged append, there at the end"},
	{"nothing died", Durable, func(s *script) {
		s.h.Header.Workload = "transactions"
		s.pairAppend(0, "c1", 1, history.OK)
		s.pairLook(20, "c1", 0, []int64{1}, []int64{1})
	}, Unknown, "the resource did not die"},
	{"one cell, then a renewal", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
		s.add(2, "c1", history.Invoke, history.Extend, history.Value{})
		s.add(3, "c1", history.OK, history.Extend, history.Value{})
	}, Unknown, "nobody knows what became of 1 section"},
	{"one cell, and the history ends", Atomic, func(s *script) {
		s.h.Header.Workload = "two-cells"
		s.cell(0, "c1", 1, "a", 1, history.OK)
	}, Unknown, "nobody knows what became of 1 section"},
	{"a take that nobody heard of", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(5)
		s.take(0, "c1", 1, 5, 4, history.OK)
		s.add(2, "c2", history.Invoke, history.CAS, history.Value{Section: 1, Number: history.Some(1)})
		s.add(3, "c2", history.Info, history.CAS, history.Value{Section: 1, Number: history.Some(1)})
		s.take(4, "c3", 2, 3, 2, history.OK)
	}, Holds, "1 section of 2 clients, explained by one order"},
	{"a take that nobody heard of, asked for too late", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(5)
		s.take(0, "c1", 1, 4, 3, history.OK)
		s.add(2, "c2", history.Invoke, history.CAS, history.Value{Section: 1, Number: history.Some(1)})
	}, Violated, "cannot be explained"},
	{"a mail sent twice", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "side-effect"
		s.cell(0, "c1", 1, "mail", 1, history.OK)
		s.cell(2, "c2", 1, "mail", 1, history.OK)
	}, Violated, "mail 1 went out twice, by c1 and by c2"},
	{"units taken in one step", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(2)
		s.take(0, "c1", 1, 2, 1, history.OK)
		s.take(2, "c2", 1, 1, 0, history.Info)
		s.take(4, "c1", 2, 0, 0, history.Fail)
	}, Unknown, "never contended"},
	{"a unit taken twice", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(2)
		s.take(0, "c1", 1, 2, 1, history.OK)
		s.take(2, "c2", 1, 2, 1, history.OK)
	}, Violated, "cannot be explained together"},
	{"a promise that is missing is never over", NoLateEffect, func(s *script) {
		// The effect may have been before the run's start, for all that its clock tells.
		s.acquire(0, 1, "c1", -1, -1)
		s.write(2, "c1", 1, 1, history.OK, -1)
		told := s.h.Events[3].Value.OwnOutcome()
		told.At, told.AtError = history.Some(1), int64(time.Second)
	}, Unknown, "nothing was written under a promise that ends"},
	{"one of two writes of a name", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.add(2, "c1", history.Invoke, history.Write, history.Value{Number: history.Some(1)})
		s.add(3, "c1", history.Info, history.Write, history.Value{})
		s.acquire(200, 201, "c1", 400, -1)
		s.write(300, "c1", 0, 1, history.OK, -1)
	}, Holds, "1 write"},
	{"asked anew, and never answered", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.add(2, "c1", history.Invoke, history.Acquire, history.Value{})
		s.acquire(3, 4, "c2", -1, -1)
		s.release(5, 6, "c2")
	}, Holds, "contended"},
	{"released in the instant of its grant", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(5, "c2", 900, -1)
		s.release(5, 6, "c2")
		s.release(7, 8, "c1")
	}, Violated, "2 holders at once for 0 ns"},
	{"released in the instant of its grant", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(5, "c2", 900, -1)
		s.release(5, 6, "c2")
		s.release(7, 8, "c1")
	}, Violated, "2 holders at once for 0 ns"},
	{"renewal of a grant that is gone", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(500, "c1", history.Invoke, history.Extend, history.Value{Owner: "c1-earlier"})
		s.add(501, "c1", history.OK, history.Extend, history.Value{Owner: "c1-earlier", Grant: &history.Grant{ValidUntil: ns(1500)}})
		s.acquire(1000, 1001, "c2", 1900, -1)
		s.refused(1002, 1003, "c3")
		s.release(1300, 1301, "c1")
		s.release(1302, 1303, "c2")
	}, Holds, "no two promises overlapped"},
	{"renewal of the grant itself", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(500, "c1", history.Invoke, history.Extend, history.Value{Owner: "c1-owner"})
		s.add(501, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: ns(1500)}})
		s.acquire(1000, 1001, "c2", 1900, -1)
		s.release(1300, 1301, "c1")
		s.release(1302, 1303, "c2")
	}, Violated, "2 holders at once"},
	{"an unrelated higher token between", OrderedTokens, func(s *script) {
		// c1's token 5 was done long ago; c2's 9 is not surely earlier than c3's 4.
		s.acquire(0, 1, "c1", 100, 5)
		s.release(2, 3, "c1")
		s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(11, "c3", history.Invoke, history.Acquire, history.Value{})
		s.key(11, history.KeySet, "A", "c1", "c1-owner", 100)
		s.granted(12, "c2", 100, 9)
		s.release(13, 14, "c2")
		s.key(14, history.KeySet, "A", "c3", "c3-owner", 100)
		s.granted(15, "c3", 100, 4)
		s.release(16, 17, "c3")
	}, Violated, "token 5 of c1 was followed by token 4 of c3"},
	{"an unsure higher token hides a sure one", OrderedTokens, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.add(0, "c3", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, 5)
		s.release(3, 4, "c1")
		s.key(5, history.KeySet, "A", "c3", "c3-owner", 1000)
		s.granted(6, "c2", 1000, 9) // no key of c2 was seen: nobody knows which came first
		s.release(7, 8, "c2")
		s.granted(9, "c3", 1000, 4)
		s.release(10, 11, "c3")
	}, Violated, "token 5 of c1 was followed by token 4 of c3"},
	{"the node came back with nothing", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "1", 1000)
		s.add(1, "A", history.Info, history.NodeDown, history.Value{})
		s.add(2, "A", history.Info, history.NodeUp, history.Value{Rare: &history.Rare{Detail: "nothing"}})
		s.add(3, "c2", history.Invoke, history.Acquire, history.Value{})
		s.key(4, history.KeyDeleted, "A", "c2", "1", -1) // c2's own, whose setting nobody saw
	}, Unknown, "no node reported"},
	{"another value was in the key", OwnerRelease, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.add(1, "c1", history.Invoke, history.Acquire, history.Value{Owner: "c1-owner"})
		s.key(2, history.KeyDeleted, "A", "c2", "c2-owner", -1)
		s.add(3, "c2", history.Invoke, history.Acquire, history.Value{Owner: "c2-owner"})
	}, Holds, "of the client's own key"},
	{"nodes behind cut links", MinorityTolerant, func(s *script) {
		s.fault(0, true, 1, "cut", "all clients to A")
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		s.granted(20, "c1", 900, -1)
		s.release(21, 22, "c1")
	}, Holds, "1 grant with a minority struck"},
	{"a majority behind cut links", MinorityTolerant, func(s *script) {
		s.fault(0, true, 1, "cut", "all clients to A,B,C")
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		s.granted(20, "c1", 900, -1)
	}, Unknown, "at no time was only a minority"},
	{"a link to the resource is cut as well", MinorityTolerant, func(s *script) {
		s.fault(0, true, 1, "cut", "resource")
		s.fault(0, true, 2, "cut", "all clients to A")
		s.add(10, "c1", history.Invoke, history.Acquire, history.Value{})
		s.granted(20, "c1", 900, -1)
	}, Unknown, "at no time was only a minority"},
	{"the valid holder is refused", HolderServed, func(s *script) {
		s.acquire(0, 1, "c1", 900, 1)
		s.write(5, "c1", 1, 1, history.Fail, 1)
	}, Violated, "write with token 1 refused after token 2, whose validity had not ended"},
	{"a late client is refused", HolderServed, func(s *script) {
		s.write(0, "c2", 1, 1, history.OK, 0)
		s.acquire(1, 1, "c1", 900, 1)
		s.write(2, "c1", 1, 1, history.OK, 1)
		s.write(950, "c1", 1, 2, history.Fail, 1)
	}, Holds, "1 operation of valid holders"},
	{"refused after its release", HolderServed, func(s *script) {
		s.write(0, "c2", 1, 1, history.OK, 0)
		s.acquire(1, 1, "c1", 900, 1)
		s.write(2, "c1", 1, 1, history.OK, 1)
		s.add(3, "c1", history.Invoke, history.Release, history.Value{})
		s.write(5, "c1", 1, 2, history.Fail, 1)
	}, Holds, "1 operation of valid holders"},
	{"served, before anybody else came", HolderServed, func(s *script) {
		s.acquire(0, 1, "c1", 900, 1)
		s.write(2, "c1", 1, 1, history.OK, 1)
		s.h.Events[3].Value.OwnOutcome().Highest = history.Some(1)
	}, Unknown, "no valid holder came to the fence after another token had come"},
	{"served", HolderServed, func(s *script) {
		s.write(0, "c2", 1, 1, history.OK, 0)
		s.acquire(1, 1, "c1", 900, 1)
		s.write(2, "c1", 1, 1, history.OK, 1)
		s.h.Events[6].Value.OwnOutcome().Highest = history.Some(1)
	}, Holds, "1 operation of valid holders at the fence, none refused"},
	{"no fence", HolderServed, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.write(2, "c1", 1, 1, history.OK, -1)
	}, Unknown, "the resource checked no tokens"},
	{"a release of which nobody knows", DeadlockFree, func(s *script) {
		// c1 may still have it, for all that is known: its promise has no end.
		s.acquire(0, 1, "c1", 3000, -1)
		s.add(2, "c1", history.Invoke, history.Release, history.Value{})
		s.add(3, "c1", history.Info, history.Release, history.Value{})
		s.phase(4, history.PhaseHealing)
		s.add(5, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(4000, "c2", 7000, -1)
	}, Holds, "within 1.00 s"},
	{"a value that was set twice tells no order", OrderedTokens, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000) // of an earlier attempt
		s.key(3, history.KeySet, "A", "c2", "c2-owner", 1000)
		s.key(4, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(5, "c1", 1000, 5)
		s.release(6, 7, "c1")
		s.granted(8, "c2", 1000, 4)
		s.release(9, 10, "c2")
	}, Unknown, "no grant came after another"},
	{"a renewal that was under way at the release", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.add(3, "c1", history.Invoke, history.Extend, history.Value{})
		s.release(4, 5, "c1")
		s.key(900, history.KeyExtended, "A", "c1", "c1-owner", 1000)
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key"},
	{"the last of a round of renewals, during the release", NoOrphanLock, renewedWhileReleased("A", "B", 700), Holds, "1 key"},
	{"it comes after the release was answered", NoOrphanLock, renewedWhileReleased("A", "B", 900), Violated, "1.90 s after its owner"},
	{"it is the second one", NoOrphanLock, renewedWhileReleased("A", "A", 700), Violated, "1.90 s after its owner"},
	{"a lock that is renewed after it was forgotten", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.forget(400, "c1")
		s.key(900, history.KeyExtended, "A", "c1", "c1-owner", 1000)
		s.phase(5000, history.PhaseHealing)
	}, Violated, "after its owner no longer wanted it"},
	{"a lock that runs out after it was forgotten", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.forget(400, "c1")
		s.key(1001, history.KeyExpired, "A", "", "c1-owner", 0)
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key"},
	{"a forgotten lock that nobody gets", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", 1000, -1)
		s.forget(400, "c1")
		s.phase(401, history.PhaseHealing)
		s.refused(500, 8000, "c2")
	}, Violated, "c2 asked for a free lock for 7.00 s"},
	{"a forgotten lock without an end", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.forget(400, "c1")
		s.phase(401, history.PhaseHealing)
		s.refused(500, 8000, "c2")
	}, Violated, "c2 asked for a free lock for 7.50 s"},
	{"a forgotten lock that somebody gets", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", 1000, -1)
		s.forget(400, "c1")
		s.phase(401, history.PhaseHealing)
		s.acquire(500, 1100, "c2", 2100, -1)
	}, Holds, "within 100 ms"},
	{"a forgotten lock is nobody's", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.add(2, "c2", history.Invoke, history.Acquire, history.Value{})
		s.forget(400, "c1")
		s.granted(500, "c2", -1, -1)
	}, Holds, "1 contended"},
	{"a renewal of a lock program that had left at the release", NoOrphanLock, renewedAfterRelease(3), Holds, "1 key"},
	{"a renewal of a lock program that left after the release",
		NoOrphanLock, renewedAfterRelease(899), Violated, "after its owner no longer wanted it"},
	{"killed before its release was answered", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.add(4, "c1", history.Invoke, history.Release, history.Value{}) // it stands at a point before it
		s.key(900, history.KeyExtended, "A", "c1", "c1-owner", 1000)
		s.add(950, "c1", history.Info, history.Release, history.Value{})
		s.fault(960, true, 1, "kill", "c1")
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key"},
	{"killed long after its release was not answered", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.add(4, "c1", history.Invoke, history.Release, history.Value{})
		s.add(50, "c1", history.Info, history.Release, history.Value{})
		s.add(60, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(900, history.KeyExtended, "A", "c1", "c1-owner", 1000)
		s.fault(960, true, 1, "kill", "c1")
		s.phase(5000, history.PhaseHealing)
	}, Violated, "after its owner no longer wanted it"},
	{"a renewal of a lock program that was seen late", NoOrphanLock, func(s *script) {
		s.h.Header.Program = "1.0"
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.release(4, 5, "c1")
		// It left before the program can have known of the release, and came at once. The observer was late.
		s.add(30, "A", history.Info, history.KeyExtended, history.Value{Key: "lock", Owner: "c1-owner",
			Client: "c1", Outcome: &history.Outcome{At: ns(5)}, Grant: &history.Grant{ValidUntil: ns(995), TTL: ns(990)}})
		s.add(40, "A", history.Info, history.KeyExtended,
			history.Value{Key: "lock", Owner: "c1-owner", Client: "c1", Grant: &history.Grant{TTL: ns(990)}})
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key"},
	{"a renewal of a lock program that a paused node carried out before", NoOrphanLock, func(s *script) {
		s.h.Header.Program = "1.0"
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.add(4, "c1", history.Invoke, history.Release, history.Value{})
		s.fault(5, true, 1, "pause", "A")
		s.add(50, "c1", history.Info, history.Release, history.Value{})
		s.fault(1500, false, 1, "pause", "A")
		s.add(1501, "A", history.Info, history.KeyExtended,
			history.Value{Key: "lock", Owner: "c1-owner", Client: "c1", Grant: &history.Grant{TTL: ns(998)}})
		s.key(1502, history.KeyExpired, "A", "", "c1-owner", 0)
		s.phase(5000, history.PhaseHealing)
	}, Holds, "1 key"},
	{"a later attempt that tells no value", NoOrphanLock, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", -1, -1)
		s.add(3, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(4, history.KeySet, "B", "c1", "c1-owner", 1000) // late, of the first attempt
		s.phase(5000, history.PhaseHealing)
	}, Holds, "2 keys"},
	{"times that go back", ExclusiveBelief, func(s *script) {
		s.acquire(5, 6, "c1", 900, -1)
		s.acquire(2, 3, "c2", 900, -1)
	}, Unknown, "the time goes back at event 2"},
	{"a fault that does not say what it does may have killed", ExclusiveBelief, func(s *script) {
		s.acquire(0, 1, "c1", 900, -1)
		s.add(2, history.NemesisProcess, history.Info, history.FaultBegin,
			history.Value{Rare: &history.Rare{Fault: "something", Target: "c1", ID: 1, Impact: &history.Impact{Words: "c1 was struck"}}})
		s.acquire(3, 4, "c2", 900, -1)
		s.refused(4, 5, "c3")
		s.release(5, 6, "c2")
	}, Holds, "1 contended"},
	{"a re-entry that touches one of two that end together", ExclusiveLease, func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{Owner: "c1-owner"})
		s.granted(1, "c1", 5, -1)
		s.acquire(2, 3, "c1", 5, -1)
		s.add(4, "c1", history.Invoke, history.Acquire, history.Value{})
		s.add(4, "c2", history.Invoke, history.Acquire, history.Value{})
		s.granted(5, "c1", 900, -1)
		s.granted(5, "c2", 900, -1)
		s.release(5, 5, "c2")
		s.release(6, 7, "c1")
	}, Violated, "2 holders at once for 0 ns"},
	{"a re-entry that touches the one which it re-entered, where another ended then as well", ExclusiveLease, func(s *script) {
		s.acquire(0, 1, "c1", 5, -1)
		s.acquire(2, 3, "c1", 5, -1)
		s.add(4, "c2", history.Invoke, history.Acquire, history.Value{})
		s.release(5, 5, "c1")
		s.acquire(5, 5, "c1", 900, -1)
		s.granted(5, "c2", 900, -1)
		s.release(5, 5, "c2")
		s.release(6, 7, "c1")
	}, Violated, "2 holders at once for 0 ns"},
	{"refused, and nothing else", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 900, 1)
		s.write(5, "c1", 1, 1, history.Fail, 1)
	}, Holds, "write with token 1 refused after token 2"},
	{"granted in the instant of an effect that nobody asked for", NoLateEffect, func(s *script) {
		s.acquire(0, 1, "c1", 100, -1)
		s.release(120, 121, "c1")
		s.acquire(140, 150, "c1", 400, -1)
		s.effect(150, "c1", 9)
	}, Holds, "1 write"},
	{"the answered write of a section counts, not a later one of unknown outcome", LinearizableResource, func(s *script) {
		s.write(0, "c1", 1, 1, history.OK, -1)
		s.write(2, "c1", 1, 2, history.Info, -1)
		s.read(4, "c2", 1, 1)
		s.write(6, "c2", 1, 2, history.OK, -1)
		s.read(8, "c3", 0, 2)
	}, Holds, "1 section of 2 clients"},
	{"a section begins with its read", LinearizableResource, func(s *script) {
		s.read(0, "c1", 1, 0)
		s.read(3, "c2", 0, 1)
		s.add(4, "c3", history.Invoke, history.Read, history.Value{Section: 1})
		s.add(5, "c3", history.Fail, history.Read, history.Value{Section: 1})
		s.write(6, "c1", 1, 1, history.OK, -1)
	}, Holds, "1 section of 1 client"},
	{"an append begins with its read", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.readList(0, "c1", 1, nil)
		s.readList(3, "c2", 0, []int64{10})
		s.add(4, "c3", history.Invoke, history.Read, history.Value{Section: 1})
		s.add(5, "c3", history.Fail, history.Read, history.Value{Section: 1})
		s.write(6, "c1", 1, 10, history.OK, -1)
	}, Holds, "1 section of 1 client"},
	{"a list read first, and not what was in it", LinearizableResource, func(s *script) {
		s.h.Header.Workload = "append"
		s.readList(0, "c1", 1, []int64{99})
		s.write(2, "c1", 1, 10, history.OK, -1)
		s.readList(4, "c2", 0, []int64{10})
	}, Violated, "c1 read a list that cannot have been"},
	{"a take without an answer, of which the log tells", LinearizableResource, func(s *script) {
		s.h.Header.Workload, s.h.Header.Initial = "stock", history.Some(3)
		s.take(0, "c1", 1, 3, 2, history.OK)
		s.take(2, "c2", 1, 2, 1, history.Info)
		s.take(4, "c3", 1, 1, 0, history.OK)
	}, Holds, "1 section of 2 clients"},
	{"the token of a re-entry counts for nothing", OrderedTokens, func(s *script) {
		s.acquire(0, 1, "c1", 900, 5)
		s.acquire(2, 3, "c1", 900, 4)
		s.release(4, 5, "c1")
		s.release(6, 7, "c1")
		s.acquire(8, 9, "c2", 900, 6)
	}, Holds, "1 later grant"},
	{"grants of one client in one instant", OrderedTokens, func(s *script) {
		for _, token := range []int64{5, 7, 6} {
			s.acquire(1, 1, "c1", 900, token)
			s.release(1, 1, "c1")
		}
	}, Violated, "token 7 of c1 was followed by token 6 of c1"},
	{"the earliest of two that are out of order", OrderedTokens, func(s *script) {
		s.acquire(0, 1, "c1", 900, 5)
		s.release(2, 3, "c1")
		s.acquire(4, 5, "c2", 900, 4)
		s.release(6, 7, "c2")
		s.acquire(8, 9, "c1", 900, 3)
	}, Violated, "token 5 of c1 was followed by token 4 of c2"},
	{"the order of keys, of which the first event tells", OrderedTokens, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 100)
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.acquire(0, 1, "c1", 100, 5)
		s.release(2, 3, "c1")
		s.key(200, history.KeySet, "A", "c2", "c2-owner", 100)
		s.granted(201, "c2", 300, 4)
	}, Violated, "token 5 of c1 was followed by token 4 of c2"},
	{"a replica takes over late a renewal whose end has passed", NoOrphanLock, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.key(0, history.KeySet, "B", "", "c1-owner", 1000)
		s.acquire(0, 1, "c1", 900, -1)
		s.key(500, history.KeyExtended, "A", "c1", "c1-owner", 1000)
		s.release(600, 601, "c1")
		s.key(601, history.KeyDeleted, "A", "c1", "c1-owner", -1)
		s.key(5000, history.KeyExtended, "B", "", "c1-owner", 0)
		s.key(5000, history.KeyDeleted, "B", "", "c1-owner", -1)
	}, Holds, "1 key no longer wanted, none left for longer than 1.00 s"},
	{"the order of keys, unknown from the first event on", OrderedTokens, func(s *script) {
		s.unclear(0, "A", "c3", "SETBIT")
		s.add(0, "c2", history.Invoke, history.Acquire, history.Value{})
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 100)
		s.acquire(0, 1, "c1", 100, 5)
		s.release(2, 3, "c1")
		s.key(200, history.KeySet, "A", "c2", "c2-owner", 100)
		s.granted(201, "c2", 300, 4)
	}, Unknown, "SETBIT"},
	{"an orphan on one node, and something unknown on another", NoOrphanLock, func(s *script) {
		s.key(0, history.KeySet, "A", "c1", "c1-owner", 5000)
		s.acquire(0, 1, "c1", 900, -1)
		s.release(10, 11, "c1")
		s.unclear(20, "B", "c2", "RENAMENX")
		s.phase(3000, history.PhaseHealing)
	}, Violated, "the key of c1 on node A was still there"},
	{"a re-entry gives nothing back", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.acquire(2, 3, "c1", -1, -1)
		s.release(4, 5, "c1")
		s.phase(10, history.PhaseHealing)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.phase(9000, history.PhaseDone)
	}, Violated, "c2 asked for the lock, which somebody kept"},
	{"shut out for as long as the bound", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.refused(20, 5020, "c2")
	}, Unknown, "no client asked for long enough"},
	{"shut out for longer than the bound", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.refused(20, 5021, "c2")
	}, Violated, "c2 asked for the lock, which somebody kept, for 5.00 s after healing and did not get it"},
	{"shut out, with a break", DeadlockFree, func(s *script) {
		s.acquire(0, 1, "c1", -1, -1)
		s.phase(10, history.PhaseHealing)
		s.refused(20, 1000, "c2")
		s.refused(4000, 6500, "c2")
	}, Unknown, "no client asked for long enough"},
	{"killed while it asked", DeadlockFree, func(s *script) {
		s.phase(10, history.PhaseHealing)
		s.add(20, "c2", history.Invoke, history.Acquire, history.Value{})
		s.fault(1000, true, 1, "kill", "c2")
		s.phase(9000, history.PhaseDone)
	}, Unknown, "no client asked for long enough"},
	{"a write without a section belongs to the last read", LinearizableResource, func(s *script) {
		s.read(0, "c1", 0, 0)
		s.read(2, "c2", 0, 0)
		s.write(4, "c1", 0, 1, history.OK, -1)
		s.write(6, "c2", 0, 1, history.OK, -1)
	}, Violated, "c1 and c2 both read 0; one update lost"},
	{"a look in the end, and nothing else", Atomic, onlyLook, Unknown, "nothing was appended"},
	{"a look in the end, and nothing else", Isolated, onlyLook, Unknown, "nobody read the lists while another client appended"},
	{"a look in the end, and nothing else", Durable, onlyLook, Unknown, "the resource did not die"},
}

func onlyLook(s *script) {
	s.h.Header.Workload = "transactions"
	s.pairLook(0, "c1", 0, nil, nil)
}

// renewedAfterRelease renews a key after the release of 4 ms, by a command that left at a time.
func renewedAfterRelease(left int64) func(*script) {
	return func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, "A", "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.release(4, 5, "c1")
		s.add(900, "A", history.Info, history.KeyExtended, history.Value{Key: "lock",
			Owner: "c1-owner", Client: "c1", Grant: &history.Grant{TTL: ns(1000)}, Outcome: &history.Outcome{At: ns(left)}})
		s.phase(5000, history.PhaseHealing)
	}
}

// TestRenewalWhileAnotherHolds: the story says that it was the renewal that came while another
// client held the lock, and not the grant before it.
func TestRenewalWhileAnotherHolds(t *testing.T) {
	s := newScript()
	s.acquire(1, 3, "c1", 100, -1)
	s.acquire(200, 210, "c2", 900, -1)
	s.add(220, "c1", history.Invoke, history.Extend, history.Value{})
	s.add(230, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{Validity: ns(500), ValidUntil: ns(730)}})
	s.release(300, 310, "c2")
	f := judgeOne(t, &s.h, ExclusiveLease, Options{})
	if f.Verdict != Violated {
		t.Fatalf("%v: %s", f.Verdict, f.Why)
	}
	var told []string
	for _, line := range f.Counterexample.Story {
		told = append(told, line.Text)
	}
	if story := strings.Join(told, "\n"); !strings.Contains(story, "c1 renewed its lock, while c2 still held it") ||
		strings.Contains(story, "c1 got the lock, valid until 0.103 s, while") {
		t.Error(story)
	}
}

func TestProperties(t *testing.T) {
	for _, c := range propertyCases {
		t.Run(string(c.property)+"/"+c.name, func(t *testing.T) {
			s := newScript()
			c.write(s)
			last := s.h.Events[len(s.h.Events)-1]
			if last.Value.Detail() != history.PhaseDone {
				s.phase(last.Time.Milliseconds(), history.PhaseDone)
			}
			f := judgeOne(t, &s.h, c.property, Options{})
			if f.Verdict != c.verdict || !strings.Contains(f.Why, c.why) {
				t.Errorf("%v, %q; want %v, %q", f.Verdict, f.Why, c.verdict, c.why)
			}
		})
	}
}

// renewedWhileReleased is a lock on several nodes whose client asks for the release at 100 ms, and gets no answer till 800 ms. A command
// that renews the key on a node left it at so many ms, and comes at 1 s; another one, for a node, came at 500 ms.
func renewedWhileReleased(node, other string, left int64) func(s *script) {
	return func(s *script) {
		s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
		s.key(1, history.KeySet, node, "c1", "c1-owner", 1000)
		s.granted(2, "c1", 1000, -1)
		s.add(100, "c1", history.Invoke, history.Release, history.Value{})
		s.key(500, history.KeyExtended, other, "c1", "c1-owner", 1000)
		s.add(800, "c1", history.Info, history.Release, history.Value{})
		s.key(1000, history.KeyExtended, node, "c1", "c1-owner", 1000)
		s.h.Events[len(s.h.Events)-1].Value.OwnOutcome().At = ns(left)
		s.phase(5000, history.PhaseHealing)
	}
}
