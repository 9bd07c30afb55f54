package linear

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// step reads an operation in a few words: "p1 acquire 5" is an acquire by process
// 1 with the token 5, "cas 1 2" one without a process.
func step(t *testing.T, words string) Op {
	t.Helper()
	o := Op{A: None, B: None}
	f := strings.Fields(words)
	if strings.HasPrefix(f[0], "p") {
		_, _ = fmt.Sscanf(f[0], "p%d", &o.Process)
		f = f[1:]
	}
	for k, name := range map[Kind]string{Acquire: "acquire",
		Release: "release", Expire: "expire", Read: "read", Write: "write", CAS: "cas", CASFailed: "failed",
		Add: "add", Append: "append", ReadList: "list", Sell: "sell", Run: "run", Insert: "insert", ReadSet: "set"} {
		if f[0] == name {
			o.Kind = k
		}
	}
	if o.Kind == 0 {
		t.Fatalf("no operation %q", words)
	}
	to := []*int64{&o.A, &o.B}
	if o.Kind == Expire || o.Kind == Release {
		to = []*int64{&o.B}
	}
	for i, s := range f[1:] {
		if s != "-" {
			_, _ = fmt.Sscanf(s, "%d", to[i])
		}
	}
	return o
}

// TestModelsStepByStep is what each model allows, one operation after the other, in
// the words of its definition. The last operation of each line is put to the
// test: all before it are allowed.
func TestModelsStepByStep(t *testing.T) {
	lists := [][]int64{{}, {1}, {1, 2}, {2, 1}}
	texts := []string{"", "a", "b", "ab"}
	everybody := History{Ops: []Op{{Process: 1}, {Process: 2}, {Process: 3}}}
	for _, c := range []struct {
		model Model
		steps string
		want  bool
	}{
		{PlainMutex(), "p1 acquire", true},
		{PlainMutex(), "p1 acquire, p1 acquire", false},
		{PlainMutex(), "p1 acquire, p2 release", true},
		{PlainMutex(), "p1 release", false},
		{PlainMutex(), "p1 acquire, p1 release, p1 release", false},
		{OwnerMutex(), "p1 acquire, p2 release", false},
		{OwnerMutex(), "p1 acquire, p1 acquire", false},
		{OwnerMutex(), "p1 acquire, p1 release, p2 acquire", true},
		{TaggedMutex(), "acquire - 1, acquire - 2", false},
		{TaggedMutex(), "acquire - 1, expire 1, acquire - 2", true},
		{TaggedMutex(), "acquire - 1, expire 2", false},
		{TaggedMutex(), "acquire - 1, release 1, release 1", false},
		{Reentrant(2), "p1 acquire, p1 acquire", true},
		{Reentrant(2), "p1 acquire, p1 acquire, p1 acquire", false},
		{Reentrant(0), "p1 acquire, p1 acquire, p1 acquire", true},
		{Reentrant(2), "p1 acquire, p2 acquire", false},
		{Reentrant(2), "p1 release", false},
		{Reentrant(2), "p1 acquire, p2 release", false},
		{Reentrant(2), "p1 acquire, p1 acquire, p1 release, p2 acquire", false},
		{Reentrant(2), "p1 acquire, p1 acquire, p1 release, p1 release, p2 acquire", true},
		{Reentrant(2), "p1 acquire, p1 release, p1 release", false},
		{Reentrant(2), "p1 acquire, p1 acquire, p1 release, p1 acquire", true},
		{Fenced(), "p1 acquire 5", true},
		{Fenced(), "p1 acquire 5, p2 acquire 6", false},
		{Fenced(), "p1 acquire 5, p1 acquire 6", false},
		{Fenced(), "p1 acquire 5, p2 release", false},
		{Fenced(), "p1 acquire 5, p1 release, p2 acquire 5", false},
		{Fenced(), "p1 acquire 5, p1 release, p2 acquire 6", true},
		{Fenced(), "p1 acquire 5, p1 release, p2 acquire 4", false},
		{Fenced(), "p1 acquire 5, p1 release, p2 acquire", true},
		{Fenced(), "p1 acquire 5, p1 release, p2 acquire, p2 release, p1 acquire 5", false},
		{Fenced(), "p1 acquire -3", true},
		{Fenced(), "p1 release", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire 5", true},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire", true},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire 6", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire 4", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire 5, p1 acquire 5", false},
		{ReentrantFenced(2), "p1 acquire 5, p2 acquire 6", false},
		{ReentrantFenced(2), "p1 acquire, p1 acquire 5", true},
		{ReentrantFenced(0), "p1 acquire, p1 acquire 5, p1 acquire 6", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 release, p1 acquire, p1 acquire 5", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 release, p2 acquire 5", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 release, p2 acquire 6", true},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire 5, p1 release, p2 acquire 6", false},
		{ReentrantFenced(2), "p1 acquire 5, p1 acquire 5, p1 release, p1 release, p2 acquire 6", true},
		{Semaphore(2, everybody), "p1 acquire, p2 acquire", true},
		{Semaphore(2, everybody), "p1 acquire, p2 acquire, p3 acquire", false},
		{Semaphore(2, everybody), "p1 acquire, p1 acquire, p1 acquire", false},
		{Semaphore(2, everybody), "p1 acquire, p2 release", false},
		{Semaphore(2, everybody), "p1 acquire, p2 acquire, p1 release, p3 acquire", true},
		{Semaphore(2, everybody), "p1 acquire, p1 release, p1 release", false},
		{Cell(3), "read 3", true},
		{Cell(3), "read 4", false},
		{Cell(3), "write 7, read 7", true},
		{Cell(3), "cas 3 9, read 9", true},
		{Cell(3), "cas 4 9", false},
		{Cell(3), "failed 3", false},
		{Cell(3), "failed 4", true},
		{Cell(3), "failed 4 3", true},
		{Cell(3), "failed 4 5", false},
		{Cell(3), "failed 4, read 3", true},
		{Cell(3), "add 2, read 5", true},
		{Stock(5), "sell 5", true},
		{Stock(5), "sell 6", false},
		{Stock(5), "sell 2, read 3", true},
		{Stock(5), "sell 2, sell 4", false},
		{Stock(5), "add 1, sell 6", true},
		{Stock(5), "add -5", true},
		{Stock(5), "add -6", false},
		{Stock(5), "add 2, read 7", true},
		{Stock(5), "cas 5 0", true},
		{Stock(5), "cas 4 3", false},
		{Stock(5), "cas 5 -1", false},
		{Stock(5), "write 0, read 0", true},
		{Stock(5), "write -1", false},
		{List(lists), "list 0", true},
		{List(lists), "append 1, list 1", true},
		{List(lists), "append 1, list 0", false},
		{List(lists), "append 1, append 2, list 2", true},
		{List(lists), "append 1, append 2, list 3", false},
		{List(lists), "append 1 0, append 2 1", true},
		{List(lists), "append 1, append 2 0", false},
		{Jobs(), "run 1, run 2", true},
		{Jobs(), "run 1, run 2, run 1", false},
		{Set(lists), "set 0", true},
		{Set(lists), "insert 2, insert 1, set 2", true},
		{Set(lists), "insert 2, insert 1, insert 2, set 3", true},
		{Set(lists), "insert 2, set 1", false},
		{Text(texts), "read 0", true},
		{Text(texts), "write 1, append 2, read 3", true},
		{Text(texts), "append 2, write 1, read 1", true},
		{Text(texts), "append 2, append 1, read 3", false},
	} {
		state, ok := c.model.Init, true
		steps := strings.Split(c.steps, ", ")
		for i, s := range steps {
			o := step(t, s)
			if !c.model.Kinds.Has(o.Kind) {
				t.Errorf("%s: %s: the model does not know it", c.model.Name, s)
			}
			if ok, state = c.model.Step(state, &o); !ok && i < len(steps)-1 {
				t.Errorf("%s: %s: %q is not allowed", c.model.Name, c.steps, s)
			}
		}
		if ok != c.want {
			t.Errorf("%s: %s: allowed %v, want %v", c.model.Name, c.steps, ok, c.want)
		}
		// The searches say the same, also where they cut the history between two steps.
		h := History{Lists: lists}
		for i, s := range steps {
			o := step(t, s)
			o.Call, o.Return = int64(10*i), int64(10*i+1)
			h.Ops = append(h.Ops, o)
		}
		for way, r := range map[string]Result{
			"porcupine":           Reference(context.Background(), c.model, h, Bounds{}),
			"the frontier search": searchFrontier(context.Background(), c.model, h, Bounds{}),
		} {
			if want := map[bool]Outcome{true: Legal, false: Illegal}[c.want]; r.Outcome != want {
				t.Errorf("%s: %s: %s says %v (%s)", c.model.Name, c.steps, way, r.Outcome, r.Why)
			}
		}
	}
}

