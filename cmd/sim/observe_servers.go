package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/observe"
	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// places reads the addresses of servers, and sees that passwords go nowhere in the clear.
func (a *cli) places(args []string, f *observeFlags) (list []observe.Place, err error) {
	password, err := a.password(f)
	if err == nil {
		err = f.windows()
	}
	if err != nil {
		return nil, err
	}
	for _, text := range args {
		var p observe.Place
		if err := placeAt(text, &p); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(o observe.Place) bool { return o.Address == p.Address && o.DB == p.DB && o.Primary == p.Primary }) {
			return nil, app.Usagef("%s is named twice", p.Address)
		}
		p.Password, p.CA = password, f.live.CA
		if err := f.plain(&p, p.Address); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, f.fit(list)
}

// fit sees that flags go with the places.
func (f *observeFlags) fit(list []observe.Place) error {
	is := func(what func(observe.Place) bool) bool { return slices.ContainsFunc(list, what) }
	several := len(list) > 1 || list[0].Topology != observe.Single
	switch {
	case f.live.CA != "" && !is(func(p observe.Place) bool { return p.TLS }):
		return app.Usagef("--ca-cert goes with rediss://")
	case f.sentinelPasswordEnv != "" && !is(func(p observe.Place) bool { return p.Topology == observe.BySentinel }):
		return app.Usagef("--sentinel-password-env goes with redis+sentinel://")
	case f.follow && !is(func(p observe.Place) bool { return p.Topology != observe.Single }):
		return app.Usagef("--follow goes with redis+sentinel:// and redis+cluster://")
	case (f.json || f.html != "") && several:
		return app.Usagef("--json and --html go with one server: each tells of one")
	case f.live.WithoutMonitor && f.record != "":
		return app.Usagef("--record writes what MONITOR shows: it does not go with --without-monitor")
	case f.live.WithoutMonitor && len(f.resource) > 0:
		return app.Usagef("--resource needs MONITOR: no event says who writes; leave --without-monitor out")
	case f.record != "" && several:
		return app.Usagef("--record goes with one server: a file has the lines of one")
	}
	return nil
}

// windows reads when MONITOR is used.
func (f *observeFlags) windows() (err error) {
	if f.sample == "" {
		return nil
	}
	window, every, ok := strings.Cut(f.sample, "/")
	if f.live.Window, err = time.ParseDuration(window); err == nil {
		f.live.Every, err = time.ParseDuration(every)
	}
	const least = 100 * time.Millisecond
	switch {
	case !ok || err != nil || f.live.Window < least || f.live.Every <= f.live.Window:
		return app.Usagef("--sample %q: want a time of at least %s, and each how often, such as 1s/10s", f.sample, least)
	case f.live.WithoutMonitor:
		return app.Usagef("--sample and --without-monitor do not go together: choose one")
	}
	return nil
}

// plain refuses to send a password where others can read it.
func (f *observeFlags) plain(p *observe.Place, address string) error {
	if (p.Password == "" && f.sentinelPasswordEnv == "") || p.TLS || f.plainPassword || app.IsLoopback(address) {
		return nil
	}
	return app.Usagef("the password would go to %s without TLS, where others can read it", address).
		Hint("rediss://, if the server speaks TLS; or --allow-plain-password")
}

// placeAt reads the address of a server, of a Sentinel, or of a node of a cluster.
func placeAt(text string, to *observe.Place) error {
	scheme, _, isURL := strings.Cut(text, "://")
	base, kind, _ := strings.Cut(scheme, "+")
	u, err := url.Parse(text)
	switch {
	case !isURL:
		return app.Usagef("several addresses are those of servers: %q is none", text)
	case base != "redis" && base != "rediss" || strings.HasSuffix(scheme, "+"):
		return app.Usagef("the address begins with %s://: want redis:// or rediss://, or these with +sentinel or +cluster", scheme)
	case err != nil:
		return app.Usagef("the address cannot be read") // it may have a password in it
	case u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return app.Usagef("the address of a server is like redis://host:6379/0")
	}
	if _, has := u.User.Password(); has {
		return app.Usagef("the address has a password in it, which others on this machine can read").
			Hint("--password-env NAME names an environment variable that holds it, --password-file FILE a file")
	}
	port, db := "6379", strings.Trim(u.Path, "/")
	switch kind {
	case "":
	case "sentinel":
		to.Topology, port = observe.BySentinel, "26379"
		if to.Primary, db, _ = strings.Cut(db, "/"); to.Primary == "" {
			return app.Usagef("the name of the primary is missing").Hint("redis+sentinel://host:26379/mymaster")
		}
	case "cluster":
		if to.Topology = observe.ByCluster; db != "" && db != "0" {
			return app.Usagef("a Redis Cluster has no databases but 0")
		}
	default:
		return app.Usagef("the address begins with %s://: want redis:// or rediss://, or these with +sentinel or +cluster", scheme)
	}
	to.Address, to.TLS = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), base == "rediss"
	to.Username = u.User.Username()
	if db != "" {
		if to.DB, err = strconv.Atoi(db); err != nil || to.DB < 0 {
			return app.Usagef("%q is no number of a database", db)
		}
	}
	return nil
}

