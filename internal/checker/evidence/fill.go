package evidence

import (
	"fmt"
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/linear"
)

// fill puts what an operation did into o. It reports false where the operation
// says nothing: it certainly had no effect, or it is a read that never answered.
func (b *builder) fill(part *part, o *linear.Op, v verb, typ history.Type, value *history.Value, p *pending) (bool, error) {
	switch v {
	case read:
		if typ != history.OK {
			return false, nil
		}
		return b.fillRead(part, o, value, p)
	case acquire, release:
		if typ == history.Fail {
			return false, nil
		}
		b.fillLock(part, o, v, typ, value)
		return true, nil
	case cas:
		return b.fillCAS(part, o, typ, value)
	}
	if typ == history.Fail {
		if value.Section > 0 {
			delete(b.section, o.Process)
		}
		return false, nil
	}
	switch v {
	case write:
		return true, b.fillWrite(part, o, value, p)
	case sell:
		o.Kind, o.A = linear.Sell, value.Number.V()
		return true, need(value, "units")
	case add:
		if b.m.name == "set" {
			o.Kind, o.A = linear.Insert, value.Number.V()
			return true, need(value, "an element")
		}
		o.Kind, o.A = linear.Add, 1
		if value.Number.IsSet() || instead(value) != "" {
			o.A = value.Number.V()
			return true, need(value, "what was added")
		}
		return true, nil
	case run:
		o.Kind, o.A = linear.Run, value.Number.V()
		return true, need(value, "a tick")
	case appendTo:
		return true, b.fillAppend(part, o, value, p)
	}
	return false, nil
}

// need demands that the operation has a number.
func need(value *history.Value, what string) error {
	switch has := instead(value); {
	case value.Number.IsSet():
		return nil
	case has != "":
		return fmt.Errorf("the value %s is not supported: want %s, a whole number", has, what)
	}
	return fmt.Errorf("no value: want %s", what)
}

// instead is what a value has where a number should be; empty: nothing.
func instead(value *history.Value) string {
	switch {
	case value.List() != nil:
		return clip(fmt.Sprint(value.List()))
	case value.Detail() != "":
		return strconv.Quote(clip(value.Detail()))
	}
	return ""
}

// needList demands that a read saw a list, or nil, which is the empty one.
func (b *builder) needList(value *history.Value) error {
	if value.List() != nil || !value.Number.IsSet() && value.Detail() == "" {
		return nil
	}
	saw, want := instead(value), "[1 2]"
	if value.Number.IsSet() {
		saw = strconv.FormatInt(value.Number.V(), 10)
	}
	if value.Key != "" {
		saw, want = fmt.Sprintf("%s on the key %q", saw, value.Key), "[key [1 2]]"
	}
	return fmt.Errorf("a read saw %s: the model %s wants a list of whole numbers, as %s", saw, b.m.name, want)
}

func (b *builder) fillRead(part *part, o *linear.Op, value *history.Value, p *pending) (bool, error) {
	if b.m.sections && value.Section > 0 {
		b.section[o.Process] = sectionRead{value.Section, p.line, p.stamp, value.Number, value.List()}
		return false, nil
	}
	o.Kind, o.A = linear.Read, value.Number.V()
	switch b.m.name {
	case "kv":
		return true, b.fillText(o, value)
	case "append", "set":
		o.Kind, o.A = linear.ReadList, int64(len(part.h.Lists))
		if b.m.name == "set" {
			o.Kind = linear.ReadSet
		}
		part.h.Lists = append(part.h.Lists, value.List())
		return true, b.needList(value)
	default:
		if value.Number.IsSet() {
			break
		}
		if saw := instead(value); saw != "" {
			return false, fmt.Errorf("a read saw %s: the model %s wants a whole number", saw, b.m.name)
		}
		b.foundNil(part)
	}
	return true, nil
}

// foundNil says that the next operation of the part found nil.
func (b *builder) foundNil(p *part) { b.nils = append(b.nils, nilPlace{p, len(p.h.Ops)}) }