// TestEqualStatesHaveEqualHashes, and others mostly different ones: porcupine keeps
// apart what the hash does.
func TestEqualStatesHaveEqualHashes(t *testing.T) {
	for name, states := range map[string][]any{
		"owner": {int64(None), int64(0), int64(1), int64(2)},
		"reentrant": {reentrant{nobody, 0, None, None}, reentrant{1, 1, None, None}, reentrant{1, 2, None, None}, reentrant{2, 1, None, None},
			reentrant{1, 1, 5, 5}, reentrant{1, 1, None, 5}, reentrant{1, 1, 5, None}, reentrant{1, 1, 4, 5}, reentrant{1, 1, 5, 4}},
		"text": {"", "a", "b", "ab", "ba"},
	} {
		m := map[string]Model{"owner": OwnerMutex(), "reentrant": ReentrantFenced(2), "text": Text(nil)}[name]
		seen := map[uint64]any{}
		for _, s := range states {
			h := m.Hash(s)
			if other, twice := seen[h]; twice || h != m.Hash(s) {
				t.Errorf("%s: %+v and %+v have one hash", name, s, other)
			}
			seen[h] = s
		}
	}
}

// TestUnknownKinds: an operation that the model does not know leaves a history
// undecided, and the reason names both.
func TestUnknownKinds(t *testing.T) {
	for k := Acquire; k <= ReadSet; k++ {
		if k.String() == Kind(0).String() {
			t.Errorf("kind %d has no name", k)
		}
		h := History{Ops: []Op{{Kind: Run, A: 1, Call: 1, Return: 2}, {Kind: k, Call: 3, Return: 4}}, Lists: [][]int64{nil}}
		jobs := JobsProblem(h)
		r, _ := jobs.Check(context.Background(), Bounds{Timeout: time.Minute})
		if k != Run && (r.Outcome != Undecided || r.Why != "the model jobs knows no "+k.String()) {
			t.Errorf("%v: %v, %q", k, r.Outcome, r.Why)
		}
	}
	if (ReadSet+1).String() != Kind(0).String() || (Undecided+1).String() != "none" || Kind(200).String() != Kind(0).String() ||
		Outcome(200).String() != "none" || Outcome(0).String() != "none" || Illegal.String() != "illegal" {
		t.Error("what has no name")
	}
}

