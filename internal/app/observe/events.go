package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// sampleEvery is how often a key is asked for where no event tells of it.
const sampleEvery = 100 * time.Millisecond

// NoEventsError says that nothing can be known of keys without MONITOR.
type NoEventsError struct{ Address, Setting string }

func (e *NoEventsError) Error() string {
	return fmt.Sprintf("%s sends no events of keys (notify-keyspace-events is %q), and --keys names no key without a *, "+
		"which could be asked for", e.Address, e.Setting)
}

// openEvents opens the connection of a look without MONITOR. Events and answers come over the one, in the order in which the server made
// them.
func (k *look) openEvents(ctx context.Context, first bool) (err error) {
	c, err := k.dial(ctx, k.name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if _, err := c.ask([]string{"HELLO", "3"}); err != nil {
		return fmt.Errorf("%s refuses HELLO 3 (%w): a look without MONITOR needs Redis 6 or later, or Valkey", k.Address, err)
	}
	info, err := c.info()
	if err != nil {
		return fmt.Errorf("%s refuses INFO: %w", k.Address, err)
	}
	if run := infoField(info, "run_id"); !first && run != k.run {
		k.Note("another server process answers: what the one before kept in memory alone is lost")
	}
	k.run, k.replica = infoField(info, "run_id"), infoField(info, "role") == "slave"
	k.evicted, _ = strconv.ParseInt(infoField(info, "evicted_keys"), 10, 64)
	k.seeSyncs(info)
	if err := k.subscribe(c, first); err != nil {
		return err
	}
	k.questions, k.connected = c, true
	return nil
}

// subscribe has the server send the events of the keys, if it sends any.
func (k *look) subscribe(c *connection, first bool) (err error) {
	setting, known, err := c.eventSetting()
	if err != nil {
		return err
	}
	keys, events := strings.Contains(setting, "K"), strings.Contains(setting, "E")
	missing := ""
	for _, class := range "g$hlzxe" {
		if !strings.ContainsRune(setting, class) && !strings.Contains(setting, "A") {
			missing += string(class)
		}
	}
	k.sendsEvents, k.gaps = !known || keys || events, !known || missing != ""
	if !k.sendsEvents && len(k.names()) == 0 {
		return &NoEventsError{k.Address, setting}
	}
	if first {
		defer func() {
			if err == nil {
				k.noteEvents(setting, missing, known)
			}
		}()
	}
	if !k.sendsEvents {
		return nil
	}
	subscribe := []string{"PSUBSCRIBE"}
	if keys || !known {
		for _, pattern := range k.Patterns {
			subscribe = append(subscribe, fmt.Sprintf("__keyspace@%d__:%s", k.DB, glob(pattern)))
		}
	} else {
		subscribe = append(subscribe, fmt.Sprintf("__keyevent@%d__:*", k.DB))
	}
	if err := k.take(c, subscribe); err != nil {
		return fmt.Errorf("%s refuses PSUBSCRIBE: %w", k.Address, err)
	}
	return nil
}

// eventSetting is which events the server sends; known: it says so.
func (c *connection) eventSetting() (setting string, known bool, err error) {
	answers, err := c.ask([]string{"CONFIG", "GET", "notify-keyspace-events"})
	switch {
	case errors.As(err, new(refusal)):
		return "", false, nil
	case err != nil:
		return "", false, err
	case len(answers[0].List) == 2:
		setting = answers[0].List[1].Text
	}
	return setting, true, nil
}

// take has the server send events from now on.
func (k *look) take(c *connection, subscribe []string) error {
	open := len(subscribe) - 1
	c.pushed = func(v *resp.Value) {
		if len(v.List) > 0 && v.List[0].Text == "psubscribe" {
			open--
			return
		}
		k.seePush(v)
	}
	if err := c.send(subscribe); err != nil {
		return err
	}
	for open > 0 {
		v, err := c.next()
		if err == nil && v != nil && v.Kind == resp.Error {
			err = refusal(v.Text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *look) noteEvents(setting, missing string, known bool) {
	switch {
	case !known:
		k.Note("the server does not say whether it sends events of keys: where none come, nothing is known")
	case !k.sendsEvents:
		k.Note(fmt.Sprintf("the server sends no events of keys (notify-keyspace-events is %q), and sim, which never writes, does not "+
			"change that (redis-cli CONFIG SET notify-keyspace-events KA does): it asks for %s each %s", setting,
			words.Count(len(k.names()), "key"), sampleEvery))
	case missing != "":
		k.Note(fmt.Sprintf("the server does not send all events of keys (notify-keyspace-events is %q, which lacks %q; KA has all): "+
			"what is between two samples is not known", setting, missing))
	default:
		k.Note("without MONITOR: events say what was done to a key, and neither who did it nor whether it compared")
	}
}

// names are the keys that --keys names without a *.
func (k *look) names() []string {
	return slices.DeleteFunc(slices.Clone(k.Patterns), func(p string) bool { return strings.Contains(p, "*") })
}

// glob writes a pattern, in which * alone stands for other characters, as one of Redis.
func glob(pattern string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `?`, `\?`).Replace(pattern)
}

// next reads what comes next: pushes, which are told, and nil; or another value.
func (c *connection) next() (*resp.Value, error) {
	for told := false; ; {
		v, n, err := resp.Parse(c.got)
		switch {
		case err == nil && v.Kind == resp.Push:
			c.got, told = c.got[n:], true
			c.pushed(&v)
			continue
		case err == nil:
			c.got = c.got[n:]
			return &v, nil
		case !errors.Is(err, resp.ErrShort):
			return nil, err
		case told:
			return nil, nil
		}
		b := make([]byte, 1<<14)
		n, err = c.Read(b)
		if c.got = append(c.got, b[:n]...); err != nil && n == 0 {
			return nil, err
		}
	}
}

// seePush takes in an event.
func (k *look) seePush(v *resp.Value) {
	if len(v.List) != 4 || v.List[0].Text != "pmessage" {
		return
	}
	channel, payload := v.List[2].Text, v.List[3].Text
	head, rest, ok := strings.Cut(channel, "__:")
	if !ok {
		return
	}
	switch {
	case strings.HasPrefix(head, "__keyspace@"):
		k.story.SeeEvent(k.DB, rest, payload, k.wall())
	case strings.HasPrefix(head, "__keyevent@"):
		k.story.SeeEvent(k.DB, payload, rest, k.wall())
	}
}

// wall is the time of this machine's clock, by which a look without MONITOR goes.
func (k *look) wall() keystory.Time {
	return keystory.Time{At: time.Duration(time.Now().UnixNano()).Truncate(time.Microsecond)}
}

// watchEvents looks without MONITOR until ctx ends.
func (k *look) watchEvents(ctx context.Context) (*keystory.Story, error) {
	for ctx.Err() == nil {
		err := k.followEvents(ctx)
		if err == nil || ctx.Err() != nil {
			break
		}
		k.Note(fmt.Sprintf("the connection to %s ended (%v): what is done until it is open again is not seen", k.Address, err))
		k.connected = false
		k.story.Pause("the connection to the server ended")
		_ = k.questions.Close()
		for !k.connected {
			if k.wait(ctx, reconnectEvery); ctx.Err() != nil {
				k.story.End()
				return k.story, &GoneError{k.Address}
			}
			if k.openEvents(ctx, false) == nil {
				k.Note("the connection is open again")
			}
		}
	}
	k.story.End()
	return k.story, nil
}

// followEvents takes in events, and asks what keys hold.
func (k *look) followEvents(ctx context.Context) error {
	c := k.questions
	if c.pushed == nil {
		c.pushed = func(*resp.Value) {}
	}
	var sampled, checked time.Time
	for ctx.Err() == nil {
		if err := c.SetReadDeadline(time.Now().Add(askEvery)); err != nil {
			return err
		}
		if _, err := c.next(); err != nil {
			if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
				return err
			}
		}
		select {
		case call := <-k.calls:
			call()
		default:
		}
		now := time.Now()
		if now.Sub(sampled) >= sampleEvery && (!k.sendsEvents || sampled.IsZero()) {
			sampled = now
			for _, name := range k.names() {
				if lock := k.story.Follow(k.DB, name); lock != nil {
					k.check(lock)
				}
			}
		}
		if now.Sub(checked) >= time.Second {
			checked = now
			if err := k.everySecond(); err != nil {
				return err
			}
		}
		if err := k.sample(); err != nil {
			return err
		}
	}
	return nil
}

// check has a lock be asked for though it is known who holds it.
func (k *look) check(lock *keystory.Lock) {
	if !k.checked[lock] {
		k.checked[lock] = false
	}
	k.doubt(lock)
}

// sample asks for the next lock.
func (k *look) sample() error {
	if len(k.order) == 0 || time.Since(k.asked) < askEvery || k.denied {
		return nil
	}
	lock := k.order[0]
	k.order, k.asked = k.order[1:], time.Now()
	followed := k.doubted[lock]
	delete(k.doubted, lock)
	_, checked := k.checked[lock]
	delete(k.checked, lock)
	if !followed || !lock.Unclear() && !checked {
		return nil
	}
	q := &question{lock: lock}
	changes := lock.Changes
	err, refused := q.put(k.questions), refusal("")
	switch {
	case err != nil && !errors.As(err, &refused):
		return err
	case strings.HasPrefix(string(refused), "NOPERM"):
		k.denied = true
		k.Note(fmt.Sprintf("the server refuses to say what keys hold (%v): nobody can tell who has a lock", err))
		return nil
	case strings.HasPrefix(string(refused), "MOVED "): // another node says it
		return nil
	case err != nil: // as while it loads
		k.doubt(lock)
		return nil
	case changes != lock.Changes: // what it says may be of before
		k.checked[lock] = false
		k.doubt(lock)
		return nil
	}
	at := k.wall()
	if q.ttl >= 0 {
		q.key.Expires = command.At(at.At.Milliseconds() + q.ttl)
	}
	lock.Sampled(q.key, at, k.gaps || !k.sendsEvents)
	if then := k.then[lock]; then != nil {
		delete(k.then, lock)
		then(q.key)
	}
	return nil
}
