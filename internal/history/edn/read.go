package edn

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
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
// the key of an independent tuple in Value.Key. A nil is absent. What has no such
// place (a keyword in a list, a transaction, a map of anything but a lock) is a fault.
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
	// keyed says whether values are tuples of a key and a value; the first invocation
	// that carries a value settles it for the whole history. A list of two numbers does not
	// look different, so from then on every list must be a tuple, or none is.
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
	keyed, err := d.tuple(v, e)
	if err != nil {
		return err
	}
	if keyed {
		t := v.([]any)
		e.Value.Key = scalar(t[0])
		v = t[1]
	}
	switch v := v.(type) {
	case nil:
		return nil
	case int64:
		switch {
		case ofLock(e.F):
			e.Value.Token = history.Some(v)
		case e.F == history.CAS:
			return fmt.Errorf(":value %d of a cas: want [from to]", v)
		default:
			e.Value.Number = history.Some(v)
		}
		return nil
	case []any:
		return listValue(v, e)
	case set:
		return listValue(v, e)
	case []pair:
		if !ofLock(e.F) && e.F != history.Extend {
			return fmt.Errorf(":value %s of %s: maps are not supported, except those of a lock (:token, :owner)", show(v), e.F)
		}
		return mapValue(v, e)
	}
	e.Value.OwnRare().Detail = scalar(v)
	return nil
}

func ofLock(f history.F) bool {
	switch f {
	case history.Acquire, history.Release, history.Forget, "lock", "unlock":
		return true
	}
	return false
}

// ofData reports whether an operation is one on data that a model knows.
func ofData(f history.F) bool {
	switch f {
	case history.Read, history.Write, history.CAS, "get", "put", "set", "append", "add", "insert", "inc", "increment", "sell", "run":
		return true
	}
	return false
}

// tuple says whether the value of an operation is a key with a value, as
// jepsen.independent makes them: a read of [k nil], a write of [k v], a cas of
// [k [from to]].
func (d *decoder) tuple(v any, e *history.Event) (bool, error) {
	t, vector := v.([]any)
	if ofLock(e.F) {
		return vector && len(t) == 2, nil // a lock has no lists
	}
	pair := vector && len(t) == 2 && isKey(t[0])
	if pair && e.F == history.CAS {
		_, pair = t[1].([]any)
		pair = pair || t[1] == nil
	}
	if !d.settled && e.Type == history.Invoke && v != nil && ofData(e.F) {
		d.keyed, d.settled = pair && (e.F != history.CAS || t[1] != nil), true
	}
	if d.keyed && vector && !pair && ofData(e.F) {
		want := "[key value], or [key [1 2]] for a list"
		if e.F == history.CAS {
			want = "[key [from to]]"
		}
		return false, fmt.Errorf(":value %s of %s: want %s, because the first value of the history is a tuple with a key", show(v), e.F, want)
	}
	return d.keyed && pair, nil
}

// isKey reports whether a form can be the key of a tuple.
func isKey(v any) bool {
	switch v.(type) {
	case []any, set, []pair:
		return false
	}
	return true
}

func listValue[L ~[]any](v L, e *history.Event) error {
	if e.F == history.CAS && len(v) == 2 {
		from, fromOK := optional(v[0])
		to, toOK := optional(v[1])
		if !fromOK || !toOK {
			return fmt.Errorf(":value %s of a cas: want [from to]", show(v))
		}
		e.Value.OwnExtra().Expected, e.Value.Number = from, to
		return nil
	}
	numbers := make([]int64, len(v))
	for i, x := range v {
		n, ok := x.(int64)
		if !ok {
			return fmt.Errorf(":value %s of %s has %s, which is not supported: want whole numbers only", show(v), e.F, foreign(x))
		}
		numbers[i] = n
	}
	e.Value.OwnExtra().List = numbers
	return nil
}

// foreign says what stands in a list in the place of a number.
func foreign(v any) string {
	switch x := v.(type) {
	case Keyword:
		return "the keyword :" + string(x)
	case []any:
		if len(x) > 0 {
			if _, micro := x[0].(Keyword); micro {
				return "the step " + show(x) + " of a transaction"
			}
		}
		return "the list " + show(x)
	}
	return show(v)
}

// show writes a form for a message, cut where it is long.
func show(v any) string {
	const most = 60
	text := form(v)
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func form(v any) string {
	inside := func(list []any) string {
		words := make([]string, len(list))
		for i, x := range list {
			words[i] = form(x)
		}
		return strings.Join(words, " ")
	}
	switch v := v.(type) {
	case nil:
		return "nil"
	case Keyword:
		return ":" + string(v)
	case string:
		return strconv.Quote(v)
	case []any:
		return "[" + inside(v) + "]"
	case set:
		return "#{" + inside(v) + "}"
	case []pair:
		list := make([]any, 0, 2*len(v))
		for _, p := range v {
			list = append(list, p.key, p.value)
		}
		return "{" + inside(list) + "}"
	}
	return scalar(v)
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
