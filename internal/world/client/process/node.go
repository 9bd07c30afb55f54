package process

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/driver"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// node carries commands to a Redis server over go-redis, with its own retries
// switched off: what is under test is the lock, not the driver.
type node struct {
	name string
	rdb  *redis.Client
	// other is a second connection of the pool, so to speak: for commands that
	// ask for one. It is opened by the first of them.
	other *redis.Client
	// watching is the connection of a WATCH, until the transaction.
	watching *redis.Conn
	// timeout bounds commands that bring no timeout of their own; 0: none.
	timeout time.Duration
	// waits: a dial makes certain that a server answers. A link takes connections in the place of its server, dead or out of
	// reach as that may be.
	waits bool
	// attempt is the acquire whose end Cancellable commands do not outlast; nil: no cancel reaches them.
	attempt *attempt
	// patience is how long the latest command may take, in nanoseconds; 0: as long as it wants.
	patience atomic.Int64
}

var _ command.Node = (*node)(nil)

func newNode(owner string, a client.Address, timeout time.Duration) (*node, error) {
	trust, err := a.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", a.Name, err)
	}
	n := &node{name: a.Name, timeout: timeout}
	connect := func() *redis.Client {
		rdb := driver.New(options(owner, a, trust))
		rdb.AddHook(dialing{n})
		return rdb
	}
	n.rdb, n.other = connect(), connect()
	return n, nil
}

// newPrimary carries commands to the primary that sentinels name.
func newPrimary(owner, master string, sentinels []client.Address, timeout time.Duration) *node {
	o := redis.FailoverOptions{MasterName: master, ClientName: owner, ReadTimeout: -1, WriteTimeout: -1, PoolSize: client.PoolSize}
	for _, a := range sentinels {
		o.SentinelAddrs = append(o.SentinelAddrs, a.Address)
	}
	n := &node{name: master, timeout: timeout, waits: true}
	connect := func() *redis.Client {
		rdb := driver.NewFailover(o)
		rdb.AddHook(dialing{n})
		return rdb
	}
	n.rdb, n.other = connect(), connect()
	return n
}

// dialing opens connections to a node. Who could not connect, or did not learn whom to connect to, has certainly sent no
// command: a dial ends shortly before the command that wants the connection. go-redis would let it go on for longer, and tell
// the command nothing of it.
type dialing struct{ n *node }

var _ redis.Hook = dialing{}

// DialHook implements redis.Hook.
func (d dialing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if patience := time.Duration(d.n.patience.Load()); patience > 0 {
			margin := patience / 20
			if d.n.waits { // which takes a server's answer, too
				margin = patience / 5
			}
			bounded, cancel := context.WithTimeout(ctx, patience-margin)
			defer cancel()
			ctx = bounded
		}
		conn, err := next(ctx, network, address)
		if err == nil && d.n.waits {
			if err = answers(ctx, conn); err != nil {
				err = errors.Join(err, conn.Close())
			}
		}
		if err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return conn, nil
	}
}

