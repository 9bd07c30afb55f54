# frozen_string_literal: true

# Makes a lock program of a lock library: a program that redlock-sim puts on trial.
#
# It speaks version 1 of the protocol for lock programs, JSON lines on standard input and
# output. One file, standard library, Ruby 3.0 or later. The library stays as it is. Require
# this file first: from then on what is printed goes to standard error.
#
#     require_relative "sim_adapter"
#
#     SimAdapter.serve(name: "mylock", version: "1.0", kind: "single", keys: ["{key}"]) do |setup|
#       client = MyLock.connect(setup.nodes[0].host, setup.nodes[0].port)
#       lambda do |wait|
#         lock = client.lock(setup.key, setup.ttl, wait) or raise SimAdapter::Refused, "taken"
#         SimAdapter::Grant.new(release: -> { lock.unlock })
#       end
#     end
require "json"

module SimAdapter
  MAX_LINE = 1 << 20
  BACKLOG = 1024 # lines that wait to be written
  GRACE = 0.5 # seconds to write the last ones

  OUT = $stdout.dup # for messages
  $stdout.reopen($stderr)
  OUT.sync = $stdout.sync = true

  # The lock is certainly not held, and nothing of the attempt stays; from release and extend:
  # the lock was not ours any more. After any other exception it may be held.
  class Refused < StandardError; end

  # From the block that opens the lock: the library refuses by design what setup asks for, such as
  # this topology. A trial that needs it is then not applicable.
  class Unsupported < StandardError; end

  # A server, or the simulator's link to it. tls: nil, or a hash with "server_name" and "ca", a
  # file with certificates to trust.
  Node = Struct.new(:name, :host, :port, :username, :password, :tls)

  # What the simulator asks for. Times are in seconds; nil: not told.
  Setup = Struct.new(:client, :seed, :key, :ttl, :node_timeout, :options, :nodes, :topology, :sentinels, :master, :points,
                     :one_object, :permits, :at_least, :shared) do
    # The lock object to ask with: a new one from the block, or the first one again, as the simulator asks.
    def lock_object = one_object ? (@object ||= yield) : yield

    # Reports that the program is at the point and waits until the simulator lets it go on,
    # where the point is armed; else does nothing.
    def point(name) = (Session.at_point(name) if points.include?(name))

    # Calls the block before the lock is opened again. A program that can do setup-again closes all
    # that it has opened: connections, threads that renew.
    def on_close(&close) = Session.on_close(close)
  end

  # A lock in hand. nil: the library does not tell, or cannot. valid_until is the end of the
  # promise as CLOCK_MONOTONIC tells it, in seconds; extend returns the new one. lost and renewed
  # are for the library to call, from any thread.
  class Grant
    attr_reader :owner, :valid_until, :token

    def initialize(release:, owner: nil, valid_until: nil, extend: nil, token: nil)
      @release, @owner, @valid_until, @extend, @token = release, owner, valid_until, extend, token
      @mutex, @early, @id, @ended = Mutex.new, [], nil, false # early: events before the answer
    end

    # The library says that the lock is lost.
    def lost(why = "") = event(Session.stamp({type: "lost", why: why.to_s}))

    # The library has renewed the lock by itself.
    def renewed(valid_until = nil) = event(Session.promise({type: "renewed"}, valid_until))

    # The rest is for the class Session alone.

    def answer(line)
      @mutex.synchronize do
        @id = line[:id]
        [line, *@early.map { |event| event.merge(grant: @id) }].each { |each| Session.say(each) }
      end
    end

    def ended = @mutex.synchronize { @ended = true }

    def release
      ended
      @release.call
    end

    def extended
      @extend ? @extend.call : Session.fail("this lock cannot extend")
    end

    private

    def event(line)
      @mutex.synchronize do
        next @early << line if @id.nil?
        Session.say(line.merge(grant: @id)) unless @ended
      end
    end
  end

  # Speaks with the simulator until standard input ends, and exits. kind is the program's class:
  # quorum, single, session or other; keys are patterns of what the library writes; can lists
  # validity, renew, lost, extend, forget (nothing but the library may refer to a lock then whose grant
  # is dropped), token, owner, busy (then the thread that got the lock computes
  # after each grant for as long as the simulator asks), setup-again, no-ttl (a ttl of nil is none),
  # one-object (the lock object is what setup.lock_object gives), permits (setup.permits is how many clients
  # may hold the lock at once), modes (the lock has readers and writers, and with setup.shared the client
  # is a reader), fair (it serves clients in the order in which they ask), at-least (the lock stays for setup.at_least, also if it is released before), wakes (a release wakes those who wait).
  # More: homepage, points, ttl_min_ms, ttl_step_ms,
  # lease ("ttl": the key's value keeps the lease, whatever end the key has), about (one line: which lock,
  # its client library, its timeouts and retries).
  # The block gets the setup, connects to the nodes, and returns a lambda that gets the lock once
  # more: it takes the longest wait in seconds (nil: no limit). Calls of it may overlap, and each
  # call, also of release and extend, has a thread of its own.
  #
  # A program that says setup-again lets the simulator use it for one trial after the other: the block
  # is called again, after what it has given to setup.on_close. rand begins anew each time.
  def self.serve(name:, version:, kind:, keys:, **more, &open_lock)
    Session.run({name: name, version: version, class: kind, keys: keys, **more}, open_lock)
  end

  # The conversation; for this file alone.
  module Session
    @lines = SizedQueue.new(BACKLOG) # nil ends them
    @grants = {} # not released
    @closers = [] # of what open_lock opened
    @waiting = {} # a queue for each point where a thread waits
    @points = 0
    @mutex = Mutex.new
    @acquire = nil # what open_lock returned
    @busy = 0 # seconds
    Random.seed # Ruby draws it when it is first asked for: each srand draws as much then

    module_function

    def run(about, open_lock)
      @writer = Thread.new { write }
      $stdin.binmode
      while (line = $stdin.gets("\n", MAX_LINE + 2))
        begin
          raise "the line is too long" if line.chomp("\n").bytesize > MAX_LINE
          handle(about, open_lock, JSON.parse(line.force_encoding("UTF-8")))
        rescue Exception => e # whatever it is, the simulator shall know
          fail("failed to handle #{line[0, 200].inspect}: #{text(e)}")
        end
      end
      finish(0)
    end

    def handle(about, open_lock, m)
      case m["type"]
      in "hello" if m["protocols"].include?(1) then say({type: "ready", protocol: 1, clock: "libc", **about})
      in "setup" then Thread.new { set_up(open_lock, m) }
      in "clocks" then say({type: "clocks", id: m["id"], wall_ms: Time.now.to_f * 1e3, monotonic_ms: now / 1e6})
      in "go" if @waiting.key?(m["id"]) then @waiting.delete(m["id"]).push(true)
      in "acquire" if @acquire then Thread.new { answering(m) { get(m) } }
      in "forget" then Thread.new { answering(m) { forget(m) } }
      in "release" then Thread.new { answering(m) { release(m) } }
      in "extend" then Thread.new { answering(m) { say(promise({type: "extended", id: m["id"]}, held(m).extended)) } }
      else raise "not known, or not in this place"
      end
    end

    def on_close(close) = @closers.push(close)

    def set_up(open_lock, m)
      @acquire = nil
      @closers.pop.call until @closers.empty?
      @grants.clear
      srand
      lock, @busy = m["lock"], (m["busy_ms"] || 0) / 1e3
      ttl, node_timeout = %w[ttl_ms node_timeout_ms].map { |time| lock[time] && lock[time] / 1e3 }
      nodes, sentinels = %w[nodes sentinels].map { |some| (m[some] || []).map { |n| Node.new(*n.values_at(*Node.members.map(&:to_s))) } }
      @acquire = open_lock.call(Setup.new(m["client"], m["seed"], lock["key"], ttl, node_timeout, lock["options"] || {},
                                          nodes, m["topology"], sentinels, m["master"], m["points"] || [], m["one_object"] || false,
                                          lock["permits"] || 1, (lock["at_least_ms"] || 0) / 1e3, lock["mode"] == "shared"))
      say({type: "set-up"})
    rescue Unsupported => e
      say({type: "unsupported", why: text(e)})
    rescue Exception => e
      fail("failed to open the lock: #{text(e)}")
    end

    def answering(m)
      yield
    rescue Exception => e
      say({type: e.is_a?(Refused) ? "refused" : "unknown", id: m["id"], why: text(e)})
    end

    def get(m)
      grant = @acquire.call(m["wait_ms"] && m["wait_ms"] / 1e3)
      line = promise({type: "acquired", id: m["id"]}, grant.valid_until)
      line[:owner_b64] = [grant.owner.to_s].pack("m0") unless grant.owner.nil?
      line[:token] = grant.token unless grant.token.nil?
      @grants[m["id"]] = grant
      grant.answer(line)
      compute if @busy.positive?
    end

    # Keeps the thread busy. Ruby gives the others their turns in between.
    def compute
      sleep(0.001) until @lines.empty? # the answer comes first
      ends = now + @busy * 1e9
      nil while now < ends
    end

    def held(m) = @grants[m["grant"]] || raise(Refused, "grant #{m["grant"]} is not held")

    def release(m)
      held(m)
      @grants.delete(m["grant"]).release # it has ended, whatever comes of it
      say({type: "released", id: m["id"]})
    end

    # Drops the grant and all that refers to it.
    def forget(m)
      held(m).ended
      @grants.delete(m["grant"])
      GC.start
      say({type: "forgotten", id: m["id"]})
    end

    def at_point(name)
      id, passed = @mutex.synchronize { @points += 1 }, Queue.new
      @waiting[id] = passed
      say({type: "point", id: id, name: name})
      passed.pop
    end

    # Adds how long a promise still lasts. Reads the machine's clock first: a pause between the
    # two readings may shorten the promise, and never makes it longer.
    def promise(line, valid_until)
      valid_until.nil? ? line : stamp(line).merge!(validity_ms: (valid_until - now / 1e9) * 1e3)
    end

    def stamp(line) = line.merge!(at_ns: now)

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

    # Does not wait: the library must not stand still because nobody reads.
    def say(line)
      @lines.push(line, true)
    rescue ThreadError
      die("#{BACKLOG} lines wait to be read")
    end

    def write
      while (line = @lines.pop)
        OUT.write("#{JSON.generate(line)}\n")
      end
    rescue StandardError => e
      die("failed to write: #{e.inspect}")
    end

    def text(error) = error.inspect.dup.force_encoding("UTF-8").scrub

    def die(why)
      $stderr.puts "lock program: #{why}"
      exit!(1)
    end

    def fail(why)
      $stderr.puts "lock program: #{why}"
      say({type: "error", why: why})
      finish(1)
    end

    def finish(code)
      @lines.push(nil, true) && @writer.join(GRACE)
    ensure
      exit!(code)
    end
  end
end
