package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

// effectStream is a connection on which PostgreSQL tells of effects as they are
// committed, in that order.
type effectStream struct {
	conn   *pgx.Conn
	cancel context.CancelFunc
	marks  chan string
	ended  chan struct{}
	once   sync.Once
}

// Listen begins to tell see of effects, as entries of the resource's log.
func (p *Server) Listen(ctx context.Context, see func(entry string)) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return fmt.Errorf("failed to listen to PostgreSQL: %w", err)
	}
	if _, err := conn.Exec(ctx, "listen "+resource.PostgresChannel); err != nil {
		return fmt.Errorf("failed to listen to PostgreSQL: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &effectStream{conn: conn, cancel: cancel, marks: make(chan string, 16), ended: make(chan struct{})}
	p.listening = s
	go func() {
		defer close(s.ended)
		for {
			n, err := conn.WaitForNotification(ctx)
			if err != nil {
				return
			}
			if _, err := resource.ParseLogEntry(n.Payload); err != nil {
				select { // a mark of ours
				case s.marks <- n.Payload:
				default:
				}
				continue
			}
			see(n.Payload)
		}
	}()
	return nil
}

// Flush waits until everything committed so far has been told.
func (p *Server) Flush(ctx context.Context) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return fmt.Errorf("failed to flush the observation of PostgreSQL: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	mark := fmt.Sprintf("flush-%d", time.Now().UnixNano())
	if _, err := conn.Exec(ctx, "select pg_notify($1, $2)", resource.PostgresChannel, mark); err != nil {
		return fmt.Errorf("failed to flush the observation of PostgreSQL: %w", err)
	}
	for {
		select {
		case seen := <-p.listening.marks:
			if seen == mark {
				return nil
			}
		case <-p.listening.ended:
			return fmt.Errorf("the observation of PostgreSQL ended early")
		case <-ctx.Done():
			return fmt.Errorf("the observation of PostgreSQL %w", context.Cause(ctx))
		}
	}
}

func (s *effectStream) Close() {
	s.once.Do(func() {
		s.cancel()
		<-s.ended
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.conn.Close(ctx)
	})
}
