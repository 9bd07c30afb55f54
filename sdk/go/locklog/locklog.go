// Package locklog writes a lock log in production: what an application knows of its locks, a line for each event.
//
// `sim check` judges such files afterwards: https://github.com/redlock-sim/redlock-sim/blob/main/docs/guide/production-log.md
// One file, no dependency, Go 1.21 or later. Keep it in your application:
//
//	log := locklog.Open("/var/log/shop/locks.locklog")
//	defer log.Flush()
//	hold := log.Ask("orders")
//	err := mutex.Lock()
//	hold.Granted(locklog.Grant{Owner: mutex.Value(), Validity: time.Until(mutex.Until())})
//	...
//	hold.Releasing()
//	mutex.Unlock()
//	hold.Released()
//
// Goroutines may share it. It returns no errors: what it cannot write it drops, and counts. Lines wait for a second at most, or until there
// are 256; call Flush at the end. The file is opened for each write, so it may be renamed at any time.
package locklog

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Log is a lock log of this process.
type Log struct {
	mu                   sync.Mutex
	path, head           string
	start                time.Time
	buf                  []byte
	lines                int
	next, holds, dropped int64
	torn                 bool
}

// Open returns a log that appends to a file.
func Open(path string) *Log {
	host, _ := os.Hostname()
	return OpenAs(path, host)
}

// OpenAs is Open with another name for this host.
func OpenAs(path, host string) *Log {
	var id [4]byte
	_, _ = rand.Read(id[:])
	return &Log{path: path, start: time.Now(),
		head: fmt.Sprintf(`{"locklog":1,"host":%s,"process":"%d-%x","line":`, text(host), os.Getpid(), id)}
}

// Hold is what is asked for, granted and released together.
type Hold struct {
	log  *Log
	tail string
}

// Grant is what is known of a grant. Zero values are not known. Validity is what the library says is left of it. Renews: the library renews
// it by itself.
type Grant struct {
	Owner         string
	TTL, Validity time.Duration
	Renews        bool
	Token         int64
}

// Ask asks for a lock.
func (l *Log) Ask(lock string) *Hold {
	l.mu.Lock()
	l.holds++
	h := &Hold{l, `"hold":` + strconv.FormatInt(l.holds, 10) + `,"lock":` + text(lock)}
	l.mu.Unlock()
	h.Asked()
	return h
}

// Asked tells of each further try, where the application itself tries again.
func (h *Hold) Asked()          { h.write("asked", Grant{}, time.Time{}) }
func (h *Hold) Granted(g Grant) { h.write("granted", g, time.Time{}) }
func (h *Hold) NotGranted()     { h.write("not-granted", Grant{}, time.Time{}) }
func (h *Hold) Renewed(began time.Time, g Grant) {
	h.write("renewed", Grant{TTL: g.TTL, Validity: g.Validity}, began)
}
func (h *Hold) Lost()           { h.write("lost", Grant{}, time.Time{}) }
func (h *Hold) Releasing()      { h.write("releasing", Grant{}, time.Time{}) }
func (h *Hold) Released()       { h.write("released", Grant{}, time.Time{}) }
func (h *Hold) ReleasedInVain() { h.write("released-in-vain", Grant{}, time.Time{}) }
func (h *Hold) WriteDone(began time.Time, token int64) {
	h.write("write-done", Grant{Token: token}, began)
}
func (h *Hold) WriteRefused(began time.Time, token int64) {
	h.write("write-refused", Grant{Token: token}, began)
}

func (h *Hold) write(event string, g Grant, began time.Time) {
	l := h.log
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	b := l.buf
	b = append(b, l.head...)
	number := func(name string, n int64) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = strconv.AppendInt(b, n, 10)
	}
	b = strconv.AppendInt(b, l.next, 10)
	number("wall", now.UnixMicro())
	number("mono", now.Sub(l.start).Microseconds())
	b = append(append(append(append(b, `,"event":"`...), event...), `",`...), h.tail...)
	if g.Owner != "" {
		b = append(append(b, `,"owner":`...), text(g.Owner)...)
	}
	if g.TTL > 0 {
		number("ttl", g.TTL.Microseconds())
	}
	if g.Validity > 0 {
		number("validity", g.Validity.Microseconds())
	}
	if g.Renews {
		b = append(b, `,"renews":true`...)
	}
	if g.Token != 0 {
		number("token", g.Token)
	}
	if !began.IsZero() {
		number("took", max(0, now.Sub(began).Microseconds()))
	}
	b = append(b, '}', '\n')
	l.buf = b
	l.next++
	if l.lines++; l.lines == 1 {
		time.AfterFunc(time.Second, l.Flush)
	}
	if l.lines >= 256 {
		l.flush()
	}
}

// Flush writes what waits.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

func (l *Log) flush() {
	if l.lines == 0 {
		return
	}
	if l.torn {
		l.buf = append([]byte{'\n'}, l.buf...)
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
	if err == nil {
		_, err = f.Write(l.buf)
		_ = f.Close()
	}
	if l.torn = err != nil; l.torn {
		l.dropped += int64(l.lines)
	}
	l.buf, l.lines = l.buf[:0], 0
}

// Dropped is how many lines could not be written.
func (l *Log) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// text is a value in JSON. What is no text is quoted, so that two different values stay different.
func text(s string) string {
	if !utf8.ValidString(s) {
		s = strconv.QuoteToASCII(s)
	}
	b, _ := json.Marshal(s)
	return string(b)
}
