package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/page"
)

// DefaultAddr is where Run listens unless told otherwise: this machine alone.
const DefaultAddr = "127.0.0.1:8137"

// Options say what is served.
type Options struct {
	// Dir is the folder with the runs: <scenario>/<stamp>-<seed>/...
	Dir string
	// Hosts are names, beside those of the loopback interface, under which the
	// server may be addressed. A request under any other name is refused: a
	// page from elsewhere could otherwise point a name of its own at this
	// machine and read the reports (DNS rebinding).
	Hosts []string
	// Token is the secret without which nothing is shown; empty: a new one.
	Token string
	// Memory is how many bytes the pages that are being made may take together;
	// 0: a share of this machine's.
	Memory int64
	// ReadOnly refuses to delete runs.
	ReadOnly bool
	// Campaigns lists the campaigns of a database; nil: there is none, and no page of them.
	Campaigns func(context.Context) ([]Campaign, error)
	// Playground makes the playground, and says under which policy it works; nil: there is none.
	Playground func() (html []byte, policy string, err error)
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// Handler serves the runs of one folder.
type Handler struct {
	o      Options
	root   *os.Root
	outer  http.Handler
	cookie string
	memory *memory
	index  *index
}

var _ http.Handler = (*Handler)(nil)

// New opens the folder. Close it after use.
func New(o Options) (*Handler, error) {
	if o.Token == "" {
		o.Token = rand.Text() // 130 bits
	}
	if !goodToken.MatchString(o.Token) {
		return nil, ErrToken
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("failed to open the reports: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory()
	}
	h := &Handler{o: o, root: root, cookie: cookieOf(o.Token), memory: newMemory(o.Memory)}
	h.index = newIndex(h)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.page(h.list))
	mux.HandleFunc("GET /", h.page(nowhere))
	mux.HandleFunc("GET /style.css", h.style)
	mux.HandleFunc("GET "+suitePath, h.page(h.suite))
	mux.HandleFunc("GET "+storedPath+"{path...}", h.page(h.stored))
	mux.HandleFunc("GET /run/{scenario}/{run}/{$}", h.page(h.run))
	mux.HandleFunc("GET /run/{scenario}/{run}", h.page(h.slash))
	mux.HandleFunc("GET /run/{scenario}/{run}/file/{path...}", h.page(h.file))
	mux.HandleFunc("GET /compare", h.page(h.compare))
	mux.HandleFunc("GET /compare/pictures", h.page(h.pictures))
	mux.HandleFunc("GET "+playPath, h.page(h.playground))
	mux.HandleFunc("POST /delete", h.page(h.remove))
	mux.HandleFunc("GET /delete", h.page(func(http.ResponseWriter, *http.Request) error { return errNoButton }))
	if o.Campaigns != nil {
		mux.HandleFunc("GET /campaigns", h.page(h.campaigns))
	}
	h.outer = http.NewCrossOriginProtection().Handler(mux)
	return h, nil
}

// Token is the secret: an address with ?token= and this behind it opens all pages.
func (h *Handler) Token() string { return h.o.Token }

// Close lets go of the folder.
func (h *Handler) Close() error {
	h.index.close()
	return h.root.Close()
}

// pagePolicy allows our style sheet and forms to ourselves, and nothing else.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP sets the headers that confine a page, and refuses foreign names and whoever
// has not got the secret, before anything else happens.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	confine(w.Header(), pagePolicy)
	if !h.known(r.Host) {
		http.Error(w, "this server does not answer to that name", http.StatusMisdirectedRequest)
		return
	}
	if h.admit(w, r) {
		h.outer.ServeHTTP(w, r)
	}
}

// confine sets the headers that confine a page.
func confine(head http.Header, policy string) {
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
}

// known reports whether a Host header names this server.
func (h *Handler) known(host string) bool { return knownHost(host, h.o.Hosts) }

// knownHost reports whether a Host header names this machine, or one of the names.
func knownHost(host string, names []string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, name) }) {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

func (h *Handler) style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write([]byte(page.Stylesheet() + serveStyle))
}

// page is a handler that may fail.
func (h *Handler) page(show func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := show(w, r); err != nil {
			h.problem(w, r, err)
		}
	}
}

// remove deletes a run. No form of another site gets here: the browser sends no cookie
// with it, and requests from other sites are refused besides.
func (h *Handler) remove(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
	if h.o.ReadOnly {
		return errReadOnly
	}
	id, err := parseID(r.PostFormValue("run"))
	if err == nil {
		err = h.delete(id)
	}
	if err != nil {
		return err
	}
	to := url.URL{Path: "/", RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return nil
}

// Run serves until ctx ends. An address beyond the loopback interface is
// refused unless remote says that this is meant. Ready gets the server's address, without
// the secret, and whether other machines can reach it.
func Run(ctx context.Context, addr string, remote bool, h *Handler, ready func(url string, open bool)) error {
	if addr == "" {
		addr = DefaultAddr
	}
	return listen(ctx, addr, remote, h, func(addr net.Addr, open bool) {
		if ready != nil {
			ready("http://"+h.name(addr)+"/", open)
		}
	})
}

// ErrOpen: the address is not of this machine alone, and nobody said that this is meant.
var ErrOpen = errors.New("can be reached from other machines")

// listen serves until ctx ends.
func listen(ctx context.Context, addr string, remote bool, h http.Handler, ready func(addr net.Addr, open bool)) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("failed to listen: %w", err)
	}
	tcp, ok := ln.Addr().(*net.TCPAddr)
	open := !ok || !tcp.IP.IsLoopback()
	if open && !remote {
		_ = ln.Close()
		return fmt.Errorf("%s %w: --remote allows that", ln.Addr(), ErrOpen)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	ready(ln.Addr(), open)
	select {
	case err := <-done:
		return fmt.Errorf("failed to serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		return srv.Close()
	}
	return nil
}

// name is a name and a port under which the server answers.
func (h *Handler) name(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil || h.known(host) {
		return addr.String()
	}
	host = "127.0.0.1"
	if len(h.o.Hosts) > 0 {
		host = h.o.Hosts[0]
	}
	return net.JoinHostPort(host, port)
}
