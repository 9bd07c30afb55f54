package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// DataDir is where a server's volume is in its container.
const DataDir = "/data"

// redisPort is where a server listens in its container.
const redisPort = "6379"

// ErrPortTaken says that somebody has taken the port meanwhile.
var ErrPortTaken = errors.New("the port was taken meanwhile")

// ServerSpec is a server to start.
type ServerSpec struct {
	Name string
	// Port is where it is published on 127.0.0.1.
	Port int
	// Folder here is the server's volume.
	Folder string
	// Arguments go to the server, Variables into its environment. ByFile: the first of them is its
	// configuration file.
	Arguments []string
	ByFile    bool
	Variables map[string]string
	// Source is the address on loopback from which its connections come to listeners of ours; the zero
	// address: any.
	Source netip.Addr
}

// Server is a Redis server in a container.
type Server struct {
	Spec ServerSpec
	run  *Run
	c    *testcontainers.DockerContainer

	mu  sync.Mutex
	pid int
	// gone is closed when the container has stopped; a new one with each start.
	gone chan struct{}
}

// Start starts a server in a container of its own. It answers later.
func (r *Run) Start(ctx context.Context, s ServerSpec) (*Server, error) {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	volume := r.id + "-" + s.Name
	if err := r.makeVolume(ctx, volume, s.Folder); err != nil {
		return nil, err
	}
	made, err := r.e.provider.CreateContainer(ctx, r.request(s, volume))
	if err != nil {
		return nil, fmt.Errorf("failed to make the container of %s: %w", s.Name, err)
	}
	c, ok := made.(*testcontainers.DockerContainer)
	if !ok {
		return nil, fmt.Errorf("testcontainers made a %T", made)
	}
	server := &Server{Spec: s, run: r, c: c}
	if err := server.Restart(ctx); err != nil {
		return nil, errors.Join(err, r.e.removeContainer(ctx, c.GetContainerID()))
	}
	return server, nil
}

// makeVolume makes a volume of a folder on this machine, so that what a server
// writes can be watched and cut from outside.
func (r *Run) makeVolume(ctx context.Context, name, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	_, err = r.e.client.VolumeCreate(ctx, client.VolumeCreateOptions{
		Name: name, Driver: "local", Labels: r.labels,
		DriverOpts: map[string]string{"type": "none", "o": "bind", "device": folder},
	})
	if err != nil {
		return fmt.Errorf("failed to make a volume: %w", err)
	}
	return nil
}

func (r *Run) request(s ServerSpec, volume string) testcontainers.ContainerRequest {
	port := redisPort + "/tcp"
	args := []string{"--port", redisPort, "--bind", "0.0.0.0", "--protected-mode", "no", "--dir", DataDir}
	if s.ByFile {
		args = append(slices.Clone(s.Arguments), args...)
	} else {
		args = append(args, s.Arguments...)
	}
	return testcontainers.ContainerRequest{ // testcontainers adds labels of its own
		Image: r.image.Name, Name: r.id + "-" + s.Name, Labels: maps.Clone(r.labels), Env: s.Variables,
		Cmd:          args,
		ExposedPorts: []string{port}, Networks: []string{r.id},
		ConfigModifier: func(c *container.Config) {
			c.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) // its files are ours
			c.Hostname = s.Name
		},
		HostConfigModifier: func(h *container.HostConfig) {
			h.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: volume, Target: DataDir}}
			h.PortBindings = network.PortMap{network.MustParsePort(port): {{
				HostIP: netip.AddrFrom4([4]byte{127, 0, 0, 1}), HostPort: strconv.Itoa(s.Port),
			}}}
			// The image may be anybody's. What is left is for entrypoints that
			// begin as root and go on as another user.
			h.SecurityOpt = []string{"no-new-privileges"}
			h.CapDrop = []string{"ALL"}
			h.CapAdd = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
		},
	}
}

// Restart starts a server that has stopped, at the same port and with the same
// volume.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	if err := s.c.Start(ctx); err != nil {
		if text := err.Error(); strings.Contains(text, "port is already allocated") || strings.Contains(text, "address already in use") {
			return fmt.Errorf("port %d: %w", s.Spec.Port, ErrPortTaken)
		}
		return fmt.Errorf("failed to start the container of %s: %w", s.Spec.Name, err)
	}
	found, err := s.run.e.client.ContainerInspect(ctx, s.c.GetContainerID(), client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("failed to look at the container of %s: %w", s.Spec.Name, err)
	}
	if at := found.Container.NetworkSettings.Networks[s.run.id]; at != nil && s.Spec.Source.IsValid() {
		s.run.comesFrom(at.IPAddress, s.Spec.Source)
	}
	gone := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone, s.pid = gone, visible(found.Container.State.Pid, s.c.GetContainerID())
	go s.await(context.WithoutCancel(ctx), gone)
	return nil
}

// await closes gone when the container stops. It ends with the container, or
// with the connection to the engine.
func (s *Server) await(ctx context.Context, gone chan struct{}) {
	defer close(gone)
	w := s.run.e.client.ContainerWait(ctx, s.c.GetContainerID(), client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-w.Result:
	case err := <-w.Error:
		_ = err // an engine that is gone has no containers
	}
}

// visible is the process number where it is a process of this machine that
// belongs to the container, and 0 otherwise.
func visible(pid int, id string) int {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || pid == 0 {
		return 0
	}
	mounts, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if strings.Contains(string(groups), id) || strings.Contains(string(mounts), id) {
		return pid
	}
	return 0
}

// PID is the server's process on this machine; 0: not to be seen from here.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pid
}

// Gone is closed when the server has stopped.
func (s *Server) Gone() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

// Dead reports whether the server has stopped.
func (s *Server) Dead() bool {
	select {
	case <-s.Gone():
		return true
	default:
		return false
	}
}

// Pause stops every process of the container; Unpause lets them go on.
func (s *Server) Pause(ctx context.Context) error {
	if _, err := s.run.e.client.ContainerPause(ctx, s.c.GetContainerID(), client.ContainerPauseOptions{}); err != nil {
		return fmt.Errorf("failed to pause the container of %s: %w", s.Spec.Name, err)
	}
	return nil
}

// Unpause lets a container go on; one that is not paused is no error.
func (s *Server) Unpause(ctx context.Context) error {
	found, err := s.run.e.client.ContainerInspect(ctx, s.c.GetContainerID(), client.ContainerInspectOptions{})
	if err == nil && found.Container.State.Paused {
		_, err = s.run.e.client.ContainerUnpause(ctx, s.c.GetContainerID(), client.ContainerUnpauseOptions{})
	}
	if err != nil {
		return fmt.Errorf("failed to resume the container of %s: %w", s.Spec.Name, err)
	}
	return nil
}

// Kill ends the server at once and returns when it is dead.
func (s *Server) Kill(ctx context.Context) error {
	_, err := s.run.e.client.ContainerKill(ctx, s.c.GetContainerID(), client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil && !s.Dead() {
		return fmt.Errorf("failed to kill the container of %s: %w", s.Spec.Name, err)
	}
	select {
	case <-s.Gone():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the container of %s does not die: %w", s.Spec.Name, ctx.Err())
	}
}

// Log is what the server has said so far.
func (s *Server) Log(ctx context.Context) ([]byte, error) {
	r, err := s.c.Logs(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to read the log of %s: %w", s.Spec.Name, err)
	}
	text, err := io.ReadAll(r)
	return text, errors.Join(err, r.Close())
}
