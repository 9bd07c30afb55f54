// Package adapter makes a lock program of a lock library: a program that redlock-sim
// puts on trial. It speaks version 1 of the protocol for lock programs, JSON lines on
// standard input and output. The library stays as it is; the program opens it:
//
//	func main() {
//		adapter.Serve(adapter.Program{Name: "mylock", Class: "single", Keys: []string{"{key}"}}, open)
//	}
//
//	func open(s adapter.Setup) (adapter.Acquire, error) {
//		client := mylock.Connect(s.Nodes[0].Addr())
//		return func(ctx context.Context) (adapter.Grant, error) {
//			m := client.NewMutex(s.Key, s.TTL)
//			err := m.Lock(ctx)
//			if errors.Is(err, mylock.ErrTaken) {
//				err = fmt.Errorf("%w: %w", adapter.ErrRefused, err)
//			}
//			return adapter.Grant{Release: m.Unlock}, err
//		}, nil
//	}
package adapter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrRefused, or an error that wraps it, says that the lock is certainly not held and
// that nothing of the attempt stays; from Release and Extend, that the lock was not ours
// any more. After any other error it may be held.
var ErrRefused = errors.New("refused")

// ErrUnsupported, or an error that wraps it, says of an Open that the library refuses by design what the setup asks for, such as its
// topology. A trial that needs it is then not applicable.
var ErrUnsupported = errors.New("unsupported")

// Acquire gets the lock once more, a new holder each time. The library retries, until
// ctx ends: its time is over, or the attempt is cancelled, of a program that can cancel. Calls may overlap. ctx ends with
// the call: it is no context for the grant.
type Acquire func(ctx context.Context) (Grant, error)

// Grant is a lock in hand. Release is needed; zero values of the others: the library does not tell, or cannot.
type Grant struct {
	Release func(context.Context) error
	// Extend makes the lock last longer; it returns the new Until.
	Extend func(context.Context) (time.Time, error)
	// Upgrade lets a reader ask to write beside this grant, which stays; of a program that can upgrade.
	Upgrade Acquire
	// Owner is the value in the lock's keys.
	Owner string
	// Until is when the promise ends, as the library computed it.
	Until time.Time
	// Lost is closed when the library says that the lock is lost. Renewed carries the new
	// Until when the library has renewed the lock by itself.
	Lost    <-chan struct{}
	Renewed <-chan time.Time
	// Token is the fencing token.
	Token *int64

	held      context.Context // until the release begins
	end       context.CancelFunc
	unwatched chan struct{} // closed when nobody looks at it any more
}

// Program is what a lock program says of itself.
type Program struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Homepage string `json:"homepage,omitempty"`
	// About is one line: which lock of the library, its client library, the timeouts and retries behind it.
	About string `json:"about,omitempty"`
	// Can lists what the library does: validity (Grant.Until), renew (it renews by
	// itself), lost, extend, token, owner; forget: nothing but the library refers to a
	// lock whose grant is dropped; busy: the goroutine that got the lock computes
	// after each grant for as long as the simulator asks, as the user's code would;
	// no-ttl: a Setup.TTL of 0 is none; one-object: the lock object is what Object gives;
	// permits: Setup.Permits is how many clients may hold the lock at once;
	// modes: the lock has readers and writers, and with Setup.Shared the client is a reader; upgrade: a reader can
	// ask to write before it has left (Grant.Upgrade); fair: it serves clients in their order;
	// at-least: the lock stays for Setup.AtLeast, also if it is released before;
	// wakes: a release wakes those who wait;
	// cancel: ctx may be cancelled while an acquire is under way. An error that only says so is no ErrRefused: it does not tell what
	// became of the attempt;
	// clients: the program can be several clients at once, for each of which the lock is opened; Once is what they share; and
	// setup-again: the lock can be opened again, for another trial, after what was given to
	// Setup.OnClose. math/rand begins anew then, in a program that has the directive
	// //go:debug randseednop=0; math/rand/v2 cannot.
	Can []string `json:"can,omitempty"`
	// Class is quorum, single, session or other.
	Class string `json:"class"`
	// Store is what keeps a lock of class session, the only one of Nodes: etcd, postgres,
	// zookeeper or nats; empty: redis.
	Store string `json:"store,omitempty"`
	// Keys are patterns of the keys that the library writes; {key} is the lock's key.
	Keys []string `json:"keys,omitempty"`
	// TTLMin and TTLStep, in ms, are the shortest time to live and its unit; 0: 1 ms.
	TTLMin  float64 `json:"ttl_min_ms,omitempty"`
	TTLStep float64 `json:"ttl_step_ms,omitempty"`
	// TTLExtra is how much longer than the time to live its keys live, in ms.
	TTLExtra float64 `json:"ttl_extra_ms,omitempty"`
	// Lease is "ttl" where the lock keeps its lease in the value of its key: the time to live is the lease then, whatever end
	// the key has.
	Lease string `json:"lease,omitempty"`
	// Points are the names with which the program calls Setup.Point.
	Points []string `json:"points,omitempty"`
}

