package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Difference is where two histories of the same run differ first, in words for a person.
type Difference struct {
	// Where is "event 7", by its index, or "the header".
	Where string
	// What names what differs there: "time, owner"; empty: all of it.
	What string
	// One and Other say what each history has there: `at 1.2ms c1 got the lock, owner "a"`.
	One, Other string
}

// String has a line for the place and one for each history.
func (d *Difference) String() string {
	text := d.Where + " is another one"
	if d.What != "" {
		text = d.Where + " differs in " + d.What
	}
	return fmt.Sprintf("%s\nfirst: %s\nagain: %s", text, d.One, d.Other)
}

// FirstDifference compares two histories as Writer wrote them, byte by byte; nil: they are the same.
func FirstDifference(one, other io.Reader) (*Difference, error) {
	a, b := bufio.NewReaderSize(one, 1<<16), bufio.NewReaderSize(other, 1<<16)
	for line := 0; ; line++ {
		x, wholeA, errA := ReadLine(a)
		y, wholeB, errB := ReadLine(b)
		if err := cmp.Or(errA, errB); err != nil {
			return nil, err
		}
		if !bytes.Equal(x, y) || wholeA != wholeB {
			return differenceOf(line, x, y), nil
		}
		if !wholeA {
			return nil, nil
		}
	}
}

func differenceOf(line int, x, y []byte) *Difference {
	d := &Difference{Where: "the header"}
	if line > 0 {
		d.Where = fmt.Sprintf("event %d", line-1)
	}
	a, b := fieldsOf(x), fieldsOf(y)
	var differ []string
	for name := range merged(a, b) {
		if a[name] != b[name] {
			differ = append(differ, name)
		}
	}
	slices.SortFunc(differ, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	shown := differ
	if a == nil || b == nil || slices.ContainsFunc(differ, isIdentity) { // another event altogether
		shown = slices.Sorted(maps.Keys(merged(a, b)))
	} else {
		var names []string
		for _, name := range differ {
			names = append(names, plainName(name))
		}
		d.What = strings.Join(names, ", ")
	}
	d.One, d.Other = told(line, x, a, shown), told(line, y, b, shown)
	return d
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = make(map[string]string)
	}
	maps.Copy(all, b)
	return all
}

// rank puts first what a reader asks first.
func rank(name string) int {
	if name == "time" {
		return 0
	}
	return 1
}

// isIdentity reports that events which differ there are not the same event.
func isIdentity(name string) bool { return name == "process" || name == "f" || name == "type" }

// plainName is how a field is called: value.valid_until is "valid until".
func plainName(name string) string {
	if name == "value.at" { // which is not when it was recorded
		return "took place at"
	}
	return strings.NewReplacer("_", " ", ".", " ").Replace(strings.TrimPrefix(name, "value."))
}

// told is a line of a history in words, with the fields named beside what the words say.
func told(line int, text []byte, fields map[string]string, names []string) string {
	if len(text) == 0 {
		return "nothing, it has ended by then"
	}
	var e Event
	if fields == nil || line > 0 && json.Unmarshal(text, &e) != nil {
		return clip(fmt.Sprintf("%q, which cannot be read", text))
	}
	var parts []string
	if line > 0 {
		parts = append(parts, fmt.Sprintf("at %v %s", e.Time, e.words()))
	}
	for _, name := range names {
		if value, there := fields[name]; there && name != "time" && name != "index" && !isIdentity(name) {
			parts = append(parts, plainName(name)+" "+value)
		}
	}
	return clip(strings.Join(parts, ", "))
}

// mostTold bounds what is told of an event, in characters.
const mostTold = 300

func clip(text string) string {
	if utf8.RuneCountInString(text) <= mostTold {
		return text
	}
	return string([]rune(text)[:mostTold]) + "..."
}

// durations are the fields that are in ns.
var durations = map[string]bool{"validity": true, "valid_until": true, "ttl": true, "at": true, "at_error": true, "planned": true,
	"took": true, "left": true, "answered": true, "time": true, "ttl_extra": true, "ttl_step": true}

