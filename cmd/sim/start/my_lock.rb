# frozen_string_literal: true

# The lock program that sim starts for each client. Put your own lock in the place of MyLock,
# and your client library in the place of Redis. It needs Ruby 3.0 or later.
require_relative "sim_adapter"
require "io/wait"
require "securerandom"
require "socket"
# To require your own library below lib/ of the repository:
# $LOAD_PATH.unshift File.expand_path("../lib", __dir__)

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

def monotonic = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# A lock on one node: SET NX PX with a value of its own, and a release that compares it.
class MyLock
  def initialize(client, key, ttl)
    @client, @key, @ttl, @value = client, key, ttl, SecureRandom.uuid
  end

  def acquire(wait)
    deadline = monotonic + (wait || Float::INFINITY) # nil: no limit
    until @client.call("SET", @key, @value, "NX", "PX", (@ttl * 1000).to_i)
      return false if monotonic > deadline
      sleep 0.02
    end
    true
  end

  def release
    raise SimAdapter::Refused, "not ours any more" if @client.call("EVAL", RELEASE, 1, @key, @value).zero?
  end
end

# As much of a client as this lock needs: commands whose replies are one line.
class Redis
  def initialize(host, port, timeout)
    @host, @port, @timeout, @mutex = host, port, timeout, Mutex.new
  end

  def call(*words)
    @mutex.synchronize do
      @socket ||= Socket.tcp(@host, @port, connect_timeout: @timeout)
      @socket.setsockopt(:TCP, :NODELAY, true)
      @socket.write("*#{words.size}\r\n", *words.map { |word| "$#{word.to_s.bytesize}\r\n#{word}\r\n" })
      reply
    rescue StandardError
      @socket&.close # a late reply is lost with it
      @socket = nil
      raise
    end
  end

  private

  def reply
    raise "no answer" unless @socket.wait_readable(@timeout)
    line = @socket.gets("\r\n", chomp: true) or raise "the connection was closed"
    raise line[1..] if line.start_with?("-")
    return nil if line.start_with?("$")
    line.start_with?(":") ? line[1..].to_i : line[1..]
  end
end

# The block is called once for each client, with the servers, the key and the ttl (in seconds).
# kind is its class: single (one node), quorum (several, as Redlock), session, or other.
# can says what else your lock does; sim tests nothing of it otherwise. Say it only if it is true, as can: ["renew"]:
#   renew   it makes its lease longer by itself while it is held (a watchdog). Without the word, scenarios about renewal are not applicable
#   extend  its user can make the lease longer: give the grant an extend
#   lost    it sees that it has lost the lock: then call its lost
# docs/reference/lock-protocol.md has all words.
SimAdapter.serve(name: "my-lock", version: "1.0", kind: "single", keys: ["{key}"],
                 about: "the sample of sim init: put your own lock in its place, and say here which it is") do |setup|
  node = setup.nodes[0]
  client = Redis.new(node.host, node.port, setup.node_timeout&.nonzero?) # nil: waits for ever
  lambda do |wait|
    lock = MyLock.new(client, setup.key, setup.ttl)
    # Certainly not held; after any other error it may be.
    raise SimAdapter::Refused, "taken" unless lock.acquire(wait)
    SimAdapter::Grant.new(release: -> { lock.release })
  end
end