// Setup is what the simulator asks for.
type Setup struct {
	Client string
	Seed   uint64
	// Key names the lock. TTL and NodeTimeout, the longest wait for a node, are 0 where
	// not told. Options are the program's own; nil: none.
	Key              string          `json:"-"`
	TTL, NodeTimeout time.Duration   `json:"-"`
	Options          json.RawMessage `json:"-"`
	// Topology says how Nodes belong together. Sentinels know them as Master.
	Nodes, Sentinels []Node
	Topology, Master string
	// Points are the armed ones.
	Points []string
	// OneObject: use one lock object of the library for all grants. Object sees to it.
	OneObject bool `json:"one_object"`
	// Permits is how many clients may hold the lock at once: 1, unless the program can have permits.
	Permits int `json:"-"`
	// AtLeast is for how long the lock stays from when it was asked for, also if it is released before: 0, unless the program can at-least.
	AtLeast time.Duration `json:"-"`
	// Shared: the client is a reader, and can have the lock beside other readers. Only of a program that can modes.
	Shared bool `json:"-"`
	// Process are the clients that the program is, if it can clients and is several.
	Process []string `json:"process"`

	point        func(name string)
	closers      *[]func()
	object, once *object
}

type object struct {
	sync.Mutex
	first any
}

// Object is the lock object to ask with: a new one, or the first one again, as the simulator asks of a program that
// can do one-object.
func Object[T any](s Setup, make func() T) T {
	s.object.Lock()
	defer s.object.Unlock()
	first, ok := s.object.first.(T)
	if !s.OneObject || !ok {
		first = make()
		s.object.first = first
	}
	return first
}

// Once is what all clients of this process share, such as their connections: made by the first of them that asks.
func Once[T any](s Setup, make func() (T, error)) (T, error) {
	s.once.Lock()
	defer s.once.Unlock()
	if first, ok := s.once.first.(T); ok {
		return first, nil
	}
	first, err := make()
	if err == nil {
		s.once.first = first
	}
	return first, err
}

// OnClose calls a function before the lock is opened again. A program that can do setup-again
// closes all that it has opened: connections, and what renews by itself.
func (s Setup) OnClose(f func()) { *s.closers = append(*s.closers, f) }

// Point reports that the program is at the point and waits until the simulator lets it
// go on, where the point is armed; else it does nothing.
func (s Setup) Point(name string) {
	if slices.Contains(s.Points, name) {
		s.point(name)
	}
}

// Node is a server, or the simulator's link to it.
type Node struct {
	Name, Host         string
	Port               int
	Username, Password string
	TLS                *TLS // nil: the node speaks plainly
}

// TLS says how to know a server.
type TLS struct {
	// ServerName is the name in its certificate, CA a file with the certificates to
	// trust; empty: those of the machine.
	ServerName string `json:"server_name"`
	CA         string `json:"ca"`
}

// Addr is host:port.
func (n Node) Addr() string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }

// TLSConfig is for the connection; nil where the node speaks plainly.
func (n Node) TLSConfig() (*tls.Config, error) {
	if n.TLS == nil {
		return nil, nil
	}
	c := &tls.Config{ServerName: n.TLS.ServerName, MinVersion: tls.VersionTLS12}
	if n.TLS.CA == "" {
		return c, nil
	}
	text, err := os.ReadFile(n.TLS.CA)
	c.RootCAs = x509.NewCertPool()
	if err == nil && !c.RootCAs.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%q holds no certificate", n.TLS.CA)
	}
	return c, err
}

// ModuleVersion is the version of a module that this program was built with, such as 1.2.3.
func ModuleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == path })
	if i < 0 {
		return ""
	}
	m := info.Deps[i]
	if m.Replace != nil && m.Replace.Path == path {
		m = m.Replace // by another version
	}
	return strings.TrimPrefix(m.Version, "v")
}