// ProcessHook implements redis.Hook.
func (dialing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (dialing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// answers waits for a server's first words.
func answers(ctx context.Context, conn net.Conn) error {
	deadline, ends := ctx.Deadline()
	if !ends {
		deadline = time.Now().Add(client.DialTimeout)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, make([]byte, len("+PONG\r\n"))); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

func options(owner string, a client.Address, trust *tls.Config) redis.Options {
	return redis.Options{
		Addr:         a.Address,
		TLSConfig:    trust,
		Username:     a.Username,
		Password:     a.Password(),
		ClientName:   owner, // names the connection in the server's MONITOR stream
		ReadTimeout:  -1,
		WriteTimeout: -1,
		PoolSize:     client.PoolSize,
	}
}

func (n *node) Name() string { return n.name }

func (n *node) close() {
	_ = n.rdb.Close()
	_ = n.other.Close()
}

// warm loads scripts on the server in one go, over the connection that the first request will use: some versions
// of the driver keep pipelines that are nobody's on connections of their own.
func (n *node) warm(scripts []*command.Script) {
	ctx, cancel := context.WithTimeout(context.Background(), warmTimeout)
	defer cancel()
	conn := n.rdb.Conn()
	defer func() { _ = conn.Close() }() // back into the pool
	_, _ = conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, s := range scripts {
			p.ScriptLoad(ctx, s.Lua)
		}
		return nil
	})
}

// server is what the node says of itself.
func (n *node) server() command.Server {
	ctx, cancel := context.WithTimeout(context.Background(), warmTimeout)
	defer cancel()
	return command.ServerIn(n.rdb.Info(ctx, "server").Val())
}

// warmOther opens the other connection.
func (n *node) warmOther() {
	ctx, cancel := context.WithTimeout(context.Background(), warmTimeout)
	defer cancel()
	_ = n.other.Ping(ctx)
}

func (n *node) Do(c command.Command) command.Reply {
	if why := c.Refusal(); why != "" { // what cannot be sent is not left out
		return command.RefusedReply(why)
	}
	if c.Cancellable && n.attempt != nil {
		return n.attempt.orCancelled(func() command.Reply { return n.carry(c) })
	}
	return n.carry(c)
}

func (n *node) carry(c command.Command) command.Reply {
	patience := cmp.Or(c.Timeout, n.timeout)
	n.patience.Store(int64(patience))
	ctx, cancel := within(patience)
	defer cancel()
	switch c.Op {
	case command.EVAL:
		return n.eval(ctx, c)
	case command.WATCH, command.UNWATCH, command.EXEC:
		return n.transact(ctx, c)
	}
	rdb := n.rdb
	if c.OtherConnection {
		rdb = n.other
	}
	return Carry(ctx, rdb, c)
}

// sender is what go-redis has to send commands: a pool of connections, or one.
type sender interface {
	Process(context.Context, redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// Carry sends a command to a server and says what is known of it then.
func Carry(ctx context.Context, to sender, c command.Command) command.Reply {
	if c.Op == command.EXEC {
		return exec(ctx, to, c)
	}
	return reply(do(ctx, to, c.Words(), c.Asking))
}

// within is a context that ends after a time; 0: never.
func within(timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), timeout)
}

// eval calls a script by its name and sends its source only where the server
// does not know it yet.
func (n *node) eval(ctx context.Context, c command.Command) command.Reply {
	v, err := do(ctx, n.rdb, c.ByName(), c.Asking)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		v, err = do(ctx, n.rdb, c.Words(), c.Asking)
	}
	return reply(v, err)
}

// do sends words to the server; asking: behind ASKING.
func do(ctx context.Context, to sender, words []string, asking bool) (any, error) {
	cmd := redis.NewCmd(ctx, arguments(words)...)
	if !asking {
		_ = to.Process(ctx, cmd) // the command has it, too
		return cmd.Result()
	}
	pipe := to.Pipeline()
	pipe.Do(ctx, "asking")
	_ = pipe.Process(ctx, cmd)
	_, _ = pipe.Exec(ctx)
	return cmd.Result()
}

func arguments(words []string) []any {
	args := make([]any, len(words))
	for i, w := range words {
		args[i] = w
	}
	return args
}

// reply sorts a driver's answer into what the caller may know. A server that
// answers with an error did not carry the command out; a connection that could
// not be opened never carried it; anything else is unknown.
func reply(v any, err error) command.Reply {
	var dial *net.OpError
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return command.NilReply()
	case errors.As(err, &answered):
		return command.RefusedReply(answered.Error())
	case errors.As(err, &dial) && dial.Op == "dial":
		return command.RefusedReply(err.Error())
	case err != nil:
		return command.UnknownReply(err.Error())
	}
	return client.ReplyOf(v)
}
