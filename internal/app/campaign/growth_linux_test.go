package campaign

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// BenchmarkWorkers measures how much of a campaign 1, 2, 4 and 8 workers make, and what a run costs beside a search without a
// database: "search".
func BenchmarkWorkers(b *testing.B) {
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			d := definition(b, true)
			d.Request.Search.Seeds = 8_000
			search, err := d.Search()
			if err != nil {
				b.Fatal(err)
			}
			before, began := cpu(b), time.Now()
			if _, err := search.Run(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(d.Request.Search.Seeds)/time.Since(began).Seconds(), "runs/s")
			b.ReportMetric(float64(d.Request.Search.Seeds)/(cpu(b)-before).Seconds(), "runs/cpu-s")
		}
	})
	for _, slots := range []int{1, 2, 4, 8} {
		b.Run(strconv.Itoa(slots), func(b *testing.B) {
			for b.Loop() {
				d := definition(b, true)
				d.Request.Search.Seeds, d.RangeRuns = 8_000, 500
				before := cpu(b)
				made, took := campaignOf(b, d, slots, 1, nil, Timing{})
				b.ReportMetric(float64(made)/took.Seconds(), "runs/s")
				b.ReportMetric(float64(made)/(cpu(b)-before).Seconds(), "runs/cpu-s")
			}
		})
	}
}

// cpu is how long processors have worked for this process: the machine may be busy with others.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// databaseCPU is how long processors have worked for the database.
func databaseCPU(b *testing.B) (used time.Duration) {
	b.Helper()
	for _, pid := range machine.Descendants() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has just ended: then its parent has its time
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, field := range fields[11:15] { // its own time and that of its children, in hundredths of a second
			n, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}

// BenchmarkDatabase measures how many ranges a second the database of sim's own stores, where workers do nothing but
// sleep: SLEEP (1s). 16 of them together have 4 connections, as a process on a machine of 16 processors has.
func BenchmarkDatabase(b *testing.B) {
	sleep, err := time.ParseDuration(os.Getenv("SLEEP"))
	if err != nil {
		sleep = time.Second
	}
	for _, slots := range []int{16, 64, 256, 1000} {
		b.Run(fmt.Sprint(slots), func(b *testing.B) {
			for b.Loop() {
				d := definition(b, true)
				d.RangeRuns = 20
				// As many ranges as all workers make in 5 s, if nothing else takes time.
				ranges := max(uint64(float64(slots)*5/sleep.Seconds()), 100)
				d.Request.Search.Seeds = d.RangeRuns * ranges
				small, one := d, *d.Request.Search
				one.Seeds = d.RangeRuns
				small.Request = request.Of(&one)
				search, err := small.Search()
				if err != nil {
					b.Fatal(err)
				}
				template, err := search.Range(context.Background(), nil, 0, 0, d.RangeRuns)
				if err != nil {
					b.Fatal(err)
				}
				ofDatabase, own := databaseCPU(b), cpu(b)
				made, took := campaignOf(b, d, slots, 16, func(ctx context.Context, first, runs uint64) (*explore.Made, error) {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(sleep):
					}
					part := template.Part
					part.Seeds = []explore.Seeds{{First: d.Request.Search.Seed + first, Count: runs}}
					part.Found = nil
					return &explore.Made{Part: part}, nil
				}, Timing{})
				b.ReportMetric(float64(made/d.RangeRuns)/took.Seconds(), "ranges/s")
				b.ReportMetric(1000*(databaseCPU(b)-ofDatabase).Seconds()/float64(ranges), "db-cpu-ms/range")
				b.ReportMetric(1000*(cpu(b)-own).Seconds()/float64(ranges), "sim-cpu-ms/range")
				b.ReportMetric(float64(ranges)*sleep.Seconds()/float64(slots)/took.Seconds()*100, "%busy")
			}
		})
	}
}

// campaignOf carries a campaign out, and says how many runs were made in what time. Each process has so many of the
// slots. make makes ranges; nil: the search does.
func campaignOf(
	b *testing.B, d Definition, slots, perProcess int, make func(context.Context, uint64, uint64) (*explore.Made, error), timing Timing,
) (uint64, time.Duration) {
	b.Helper()
	ctx := context.Background()
	config := newDatabase(b)
	config.MaxConns = 3 // and one with which River listens
	s, err := Open(ctx, config, "one", timing)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var workers []*Worker
	for at := 0; at < slots; at += perProcess {
		own, err := Open(ctx, config, "one", timing)
		if err != nil {
			b.Fatal(err)
		}
		defer own.Close()
		own.make = make
		w, err := own.Start(ctx, min(perProcess, slots-at), nil)
		if err != nil {
			b.Fatal(err)
		}
		workers = append(workers, w)
	}
	began := time.Now()
	id, err := s.Create(ctx, d)
	if err != nil {
		b.Fatal(err)
	}
	for {
		var state string
		if err := s.pool.QueryRow(ctx, "select state from redlock_sim.campaign where id = $1", id).Scan(&state); err != nil {
			b.Fatal(err)
		}
		if state == Done {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	for _, w := range workers {
		w.Stop()
	}
	return d.Request.Search.Seeds, took
}