// fieldsOf are the fields of a line by their names, those of objects inside with a dot; nil: it is no object.
func fieldsOf(text []byte) map[string]string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil {
		return nil
	}
	fields := make(map[string]string)
	var add func(prefix string, object map[string]any)
	add = func(prefix string, object map[string]any) {
		for name, value := range object {
			if inside, ok := value.(map[string]any); ok {
				add(prefix+name+".", inside)
				continue
			}
			fields[prefix+name] = valueText(name, value)
		}
	}
	add("", object)
	return fields
}

func valueText(name string, value any) string {
	if n, ok := value.(json.Number); ok && durations[name] {
		if ns, err := n.Int64(); err == nil {
			return time.Duration(ns).String()
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// words say what an event tells, without its values.
func (e *Event) words() string {
	if deed, known := deeds[e.F]; known {
		return e.Process + " " + deed[e.Type]
	}
	v := &e.Value
	switch e.F {
	case Point:
		return e.Process + " came to " + v.Point()
	case Effect:
		did := "refused"
		if v.Accepted().V {
			did = "carried out"
		}
		return fmt.Sprintf("the resource %s a %s of %s", did, v.Op(), v.Client)
	case FaultBegin, FaultEnd, FaultFailed:
		did := map[F]string{FaultBegin: "began", FaultEnd: "ended", FaultFailed: "did not take effect"}[e.F]
		return fmt.Sprintf("fault %d (%s %s) %s", v.ID(), v.Fault(), v.Target(), did)
	case Sentinel:
		return fmt.Sprintf("%s told %s", e.Process, v.Detail())
	case Cluster:
		return fmt.Sprintf("%s knew of %s %s", e.Process, cmp.Or(v.Target(), "itself"), v.Detail())
	case Sent:
		if c := v.Command(); c != nil {
			return fmt.Sprintf("%s sent %s to %s", e.Process, c.Name, c.Node)
		}
	case Phase:
		return "the phase " + v.Detail() + " began"
	}
	if did := observations[e.F]; did != "" {
		return e.Process + " " + did
	}
	return fmt.Sprintf("%s: %s", e.Process, e.F)
}

// deeds say what a client does that asks for something, and what comes of it.
var deeds = map[F]map[Type]string{
	Acquire: {Invoke: "asked for the lock", OK: "got the lock", Fail: "did not get the lock", Info: "does not know whether it got the lock"},
	Extend: {Invoke: "asked for a renewal", OK: "renewed the lock", Fail: "was refused a renewal",
		Info: "does not know whether it renewed the lock"},
	Release: {Invoke: "asked to release", OK: "released the lock", Fail: "was refused the release",
		Info: "does not know whether it released the lock"},
	Read:  {Invoke: "asked to read", OK: "read", Fail: "could not read", Info: "does not know what it would have read"},
	Write: {Invoke: "asked to write", OK: "wrote", Fail: "did not write", Info: "does not know whether it wrote"},
	CAS: {Invoke: "asked to compare and set", OK: "compared and set", Fail: "did not set what it compared",
		Info: "does not know whether it compared and set"},
	Transact: {Invoke: "asked for a transaction", OK: "made a transaction", Fail: "made no transaction",
		Info: "does not know whether it made a transaction"},
	Snapshot: {Invoke: "asked for a snapshot", OK: "got a snapshot", Fail: "got no snapshot", Info: "does not know its snapshot"},
}

// observations say what is told of a process.
var observations = map[F]string{
	KeySet: "had its key set", KeyExtended: "had the end of its key moved", KeyDeleted: "had its key deleted",
	KeyExpired: "had its key expire",
	KeyUnclear: "had something done to its key that is not clear", Lost: "was told that it had lost the lock",
	NodeDown: "went down", NodeUp: "came back", NodePromoted: "became the primary", NodeDemoted: "became a replica",
	Unread: "sent commands that cannot be told", Stalled: "stood still",
}
