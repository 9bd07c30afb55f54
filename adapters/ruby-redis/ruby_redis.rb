#!/usr/bin/ruby
# frozen_string_literal: true

# The lock program of a lock that users of redis-rb write by hand: SET with NX and PX, and a
# script that deletes the key if it has the holder's value.
require_relative "../../sdk/ruby/sim_adapter"
require "redis"
require "securerandom"

BETWEEN = 0.05 # seconds between two tries
RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'

# Counts the connections. redis-rb asks it where to connect to, each time.
class Counter < Redis::Client::Connector
  class << self
    attr_accessor :connections
  end
  self.connections = 0

  def resolve
    Counter.connections += 1
    super
  end
end

# Yields, and tells whether redis-rb can have sent the command twice: it does so once by default,
# with a new connection, if the reply to the first is lost.
def repeated?(redis)
  before = Counter.connections + (redis.connected? ? 0 : 1)
  yield
  Counter.connections > before
end

SimAdapter.serve(name: "redis-rb, by hand", version: Redis::VERSION, kind: "single", keys: ["{key}"], can: ["owner", "setup-again"],
                 homepage: "https://github.com/redis/redis-rb",
                 about: "SET NX PX and EVAL; client redis-rb, the timeout of setup, its own one retry") do |setup|
  node, *others = setup.nodes
  raise "it locks on one node" if others.any?
  raise "redis-rb cannot check the name of a server behind a proxy" if node.tls

  timeout = setup.node_timeout if setup.node_timeout&.positive?
  login = {username: node.username, password: node.password}.reject { |_, text| text.to_s.empty? }
  redis = Redis.new(host: node.host, port: node.port, timeout: timeout, connector: Counter, **login)
  setup.on_close do
    redis.close
    GC.start # redis-rb leaves a socket open to which it could not connect in time
  end

  lambda do |wait|
    clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
    stop = clock.call + (wait || Float::INFINITY)
    owner, doubt = SecureRandom.uuid, false
    loop do
      set = nil
      doubt |= repeated?(redis) { set = redis.set(setup.key, owner, nx: true, px: (setup.ttl * 1000).round) }
      break if set

      if clock.call + BETWEEN > stop
        raise "taken, perhaps by a command that was sent twice" if doubt

        raise SimAdapter::Refused, "taken"
      end
      sleep BETWEEN
    end
    release = lambda do
      deleted = nil
      doubt = repeated?(redis) { deleted = redis.eval(RELEASE, [setup.key], [owner]) }
      next if deleted == 1

      raise "not there any more, perhaps by a command that was sent twice" if doubt

      raise SimAdapter::Refused, "not ours any more"
    end
    SimAdapter::Grant.new(release: release, owner: owner)
  end
end