// TestManyPermits: a semaphore counts the permits of one process, and of all, also where
// they are more than fit into a byte, and where they are given back.
func TestManyPermits(t *testing.T) {
	for _, permits := range []int{255, 256, 257, 600} {
		var h History
		add := func(k Kind, process int32, times int) {
			for range times {
				at := int64(10 * len(h.Ops))
				h.Ops = append(h.Ops, Op{Kind: k, Process: process, Call: at, Return: at + 1})
			}
		}
		add(Acquire, 1, permits-1)
		add(Acquire, 2, 1)
		add(Release, 1, permits-1)
		add(Acquire, 2, permits-1)
		full := slices.Clone(h.Ops)
		add(Acquire, 1, 1)
		tooMany := h.Ops
		h.Ops = full
		add(Release, 1, 1)
		for name, c := range map[string]struct {
			ops  []Op
			want Outcome
		}{"all permits": {full, Legal}, "one too many": {tooMany, Illegal}, "a permit that is not held": {h.Ops, Illegal}} {
			part := History{Ops: c.ops}
			m := Semaphore(permits, part)
			whole := m
			whole.Settle = nil // so that no search counts in another way
			for way, r := range map[string]Result{
				"porcupine":            Reference(context.Background(), m, part, Bounds{}),
				"porcupine, in a part": Reference(context.Background(), whole, part, Bounds{}),
				"the frontier search":  searchFrontier(context.Background(), m, part, Bounds{}),
			} {
				if r.Outcome != c.want {
					t.Errorf("%d permits, %s: %s says %v (%s)", permits, name, way, r.Outcome, r.Why)
				}
			}
		}
	}
	// The model was made for another history.
	h := History{Ops: []Op{{Kind: Acquire, Process: 2, Call: 1, Return: 2}}}
	p := Problem{History: h, Model: Semaphore(1, History{Ops: []Op{{Process: 1}}})}
	if r, _ := p.Check(context.Background(), Bounds{}); r.Outcome != Undecided {
		t.Errorf("a process that the model does not know: %v", r)
	}
	if ok, _ := p.Model.Step(p.Model.Init, &h.Ops[0]); ok {
		t.Error("a process that the model does not know gets a permit")
	}
}