// publisher is given the story of a server.
type publisher = func(server string, s *keystory.Story, now keystory.Time)

// serveFigures serves figures until stop, on this machine alone: they name keys.
func (f *observeFlags) serveFigures(ctx context.Context) (publish publisher, stop func(), err error) {
	if f.metrics == "" {
		return nil, func() {}, nil
	}
	if !strings.HasPrefix(f.metrics, ":") && !app.IsLoopback(f.metrics) {
		return nil, nil, app.Usagef("--metrics %q: want an address of this machine alone, such as 127.0.0.1:9090", f.metrics)
	}
	m := observe.NewMetrics()
	if stop, err = serveMetrics(ctx, f.metrics, m.Handler()); err != nil {
		return nil, nil, &app.ExitError{Code: app.ExitEnvironment, Err: fmt.Errorf("--metrics: %w", err)}
	}
	return m.Publish, stop, nil
}

// observeServers looks at several servers, and tells of each by itself.
func (a *cli) observeServers(ctx context.Context, places []observe.Place, publish publisher, f *observeFlags) error {
	l := &observe.Looks{Live: f.live, Places: places, Publish: publish}
	if f.sentinelPasswordEnv != "" {
		if l.SentinelPassword = a.variable(f.sentinelPasswordEnv); l.SentinelPassword == "" {
			return app.Usagef("the environment variable %s, which should hold the password of the Sentinel, is not set", f.sentinelPasswordEnv)
		}
	}
	l.Permit = func(p *observe.Place, address string) error {
		named := slices.ContainsFunc(places, func(o observe.Place) bool { return o.Address == address })
		here := app.IsLoopback(p.Address) && app.IsLoopback(address)
		if !named && !f.follow && !here {
			return &observe.RefusedError{Address: address, Why: p.Address + " tells of it, and you have not named it (--follow permits it)"}
		}
		if err := f.plain(p, address); err != nil {
			return &observe.RefusedError{Address: address, Why: err.Error()}
		}
		return nil
	}
	l.Note = func(server, text string) { fmt.Fprintf(plain.Lines{Writer: a.stderr}, "note: %s: %s\n", server, text) }
	l.Tell = func(server string, k *keystory.Lock, found *keystory.Finding) {
		fmt.Fprintf(plain.Lines{Writer: a.stdout}, "%s  %s\n", server, k.Line(found))
	}
	list, across, err := l.Look(ctx)
	if err != nil {
		return a.notLooked(err)
	}
	var ends []error
	for _, seen := range list {
		role := ""
		if seen.Role != "" {
			role = " (" + seen.Role + ")"
		}
		fmt.Fprintf(plain.Lines{Writer: a.stdout}, "\n%s%s\n", seen.Server, role)
		var notes []string
		if seen.Err != nil {
			notes = append(notes, seen.Err.Error())
			ends = append(ends, &app.ExitError{Code: app.ExitEnvironment, Err: seen.Err})
		}
		ends = append(ends, a.tellStory(seen.Story, seen.Server, notes, f))
	}
	if across != nil {
		fmt.Fprintln(a.stdout)
		if err := across.WriteText(a.stdout); err != nil {
			return err
		}
	}
	return gravest(ends)
}

// gravest is the end that says most: something was found; else a server was gone; else it is enough if one server had a lock that was seen.
func gravest(ends []error) (err error) {
	for _, code := range []int{app.ExitUnexpected, app.ExitEnvironment} {
		for _, end := range ends {
			if exit := (*app.ExitError)(nil); errors.As(end, &exit) && exit.Code == code {
				return end
			}
		}
	}
	for _, end := range ends {
		if end == nil {
			return nil
		}
		err = end
	}
	return err
}

// notLooked is the end of a look that did not begin.
func (a *cli) notLooked(err error) error {
	if busy := (*observe.TooBusyError)(nil); errors.As(err, &busy) {
		err = words.WithHint(err, "--force, or --most-ops, if the server can bear it; or save its append-only file, and look at that")
	}
	if none := (*observe.NoEventsError)(nil); errors.As(err, &none) {
		err = words.WithHint(err, "redis-cli CONFIG SET notify-keyspace-events KA (sim never writes); or --keys with whole names")
	}
	if refused := (*observe.RefusedError)(nil); errors.As(err, &refused) {
		return app.Usagef("%w", err)
	}
	return &app.ExitError{Code: app.ExitEnvironment, Err: err}
}
