package edn

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Read reads a Jepsen history and hands each event, with the number of the line
// it begins on, to each, which may keep what the event refers to but not the event
// itself. The operations stand in one vector or list, or one after the other. Any
// fault is a *history.LineError. More than maxEvents are refused; 0 means
// history.DefaultMaxEvents.
//
// What operations carry comes in the project's own words: a number read or
// written in Value.Number, the value a cas demands in Value.Expected, a list or
// set in Value.List, a fencing token in Value.Token, a string in Value.Detail and
// the key of an independent tuple in Value.Key. A nil is absent.
func Read(r io.Reader, maxEvents int, each func(line int, e *history.Event) error) error {
	if maxEvents <= 0 {
		maxEvents = history.DefaultMaxEvents
	}
	d := &decoder{p: newParser(r)}
	end, err := d.open()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return d.fault(err)
	}
	var e history.Event
	for {
		d.p.size = 0
		c, err := d.p.begin()
		line := d.p.line
		switch {
		case errors.Is(err, io.EOF) && end == 0:
			return nil
		case err != nil:
			return d.fault(unexpected(err))
		case end != 0 && c == end:
			return d.nothingElse()
		}
		form, some, err := d.p.read(c)
		if err != nil {
			return d.fault(err)
		}
		if !some {
			continue
		}
		if d.n == maxEvents {
			return &history.LineError{Line: line, Err: fmt.Errorf("more than %d events", maxEvents)}
		}
		if err := d.event(form, &e); err != nil {
			return &history.LineError{Line: line, Err: err}
		}
		if err := each(line, &e); err != nil {
			return &history.LineError{Line: line, Err: err}
		}
		d.n++
	}
}

// decoder turns forms into events.
type decoder struct {
	p *parser
	n int
	// last is the time of the event before. timeless counts the events of a
	// history without times.
	last time.Duration
	// keyed says whether values are tuples of a key and a value; it is settled
	// by the first operation that tells.
	keyed, settled bool
}

// open reads the bracket around the history, if there is one, and returns what
// closes it.
func (d *decoder) open() (byte, error) {
	c, err := d.p.begin()
	switch {
	case err != nil:
		return 0, err
	case c == '[':
		return ']', nil
	case c == '(':
		return ')', nil
	}
	d.p.back(c)
	return 0, nil
}

func (d *decoder) nothingElse() error {
	if _, err := d.p.begin(); !errors.Is(err, io.EOF) {
		return d.fault(errors.New("something follows the history"))
	}
	return nil
}

func (d *decoder) fault(err error) error { return &history.LineError{Line: d.p.line, Err: err} }

func (d *decoder) event(form any, e *history.Event) error {
	m, ok := form.([]pair)
	if !ok {
		return errors.New("not an operation: want a map")
	}
	*e = history.Event{Index: int32(d.n), Time: d.last}
	var value any
	for _, p := range m {
		name, ok := p.key.(Keyword)
		if !ok {
			continue
		}
		var err error
		switch name {
		case "time":
			n, ok := p.value.(int64)
			if !ok || n < 0 {
				return fmt.Errorf(":time %v: want a number of ns", p.value)
			}
			// A clock that was set back tells nothing; the order of the file does.
			d.last = max(d.last, time.Duration(n))
			e.Time = d.last
		case "process":
			e.Process, err = process(p.value)
		case "type":
			t, _ := p.value.(Keyword)
			err = e.Type.UnmarshalText([]byte(t))
		case "f":
			e.F, err = function(p.value)
		case "value":
			value = p.value
		case "key":
			e.Value.Key = scalar(p.value)
		case "error":
			e.Error = history.SomeText(scalar(p.value))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case e.Process == "":
		return errors.New("no :process")
	case e.Type == 0:
		return errors.New("no :type")
	case e.F == "":
		return errors.New("no :f")
	}
	if e.Process == history.NemesisProcess {
		e.Value.OwnRare().Detail = scalar(value)
		return nil
	}
	return d.value(value, e)
}

func process(v any) (string, error) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), nil
	case Keyword:
		return string(v), nil
	case string:
		if v != "" {
			return v, nil
		}
	}
	return "", fmt.Errorf(":process %v: want a number or a keyword", v)
}

func function(v any) (history.F, error) {
	switch v := v.(type) {
	case Keyword:
		return history.F(v), nil
	case string:
		return history.F(v), nil
	}
	return "", fmt.Errorf(":f %v: want a keyword", v)
}

// scalar writes what is no collection as text.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case Keyword:
		return string(v)
	case Symbol:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return fmt.Sprint(v)
}

// value puts what an operation carries where the project keeps such things.
func (d *decoder) value(v any, e *history.Event) error {
	if d.tuple(v, e) {
		t := v.([]any)
		e.Value.Key = scalar(t[0])
		v = t[1]
	}
	switch v := v.(type) {
	case nil:
		return nil
	case int64:
		switch e.F {
		case history.Acquire, history.Release, "lock", "unlock":
			e.Value.Token = history.Some(v)
		default:
			e.Value.Number = history.Some(v)
		}
		return nil
	case []any:
		return listValue(v, e)
	case []pair:
		return mapValue(v, e)
	}
	e.Value.OwnRare().Detail = scalar(v)
	return nil
}

// tuple says whether the value of an operation is a key with a value, as
// jepsen.independent makes them: a read of [k nil], a write of [k v], a cas of
// [k [from to]].
func (d *decoder) tuple(v any, e *history.Event) bool {
	t, ok := v.([]any)
	if !ok || len(t) != 2 {
		if v != nil && e.Type == history.Invoke {
			d.settled = true
		}
		return false
	}
	if !d.settled && e.Type == history.Invoke {
		_, nested := t[1].([]any)
		switch e.F {
		case history.Read, history.Write, "append", "add":
			d.keyed, d.settled = true, true
		case history.CAS:
			d.keyed, d.settled = nested, true
		}
	}
	return d.keyed
}

func listValue(v []any, e *history.Event) error {
	if e.F == history.CAS && len(v) == 2 {
		from, fromOK := optional(v[0])
		to, toOK := optional(v[1])
		if !fromOK || !toOK {
			return fmt.Errorf(":value %v of a cas: want [from to]", v)
		}
		e.Value.OwnExtra().Expected, e.Value.Number = from, to
		return nil
	}
	numbers := make([]int64, len(v))
	for i, x := range v {
		n, ok := x.(int64)
		if !ok {
			return fmt.Errorf(":value has %v where a number was expected", x)
		}
		numbers[i] = n
	}
	e.Value.OwnExtra().List = numbers
	return nil
}

// optional is a number or nil.
func optional(v any) (history.Int, bool) {
	n, ok := v.(int64)
	if !ok {
		return history.Int{}, v == nil
	}
	number := history.Some(n)
	return number, number.IsSet()
}

// mapValue reads what locks answer: {:fence 3}, {:token 3, :owner "x"}.
func mapValue(m []pair, e *history.Event) error {
	for _, p := range m {
		name, _ := p.key.(Keyword)
		n, number := p.value.(int64)
		switch {
		case (name == "fence" || name == "token") && number:
			e.Value.Token = history.Some(n)
		case name == "valid-until" && number:
			e.Value.OwnGrant().ValidUntil = history.Some(n)
		case name == "owner" || name == "client":
			e.Value.Owner = scalar(p.value)
		}
	}
	return nil
}