func (b *builder) fillWrite(part *part, o *linear.Op, value *history.Value, p *pending) error {
	o.Kind, o.A = linear.Write, value.Number.V()
	if b.m.name == "kv" {
		return b.fillText(o, value)
	}
	if r, ok := b.takeSection(o, value, p); ok {
		o.Kind, o.A, o.B = linear.CAS, r.value.V(), o.A
		if !r.value.IsSet() {
			b.foundNil(part)
		}
	}
	return need(value, "what was written")
}

// takeSection makes a write the end of the section that its client's read began.
func (b *builder) takeSection(o *linear.Op, value *history.Value, p *pending) (sectionRead, bool) {
	r, ok := b.section[o.Process]
	if !b.m.sections || value.Section == 0 || !ok || r.number != value.Section {
		return r, false
	}
	o.Call, p.line = r.stamp, r.line
	return r, true
}

func (b *builder) fillAppend(part *part, o *linear.Op, value *history.Value, p *pending) error {
	o.Kind, o.A, o.B = linear.Append, value.Number.V(), linear.None
	if b.m.name == "kv" {
		return b.fillText(o, value)
	}
	if r, ok := b.takeSection(o, value, p); ok {
		o.B = int64(len(r.list))
		if !o.Optional() {
			seen := *o
			seen.Kind, seen.A, seen.B = linear.ReadList, int64(len(part.h.Lists)), 0
			part.h.Lists = append(part.h.Lists, r.list)
			part.h.Ops = append(part.h.Ops, seen)
			part.calls, part.returns = append(part.calls, int32(r.line)), append(part.returns, int32(p.line))
		}
	}
	return need(value, "an element")
}

func (b *builder) fillCAS(part *part, o *linear.Op, typ history.Type, value *history.Value) (bool, error) {
	o.Kind, o.A, o.B = linear.CAS, value.Expected().V(), value.Number.V()
	if typ == history.Fail && b.o.Format != PorcupineEtcd {
		return false, nil // it only says that it had no effect
	}
	if !value.Expected().IsSet() {
		b.foundNil(part)
	}
	if typ == history.Fail {
		o.Kind, o.B = linear.CASFailed, linear.None
		return true, nil
	}
	return true, need(value, "[from to]")
}

// fillLock gives the operation its tag, where grants have one.
func (b *builder) fillLock(part *part, o *linear.Op, v verb, typ history.Type, value *history.Value) {
	o.Kind, o.A = linear.Acquire, linear.None
	if v == release {
		o.Kind = linear.Release
	}
	if value.Token.IsSet() && v == acquire {
		o.A = value.Token.V()
	}
	if !b.m.tagged {
		return
	}
	o.B = part.tag(o.Process, v, typ, value.Owner)
	if v == acquire && typ == history.OK && value.ValidUntil().IsSet() {
		part.until[o.B] = value.ValidUntil().V()
	}
}

// tag names the grant that an operation is about: by the owner value, or else a
// release gives back what its process acquired last. A part with a release of
// which neither can be said is untagged.
func (p *part) tag(process int32, v verb, typ history.Type, owner string) int64 {
	p.nameless = p.nameless || owner == ""
	tag, known := p.tags[owner]
	if last, holds := p.holds[process]; owner == "" && v == release && holds {
		tag, known = last, true
	} else if owner == "" {
		known = false
		p.untagged = p.untagged || v == release
	}
	if !known {
		tag = int64(len(p.until))
		p.until = append(p.until, linear.None)
		if owner != "" {
			p.tags[owner] = tag
		}
	}
	switch {
	case v == release:
		delete(p.holds, process)
	case typ == history.OK:
		p.holds[process] = tag
	}
	return tag
}

// nilValue is what a register holds that was never written and has no initial
// value.
const nilValue = linear.None + 1

func (b *builder) fillText(o *linear.Op, value *history.Value) error {
	if value.List() != nil {
		return fmt.Errorf("the value %s is not supported: the model kv wants a text or a whole number", instead(value))
	}
	s := value.Detail()
	if value.Number.IsSet() {
		s = strconv.FormatInt(value.Number.V(), 10)
	}
	o.A = numbered(b.textIDs, &b.texts, s)
	return nil
}
