package process

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// postgres carries the resource's scripts to a PostgreSQL server, on one
// connection that is opened anew when it broke.
type postgres struct {
	name, url string
	// timeout bounds commands that bring no timeout of their own; 0: none.
	timeout time.Duration

	mu   sync.Mutex
	conn *pgx.Conn
}

var _ store = (*postgres)(nil)

func newPostgres(owner string, a client.Address, timeout time.Duration) *postgres {
	return &postgres{name: a.Name, timeout: timeout,
		url: a.PostgresURL() + "&default_query_exec_mode=exec&application_name=" + owner}
}

func (p *postgres) Name() string { return p.name }

func (p *postgres) warm([]*command.Script) {
	ctx, cancel := context.WithTimeout(context.Background(), warmTimeout)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn, _ = pgx.Connect(ctx, p.url)
}

func (p *postgres) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

func (p *postgres) drop() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = p.conn.Close(ctx)
		p.conn = nil
	}
}

func (p *postgres) Do(c command.Command) command.Reply {
	query := ""
	if c.Op == command.EVAL {
		query = resource.PostgresCall(c.Script)
	}
	if query == "" {
		return command.RefusedReply("PostgreSQL is not asked to " + c.Op.String() + " here")
	}
	ctx, cancel := within(cmp.Or(c.Timeout, p.timeout))
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil || p.conn.IsClosed() {
		conn, err := pgx.Connect(ctx, p.url)
		if err != nil {
			return command.RefusedReply(err.Error())
		}
		p.conn = conn
	}
	var answer []string
	err := p.conn.QueryRow(ctx, query, c.Keys, c.Args).Scan(&answer)
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return command.RefusedReply(answered.Error())
	}
	if err != nil {
		p.drop() // the answer may still come, and is nobody's then
		return command.UnknownReply(err.Error())
	}
	return command.ListReply(answer...)
}
